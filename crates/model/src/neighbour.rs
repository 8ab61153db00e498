//! Block devices that share a controller, card or PCIe link.

use crate::Host;

/// A whole block device that shares hardware with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// Name of the device.
    pub name: String,
    /// Shared part: `the uplink 0000:02:00.0`.
    pub shares: String,
    /// True if the shared part is a link or card, not the drive itself.
    pub link: bool,
}

impl Host {
    /// PCIe links from the root port to a whole block device; `None`: not known to be on PCIe.
    pub fn way_to(&self, block: &str) -> Option<&[String]> {
        let drive = self.namespace(block).map(|(drive, _)| drive.links.as_slice());
        let card = || self.cards.iter().find(|card| card.blocks.iter().any(|one| one == block));
        drive.or_else(|| Some(card()?.links.as_slice()))
    }

    /// Returns the whole block devices, other than `blocks`, that share a controller, a card or a
    /// PCIe link with any of them, in name order.
    pub fn neighbours(&self, blocks: &[&str]) -> Vec<Neighbour> {
        let whole = |name: &str| self.block(name).is_some_and(|block| block.stands_on.is_empty());
        let mut names: Vec<&str> = self
            .blocks
            .iter()
            .map(|block| block.name.as_str())
            .filter(|name| whole(name) && !blocks.contains(name))
            .collect();
        names.sort_unstable();
        let found = |name: &&str| blocks.iter().find_map(|own| self.shared(own, name));
        names.iter().filter_map(found).collect()
    }

    /// Returns the closest hardware that `name` shares with `own`.
    fn shared(&self, own: &str, name: &str) -> Option<Neighbour> {
        let drive = |block: &str| self.namespace(block).map(|(drive, _)| drive);
        let neighbour =
            |shares: String, link: bool| Some(Neighbour { name: name.to_owned(), shares, link });
        if let (Some(ours), Some(theirs)) = (drive(own), drive(name))
            && ours.name == theirs.name
        {
            return neighbour(format!("the controller {}", ours.name), false);
        }
        let card = self.cards.iter().find(|card| {
            let has = |block: &str| card.blocks.iter().any(|one| one == block);
            has(own) && has(name)
        });
        if let Some(card) = card {
            let title = card.name.value().unwrap_or_else(|| card.address.clone());
            return neighbour(format!("the card {title}"), true);
        }
        let (ours, theirs) = (self.way_to(own)?, self.way_to(name)?);
        let link = ours.iter().rev().find(|link| theirs.contains(link))?;
        neighbour(format!("the uplink {link}"), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockDevice, Drive, Fact, Namespace, StorageCard};

    fn host() -> Host {
        let drive = |n: usize, namespaces: &[&str], links: &[&str]| Drive {
            name: format!("nvme{n}"),
            links: links.iter().map(|link| (*link).to_owned()).collect(),
            namespaces: namespaces
                .iter()
                .map(|name| Namespace { name: (*name).to_owned(), ..Namespace::default() })
                .collect(),
            ..Drive::default()
        };
        let block = |name: &str| BlockDevice { name: name.into(), ..BlockDevice::default() };
        let names = ["nvme0n1", "nvme0n2", "nvme1n1", "nvme2n1", "sda", "sdb", "loop0"];
        Host {
            drives: vec![
                drive(0, &["nvme0n1", "nvme0n2"], &["up", "switch", "d0"]),
                drive(1, &["nvme1n1"], &["up", "switch", "d1"]),
                drive(2, &["nvme2n1"], &["d2"]),
            ],
            cards: vec![StorageCard {
                name: Fact::Read("HBA".into()),
                blocks: vec!["sda".into(), "sdb".into()],
                ..StorageCard::default()
            }],
            blocks: names.into_iter().map(block).collect(),
            ..Host::default()
        }
    }

    #[test]
    fn neighbours_name_the_closest_shared_part() {
        let host = host();
        let of = |block: &str| -> Vec<(String, String)> {
            let found = host.neighbours(&[block]).into_iter();
            found.map(|neighbour| (neighbour.name, neighbour.shares)).collect()
        };
        let pair = |name: &str, shares: &str| (name.to_owned(), shares.to_owned());
        let expected =
            [pair("nvme0n2", "the controller nvme0"), pair("nvme1n1", "the uplink switch")];
        assert_eq!(of("nvme0n1"), expected);
        assert_eq!(of("sdb"), [pair("sda", "the card HBA")]);
        assert_eq!(of("nvme2n1"), []);
        assert_eq!(of("loop0"), []);
        // The measured devices themselves do not count.
        assert_eq!(host.neighbours(&["nvme0n1", "nvme0n2", "nvme1n1"]), []);
    }
}
