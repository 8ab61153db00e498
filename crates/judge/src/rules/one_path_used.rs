//! Qualifies namespaces with several paths if not all are used.

use iodyno_model::{Drive, Fact, Host, Measurement, NamespacePath};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::place::bottom_devices;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "one-path-used",
    summary: "namespaces with several paths, not all usable or used",
    affected_by,
    what: "not all paths to it were used",
    why: "Each path has a link and a controller of its own: what does not go over all of them has \
          the bandwidth of those that are left.",
    next: "See the paths: nvme list-subsys; compare with \
           echo round-robin | sudo tee /sys/class/nvme-subsystem/SUBSYSTEM/iopolicy (numa keeps to \
           the nearest path). A path that is not optimized is the storage system's to mend.",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let host = context.known_host()?;
    for device in bottom_devices(host, of) {
        let paths = paths(host, &device.name);
        if paths.len() < 2 {
            continue;
        }
        let mut usable = 0;
        for (_, path) in &paths {
            usable += usize::from(match &path.ana_state {
                // Without asymmetric access all are equal.
                Fact::Absent => true,
                Fact::Read(state) | Fact::Stated(state) => state == "optimized",
                unknown => {
                    let why = unknown.why_unknown().unwrap_or_default();
                    return Err(format!("the state of path {}: {why}", path.name));
                }
            });
        }
        let (name, all) = (&device.name, paths.len());
        if usable < all {
            return Ok(Some(format!("{usable} of the {all} paths to {name} are optimized")));
        }
        let subsystem = paths.first().and_then(|(drive, _)| host.subsystem_of(&drive.name));
        let policy = subsystem.and_then(|subsystem| subsystem.io_policy.get());
        let Some(policy) = policy else {
            return Err(format!("the path policy of {name} (iopolicy) is not known"));
        };
        if policy == "numa" {
            return Ok(Some(format!("one of the {all} paths to {name} (policy numa)")));
        }
    }
    Ok(None)
}

/// Paths to a namespace, each with its controller.
fn paths<'h>(host: &'h Host, namespace: &str) -> Vec<(&'h Drive, &'h NamespacePath)> {
    let path = |drive: &'h Drive| {
        let found = drive.namespaces.iter().find(|one| one.name == namespace)?;
        Some((drive, found.path.as_ref()?))
    };
    host.drives.iter().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, reserves};
    use iodyno_model::{RunRecord, Severity, Subsystem};

    /// One namespace through two controllers, the second path in this state.
    fn two_paths(policy: Fact<String>, state: Fact<String>) -> RunRecord {
        let bench = Bench::new(1).measured().host(|host| {
            let mut other = host.drives[0].clone();
            other.name = "nvme1".into();
            host.drives.push(other);
            let states = [known("optimized".to_owned()), state];
            for (at, (drive, ana_state)) in host.drives.iter_mut().zip(states).enumerate() {
                let name = format!("nvme0c{at}n1");
                drive.namespaces[0].path = Some(NamespacePath { name, ana_state });
            }
            host.subsystems.push(Subsystem {
                name: "nvme-subsys0".into(),
                nqn: Fact::Absent,
                io_policy: policy,
                controllers: vec!["nvme0".into(), "nvme1".into()],
            });
        });
        bench.record()
    }

    #[test]
    fn unused_paths_are_reported() {
        let optimized = || known("optimized".to_owned());
        assert_eq!(check_rule(&RULE, &Bench::new(1).measured().record()), Outcome::Clear);
        let both = two_paths(known("round-robin".into()), optimized());
        assert_eq!(check_rule(&RULE, &both), Outcome::Clear);
        let near = two_paths(known("numa".into()), optimized());
        check_rule(&RULE, &near).only(Severity::Info);
        let why = reserves(&RULE, &near, 0).unwrap().why;
        assert_eq!(why, "one of the 2 paths to nvme0n1 (policy numa)");
        let cut = two_paths(known("round-robin".into()), known("inaccessible".into()));
        let why = reserves(&RULE, &cut, 0).unwrap().why;
        assert_eq!(why, "1 of the 2 paths to nvme0n1 are optimized");
        // Without asymmetric access all paths are equal.
        check_rule(&RULE, &two_paths(known("numa".into()), Fact::Absent)).only(Severity::Info);
        for blind in
            [two_paths(Fact::Absent, optimized()), two_paths(known("numa".into()), Fact::NeedsRoot)]
        {
            assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
        }
    }
}
