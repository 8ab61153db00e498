//! Qualifies targets behind a RAID card.

use iodyno_model::Measurement;

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "behind-raid-card",
    summary: "targets behind a RAID card, whose limits and cache come before the drives'",
    affected_by,
    what: "the drives are behind a RAID card",
    why: "The card's processor, its cache and its own link limit what its drives give together, and \
          the drives' links, health and wear cannot be seen through it.",
    next: "Ask the card by its vendor's tool (storcli, perccli, ssacli, arcconf) for drives and \
           cache; to measure drives, pass them through (JBOD, HBA mode).",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let (host, devices) = context.devices_under(of)?;
    let raid = || host.cards.iter().filter(|card| card.kind == "RAID" && !card.is_vmd());
    let found = devices.iter().find_map(|device| {
        let card = raid().find(|card| card.blocks.contains(&device.name))?;
        let name = card.name.get().or(card.driver.get()).map_or("", String::as_str);
        Some(format!("{} is behind the RAID card {} {name}", device.name, card.address))
    });
    Ok(found.map(|text| text.trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, reserves};
    use iodyno_model::{Fact, Severity, StorageCard};

    #[test]
    fn targets_behind_a_card_are_qualified() {
        let by = |kind: &str, driver: &str| {
            let card = StorageCard {
                address: "0000:50:00.0".into(),
                kind: kind.into(),
                pci_id: "1000:00a5".into(),
                name: Fact::Absent,
                driver: known(driver.into()),
                firmware: Fact::Absent,
                links: Vec::new(),
                blocks: vec!["nvme0n1".into()],
                numa_node: Fact::Absent,
                iommu: Fact::Absent,
            };
            Bench::new(2).measured().host(|host| host.cards.push(card)).record()
        };
        let card = |kind: &str| by(kind, "mpi3mr");
        assert_eq!(check_rule(&RULE, &Bench::new(1).measured().record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &card("SAS")), Outcome::Clear);
        // It has the class of a RAID card, but its drives are visible.
        assert_eq!(check_rule(&RULE, &by("RAID", "vmd")), Outcome::Clear);
        let hidden = card("RAID");
        check_rule(&RULE, &hidden).only(Severity::Info);
        let why = reserves(&RULE, &hidden, 0).unwrap().why;
        assert_eq!(why, "nvme0n1 is behind the RAID card 0000:50:00.0 mpi3mr");
        assert_eq!(reserves(&RULE, &hidden, 3), None);
        let mut blind = hidden;
        blind.snapshots.clear();
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
    }
}
