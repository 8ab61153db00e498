//! Tests of parsing job files and command lines as fio does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;

use iodyno_job::syntax::{
    CommandLine, Entry, Environment, Eta, KnownOptions, OutputFormat, Place, Section, SyntaxError,
    Takes, parse_command_line, parse_file, show_command, swallowed_option, write_file,
};
use proptest::prelude::*;

/// Some of fio's options.
struct SomeOptions;

const NAMES: [&str; 14] = [
    "bs",
    "blocksize",
    "rw",
    "readwrite",
    "iodepth",
    "iodepth_batch",
    "filename",
    "size",
    "runtime",
    "numjobs",
    "ioengine",
    "exec_prerun",
    "time_based",
    "group_reporting",
];

impl KnownOptions for SomeOptions {
    fn takes(&self, name: &str) -> Option<Takes> {
        match name {
            "time_based" | "group_reporting" => Some(Takes::OptionalValue),
            "exec_prerun" => Some(Takes::Text),
            _ => NAMES.contains(&name).then_some(Takes::Value),
        }
    }

    fn names(&self) -> Vec<&str> {
        NAMES.to_vec()
    }
}

/// Runs `then` with `files` to include and the variable `SIZE`.
fn with_environment<R>(files: &[(&str, &str)], then: impl FnOnce(&Environment<'_>) -> R) -> R {
    let files: BTreeMap<_, _> = files.iter().copied().collect();
    then(&Environment {
        variable: &|name| match name {
            "SIZE" => Some("4k".into()),
            "OPTION" => Some("rw=read".into()),
            "BELL" => Some("\x07".into()),
            _ => None,
        },
        read: &|path| {
            let text = files.get(path).ok_or(io::ErrorKind::NotFound)?;
            Ok(text.as_bytes().to_vec())
        },
        page_size_bytes: 4096,
        cpus: 8,
        memory_mib: 1024,
    })
}

fn parse(text: &str) -> Result<Vec<Section>, SyntaxError> {
    with_environment(&[], |environment| parse_file(text.as_bytes(), "x.fio", environment))
        .map(|file| file.sections)
}

/// Sections as `name: option=value option`, for comparison.
fn brief(sections: &[Section]) -> Vec<String> {
    let entry = |entry: &Entry| match &entry.value {
        Some(value) => format!(" {}={value}", entry.name),
        None => format!(" {}", entry.name),
    };
    let section =
        |s: &Section| format!("{}:{}", s.name, s.entries.iter().map(entry).collect::<String>());
    sections.iter().map(section).collect()
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(Into::into).collect()
}

fn command_line(line: &str) -> Result<CommandLine, SyntaxError> {
    parse_command_line(&words(line), &SomeOptions)
}

fn load(line: &str, files: &[(&str, &str)]) -> Result<(Vec<String>, Vec<String>), SyntaxError> {
    let line = command_line(line)?;
    let sections = with_environment(files, |environment| line.load(&SomeOptions, environment))?;
    Ok((brief(&sections), line.notes))
}

#[test]
fn jobs_inherit_from_the_global_sections_before_them() {
    let text = "[global]\nbs=4k\n[a]\nrw=read\n[global]\nbs=8k\n[b]\n[a]\nbs=1m";
    let sections = parse(text).unwrap();
    assert_eq!(brief(&sections), ["a: bs=4k rw=read", "b: bs=4k bs=8k", "a: bs=4k bs=8k bs=1m"]);
    assert_eq!(sections[0].entries[1].place.to_string(), "x.fio line 4");
    assert_eq!(sections[0].place.line, Some(3));
}

#[test]
fn variables_and_keywords_are_expanded() {
    let text =
        "[a]\n${OPTION}\nbs=${SIZE},${SIZE}\nsize=2*$ncpus*$pagesize\nfilename=$jobnum.${open";
    assert_eq!(
        brief(&parse(text).unwrap()),
        ["a: rw=read bs=4k,4k size=2*8*4096 filename=$jobnum.${open"]
    );
    let message = parse("[a]\n\nsize=${NOPE}").unwrap_err().to_string();
    assert_eq!(
        message,
        "x.fio line 3: the environment variable NOPE is not set; run `export NOPE=...` first"
    );
    assert!(matches!(parse("[a]\nsize=${}"), Err(SyntaxError::UnsetVariable { .. })));
    let message = parse("[a]\nsize=${X:-4k}").unwrap_err().to_string();
    assert!(message.ends_with("no defaults or other shell notation"), "{message}");
    assert!(matches!(parse("[a]\nsize=${BELL}"), Err(SyntaxError::ControlCharacter { .. })));
}

#[test]
fn an_option_needs_a_section() {
    for text in ["bs=4k\n[a]", "# x\ninclude y.fio\n[a]"] {
        let error = parse(text).unwrap_err();
        assert!(matches!(error, SyntaxError::OutsideSection { .. }), "{error}");
    }
    assert_eq!(parse("# nothing\n").unwrap(), []);
}

#[test]
fn includes_are_found_as_written_or_beside_the_includer() {
    let files = [
        ("here.fio", "bs=4k\ninclude deep/a.fio\nsize=1m"),
        ("deep/a.fio", "iodepth=2\ninclude b.fio"),
        ("deep/b.fio", "iodepth=3"),
        ("jobs/side.fio", "rw=read"),
    ];
    let file = with_environment(&files, |environment| {
        parse_file(b"[a]\ninclude here.fio\ninclude side.fio", "jobs/x.fio", environment).unwrap()
    });
    assert_eq!(brief(&file.sections), ["a: bs=4k iodepth=2 iodepth=3 size=1m rw=read"]);
    assert_eq!(file.sections[0].entries[2].place.to_string(), "deep/b.fio line 1");
}

#[test]
fn includes_end() {
    let reads = Cell::new(0);
    let parse = |text: &'static str| {
        let environment = Environment {
            variable: &|_| None,
            read: &|_| {
                reads.set(reads.get() + 1);
                Ok(text.into())
            },
            page_size_bytes: 4096,
            cpus: 1,
            memory_mib: 1,
        };
        parse_file(b"[a]\ninclude self.fio", "x.fio", &environment)
    };
    assert!(matches!(parse("include self.fio"), Err(SyntaxError::TooManyIncludes { .. })));
    assert_eq!(reads.get(), 16);
    assert!(matches!(parse("[b]"), Err(SyntaxError::SectionInInclude { .. })));
    with_environment(&[], |environment| {
        let error = parse_file(b"[a]\ninclude gone.fio", "d/x.fio", environment).unwrap_err();
        assert!(
            error.to_string().starts_with("d/x.fio line 2: cannot read the job file `gone.fio`")
        );
    });
}

