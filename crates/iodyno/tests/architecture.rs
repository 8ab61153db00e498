//! Tests the dependency rules of ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Crates that each crate may depend on, without the prefix `iodyno-`.
const KNOWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("stats", &[]),
    ("files", &[]),
    ("trace", &["model"]),
    ("job", &["model", "trace"]),
    ("host", &["files", "model"]),
    ("target", &["files", "host", "model"]),
    ("layout", &["model"]),
    ("load", &["job", "target", "model"]),
    ("native", &["load", "job", "target", "files", "model"]),
    ("fio", &["load", "job", "target", "files", "model"]),
    ("store", &["files", "model"]),
    ("judge", &["stats", "model"]),
    (
        "campaign",
        &["layout", "load", "judge", "stats", "job", "target", "trace", "host", "store", "model"],
    ),
    ("figure", &["model"]),
    ("report", &["figure", "judge", "stats", "trace", "model"]),
];

/// The binary may depend on all.
const BINARY: &str = "iodyno";

/// Additional dependencies of tests: (crate, dependency).
const TESTS_KNOW: &[(&str, &str)] = &[];

/// Maximum number of lines of a source file.
const MAX_LINES: usize = 500;

/// Exceptions with their own maximum.
const LONGER: &[(&str, usize)] = &[];

/// Files with unsafe code: memory shared with the kernel and ioctls: three query drives,
/// device-mapper and loop devices (of which sysfs has a path, but no inode), two empty drives (NVMe
/// commands, zones), one creates loop devices; one fcntl for leases; the fork and a look before main.
const UNSAFE_IN: &[&str] = &[
    // A test counts allocations.
    "crates/fio/tests/bounds.rs",
    "crates/native/src/",
    "crates/host/src/device_mapper/",
    "crates/host/src/loop_device/",
    "crates/host/src/nvme/",
    "crates/iodyno/src/commands/accept/clock.rs",
    "crates/iodyno/src/supervisor/process.rs",
    "crates/target/src/backing/",
    "crates/target/src/lease.rs",
    "crates/target/src/nvme/",
    "crates/target/src/zones.rs",
    "crates/trace/src/bpf/system.rs",
];

/// Places that open files without the crate `files`; the first is that crate.
const EXCUSED: [&str; 5] = [
    "crates/files/src/lib.rs",
    "crates/campaign/src/settings/mod.rs",
    "crates/store/src/lib.rs",
    "crates/target/src/lib.rs",
    "crates/trace/src/tracefs/mod.rs",
];

/// Folders without sources: built, fetched or written by tests.
const NOT_SOURCES: &[&str] = &[".git", "target", "lab/cache", "lab/out"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn short(package: &str) -> &str {
    package.strip_prefix("iodyno-").unwrap_or(package)
}

#[test]
fn crates_know_only_what_they_may() {
    let metadata =
        MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec().unwrap();
    let known: BTreeMap<_, _> = KNOWS.iter().copied().collect();
    let ours: BTreeSet<&str> = metadata.packages.iter().map(|p| short(&p.name)).collect();
    assert!(ours.contains(BINARY) && ours.contains("model"), "these are not our crates: {ours:?}");
    let mut wrong = Vec::new();
    for package in &metadata.packages {
        let from = short(&package.name);
        if from == BINARY {
            continue;
        }
        let Some(knows) = known.get(from) else {
            wrong.push(format!("{from} has no row in the table"));
            continue;
        };
        for dependency in &package.dependencies {
            let to = short(&dependency.name);
            let in_tests_only = dependency.kind == DependencyKind::Development;
            let may = knows.contains(&to) || in_tests_only && TESTS_KNOW.contains(&(from, to));
            if ours.contains(to) && !may {
                wrong.push(format!("{from} may not know {to} ({})", dependency.kind));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_document_says_the_same() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut stated = BTreeMap::new();
    for line in text.lines() {
        // Columns: | `crate` | responsibility | knows |
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", name, _, knows, ""] = cells[..] else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else {
            continue;
        };
        let knows = match knows {
            "nothing" => BTreeSet::new(),
            knows => knows.split(',').map(str::trim).collect(),
        };
        stated.insert(name, knows);
    }
    let mut tested: BTreeMap<&str, BTreeSet<&str>> =
        KNOWS.iter().map(|(name, knows)| (*name, knows.iter().copied().collect())).collect();
    tested.insert(BINARY, BTreeSet::from(["all"]));
    assert_eq!(stated, tested);
}

/// All files of the project below `folder`, with their path from the root and their text.
fn files(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            if NOT_SOURCES.contains(&name.as_str()) || name.ends_with("__pycache__") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                found.push((name, text));
            }
        }
    }
    assert!(!found.is_empty(), "no file below {folder:?}");
    found
}

