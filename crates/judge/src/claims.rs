//! Data sheets, and the lookup of a drive's claim.

use std::sync::OnceLock;

use iodyno_model::{Bytes, Claim, ClaimScope, Drive, Host};
use regex_lite::Regex;
use toml::Spanned;

use crate::contract::{CONTRACT, ContractError, contract};
use crate::file_error::FileError;
use crate::place::{capacities, names};

/// Built-in data sheets, with their file names.
const BUILTIN: [(&str, &str); 9] = [
    ("crucial.toml", include_str!("../datasheets/crucial.toml")),
    ("intel.toml", include_str!("../datasheets/intel.toml")),
    ("kioxia.toml", include_str!("../datasheets/kioxia.toml")),
    ("memblaze.toml", include_str!("../datasheets/memblaze.toml")),
    ("micron.toml", include_str!("../datasheets/micron.toml")),
    ("samsung.toml", include_str!("../datasheets/samsung.toml")),
    ("sk-hynix.toml", include_str!("../datasheets/sk-hynix.toml")),
    ("solidigm.toml", include_str!("../datasheets/solidigm.toml")),
    ("wd.toml", include_str!("../datasheets/wd.toml")),
];

/// Maximum relative difference between a drive's capacity and the data sheet's.
const CAPACITY_TOLERANCE: f64 = 0.03;

/// Names are similar from this share of common letter pairs on.
const SIMILAR: f64 = 0.6;

/// Advice for a broken file.
const NEXT: &str = "use the format of the files in datasheets/, or remove the file";

/// Claims by model and capacity.
#[derive(Debug, Clone, Default)]
pub struct ClaimBook {
    /// Includes the built-in sheets.
    with_builtin: bool,
    /// The user's claims, the last file added first; they take precedence over the built-in ones.
    added: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    claim: Claim,
    patterns: Vec<Regex>,
    /// The only drive it is for, by a name or its serial number.
    only: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    drive: Vec<Spanned<Claim>>,
}

impl ClaimBook {
    /// Returns the built-in data sheets.
    pub const fn builtin() -> Self {
        Self { with_builtin: true, added: Vec::new() }
    }

