//! Writes the XML, conforming to the schema used by Jenkins (xunit plugin, junit-10.xsd).

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

/// Test suite: cases about one subject.
#[derive(Debug, Default)]
pub(super) struct Suite {
    pub(super) name: String,
    pub(super) properties: Vec<(&'static str, String)>,
    pub(super) cases: Vec<Case>,
}

/// Test case.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) class: String,
    pub(super) name: String,
    /// Duration, s.
    pub(super) time_s: Option<f64>,
    pub(super) status: Status,
    /// Further output; may be empty.
    pub(super) out: String,
}

/// Status of a case.
#[derive(Debug)]
pub(super) enum Status {
    Passed,
    Skipped(String),
    /// Type, message, text.
    Failure(String, String, String),
    Error(String),
}

impl Suite {
    fn count(&self, is: fn(&Status) -> bool) -> usize {
        self.cases.iter().filter(|case| is(&case.status)).count()
    }

    fn failures(&self) -> usize {
        self.count(|status| matches!(status, Status::Failure(..)))
    }

    fn errors(&self) -> usize {
        self.count(|status| matches!(status, Status::Error(_)))
    }

    fn skipped(&self) -> usize {
        self.count(|status| matches!(status, Status::Skipped(_)))
    }
}

/// Writes the document of `suites`.
pub(super) fn document(name: &str, suites: &[Suite]) -> io::Result<Vec<u8>> {
    let sum = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>().to_string();
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let root = writer.create_element("testsuites").with_attributes([
        ("name", allowed(name).as_str()),
        ("tests", &sum(|suite| suite.cases.len())),
        ("failures", &sum(Suite::failures)),
        ("errors", &sum(Suite::errors)),
    ]);
    root.write_inner_content(|writer| suites.iter().try_for_each(|suite| write(writer, suite)))?;
    let mut bytes = writer.into_inner();
    bytes.push(b'\n');
    Ok(bytes)
}

fn write(writer: &mut Writer<Vec<u8>>, suite: &Suite) -> io::Result<()> {
    let element = writer.create_element("testsuite").with_attributes([
        ("name", allowed(&suite.name).as_str()),
        ("tests", &suite.cases.len().to_string()),
        ("failures", &suite.failures().to_string()),
        ("errors", &suite.errors().to_string()),
        ("skipped", &suite.skipped().to_string()),
    ]);
    element.write_inner_content(|writer| {
        writer.create_element("properties").write_inner_content(|writer| {
            suite.properties.iter().try_for_each(|(name, value)| {
                let property = writer.create_element("property");
                let value = allowed(value);
                property
                    .with_attributes([("name", *name), ("value", value.as_str())])
                    .write_empty()
                    .map(|_| ())
            })
        })?;
        suite.cases.iter().try_for_each(|case| write_case(writer, case))
    })?;
    Ok(())
}

fn write_case(writer: &mut Writer<Vec<u8>>, case: &Case) -> io::Result<()> {
    let (class, name) = (allowed(&case.class), allowed(&case.name));
    let mut element = writer
        .create_element("testcase")
        .with_attributes([("classname", class.as_str()), ("name", name.as_str())]);
    let time = case.time_s.map(|time_s| format!("{time_s:.3}"));
    if let Some(time) = &time {
        element = element.with_attribute(("time", time.as_str()));
    }
    element.write_inner_content(|writer| {
        match &case.status {
            Status::Passed => {}
            Status::Skipped(message) => {
                let skipped = writer.create_element("skipped");
                skipped.with_attribute(("message", allowed(message).as_str())).write_empty()?;
            }
            Status::Error(message) => {
                let error = writer.create_element("error");
                error.with_attribute(("message", allowed(message).as_str())).write_empty()?;
            }
            Status::Failure(kind, message, text) => {
                let failure = writer.create_element("failure").with_attributes([
                    ("type", allowed(kind).as_str()),
                    ("message", allowed(message).as_str()),
                ]);
                failure.write_text_content(BytesText::new(&allowed(text)))?;
            }
        }
        if !case.out.is_empty() {
            let out = writer.create_element("system-out");
            out.write_text_content(BytesText::new(&allowed(&case.out)))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Returns `text` without the characters that XML 1.0 does not allow.
fn allowed(text: &str) -> String {
    let is_allowed = |c: &char| {
        matches!(c, '\t' | '\n') || !(c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'))
    };
    text.chars().filter(is_allowed).collect()
}