fn is_source(name: &str) -> bool {
    name.ends_with(".rs") || name.ends_with(".py")
}

#[test]
fn no_file_is_too_long() {
    let longer: BTreeMap<_, _> = LONGER.iter().copied().collect();
    let mut sources = files("crates");
    sources.extend(files("lab"));
    let too_long: Vec<String> = sources
        .iter()
        .filter(|(name, _)| is_source(name))
        .map(|(name, text)| (name, text.lines().count()))
        .filter(|(name, lines)| lines > longer.get(name.as_str()).unwrap_or(&MAX_LINES))
        .map(|(name, lines)| format!("{name}: {lines} lines"))
        .collect();
    assert!(too_long.is_empty(), "these want to be two files:\n{}", too_long.join("\n"));
}

#[test]
fn unsafe_stays_where_it_must_be() {
    // Concatenated, so that this file does not contain them.
    let keyword = concat!("un", "safe");
    let signs = [
        format!("{keyword} {{"),
        format!("{keyword} fn "),
        format!("{keyword} impl "),
        format!("{keyword} extern "),
        format!("allow({keyword}_code)"),
    ];
    let sources = files("crates");
    let (inside, outside): (Vec<_>, Vec<_>) = sources
        .iter()
        .filter(|(name, _)| name.ends_with(".rs"))
        .filter(|(_, text)| signs.iter().any(|sign| text.contains(sign)))
        .map(|(name, _)| name)
        .partition(|name| UNSAFE_IN.iter().any(|folder| name.starts_with(folder)));
    assert!(!inside.is_empty(), "the signs are no longer what the sources hold");
    assert!(outside.is_empty(), "{keyword} outside of its walls: {outside:?}");
}

/// Errors are printed with all their causes. thiserror takes a field named `source` as the cause,
/// so a message that also contains it repeats it.
#[test]
fn no_error_says_its_cause_twice() {
    let (mut messages, mut twice) = (0, Vec::new());
    for (name, text) in files("crates").iter().filter(|(name, _)| name.ends_with(".rs")) {
        for rest in text.split("#[error(").skip(1) {
            let message = rest.split(")]").next().unwrap_or_default();
            messages += 1;
            if message.contains("{source") || message.contains(".source") {
                twice.push(format!("{name}: {message}"));
            }
        }
    }
    assert!(messages > 1, "the messages are no longer what the sources hold");
    assert!(twice.is_empty(), "call the field `error`:\n{}", twice.join("\n"));
}

/// Source text before the tests, of crates that do not parse other programs' output.
fn own_code(crates: &'static [&str]) -> impl Iterator<Item = (String, String)> {
    let is_own = |name: &str| {
        let mut parts = name.split('/').skip(1);
        parts.next().is_some_and(|part| crates.contains(&part)) && parts.next() == Some("src")
    };
    let sources = files("crates").into_iter().filter(move |(name, _)| {
        is_own(name) && !name.contains("tests") && !name.contains("/testing/")
    });
    sources.map(|(name, text)| {
        let end = text.find("#[cfg(test)]").unwrap_or(text.len());
        (name, text[..end].to_owned())
    })
}

/// Events are values from which sentences are made; code must not parse those sentences.
#[test]
fn nobody_reads_our_own_sentences() {
    const READS: &str = "contains starts_with ends_with find strip_prefix strip_suffix split \
        split_once rsplit_once replace trim_start_matches trim_end_matches";
    const CRATES: &[&str] = &[
        "model", "load", "store", "judge", "figure", "report", "campaign", "layout", "native",
        "target", "iodyno",
    ];
    // Exceptions: text of earlier versions, a program's name and version, sections of a help text,
    // and text of other programs.
    const MAY: [(&str, &str); 7] = [
        ("crates/report/src/document/host.rs", "mounted at "),
        ("crates/judge/src/rules/fio_defects.rs", "fio "),
        ("crates/model/src/units.rs", " us"),
        ("crates/campaign/src/plan/error.rs", "expected a sequence"),
        ("crates/iodyno/src/commands/man.rs", "Exit status"),
        ("crates/iodyno/src/commands/man.rs", "Exit status: "),
        ("crates/iodyno/src/inputs/kind.rs", "SQLite format 3\\0"),
    ];
    let is_prose = |word: &str| {
        let errno = word.len() > 3 && word.starts_with('E');
        let errno = errno && word.bytes().all(|byte| byte.is_ascii_uppercase());
        let letters = word.replace("\\n", "");
        errno || word.contains(' ') && letters.chars().any(char::is_alphabetic)
    };
    let (mut read, mut met) = (Vec::new(), BTreeSet::new());
    for (name, text) in own_code(CRATES) {
        let compared = [" == \"", " != \""].map(str::to_owned);
        for method in READS.split(' ').map(|one| format!(".{one}(\"")).chain(compared) {
            let literals = text.split(&method).skip(1).filter_map(|rest| rest.split('"').next());
            for literal in literals.filter(|one| is_prose(one)) {
                match MAY.contains(&(&name, literal)) {
                    true => _ = met.insert((name.clone(), literal.to_owned())),
                    false => read.push(format!("{name}: {literal}")),
                }
            }
        }
    }
    assert_eq!(met.len(), MAY.len(), "what may be read is no longer: {met:?}");
    assert!(read.is_empty(), "make a value of it:\n{}", read.join("\n"));
}

