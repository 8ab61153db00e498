//! The drive itself and the card before it, as suspects.

use iodyno_model::{Experiment, FillOrder, Metric, WrittenState};

use super::case::figure;
use super::case_context::{CaseContext, Reach};
use super::contrast::{Change, Effect};
use super::suspect::{Limiter, Suspect};
use crate::ceiling::{Bound, sheet_rates};
use crate::claims::claim_of;
use crate::figures::percent;
use crate::saturation::FLASH_LATENCY_NS;

/// An I/O that takes this many times the latency at depth 1 has waited in a queue.
const QUEUED: f64 = 5.0;
/// Behind a card, a drive below this share of its claim is held back.
const FAR_BELOW_CLAIM: f64 = 0.5;

impl CaseContext<'_, '_> {
    /// Returns the mean number of outstanding I/Os and the time of each, ns, if that is far above
    /// the latency at depth 1.
    pub(super) fn queued(&self) -> Option<(f64, f64)> {
        let case = self.case;
        let (outstanding, latency_ns) = case.in_flight().filter(|(count, _)| *count > 1.5)?;
        let sheet = case.drives.first().and_then(|drive| claim_of(self.claims, drive));
        let unloaded_ns = sheet.and_then(|sheet| sheet.lat_read_us).map(|us| us * 1e3);
        let transfer_ns = sheet.and_then(|sheet| sheet.seq_read_mbs).zip(case.of_run().workload.bs);
        let transfer_ns = transfer_ns.map_or(0.0, |(mbs, bs)| bs as f64 * 1e3 / mbs);
        // Nothing is assumed about devices that are not known to be flash drives.
        let is_seen = case.drives.iter().any(|drive| !drive.links.is_empty());
        let is_drive = (is_seen || sheet.is_some()) && case.virtual_disk.is_none();
        let alone_ns = unloaded_ns.unwrap_or(FLASH_LATENCY_NS) + transfer_ns;
        (is_drive && latency_ns >= QUEUED * alone_ns).then_some((outstanding, latency_ns))
    }

    pub(super) fn drive(&self) -> Option<Suspect> {
        let case = self.case;
        if let Some(contrast) = self.alone()
            && contrast.ratio.value >= 1.0
            && case.reads()
        {
            let why = format!("one of them alone gives {}", contrast.other.figure());
            return Some(Suspect::cleared(Limiter::Drive, why));
        }
        let decides = match (&case.virtual_disk, case.blocks) {
            // The order of writes does not matter to a cloud volume.
            (Some(_), WrittenState::Written) => Experiment::StatedLimit,
            (Some(_), _) => Experiment::WrittenBlocks,
            (None, _) => Experiment::SequentialFill,
        };
        if let Some(ceiling) = self.ceiling(Bound::Claim)
            && let Some(reach) = self.reach(ceiling)
        {
            if case.blocks == WrittenState::Unwritten {
                return Some(Suspect::open(Limiter::Drive, Experiment::WrittenBlocks));
            }
            if reach == Reach::Perhaps {
                return Some(Suspect::open(Limiter::Drive, decides));
            }
            let share = percent(case.rate.value / ceiling.value);
            let stated = figure(case.metric, ceiling.value);
            let why = format!("{share} of the {stated} of {}", ceiling.what);
            return Some(Suspect::confirmed(Limiter::Drive, why));
        }
        if case.blocks == WrittenState::Unwritten {
            let why = "its flash is not read";
            return Some(Suspect::cleared(Limiter::Drive, why));
        }
        let unwritten =
            self.effect(|change| matches!(change, Change::Blocks(_, WrittenState::Unwritten)));
        if let Some((Effect::Grew, contrast)) = unwritten {
            let why = format!("{}: {}", contrast.title(), contrast.outcome());
            return Some(Suspect::confirmed(Limiter::Drive, why));
        }
        if let Some((each, claimed)) = self.far_below_claim() {
            let why = format!("each reaches {each} of {claimed} on its data sheet");
            return Some(Suspect::cleared(Limiter::Drive, why));
        }
        if let Some(why) = self.parity_at_cards_rate() {
            return Some(Suspect::cleared(Limiter::Drive, why));
        }
        Some(Suspect::open(Limiter::Drive, decides))
    }