    /// Returns the built-in entries, parsed once on first use: jobs that look up no drive need
    /// neither the time nor the memory.
    fn builtin_entries(&self) -> &'static [Entry] {
        static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
        if !self.with_builtin {
            return &[];
        }
        ENTRIES.get_or_init(|| {
            // A test parses every file, so none is dropped here.
            let files = BUILTIN.iter().filter_map(|(name, text)| parse(text, name).ok());
            files.flatten().collect()
        })
    }

    /// Adds the `[[drive]]` entries of a data sheet file; they take precedence over those already
    /// in the book. `source_name` names the file in errors.
    ///
    /// # Errors
    /// Not TOML, an unknown or missing field, a broken regular expression, a figure that is not
    /// positive. Nothing is added then.
    pub fn add_toml(&mut self, text: &str, source_name: &str) -> Result<(), FileError> {
        let mut entries = parse(text, source_name)?;
        entries.append(&mut self.added);
        self.added = entries;
        Ok(())
    }

    /// Adds a cloud volume as ordered: `gp3,6000iops,500MB/s`; with the name of a drive for that one
    /// alone: `nvme1=io2,16000iops`.
    ///
    /// # Errors
    /// Unknown type, or figures that it does not offer.
    pub fn add_volume(&mut self, stated: &str) -> Result<(), ContractError> {
        let (only, order) = match stated.split_once('=') {
            Some((name, order)) => (Some(name.trim().trim_start_matches("/dev/").into()), order),
            None => (None, stated),
        };
        let claim = contract(order)?;
        // A test compiles the pattern of each type.
        let patterns = claim.patterns.iter().filter_map(|one| Regex::new(one).ok()).collect();
        self.added.insert(0, Entry { claim, patterns, only });
        Ok(())
    }

    /// Returns the volumes that were given but match no drive of `host`, as `Amazon gp3,6000iops`.
    pub fn volumes_not_of(&self, host: &Host) -> Vec<&str> {
        let is_of = |entry: &Entry, drive: &Drive| {
            let model = drive.model.get();
            model.is_some_and(|model| entry.has_pattern_of(model))
                && (entry.only.is_none() || entry.is_only_for(drive))
        };
        let stated = self.added.iter().filter(|entry| entry.claim.source_kind == CONTRACT);
        stated
            .filter(|entry| !host.drives.iter().any(|drive| is_of(entry, drive)))
            .map(|entry| entry.claim.model.as_str())
            .collect()
    }

    /// Returns the claim for a drive of this model string and capacity (within 3 %). Entries for
    /// whole series, without capacity, match any. The user's entries come first, then the built-in
    /// ones; within each, exact capacity before series maximum.
    pub fn find(&self, model: &str, capacity: Bytes) -> Option<&Claim> {
        let best = |entries: &'_ [Entry]| -> Option<usize> {
            let fitting = entries.iter().enumerate().filter(|(_, e)| e.fits(model, capacity));
            fitting.min_by_key(|(_, e)| e.rank()).map(|(index, _)| index)
        };
        best(&self.added).map(|index| &self.added[index].claim).or_else(|| {
            best(self.builtin_entries()).map(|index| &self.builtin_entries()[index].claim)
        })
    }

    /// Returns the volume that was stated for this very drive.
    fn stated_for(&self, drive: &Drive) -> Option<&Claim> {
        let model = drive.model.get()?;
        let is_its = |entry: &&Entry| entry.is_only_for(drive) && entry.has_pattern_of(model);
        self.added.iter().find(is_its).map(|entry| &entry.claim)
    }

    /// Returns the claim for a drive that the user names: by model string, by its name on the data
    /// sheet, or by words of that name with the capacity (`P5600 3.2TB`). `None` if no entry has
    /// that name, or several.
    pub fn named(&self, name: &str) -> Option<&Claim> {
        let named = |entries: &'_ [Entry]| -> Option<usize> {
            let fitting = entries.iter().enumerate();
            let fitting = fitting.filter_map(|(index, e)| Some((e.extra_words(name)?, index)));
            let mut fitting: Vec<(usize, usize)> = fitting.collect();
            fitting.sort_unstable();
            match fitting.as_slice() {
                // `970 EVO 500GB` is not a 970 EVO Plus, and `3.2TB` is not a drive.
                [(beside, index), rest @ ..] => {
                    rest.iter().all(|(other, _)| other > beside).then_some(*index)
                }
                [] => None,
            }
        };
        named(&self.added).map(|index| &self.added[index].claim).or_else(|| {
            named(self.builtin_entries()).map(|index| &self.builtin_entries()[index].claim)
        })
    }

    /// Returns the data sheet name most similar to `name`, if any is similar.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        let name = name.to_ascii_lowercase();
        let models =
            self.added.iter().chain(self.builtin_entries()).map(|entry| entry.claim.model.as_str());
        let alike =
            models.map(|model| (strsim::sorensen_dice(&name, &model.to_ascii_lowercase()), model));
        let nearest = alike.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (nearest.0 >= SIMILAR).then_some(nearest.1)
    }

    /// Returns the number of claims.
    pub fn len(&self) -> usize {
        self.builtin_entries().len() + self.added.len()
    }

    /// Returns true if there are no claims.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Entry {
    fn has_pattern_of(&self, model: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.is_match(model.trim()))
    }

    fn is_only_for(&self, drive: &Drive) -> bool {
        let serial = drive.serial.get().map(|serial| serial.trim());
        let is_it = |only| names(drive).contains(&only) || serial == Some(only);
        self.only.as_deref().is_some_and(is_it)
    }

    fn fits(&self, model: &str, capacity: Bytes) -> bool {
        let capacity_fits = self.claim.capacity_gb.is_none_or(|gb| {
            let stated = gb as f64 * 1e9;
            (capacity.0 as f64 - stated).abs() <= CAPACITY_TOLERANCE * stated
        });
        let is_model =
            self.has_pattern_of(model) || self.claim.model.eq_ignore_ascii_case(model.trim());
        self.only.is_none() && capacity_fits && is_model
    }

    /// Counts the words of this entry's name that `name`, which includes the capacity, lacks; 0 if
    /// `name` is its exact model. `None`: another drive.
    fn extra_words(&self, name: &str) -> Option<usize> {
        if self.claim.model.eq_ignore_ascii_case(name.trim()) {
            return Some(0);
        }
        if self.has_pattern_of(name) {
            return self.claim.capacity_gb.map(|_| 0);
        }
        let words = |text: &str| -> Vec<String> {
            let lower = text.to_ascii_lowercase();
            let words = lower.split([' ', '-']).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect()
        };
        let (own, theirs) = (words(&self.claim.model), words(name));
        // A form factor or the bus may follow the capacity.
        let capacity = own.iter().find(|word| is_capacity(word))?;
        let fits = theirs.len() > 1
            && theirs.contains(capacity)
            && theirs.iter().all(|word| own.contains(word));
        fits.then(|| own.len() - theirs.len().min(own.len()) + 1)
    }

    /// Sort key of a match; lower is better.
    fn rank(&self) -> (u8, bool) {
        let scope = match self.claim.scope {
            ClaimScope::Exact => 0,
            ClaimScope::ExactRead => 1,
            ClaimScope::SeriesMax => 2,
        };
        (scope, self.claim.capacity_gb.is_none())
    }
}

