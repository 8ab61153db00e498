//! Links and drives that rest between I/Os.

use iodyno_model::{Drive, Host, Measurement, format_count};

use super::qualifies::{Qualifies, Seen};
use crate::facts::{Facts, is_paced};
use crate::limiter::ocp_grown;

pub(super) static RULE: Qualifies = Qualifies {
    id: "power-saving",
    summary: "power states of link or drive where they count: at depth 1, or with pauses",
    look,
    what: "saving power may have cost it time",
    why: "A link takes up to tens of microseconds to leave L1, a drive milliseconds to leave a state \
          without I/O; with many I/Os outstanding neither ever rests.",
    next: "Compare: echo performance | sudo tee /sys/module/pcie_aspm/parameters/policy; \
           sudo nvme set-feature /dev/CONTROLLER -f 2 -v 0 for its best power state; and \
           nvme_core.default_ps_max_latency_us=0 on the kernel's command line, so that it stays \
           there. Where the machine is to save power, leave all as it is.",
};

fn look(facts: &Facts<'_>, of: &Measurement) -> Seen {
    let host = facts.known_host()?;
    let drives = of.targets.iter().filter_map(|target| facts.place(of, target).drive);
    for drive in drives.filter(|drive| drive.virtual_disk.is_none() && !drive.links.is_empty()) {
        if let Some(state) = reduced(drive) {
            return Ok(Some(state));
        }
        let (at_depth_1, paced) = (outstanding(of) == Some(1), is_paced(of));
        let changes = ocp_grown(facts.record(), of, &drive.name, |log| log.power_state_changes);
        if let Some(changes) = changes.filter(|changes| *changes > 0 && (at_depth_1 || paced)) {
            let times = format_count(changes as f64);
            return Ok(Some(format!("{} changed its power state {times} times (OCP)", drive.name)));
        }
        let resting = match (at_depth_1, paced) {
            // It counts its changes, and there were none.
            (_, true) if changes.is_some() => resting_link(host, drive)?,
            (_, true) => resting_drive(drive)?.or(resting_link(host, drive)?),
            (true, false) => resting_link(host, drive)?,
            _ => None,
        };
        if resting.is_some() {
            return Ok(resting);
        }
    }
    Ok(None)
}

fn outstanding(of: &Measurement) -> Option<u32> {
    let of_jobs = || Some(of.workload.iodepth?.saturating_mul(of.workload.numjobs?));
    of.conditions.depth_asked.or_else(of_jobs)
}

/// The drive was set to a power state below its best in which it does I/O:
/// then all of its figures are those of that state.
fn reduced(drive: &Drive) -> Option<String> {
    let state = *drive.power_state.get()?;
    let states = &drive.identify.get()?.power_states;
    let found = states.get(usize::from(state)).filter(|found| state > 0 && found.operational)?;
    let power = found.max_power_mw.map(|mw| format!(" (at most {:.1} W)", mw as f64 / 1e3));
    Some(format!("{} is in power state {state}{}", drive.name, power.unwrap_or_default()))
}

fn resting_link(host: &Host, drive: &Drive) -> Seen {
    for link in drive.links.iter().filter_map(|name| host.link(name)) {
        let Some(aspm) = link.aspm.get() else {
            let why = link.aspm.why_unknown().unwrap_or_default();
            return Err(format!("power saving of link {} (ASPM): {why}", link.name()));
        };
        let Some(states) = aspm.label() else { continue };
        return Ok(Some(format!("ASPM lets link {} rest in {states}", link.name())));
    }
    Ok(None)
}

fn resting_drive(drive: &Drive) -> Seen {
    match drive.autonomous_power_states.get() {
        Some(allowed) => {
            Ok(allowed.then(|| format!("APST lets {} leave its power state by itself", drive.name)))
        }
        // A drive without APST stays where it is.
        None if drive.autonomous_power_states == iodyno_model::Fact::Absent => Ok(None),
        None => Err(format!("whether {} may change its power state is not known", drive.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, known, look, reserves};
    use iodyno_model::{Aspm, Fact, OcpHealth, Severity};

    fn aspm(l1: bool) -> Bench {
        let aspm = Aspm { l0s: false, l1 };
        Bench::new(1).measured().link(0, |link| link.aspm = known(aspm))
    }

    #[test]
    fn a_resting_link_counts_at_depth_1() {
        assert_eq!(look(&RULE, &aspm(false).record()), Outcome::Clear);
        let resting = aspm(true).record();
        look(&RULE, &resting).only(Severity::Info);
        assert_eq!(reserves(&RULE, &resting, 1), None);
        let why = reserves(&RULE, &resting, 2).unwrap().why;
        assert_eq!(why, "ASPM lets link 0000:10:00.0 rest in L1");
        let blind = Bench::new(1).measured().link(0, |link| link.aspm = Fact::NeedsRoot);
        assert_eq!(look(&RULE, &blind.record()), Outcome::ClearBut(1));
    }

    #[test]
    fn a_resting_drive_counts_where_there_are_pauses() {
        let paced = aspm(false)
            .drive(0, |drive| drive.autonomous_power_states = known(true))
            .measurement(1, |of| {
                of.workload.options.insert("rate_iops".into(), "100".into());
            });
        look(&RULE, &paced.record()).only(Severity::Info);
        assert!(reserves(&RULE, &paced.record(), 1).unwrap().why.contains("APST"));
        assert_eq!(reserves(&RULE, &paced.record(), 2), None);
        // One that counts its changes proves that it stayed, or that it did not.
        let counted = |changes: u64| {
            let log = |power_state_changes| {
                known(OcpHealth { power_state_changes, ..OcpHealth::default() })
            };
            let bench = paced.clone().drive(0, |drive| drive.ocp_health = log(5));
            bench.after(|host| host.drives[0].ocp_health = log(5 + changes)).record()
        };
        assert_eq!(look(&RULE, &counted(0)), Outcome::Clear);
        let why = reserves(&RULE, &counted(12), 1).unwrap().why;
        assert_eq!(why, "nvme0 changed its power state 12 times (OCP)");
    }
}