#[test]
fn a_swallowed_option_is_named() {
    assert_eq!(swallowed_option("100g  runtime=5", &SomeOptions).as_deref(), Some("runtime"));
    assert_eq!(swallowed_option("4k --rw=read", &SomeOptions).as_deref(), Some("rw"));
    assert_eq!(swallowed_option("/mnt/a b=c", &SomeOptions), None);
    assert_eq!(swallowed_option("rw=read", &SomeOptions), None);
    let error = load("x.fio", &[("x.fio", "[a]\nsize=1g bs=4k")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "x.fio line 2: `size=1g bs=4k` would swallow the option `bs`; give it a line of its own"
    );
    assert!(load("x.fio", &[("x.fio", "[a]\nexec_prerun=dd if=/dev/zero bs=4k")]).is_ok());
}

#[test]
fn options_of_jobs_in_all_forms_that_getopt_takes() {
    let line = "-rw=randread --name=x --bs 4k -iodepth 1 --time_based --filen=/tmp/x \
                --group_reporting=1 -- --odd";
    let line = command_line(line).unwrap();
    assert_eq!(
        brief(&line.jobs),
        ["x: rw=randread bs=4k iodepth=1 time_based filename=/tmp/x group_reporting=1"]
    );
    assert_eq!(line.files, ["--odd"]);
    let line = command_line("--name x --time_based a.fio - --name=y --bs=8k").unwrap();
    assert_eq!(brief(&line.jobs), ["x: time_based", "y: bs=8k"]);
    assert_eq!(line.files, ["a.fio", "-"]);
}

#[test]
fn options_before_the_first_name_are_global() {
    let line = command_line("--bs=4k --name=x --rw=read --name=global --size=1m --name=y").unwrap();
    assert_eq!(brief(&line.jobs), ["x: bs=4k rw=read", "y: bs=4k size=1m"]);
    assert_eq!(line.jobs[0].entries[0].place.to_string(), "command line");
}

#[test]
fn wrong_words_are_named() {
    for (line, part) in [
        ("--blocksiz=4k --name", "needs a value"),
        ("--name=x --bs", "`--bs` needs a value"),
        ("--name=x --bs --rw=read", "`--bs` needs a value"),
        ("--name=", "`--name` needs a value"),
        ("--name=x --bs=", "`--bs` needs a value"),
        ("--output=", "`--output` needs a value"),
        ("--io=3", "any of --iodepth, --iodepth_batch, --ioengine"),
        ("--out=x", "any of --output, --output-format"),
        ("--blokcsize=4k", "did you mean `--blocksize`?"),
        ("--xyzzy=1", "no option `--xyzzy=1`"),
        ("--minimal=3", "`--minimal` takes no value"),
        ("--output-format=xml", "json+"),
        ("--terse-version=6", "2, 3, 4 or 5"),
        ("--eta=maybe", "auto, always, never"),
        ("--eta-interval=10ms", "250 ms"),
        ("--section=global", "[global] holds for all"),
        ("--client=host", "run iodyno on each host"),
        ("--server", "run iodyno on each host"),
        ("-=3", "no option"),
        ("--=3", "no option"),
    ] {
        let message = command_line(line).expect_err(line).to_string();
        assert!(message.contains(part), "{line}: {message}");
    }
}

#[test]
fn options_of_the_run() {
    let line = "-o out.json --output-format=json+,normal --append-terse -V4 --eta=never \
                --status-interval=500ms --eta-newline 10 --parse-only --showcmd -r --max-jobs=9 \
                --section a -xb --bandwidth-log --aux-path=/tmp";
    let line = command_line(line).unwrap();
    let invocation = &line.invocation;
    assert_eq!(invocation.output.as_deref(), Some("out.json"));
    assert_eq!(invocation.output_formats, [OutputFormat::JsonPlus, OutputFormat::Normal]);
    assert_eq!((invocation.append_terse, invocation.terse_version), (true, 4));
    assert_eq!(invocation.eta, Eta::Never);
    assert_eq!(invocation.status_interval_ns, Some(500_000_000));
    assert_eq!(invocation.eta_newline_ns, Some(10_000_000_000));
    assert!(invocation.parse_only && invocation.show_cmd && invocation.readonly);
    assert!(invocation.bandwidth_log.as_deref() == Some("agg") && !invocation.warnings_fatal);
    assert_eq!(invocation.aux_path.as_deref(), Some("/tmp"));
    assert_eq!(line.sections, ["a", "b"]);
    assert_eq!(line.notes.len(), 1, "{:?}", line.notes);
    let minimal = command_line("--output-format=json -m").unwrap();
    assert_eq!(minimal.invocation.output_formats, [OutputFormat::Terse]);
    assert_eq!(command_line("").unwrap().invocation, Default::default());
}

#[test]
fn files_and_the_command_line_together() {
    let files = [
        ("a.fio", "[global]\nbs=8k\n[a]\nrw=read"),
        ("b.fio", "[global]\nbs=1m\n[b]\nrw=write\n[c]"),
    ];
    let (sections, notes) = load("--runtime=7 --name=x --bs=4k a.fio b.fio", &files).unwrap();
    assert_eq!(
        sections,
        [
            "x: runtime=7 bs=4k",
            "a: runtime=7 bs=8k rw=read",
            "b: bs=1m stonewall rw=write",
            "c: bs=1m"
        ]
    );
    assert!(notes[0].contains("a.fio alone, not for b.fio"), "{notes:?}");
    assert!(load("a.fio b.fio", &files).unwrap().1.is_empty());
}

#[test]
fn a_pattern_may_be_a_files_bytes() {
    let job = "[a]\nbuffer_pattern='p'0x01\nverify_pattern=\"x\"'p'\nfilename='p'";
    let files = [("a.fio", job), ("p", "AB"), ("empty", "")];
    let (sections, _) = load("a.fio", &files).unwrap();
    assert_eq!(sections, ["a: buffer_pattern=0x41420x01 verify_pattern=\"x\"0x4142 filename='p'"]);
    for file in ["empty", "gone"] {
        let job = format!("[a]\nverify_pattern='{file}'");
        let message = load("a.fio", &[("a.fio", &job), ("empty", "")]).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("a.fio line 2: verify_pattern='{file}'")),
            "{message}"
        );
    }
}