/// `7.68tb`, `960gb`.
fn is_capacity(word: &str) -> bool {
    let number = word.strip_suffix("tb").or_else(|| word.strip_suffix("gb"));
    number.is_some_and(|number| number.parse::<f64>().is_ok())
}

fn parse(text: &str, name: &str) -> Result<Vec<Entry>, FileError> {
    let file: File =
        toml::from_str(text).map_err(|error| FileError::of_toml(name, text, &error, NEXT))?;
    let entry = |spanned: Spanned<Claim>| {
        let offset = spanned.span().start;
        let claim = spanned.into_inner();
        let wrong = |what: String| FileError::at(name, text, offset, what, NEXT);
        if claim.patterns.is_empty() || claim.patterns.iter().any(String::is_empty) {
            return Err(wrong(format!("`match` of {} has no model string", claim.model)));
        }
        let figures = [
            ("seq_read_mbs", claim.seq_read_mbs),
            ("seq_write_mbs", claim.seq_write_mbs),
            ("after_cache_write_mbs", claim.after_cache_write_mbs),
            ("rand_read_iops", claim.rand_read_iops),
            ("rand_write_iops", claim.rand_write_iops),
            ("mix7030_iops", claim.mix7030_iops),
            ("lat_read_us", claim.lat_read_us),
            ("lat_write_us", claim.lat_write_us),
        ];
        let is_wrong = |figure: f64| !figure.is_finite() || figure <= 0.0;
        if let Some((key, _)) = figures.into_iter().find(|(_, figure)| figure.is_some_and(is_wrong))
        {
            return Err(wrong(format!("{key} of {} is not a positive number", claim.model)));
        }
        let compiled: Result<Vec<Regex>, FileError> = claim
            .patterns
            .iter()
            .map(|pattern| {
                Regex::new(pattern).map_err(|error| {
                    let why = error.to_string();
                    let why = why.lines().last().unwrap_or_default().to_owned();
                    wrong(format!("`match` of {}: \"{pattern}\": {why}", claim.model))
                })
            })
            .collect();
        Ok(Entry { patterns: compiled?, claim, only: None })
    };
    file.drive.into_iter().map(entry).collect()
}

