//! Contracts of cloud volumes: their types, and the order as given by the user.

use std::fmt;

use iodyno_model::{Claim, ClaimScope, MatchConfidence};

/// Source kind of a claim from a contract.
pub(crate) const CONTRACT: &str = "contract";

/// Type of cloud volume.
struct VolumeType {
    name: &'static str,
    vendor: &'static str,
    /// Regular expression for the model strings of such volumes.
    model: &'static str,
    /// IOPS and bytes per second if ordered without numbers; `None`: they depend on the size, or
    /// must be ordered.
    base: Option<(f64, f64)>,
    /// Maximum IOPS and bytes per second.
    most: (f64, f64),
    /// Source of these figures.
    source: &'static str,
}

const MB: f64 = 1e6;
const MIB: f64 = 1_048_576.0;

const EBS: &str = "^Amazon Elastic Block Store";
const PD: &str = "^nvme_card-pd";
const AZURE: &str = "^MSFT NVMe Accelerator";

const EBS_SOURCE: &str = "Amazon EBS user guide, volume types (2025-26)";
const PD_SOURCE: &str = "Google Cloud, Persistent Disk performance (2025-26)";
const AZURE_SOURCE: &str = "Azure, managed disk types (2025-26)";

/// No known maximum: such types are judged by the order.
const NO_MAXIMUM: f64 = f64::INFINITY;

const fn of(
    (name, vendor, model): (&'static str, &'static str, &'static str),
    base: Option<(f64, f64)>,
    most: (f64, f64),
    source: &'static str,
) -> VolumeType {
    VolumeType { name, vendor, model, base, most, source }
}

#[rustfmt::skip]
const TYPES: [VolumeType; 9] = [
    of(("gp3", "Amazon", EBS), Some((3000.0, 125.0 * MIB)), (80_000.0, 2000.0 * MIB), EBS_SOURCE),
    of(("io2", "Amazon", EBS), None, (256_000.0, 4000.0 * MIB), EBS_SOURCE),
    of(("pd-balanced", "Google", PD), None, (80_000.0, 1200.0 * MIB), PD_SOURCE),
    of(("pd-ssd", "Google", PD), None, (100_000.0, 1200.0 * MIB), PD_SOURCE),
    of(("hyperdisk", "Google", PD), None, (NO_MAXIMUM, NO_MAXIMUM), "as ordered"),
    of(("premium-ssd-v2", "Azure", AZURE), Some((3000.0, 125.0 * MB)), (80_000.0, 1200.0 * MB), AZURE_SOURCE),
    of(("premium-ssd", "Azure", AZURE), None, (20_000.0, 900.0 * MB), AZURE_SOURCE),
    of(("standard-ssd", "Azure", AZURE), None, (6000.0, 750.0 * MB), AZURE_SOURCE),
    of(("ultra", "Azure", AZURE), None, (400_000.0, 10_000.0 * MB), AZURE_SOURCE),
];

/// Error in the text of a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContractError {
    /// Unknown type.
    Type(String),
    /// Not a number with its unit.
    Figure(String),
    /// More than the type offers.
    TooMuch {
        /// The text that was given.
        stated: String,
        /// The type of volume.
        volume: &'static str,
    },
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(word) => {
                let names: Vec<&str> = TYPES.iter().map(|one| one.name).collect();
                write!(f, "{word}: unknown volume type; known: {}", names.join(", "))
            }
            Self::Figure(word) => {
                write!(f, "{word}: expected IOPS or a rate, as in gp3,6000iops,500MB/s")
            }
            Self::TooMuch { stated, volume } => {
                write!(f, "{stated}: no {volume} volume offers this")
            }
        }
    }
}

impl std::error::Error for ContractError {}

/// Returns the claim for a volume of the given type and order: `gp3`, `gp3,6000iops,500MB/s`. If
/// its figures depend on its size, those that are stated count; the type's maxima if none is.
///
/// # Errors
/// Unknown type, no figure, or more than the type offers.
pub(crate) fn contract(text: &str) -> Result<Claim, ContractError> {
    let mut words = text.split(',').map(str::trim);
    let name = words.next().unwrap_or_default();
    let volume = TYPES.iter().find(|one| one.name.eq_ignore_ascii_case(name));
    let volume = volume.ok_or_else(|| ContractError::Type(name.into()))?;
    let (mut iops, mut bytes_per_s) = (None, None);
    for word in words {
        let (is_rate, value) = figure(word).ok_or_else(|| ContractError::Figure(word.into()))?;
        let (figure, most) = match is_rate {
            true => (&mut bytes_per_s, volume.most.1),
            false => (&mut iops, volume.most.0),
        };
        if value > most {
            return Err(ContractError::TooMuch { stated: word.into(), volume: volume.name });
        }
        *figure = Some(value);
    }
    let is_stated = iops.is_some() || bytes_per_s.is_some();
    let is_ordered = volume.base.is_some() || is_stated;
    // Beside a stated figure the type's maximum is no order.
    let other = volume.base.or_else(|| (!is_stated).then_some(volume.most)).unzip();
    let known =
        |stated: Option<f64>, other: Option<f64>| stated.or(other).filter(|one| one.is_finite());
    let iops = known(iops, other.0);
    let rate_mbs = known(bytes_per_s, other.1).map(|rate| rate / MB);
    Ok(Claim {
        vendor: volume.vendor.into(),
        family: String::new(),
        model: format!("{} {text}", volume.vendor),
        capacity_gb: None,
        pcie_gen: None,
        lanes: None,
        patterns: vec![volume.model.into()],
        match_confidence: MatchConfidence::Certain,
        seq_read_mbs: rate_mbs,
        seq_write_mbs: rate_mbs,
        after_cache_write_mbs: None,
        slc_cache_gb: None,
        rand_read_iops: iops,
        rand_write_iops: iops,
        mix7030_iops: iops,
        lat_read_us: None,
        lat_write_us: None,
        dwpd: None,
        tbw_tb: None,
        seq_cond: String::new(),
        rand_cond: String::new(),
        lat_cond: String::new(),
        scope: if is_ordered { ClaimScope::Exact } else { ClaimScope::SeriesMax },
        source: volume.source.into(),
        source_kind: CONTRACT.into(),
        confidence: String::new(),
        note: String::new(),
    })
}

