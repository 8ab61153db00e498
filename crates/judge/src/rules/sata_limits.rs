//! Qualifies SATA disks, which have limits of their own before the link of their HBA.

use iodyno_model::Measurement;

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::outstanding::allowed;
use crate::rule_context::RuleContext;

/// Queue depth of a disk (NCQ).
const COMMANDS: usize = 32;
/// Data rate of 6 Gbit/s with 8b/10b, frame headers not subtracted, bytes per second: the fastest
/// disks state 560 MB/s.
const BYTES_PER_S: f64 = 600e6;
/// From this share on, the link is the limit.
const REACHED: f64 = 0.85;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "sata-limits",
    summary: "SATA disks at 6 Gbit/s or 32 commands, also behind an HBA",
    affected_by,
    what: "SATA limits the disks",
    why: "A SATA disk takes 32 commands at a time (NCQ) and 6 Gbit/s, whatever its flash and the \
          HBA's own link can do.",
    next: "Compare with the disks' data sheets; ask for no more than 32 I/Os a disk.",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let (host, devices) = context.devices_under(of)?;
    let sata: Vec<&str> =
        devices.iter().filter(|disk| disk.sata).map(|disk| disk.name.as_str()).collect();
    let Some(first) = sata.first().filter(|_| sata.len() == devices.len()) else { return Ok(None) };
    let whose = match host.cards.iter().find(|card| card.blocks.iter().any(|block| block == first))
    {
        Some(card) if card.kind != "SATA" => {
            format!("{} behind the {} adapter {}", sata.join(", "), card.kind, card.address)
        }
        _ => sata.join(", "),
    };
    let asked = allowed(of).filter(|asked| *asked as usize > COMMANDS * sata.len());
    let rate: f64 = of.total.iter().filter_map(|one| Some(one.bandwidth?.value)).sum();
    let limit = BYTES_PER_S * sata.len() as f64;
    Ok(match asked {
        _ if rate >= REACHED * limit => {
            Some(format!("{whose}: {:.0} MB/s is what SATA's 6 Gbit/s carry", rate / 1e6))
        }
        Some(asked) => Some(format!(
            "{whose}: {asked} I/Os were to be outstanding, and SATA takes {} at a time (NCQ)",
            COMMANDS * sata.len()
        )),
        None => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves};
    use iodyno_model::{BlockKind, Estimate, RunRecord, Severity, StorageCard};

    fn disk(depth: u32, bytes_per_s: f64, sata: bool) -> RunRecord {
        let bench = Bench::new(1).measured().host(|host| {
            host.drives.clear();
            (host.blocks[0].kind, host.blocks[0].sata) = (BlockKind::Scsi, sata);
            host.cards.push(StorageCard {
                address: "0000:50:00.0".into(),
                kind: "SAS".into(),
                blocks: vec!["nvme0n1".into()],
                ..StorageCard::default()
            });
        });
        let mut record = bench.record();
        record.measurements.truncate(1);
        let of = &mut record.measurements[0];
        (of.workload.iodepth, of.conditions.depth_asked) = (Some(depth), Some(depth));
        of.total[0].bandwidth = Some(Estimate::bare(bytes_per_s));
        record
    }

    #[test]
    fn link_and_queue_of_a_disk_are_limits_and_an_hba_hides_neither() {
        assert_eq!(check_rule(&RULE, &disk(32, 300e6, true)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &disk(256, 1100e6, false)), Outcome::Clear, "SAS");
        let full = disk(32, 545e6, true);
        check_rule(&RULE, &full).only(Severity::Info);
        let why = reserves(&RULE, &full, 0).unwrap().why;
        assert!(why.contains("behind the SAS adapter 0000:50:00.0: 545 MB/s"), "{why}");
        let deep = reserves(&RULE, &disk(256, 300e6, true), 0).unwrap().why;
        assert!(
            deep.ends_with("256 I/Os were to be outstanding, and SATA takes 32 at a time (NCQ)")
        );
    }
}