/// Returns the claim for a drive; for a virtual disk, the contract given by the user.
pub fn claim_of<'a>(claims: &'a ClaimBook, drive: &Drive) -> Option<&'a Claim> {
    let model = drive.model.get()?;
    let by_model =
        || capacities(drive).into_iter().find_map(|capacity| claims.find(model, capacity));
    let found = claims.stated_for(drive).or_else(by_model);
    found.filter(|claim| drive.virtual_disk.is_none() || claim.source_kind == CONTRACT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    #[test]
    fn every_data_sheet_is_sound() {
        let mut count = 0;
        for (name, text) in BUILTIN {
            let entries = parse(text, name).unwrap_or_else(|error| panic!("{error}"));
            count += entries.len();
            for Entry { claim, .. } in &entries {
                let within = |what: &str, value: Option<f64>, low: f64, high: f64| {
                    let ok = value.is_none_or(|value| (low..=high).contains(&value));
                    assert!(ok, "{name}: {}: {what} {value:?}", claim.model);
                };
                within("MB/s", claim.seq_read_mbs, 500.0, 30_000.0);
                within("MB/s", claim.seq_write_mbs, 100.0, 30_000.0);
                within("IOPS", claim.rand_read_iops, 10_000.0, 7e6);
                within("IOPS", claim.rand_write_iops, 5_000.0, 7e6);
                within("us", claim.lat_read_us, 3.0, 500.0);
                within("us", claim.lat_write_us, 3.0, 500.0);
                within("DWPD", claim.dwpd, 0.05, 100.0);
                within("GB", claim.capacity_gb.map(|gb| gb as f64), 16.0, 300_000.0);
                within("generation", claim.pcie_gen.map(f64::from), 1.0, 6.0);
                within("lanes", claim.lanes.map(f64::from), 1.0, 16.0);
                assert!(!claim.source.is_empty() && !claim.vendor.is_empty(), "{}", claim.model);
                let anchored = claim.patterns.iter().all(|pattern| pattern.starts_with('^'));
                assert!(anchored, "{name}: {}: {:?}", claim.model, claim.patterns);
            }
        }
        assert_eq!(count, 124);
        assert_eq!(ClaimBook::builtin().len(), count);
        let on_disk =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/datasheets")).unwrap().filter(
                |entry| entry.as_ref().unwrap().path().extension().is_some_and(|e| e == "toml"),
            );
        assert_eq!(on_disk.count(), BUILTIN.len(), "every file is compiled in");
    }

    #[test]
    fn no_model_string_has_two_claims_of_one_rank() {
        let book = ClaimBook::builtin();
        for (n, entry) in book.builtin_entries().iter().enumerate() {
            // Strings that the patterns match, as far as their text shows.
            let examples: Vec<String> =
                entry.claim.patterns.iter().map(|pattern| example(pattern)).collect();
            for model in examples {
                assert!(entry.patterns.iter().any(|p| p.is_match(&model)), "{model}");
                let Some(gb) = entry.claim.capacity_gb else { continue };
                for (m, other) in book.builtin_entries().iter().enumerate() {
                    let ambiguous = n != m
                        && other.rank() == entry.rank()
                        && other.fits(&model, Bytes(gb * GB));
                    assert!(!ambiguous, "{model}: {} and {}", entry.claim.model, other.claim.model);
                }
            }
        }
    }

    /// Returns a string that the pattern matches: optional parts included, the first of each
    /// choice, for classes a letter or digit of theirs.
    fn example(pattern: &str) -> String {
        let mut out = String::new();
        let text: Vec<char> = pattern.chars().collect();
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                '^' | '$' | '(' => {}
                ')' => {
                    if text.get(at + 1) == Some(&'?') {
                        at += 1;
                    }
                }
                '|' => {
                    while at + 1 < text.len() && text[at + 1] != ')' {
                        at += 1;
                    }
                }
                '\\' => {
                    at += 1;
                    out.push(match text[at] {
                        'd' => '1',
                        other => other,
                    });
                }
                '[' => {
                    let first = text[at + 1];
                    while text[at] != ']' {
                        at += 1;
                    }
                    out.push(first);
                }
                '{' => {
                    let digits: String =
                        text[at + 1..].iter().take_while(|c| c.is_ascii_digit()).collect();
                    let times: usize = digits.parse().unwrap();
                    let last = out.pop().unwrap();
                    (0..times).for_each(|_| out.push(last));
                    while text[at] != '}' {
                        at += 1;
                    }
                }
                '?' | '+' | '*' => {}
                other => out.push(other),
            }
            at += 1;
        }
        out
    }

    #[test]
    fn model_and_capacity_find_a_claim() {
        let book = ClaimBook::builtin();
        let claim = book.find("INTEL SSDPE2KX040T7   ", Bytes(4_000_787_030_016)).unwrap();
        assert_eq!(claim.rand_read_iops, Some(645_000.0));
        assert_eq!(book.find("INTEL SSDPE2KX040T7", Bytes(3_800 * GB)), None);
        assert_eq!(book.find("no such drive", Bytes(4_000 * GB)), None);
        // A series without capacity.
        assert!(book.find("Micron_9200_MTFDHAL1T6TCU", Bytes(1_600 * GB)).is_some());
    }

    #[test]
    fn every_sheet_is_found_by_its_own_name() {
        let book = ClaimBook::builtin();
        for entry in book.builtin_entries() {
            let model = entry.claim.model.as_str();
            assert_eq!(book.named(model).map(|claim| claim.model.as_str()), Some(model));
        }
    }

    #[test]
    fn a_drive_is_found_by_what_people_call_it() {
        let book = ClaimBook::builtin();
        let name = |words: &str| book.named(words).map(|claim| claim.model.as_str());
        let evo = Some("Samsung SSD 970 EVO 500GB");
        assert_eq!(name("Samsung SSD 970 EVO 500GB"), evo);
        assert_eq!(name("970 evo 500gb"), evo);
        assert_eq!(name("P5600 3.2TB"), Some("Intel SSD D7-P5600 3.2TB"));
        assert_eq!(name("P5600"), None, "no capacity, so it may be any");
        assert_eq!(name("3.2TB"), None, "several have it");
        assert_eq!(name(""), None);
        assert_eq!(name("Samsung PM9A3 7.68TB U.2"), Some("Samsung PM9A3 7.68TB U.2"));
        assert_eq!(name("pm9a3 7.68tb"), Some("Samsung PM9A3 7.68TB U.2"));
        assert_eq!(name("Foo Bar 1TB"), None);
        assert_eq!(book.nearest("Samsung PM9A3 7.6TB U.2"), Some("Samsung PM9A3 7.68TB U.2"));
        assert_eq!(book.nearest("Foo Bar 1TB"), None);
        let claim = book.find("Intel SSD D7-P5600 3.2TB", Bytes(3_200 * GB)).unwrap();
        assert_eq!(claim.rand_read_iops, Some(780_000.0));
    }

    const OWN: &str = r#"
