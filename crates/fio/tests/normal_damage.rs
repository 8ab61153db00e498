//! Damage to fio's normal text in mails, pages, wikis, logs and terminals.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{JOBS, alone, fio};
use iodyno_fio::read::normal;

type Suffer = fn(&str) -> String;

/// Lossless damage to a text, by name.
fn sufferings() -> Vec<(&'static str, Suffer)> {
    fn lines(text: &str, each: impl Fn(&str) -> String) -> String {
        text.lines().map(|line| each(line) + "\n").collect()
    }
    fn escaped(text: &str) -> String {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
    }
    vec![
        ("nothing", |text| text.to_owned()),
        ("line ends of Windows", |text| text.replace('\n', "\r\n")),
        ("indentation lost", |text| lines(text, |line| line.trim().to_owned())),
        ("indented deeply", |text| lines(text, |line| format!("{}{line}", " ".repeat(57)))),
        ("blanks collapsed", |text| {
            lines(text, |line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        }),
        ("tabs", |text| text.replace("   ", "\t")),
        ("blanks of a page", |text| text.replace("  ", "\u{a0} ")),
        ("double spaced", |text| text.replace('\n', "\n\n")),
        ("quoted", |text| lines(text, |line| format!("> {line}"))),
        ("quoted twice", |text| lines(text, |line| format!("> > {line}"))),
        ("quoted densely", |text| lines(text, |line| format!(">> {line}"))),
        ("HTML", |text| format!("<pre><code>{}</code></pre>", escaped(text))),
        ("HTML, escaped again", |text| format!("<p>{}</p>", escaped(&escaped(text)))),
        ("HTML with breaks", |text| escaped(text).replace('\n', "<br>\n")),
        ("HTML with breaks alone", |text| escaped(text).replace('\n', "<br />")),
        ("HTML coloured", |text| {
            lines(&escaped(text), |line| format!("<span class=\"l\">{line}</span>"))
        }),
        ("quoted-printable", |text| {
            let coded = text.replace('=', "=3D").replace("  ", "=C2=A0 ");
            // Lines of at most 76 characters, broken anywhere but within a code.
            lines(&coded, |line| {
                let (mut out, mut length) = (String::new(), 0);
                let mut rest = line;
                while let Some(first) = rest.chars().next() {
                    let step = if first == '=' { 3 } else { first.len_utf8() };
                    if length + step > 75 {
                        out.push_str("=\n");
                        length = 0;
                    }
                    out.push_str(&rest[..step]);
                    length += step;
                    rest = &rest[step..];
                }
                out
            })
        }),
        ("wrapped in a mail", |text| {
            lines(text, |line| {
                let (mut out, mut length) = (String::new(), 0);
                for word in line.split_inclusive(' ') {
                    if length + word.len() > 72 && !word.trim().is_empty() {
                        out.push('\n');
                        length = 0;
                    }
                    out.push_str(word);
                    length += word.len();
                }
                out
            })
        }),
        ("a terminal of 80 columns", |text| {
            lines(text, |line| {
                let characters: Vec<char> = line.chars().collect();
                let pieces = characters.chunks(80).map(|piece| piece.iter().collect::<String>());
                pieces.collect::<Vec<_>>().join("\n")
            })
        }),
        ("a list", |text| lines(text, |line| format!("- {line}"))),
        ("a comment", |text| lines(text, |line| format!("# {line}"))),
        ("a difference", |text| lines(text, |line| format!("+{line}"))),
        ("a box", |text| lines(text, |line| format!("\u{2502} {line:<90} \u{2502}"))),
        ("a test's log", |text| lines(text, |line| format!("12:10:43 DEBUG| [stdout] {line}"))),
        ("all characters as numbers", |text| {
            text.chars()
                .map(|c| match c {
                    '\n' => "\n".to_owned(),
                    c => format!("&#{};", u32::from(c)),
                })
                .collect()
        }),
        ("all on one line", |text| text.split_whitespace().collect::<Vec<_>>().join(" ") + "\n"),
        ("a terminal's colours", |text| lines(text, |line| format!("\x1b[1;32m{line}\x1b[0m"))),
        ("a log with times", |text| lines(text, |line| format!("2024-05-01T12:00:00.123Z {line}"))),
        ("a log with dates and times", |text| {
            lines(text, |line| format!("2024-05-01 12:00:00,123 {line}"))
        }),
        ("a log with times in brackets", |text| lines(text, |line| format!("[12:00:01] {line}"))),
        ("a pod's log", |text| {
            lines(text, |line| format!("2024-05-01T12:00:00.123456789Z stdout F {line}"))
        }),
        ("syslog", |text| lines(text, |line| format!("May  1 12:00:00 host fio[17]: {line}"))),
        ("a container's log", |text| lines(text, |line| format!("fio_1  | {line}"))),
        ("a client's lines", |text| lines(text, |line| format!("<host.example.org> {line}"))),
        ("JSON's line feeds", |text| {
            format!("\"stdout\": \"{}\",\n", text.replace('"', "\\\"").replace('\n', "\\n"))
        }),
        ("JSON's list of lines", |text| lines(text, |line| format!("        \"{line}\","))),
        ("emphasis", |text| text.replace("IOPS=", "**IOPS=").replace(", BW", "**, BW")),
        ("Markdown's escapes", |text| text.replace('[', "\\[").replace('|', "\\|")),
        ("a table", |text| text.replace("  read", "| read").replace("  write", "| write")),
        ("a wiki's markup", |text| format!("{{noformat}}\n{text}{{noformat}}\n")),
        ("a byte order mark", |text| format!("\u{feff}{text}")),
        ("dashes made beautiful", |text| text.replace('-', "\u{2013}")),
        ("a progress line in front", |text| {
            text.replace(
                "mix: (groupid",
                "Jobs: 2 (f=2): [m(2)][r=1MiB/s][eta 00m:00s]\rmix: (groupid",
            )
        }),
        ("a progress line joined", |text| {
            text.replace(
                "mix: (groupid",
                "Jobs: 2 (f=2): [m(2)][r=1MiB/s][eta 00m:00s]mix: (groupid",
            )
        }),
        ("head and result joined", |text| text.replace("\n  read:", "  read:")),
        ("quoted in full below", |text| format!("{text}\nOn Monday he wrote:\n{text}")),
        ("told around", |text| {
            format!("# My drive\nIt reads at 3 GB/s: see read and write below.\n\n{text}\nNice!\n")
        }),
    ]
}

#[test]
fn lossless_damage_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let text = alone(&fio(directory.path(), JOBS));
    let expected = normal("", &text);
    assert_eq!(expected.measurements.len(), 4);
    for (what, suffer) in sufferings() {
        let suffered = suffer(&text);
        let imported = normal("", &suffered);
        assert_eq!(imported.problems, [], "{what}");
        let ours = imported.measurements.iter().map(|one| format!("{one:#?}"));
        let theirs = expected.measurements.iter().map(|one| format!("{one:#?}"));
        for (ours, theirs) in ours.zip(theirs) {
            let differing = ours.lines().zip(theirs.lines()).filter(|(a, b)| a != b);
            let differing: Vec<_> = differing.take(9).collect();
            assert!(differing.is_empty(), "{what}: {differing:#?}");
        }
        assert_eq!(imported.measurements.len(), 4, "{what}");
    }
}
