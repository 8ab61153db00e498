//! Parses Markdown for the tests of the documentation: pages, code blocks, commands, links,
//! anchors.

pub(crate) mod picture;

use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub(crate) fn read(page: &str) -> String {
    let path = root().join(page);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// All files below `folder` with this ending, relative to the repository's root.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{folder}/{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                left.push(name);
            } else if name.ends_with(ending) {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

/// README and the hand-written pages of the book.
pub(crate) fn pages() -> Vec<String> {
    let generated =
        |page: &String| page.starts_with("docs/examples/") || page.ends_with("/SUMMARY.md");
    let mut pages = files("docs", ".md");
    pages.retain(|page| !generated(page));
    pages.insert(0, "README.md".into());
    pages
}

/// Treatment of a block's commands in the test: the words after its language.
#[derive(Clone, Default)]
pub(crate) struct Class {
    pub(crate) how: How,
    /// `exact`: output as shown on the page; `[...]` stands for any text.
    pub(crate) exact: bool,
    /// Allowed exit statuses: 0, `status=N`, or with `verdict` any verdict.
    pub(crate) statuses: Vec<i32>,
}

#[derive(Clone, Copy, Default)]
pub(crate) enum How {
    #[default]
    AsPrinted,
    /// `dry-run`: with `--dry-run` added.
    DryRun,
    /// `lab`: needs drives or root; `long`: takes too long for a test. Only the command line is
    /// parsed.
    Parsed,
}

impl How {
    /// Word for folder.sh's iodyno.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::AsPrinted => "",
            Self::DryRun => "dry-run",
            Self::Parsed => "parsed",
        }
    }
}

/// True if a program's output matches the page.
pub(crate) fn fits(shown: &str, said: &str) -> bool {
    let parts: Vec<&str> = shown.split("[...]\n").map(str::trim_end).collect();
    let Some(mut left) = said.strip_prefix(parts[0]) else { return false };
    for part in &parts[1..] {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    parts.len() > 1 || left.trim().is_empty()
}

/// A fenced block.
pub(crate) struct Block {
    pub(crate) page: String,
    /// Line of its fence, from 1.
    pub(crate) line: usize,
    pub(crate) language: String,
    pub(crate) words: Vec<String>,
    pub(crate) lines: Vec<String>,
}

impl Block {
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }

    pub(crate) fn class(&self) -> Class {
        let mut class = Class { statuses: vec![0], ..Class::default() };
        for word in &self.words {
            match (word.as_str(), word.strip_prefix("status=")) {
                ("dry-run", _) => class.how = How::DryRun,
                ("lab" | "long", _) => class.how = How::Parsed,
                ("exact", _) => class.exact = true,
                ("verdict", _) => class.statuses = vec![0, 1, 4],
                (_, Some(status)) => class.statuses = vec![status.parse().unwrap()],
                _ => panic!("{}: unknown class {word}", self.place()),
            }
        }
        class
    }

    /// Commands, each with its output on the page (`console` only).
    pub(crate) fn commands(&self) -> Vec<(String, String)> {
        let mut commands: Vec<(String, String)> = Vec::new();
        // A command continues after a backslash and within a loop; `cd` applies to later commands.
        let (mut goes_on, mut looping, mut moved) = (false, false, false);
        for line in &self.lines {
            let silent = commands.last().is_some_and(|(_, output)| output.is_empty());
            let more = line.strip_prefix("> ").filter(|_| silent);
            let typed = match self.language.as_str() {
                "sh" => Some(line.as_str()),
                "console" if goes_on => Some(more.unwrap_or(line)),
                "console" => more.or_else(|| line.strip_prefix("$ ")),
                _ => None,
            };
            let goes_on_now = goes_on || (self.language == "console" && more.is_some());
            match (typed, commands.last_mut()) {
                (Some(typed), Some((command, _))) if goes_on_now => {
                    command.push('\n');
                    command.push_str(typed);
                }
                (Some(typed), _) if typed.trim().is_empty() || typed.starts_with('#') => {}
                (Some(typed), _) => commands.push((typed.to_owned(), String::new())),
                (None, Some((_, output))) => {
                    output.push_str(line);
                    output.push('\n');
                }
                (None, None) => {}
            }
            let typed = typed.unwrap_or_default();
            looping = (looping || typed.starts_with("for ")) && !typed.starts_with("done");
            moved |= typed.starts_with("cd ");
            goes_on = typed.ends_with('\\') || looping || moved;
        }
        commands
    }
}

/// Fenced blocks of a page.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (line, text) in read(page).lines().enumerate() {
        match (text.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(info), None) => {
                let mut words = info.split(',').map(str::to_owned);
                let language = words.next().unwrap_or_default();
                let words = words.collect();
                open = Some(Block {
                    page: page.into(),
                    line: line + 1,
                    language,
                    words,
                    lines: Vec::new(),
                });
            }
            (None, Some(block)) => block.lines.push(text.to_owned()),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{page}: a block that does not end");
    blocks
}

/// The page without blocks and inline code.
pub(crate) fn prose(page: &str) -> String {
    let text = read(page);
    let outside = text.split("\n```").step_by(2).map(|part| {
        // The rest of the closing fence's line.
        part.split('`').step_by(2).collect::<Vec<_>>().join("`")
    });
    outside.collect::<Vec<_>>().join("\n")
}

/// Targets of the links of a page.
pub(crate) fn links(page: &str) -> Vec<String> {
    let prose = prose(page);
    let ends = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(to, _)| to));
    let images =
        prose.split(" src=\"").skip(1).filter_map(|rest| rest.split_once('"').map(|(to, _)| to));
    ends.chain(images).map(str::to_owned).collect()
}

/// Anchors of a page's headings, as generated by GitHub and mdBook.
pub(crate) fn anchors(page: &str) -> Vec<String> {
    let text = read(page);
    let outside: String = text.split("\n```").step_by(2).collect::<Vec<_>>().join("\n");
    let headings = outside.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}
