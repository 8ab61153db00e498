//! What a run was asked about: everything, or the drives that were named.

use std::collections::BTreeSet;

use iodyno_model::{Drive, Finding, Severity};

use crate::facts::Facts;
use crate::place::names;

/// Rules about the machine as a whole: whoever says what has to be there asks
/// about all of it.
const OF_ALL: [&str; 1] = ["drive-missing"];

/// The names of what was asked about; `None`: everything.
pub(crate) struct Asked(Option<BTreeSet<String>>);

impl Asked {
    /// A run without named targets covers every namespace; one that leaves
    /// some out was asked about its own only.
    pub(crate) fn of(facts: &Facts<'_>) -> Self {
        let run = &facts.record().run;
        let devices =
            facts.record().measurements.iter().filter_map(|of| of.conditions.device.as_ref());
        let skipped = run.skipped.iter().map(|skipped| &skipped.target);
        let mut asked: BTreeSet<String> =
            run.targets.iter().chain(skipped).chain(devices).cloned().collect();
        let Some(host) = facts.host() else { return Self(None) };
        // Any drive may be under a path of which the device is not known.
        let is_known = |path: &String| {
            let measured = facts.record().measurements.iter();
            measured
                .filter(|of| of.targets == [path.as_str()])
                .any(|of| of.conditions.device.is_some())
        };
        if run.targets.iter().any(|target| target.starts_with('/') && !is_known(target)) {
            return Self(None);
        }
        let mut namespaces = host.drives.iter().flat_map(|drive| &drive.namespaces);
        if asked.is_empty() || namespaces.all(|namespace| asked.contains(&namespace.name)) {
            return Self(None);
        }
        let below: Vec<String> = asked
            .iter()
            .flat_map(|name| host.bottom_of(name))
            .map(|block| block.name.clone())
            .collect();
        asked.extend(below);
        let is_asked = |drive: &&Drive| names(drive).iter().any(|name| asked.contains(*name));
        let drives: Vec<&Drive> = host.drives.iter().filter(is_asked).collect();
        for drive in drives {
            asked.extend(names(drive).into_iter().map(str::to_owned));
            asked.extend(drive.links.iter().cloned());
        }
        Self(Some(asked))
    }

    /// Whether the subject of this name was asked about.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|asked| asked.contains(name))
    }

    /// What is found of others is told, and is no verdict on what was asked about.
    pub(crate) fn weigh(&self, mut finding: Finding) -> Finding {
        let concerned = finding.subjects.is_empty()
            || OF_ALL.contains(&finding.rule.as_str())
            || finding.subjects.iter().any(|subject| self.has(subject));
        if !concerned && finding.severity > Severity::Info {
            finding.severity = Severity::Info;
            finding.what = format!("Not among what was named: {}", finding.what);
        }
        finding
    }
}