/// Parses bytes per second (`true`) or IOPS.
fn figure(word: &str) -> Option<(bool, f64)> {
    let lower = word.to_ascii_lowercase();
    let units = [("iops", 1.0, false), ("mib/s", MIB, true), ("mb/s", MB, true)];
    units.iter().find_map(|(unit, factor, is_rate)| {
        let number: f64 = lower.strip_suffix(unit)?.trim().parse().ok()?;
        (number.is_finite() && number > 0.0).then_some((*is_rate, number * factor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, known};
    use crate::{ClaimBook, claim_of};

    #[test]
    fn a_contract_gives_the_claim() {
        let stated = contract("gp3,6000iops,500MB/s").unwrap();
        assert_eq!(stated.rand_read_iops, Some(6000.0));
        assert_eq!((stated.seq_read_mbs, stated.seq_write_mbs), (Some(500.0), Some(500.0)));
        assert_eq!(
            (stated.scope, stated.model.as_str()),
            (ClaimScope::Exact, "Amazon gp3,6000iops,500MB/s")
        );
        let base = contract("GP3").unwrap();
        assert_eq!((base.rand_write_iops, base.seq_read_mbs), (Some(3000.0), Some(131.072)));
        // Its rates depend on its size, which is not known: the maximum must not cause a failure.
        assert_eq!(contract("pd-ssd").unwrap().scope, ClaimScope::SeriesMax);
        assert_eq!(contract("pd-ssd,15000IOPS,240MiB/s").unwrap().scope, ClaimScope::Exact);
        assert_eq!(contract("hyperdisk").unwrap().rand_read_iops, None);
    }

    #[test]
    fn a_stated_figure_is_exact_and_an_unstated_one_none() {
        let figures = |text| {
            let claim = contract(text).unwrap();
            (claim.scope, claim.rand_read_iops, claim.seq_write_mbs)
        };
        assert_eq!(figures("io2,16000iops"), (ClaimScope::Exact, Some(16_000.0), None));
        assert_eq!(figures("pd-ssd,240MB/s"), (ClaimScope::Exact, None, Some(240.0)));
        // What a type includes is ordered with it.
        assert_eq!(figures("gp3,6000iops"), (ClaimScope::Exact, Some(6000.0), Some(131.072)));
    }

    #[test]
    fn a_contract_with_a_name_is_of_that_drive_alone() {
        let bench = Bench::new(2).host(|host| {
            for drive in &mut host.drives {
                drive.model = known("Amazon Elastic Block Store".into());
                drive.virtual_disk = Some("an Amazon EBS volume".into());
            }
        });
        let (record, mut book) = (bench.record(), ClaimBook::builtin());
        book.add_volume("nvme1=io2,16000iops,1000MB/s").unwrap();
        let host = record.host().unwrap();
        let rates = host.drives.iter().map(|drive| claim_of(&book, drive)?.rand_read_iops);
        assert_eq!(rates.collect::<Vec<_>>(), [None, Some(16_000.0)]);
        assert_eq!(book.volumes_not_of(host), [""; 0]);
        book.add_volume("nvme7=gp3").unwrap();
        assert_eq!(book.volumes_not_of(host).len(), 1);
    }

    #[test]
    fn a_contract_is_of_volumes_of_its_provider_alone() {
        let of = |model: &str, virtual_disk: Option<&str>| {
            let host = Bench::new(1).drive(0, |drive| {
                drive.model = known(model.to_owned());
                drive.virtual_disk = virtual_disk.map(str::to_owned);
            });
            let mut book = ClaimBook::builtin();
            book.add_volume("gp3,6000iops").unwrap();
            let record = host.record();
            let found = claim_of(&book, &record.host()?.drives[0]).and_then(|of| of.rand_read_iops);
            let missing = if found.is_some() { vec![] } else { vec!["Amazon gp3,6000iops"] };
            assert_eq!(book.volumes_not_of(record.host()?), missing);
            found
        };
        assert_eq!(of("Amazon Elastic Block Store", Some("an Amazon EBS volume")), Some(6000.0));
        assert_eq!(of("nvme_card-pd", Some("a Google Persistent Disk")), None);
        assert_eq!(of("WD_BLACK SN850X 1000GB", Some("a hypervisor's")), None);
    }

    #[test]
    fn invalid_contracts_are_refused_with_a_hint() {
        let said = |text| contract(text).unwrap_err().to_string();
        assert!(said("gp4").starts_with("gp4: unknown volume type; known: gp3, io2"));
        assert_eq!(said("gp3,fast"), "fast: expected IOPS or a rate, as in gp3,6000iops,500MB/s");
        assert_eq!(
            said("gp3,-1iops"),
            "-1iops: expected IOPS or a rate, as in gp3,6000iops,500MB/s"
        );
        assert_eq!(said("gp3,90000iops"), "90000iops: no gp3 volume offers this");
    }
}