#[test]
fn only_the_sections_asked_for() {
    let files = [("a.fio", "[global]\nbs=8k\n[a]\nrw=${NOPE}\n[b]\nrw=write\n[a b]\n")];
    assert_eq!(load("--section=b a.fio", &files).unwrap().0, ["b: bs=8k rw=write"]);
    let line = "--name=x --section=x --section=b a.fio";
    assert_eq!(load(line, &files).unwrap().0, ["x:", "b: bs=8k rw=write"]);
    let message = load("--section=z --name=x a.fio", &files).unwrap_err().to_string();
    assert!(message.ends_with("there are x, a, b, a b"), "{message}");
    assert_eq!(load("--bs=4k", &[]), Err(SyntaxError::NoJob));
    assert_eq!(load("g.fio", &[("g.fio", "[global]\nbs=4k")]), Err(SyntaxError::NoJob));
    let message = load("gone.fio", &[]).unwrap_err().to_string();
    assert!(message.starts_with("command line: cannot read the job file `gone.fio`"), "{message}");
}

#[test]
fn sections_as_a_command_line() {
    let sections = parse("[a job]\nbs=4k\ntime_based\nexec_prerun=echo 'x' $HOME").unwrap();
    assert_eq!(
        show_command(&sections),
        r"fio --name='a job' --bs=4k --time_based --exec_prerun='echo '\''x'\'' $HOME'"
    );
}