/// Errors that callers match on are types.
#[test]
fn no_public_function_fails_with_a_bare_sentence() {
    let mut bare = Vec::new();
    for (name, text) in files("crates").into_iter().filter(|(name, _)| is_source(name)) {
        for signature in text.split("pub fn ").skip(1) {
            let signature = signature.split(['{', ';']).next().unwrap_or_default();
            let result = signature.rsplit("->").next().unwrap_or_default().trim();
            if result.starts_with("Result<") && result.ends_with(", String>") {
                bare.push(format!("{name}: {}", signature.split('(').next().unwrap_or_default()));
            }
        }
        if text.contains(concat!("type Err = ", "String")) {
            bare.push(name);
        }
    }
    assert!(bare.is_empty(), "give them an error type:\n{}", bare.join("\n"));
}

#[test]
fn no_file_names_a_developers_machine() {
    let root = root();
    let mut signs = vec![concat!("/Us", "ers/").to_owned(), concat!("../sha", "red").to_owned()];
    // A workspace at `/` or `/x` is no recognisable string.
    if root.components().count() > 2 {
        signs.push(root.to_str().unwrap().to_owned());
    }
    let found: Vec<String> = files("")
        .into_iter()
        .filter_map(|(name, text)| {
            let sign = signs.iter().find(|sign| text.contains(*sign))?;
            Some(format!("{name}: {sign}"))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// clippy.toml lists functions that only the crate `files` may call, with reasons; tests may call
/// them.
#[test]
fn every_crate_goes_through_the_one_door_to_files() {
    let denied = "#![cfg_attr(not(test), deny(clippy::disallowed_methods))]";
    let sources = files("crates");
    let roots = sources.iter().filter(|(name, _)| {
        matches!(
            name.split('/').collect::<Vec<_>>()[..],
            ["crates", _, "src", "lib.rs" | "main.rs"]
        )
    });
    let (without, with): (Vec<_>, Vec<_>) =
        roots.map(|(name, text)| (name, text.contains(denied))).partition(|(_, denied)| !denied);
    assert_eq!(with.len(), KNOWS.len() + 1);
    assert!(without.is_empty(), "clippy has to look here: {without:?}");
    let excused = sources.iter().filter(|(name, text)| {
        name.contains("/src/") && text.contains("clippy::disallowed_methods,")
    });
    let excused: BTreeSet<&str> = excused.map(|(name, _)| name.as_str()).collect();
    assert_eq!(excused, BTreeSet::from(EXCUSED), "each needs a reason that holds");
}

/// Maximum number of a crate's files in an import cycle.
const MAX_CYCLE_FILES: usize = 3;

/// Sources of a crate without tests, by module: `schedule::rounds`.
fn modules(of: &str) -> BTreeMap<String, String> {
    let folder = format!("crates/{of}/src/");
    let sources = files(&folder).into_iter().filter_map(|(name, text)| {
        let module = name.strip_prefix(&folder)?.strip_suffix(".rs")?.replace('/', "::");
        let is_test = module == "tests" || module.ends_with("::tests");
        let module = module.strip_suffix("::mod").map_or(module.clone(), str::to_owned);
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
        (!is_test).then(|| (if module == "lib" { String::new() } else { module }, text))
    });
    sources.collect()
}

/// Paths of an import tree: `a::{b, c::{d}}` gives `a::b` and `a::c::d`.
fn paths(tree: &str) -> Vec<String> {
    let Some((before, inside)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let inside = inside.trim_end().strip_suffix('}').unwrap_or(inside);
    let mut depth = 0;
    let parts = inside.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(|part| paths(&format!("{}{part}", before.trim()))).collect()
}

/// Absolute path, from the crate's root, of a path used in `module`; `None`: it leads to another
/// crate.
fn absolute(modules: &BTreeMap<String, String>, module: &str, path: &str) -> Option<Vec<String>> {
    let mut base: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    let mut parts: Vec<&str> = path.split("::").map(str::trim).collect();
    match parts[0] {
        "crate" => base.clear(),
        "super" => {
            while parts.get(1) == Some(&"super") {
                base.pop();
                parts.remove(0);
            }
            base.pop();
        }
        "self" => {}
        first => {
            let child = [&base[..], &[first]].concat().join("::");
            modules.get(&child)?;
            parts.insert(0, "self");
        }
    }
    Some(base.into_iter().chain(parts.into_iter().skip(1)).map(str::to_owned).collect())
}

/// Imports between the files of a crate; a re-export counts as the module that defines it.
fn imports(of: &str) -> BTreeMap<String, BTreeSet<String>> {
    let modules = modules(of);
    let mut passed_on: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut uses: Vec<(&str, Vec<String>)> = Vec::new();
    for (module, text) in &modules {
        let code: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect::<Vec<_>>()
            .join("\n");
        let (mut others, mut passed) = (code.clone(), Vec::new());
        for part in code.split(';') {
            let Some(at) = part.rfind("use ").filter(|at| {
                let before = part[..*at].rsplit('\n').next().unwrap_or_default().trim();
                before.is_empty() || before.starts_with("pub")
            }) else {
                continue;
            };
            let is_passed_on = part[..at].rsplit('\n').next().unwrap_or_default().contains("pub");
            others = others.replacen(&part[at..], "", 1);
            let tree = part[at + 4..].split_whitespace().collect::<Vec<_>>().join(" ");
            for path in paths(&tree).into_iter().filter_map(|one| absolute(&modules, module, &one))
            {
                match is_passed_on {
                    true => passed.push(path),
                    false => uses.push((module, path)),
                }
            }
        }
        for path in passed {
            let name = path.last().cloned().unwrap_or_default();
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            if others.split(|c| !is_word(c)).any(|word| word == name) {
                uses.push((module, path.clone()));
            }
            passed_on.insert((module.clone(), name), path);
        }
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let inline = others.split(|c| !is_path(c)).filter(|word| word.contains("::"));
        let inline =
            inline.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
        let inline: Vec<_> = inline.filter_map(|one| absolute(&modules, module, one)).collect();
        uses.extend(inline.into_iter().map(|path| (module.as_str(), path)));
    }
    let file_of = |path: &[String]| {
        let mut path = path.to_vec();
        loop {
            let known =
                (0..=path.len()).rev().find(|n| modules.contains_key(&path[..*n].join("::")))?;
            let module = path[..known].join("::");
            let item = path.get(known).cloned().unwrap_or_default();
            match passed_on.get(&(module.clone(), item)) {
                Some(on) => path = on.iter().chain(&path[known + 1..]).cloned().collect(),
                None => return Some(module),
            }
        }
    };
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, path) in uses.iter().filter(|(module, _)| !module.is_empty()) {
        let of = file_of(path).filter(|of| of != module && !of.is_empty());
        imports.entry((*module).to_owned()).or_default().extend(of);
    }
    imports
}

/// All files that `from` imports, directly or indirectly.
fn reached(imports: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(next) = open.pop() {
        let new = imports.get(&next).into_iter().flatten().filter(|of| !found.contains(*of));
        open.extend(new.cloned().collect::<Vec<_>>());
        found.extend(imports.get(&next).into_iter().flatten().cloned());
    }
    found
}

#[test]
fn no_crate_has_a_large_circle_of_imports() {
    assert!(imports("campaign").len() > 50, "these are not all files");
    let mut large = BTreeSet::new();
    for name in KNOWS.iter().map(|(name, _)| *name).chain([BINARY]) {
        let imports = imports(name);
        let reached: BTreeMap<&str, BTreeSet<String>> =
            imports.keys().map(|file| (file.as_str(), reached(&imports, file))).collect();
        for (file, from_it) in &reached {
            let is_back = |other: &&String| {
                reached.get(other.as_str()).is_some_and(|back| back.contains(*file))
            };
            let circle: Vec<&String> = from_it.iter().filter(is_back).collect();
            if circle.len() > MAX_CYCLE_FILES {
                large.insert(format!("{name}: {circle:?}"));
            }
        }
    }
    assert!(large.is_empty(), "these import each other:\n{large:#?}");
}

#[test]
fn plans_are_data_and_the_executor_knows_no_schedule() {
    let imports = imports("campaign");
    let below = |module: &str, of: &str| module == of || module.starts_with(&format!("{of}::"));
    for (file, of) in imports.iter().flat_map(|(file, all)| all.iter().map(move |of| (file, of))) {
        let plan = below(file, "plan") && !below(of, "plan");
        assert!(!plan, "plans are data: {file} imports {of}");
        let executes = ["execute", "phase", "phase_watch", "measurement", "targets"];
        let executor = executes.iter().any(|one| below(file, one)) && below(of, "schedule");
        assert!(!executor, "{file} imports {of}");
        let executing = ["execute", "run", "scripts", "tools"];
        let schedule = below(file, "schedule") && executing.iter().any(|one| below(of, one));
        assert!(!schedule, "a schedule makes no I/O: {file} imports {of}");
    }
}