    /// Returns the rate of each drive behind a card and that of its sheet, if the latter is far
    /// higher and the drive's state does not explain it.
    fn far_below_claim(&self) -> Option<(String, String)> {
        let case = self.case;
        if case.cards().is_empty() || case.fill == Some(FillOrder::Random) {
            return None;
        }
        let count = case.drive_count as f64;
        let claimed = sheet_rates(case, self.claims)? / count;
        let each = case.rate.value / count;
        (each < FAR_BELOW_CLAIM * claimed)
            .then(|| (figure(case.metric, each), figure(case.metric, claimed)))
    }

    /// Describes small parity writes behind a card if their I/Os per drive equal the card's read
    /// rate per drive.
    fn parity_at_cards_rate(&self) -> Option<String> {
        let case = self.case;
        // Reading and writing data and parity: 2 x 2 with one parity, 2 x 3 with two.
        let ios_each_write = match case.layer.as_deref()? {
            "raid5" => 4.0,
            "raid6" => 6.0,
            _ => return None,
        };
        if case.cards().is_empty() || case.reads() || case.metric != Metric::Iops {
            return None;
        }
        let bs = case.of_run().workload.bs?;
        let read = self.others.iter().filter(|other| {
            other.reads() && !other.cards().is_empty() && other.of_run().workload.bs == Some(bs)
        });
        let read = read.map(|other| other.rate.value / other.drive_count as f64);
        let read = read.reduce(f64::max)?;
        let each = case.rate.value * ios_each_write / case.drive_count as f64;
        ((each / read - 1.0).abs() <= 0.1).then(|| {
            format!(
                "each write is {ios_each_write} I/Os, {} for each drive, as many as the card lets \
                 through when a drive is read",
                figure(Metric::Iops, each)
            )
        })
    }

    pub(super) fn card(&self) -> Option<Suspect> {
        let cards = self.case.cards();
        (!cards.is_empty()).then_some(Suspect::open(Limiter::Card, Experiment::WithoutTheCard))
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::{BlockKind, WrittenState};

    use super::{Experiment, Limiter};
    use crate::limiter::{Evidence, Standing, explain};
    use crate::testing::{Bench, claims, scale, set_written};

    /// Returns the experiment that would decide for the drive, with a rate below claim and link.
    fn decides(bench: Bench, blocks: WrittenState) -> Experiment {
        let bench = bench.measurement(0, |of| {
            scale(of, 0.5);
            set_written(of, blocks);
        });
        let (record, claims) = (bench.record(), claims());
        let evidence = Evidence { records: &[&record], claims: &claims, possible: &[], repeats: 0 };
        let explained = explain(&evidence, (0, 0)).unwrap();
        let drive = explained.suspects.iter().find(|one| one.limiter == Limiter::Drive).unwrap();
        match drive.standing {
            Standing::Open(experiment) => experiment,
            _ => panic!("{drive:?}"),
        }
    }

    #[test]
    fn a_virtual_disk_is_no_drive_to_be_filled() {
        let drive = || Bench::new(1).measured();
        let virtio = drive().host(|host| {
            host.drives.clear();
            host.blocks[0].kind = BlockKind::Virtual;
        });
        let of_cloud = drive().drive(0, |drive| drive.virtual_disk = Some("a cloud".into()));
        assert_eq!(decides(drive(), WrittenState::Written), Experiment::SequentialFill);
        for disk in [virtio, of_cloud] {
            assert_eq!(decides(disk.clone(), WrittenState::Written), Experiment::StatedLimit);
            assert_eq!(decides(disk, WrittenState::Unknown), Experiment::WrittenBlocks);
        }
    }
}