#[test]
fn what_a_job_file_cannot_express_is_not_written() {
    for words in [
        ["--name=x", "--exec_prerun=a; b"],
        ["--name=x", "--filename=$ncpus"],
        ["--name=x", "--filename=${SIZE}"],
        ["--name=x", "--filename= a"],
        ["--name=x", "--filename=a\nb"],
        ["--name=x#", "--bs=4k"],
    ] {
        let line = parse_command_line(&words.map(String::from), &SomeOptions).unwrap();
        let written = write_file(&line.jobs);
        assert!(matches!(written, Err(SyntaxError::Unwritable { .. })), "{written:?}");
    }
}

#[test]
fn names_that_would_read_as_something_else_are_not_written() {
    let place = Place::command_line();
    for (section, name) in
        [("x", "include"), ("x", "[y]"), ("x", "a b"), ("x", ""), ("x", "a=b"), ("global", "bs")]
    {
        let entry = Entry { name: name.into(), value: Some("1".into()), place: place.clone() };
        let sections = [Section {
            name: section.into(),
            place: place.clone(),
            entries: vec![entry],
            inherited: 0,
        }];
        let written = write_file(&sections);
        assert!(matches!(written, Err(SyntaxError::Unwritable { .. })), "{written:?}");
    }
}

/// Lines similar to those of job files.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z_]{1,8}( ?= ?[ -~]{0,12})?",
        2 => r"\[(global)?[ -~]{0,6}\]?",
        1 => r"include[ =][a-z/.]{0,6}",
        1 => "[ \t]{0,2}[#;].{0,8}",
        1 => r"(\$\{?[A-Z}]{0,6}|\$ncpus|\$pagesize){1,3}",
        1 => ".{0,12}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn written_files_parse_to_the_same_sections(text in prop::collection::vec(line(), 0..24)) {
        let Ok(sections) = parse(&text.join("\n")) else { return Ok(()) };
        if let Ok(written) = write_file(&sections) {
            prop_assert_eq!(brief(&parse(&written).unwrap()), brief(&sections));
        }
    }

    /// Any section survives a round trip or is refused.
    #[test]
    fn sections_of_any_text(
        sections in prop::collection::vec(("[ -~]{0,6}", "[ -~]{0,9}", "[ -~\t]{0,9}", any::<bool>()), 0..4)
    ) {
        let place = Place::command_line();
        let sections: Vec<_> = sections.into_iter().map(|(section, name, value, valued)| Section {
            name: section,
            place: place.clone(),
            entries: vec![Entry { name, value: valued.then_some(value), place: place.clone() }],
            inherited: 0,
        }).collect();
        if let Ok(written) = write_file(&sections) {
            prop_assert_eq!(brief(&parse(&written).unwrap()), brief(&sections));
        }
    }

    #[test]
    fn ordinary_sections_are_written(
        sections in prop::collection::vec(("[a-z ]{1,6}", "[a-z_]{1,9}", "[a-z0-9:/,%=-]{0,9}"), 0..4)
    ) {
        prop_assume!(sections.iter().all(|(section, name, _)| section != "global" && name != "include"));
        let text: String = sections.iter().map(|(s, n, v)| format!("[{s}]\n{n}={v}\n")).collect();
        let read = parse(&text).unwrap();
        prop_assert_eq!(read.len(), sections.len());
        prop_assert_eq!(brief(&parse(&write_file(&read).unwrap()).unwrap()), brief(&read));
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        with_environment(&[("a", "include a")], |environment| {
            let _ = parse_file(&bytes, "x.fio", environment);
        });
    }

    #[test]
    fn no_damaged_file_panics(
        text in prop::collection::vec(line(), 0..24),
        at: prop::sample::Index,
        byte: u8,
    ) {
        let mut bytes = text.join("\n").into_bytes();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        with_environment(&[("a", "include a")], |environment| {
            let _ = parse_file(&bytes, "x.fio", environment);
        });
    }

    #[test]
    fn no_words_panic(
        words in prop::collection::vec(
            prop_oneof!["-{0,3}(name|bs|rw|o|x|section|output|.{0,4})(=.{0,4})?", ".{0,6}"], 0..8)
    ) {
        if let Ok(line) = parse_command_line(&words, &SomeOptions) {
            with_environment(&[("a", "[a]\nbs=4k")], |environment| {
                if let Ok(sections) = line.load(&SomeOptions, environment) {
                    let _ = (show_command(&sections), write_file(&sections));
                }
            });
        }
    }
}