[[drive]]
vendor = "X"
model = "X1"
capacity_gb = 4000
match = ["^INTEL SSDPE2KX040T7"]
scope = "series_max"
rand_read_iops = 1
source = "mine"
"#;

    #[test]
    fn user_sheets_take_precedence() {
        let mut book = ClaimBook::builtin();
        book.add_toml(OWN, "own.toml").unwrap();
        assert_eq!(book.find("INTEL SSDPE2KX040T7", Bytes(4_000 * GB)).unwrap().source, "mine");
        assert_eq!(book.len(), 125);
    }

    #[test]
    fn broken_files_say_where() {
        let mut book = ClaimBook::default();
        let mut error = |text: &str| book.add_toml(text, "own.toml").unwrap_err();
        let typo = error(&OWN.replace("vendor", "vendo"));
        assert_eq!((typo.file.as_str(), typo.line), ("own.toml", 3), "{typo}");
        let pattern = error(&OWN.replace("^INTEL", "(INTEL"));
        assert_eq!(pattern.line, 2, "{pattern}");
        assert!(pattern.what.contains("(INTEL"), "{pattern}");
        assert!(error(&OWN.replace("^INTEL SSDPE2KX040T7", "")).what.contains("no model string"));
        let sure = error(&OWN.replace("scope", "match_confidence = \"sure\"\nscope"));
        assert_eq!(sure.line, 7, "{sure}");
        let negative = error(&OWN.replace("iops = 1", "iops = -1"));
        assert!(negative.what.contains("rand_read_iops of X1 is not a positive"), "{negative}");
        let infinite = error(&OWN.replace("iops = 1", "iops = nan"));
        assert!(infinite.what.contains("positive"), "{infinite}");
        let garbage = error("drive = \u{e4}\u{e4} [");
        assert_eq!((garbage.line, garbage.column), (1, 12), "{garbage}");
        assert!(!error("").what.is_empty());
        assert!(book.is_empty());
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}", at in 0usize..200) {
            let mut book = ClaimBook::default();
            let _ = book.add_toml(&text, "x");
            let mut cut: String = OWN.chars().take(at).collect();
            cut.push_str(&text);
            let _ = book.add_toml(&cut, "x");
        }
    }
}
