//! `iodyno prepare`.

use clap::{Args, ValueEnum};
use iodyno_model::PurgeMethod;

use super::{LoadOptions, RunName};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno prepare nvme0n1 --purge format --fill 2x --dry-run
  iodyno prepare nvme0n1 --purge format --fill 2x --allow-write SERIAL
  iodyno prepare nvme0n1 --purge format --fill 2x --condition random --allow-write SERIAL
  iodyno prepare nvme0 nvme1 --purge discard --fill 1x --allow-write SERIAL --allow-write SERIAL

All data on the drives is lost. iodyno touches only unused drives that --allow-write names; data on \
them (a file system, a partition table) also needs --discard-data. Continue a stopped fill with \
iodyno resume; iodyno list --history shows the drives' history.")]
pub(crate) struct Prepare {
    /// Drives, namespaces or block devices (nvme0, /dev/nvme0n1)
    #[arg(required = true, value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// How to empty the drives
    #[arg(long, value_enum, value_name = "METHOD", default_value = "none")]
    pub(crate) purge: Purge,
    /// Then write this many times the capacity, sequentially, with random data (2x)
    #[arg(long, value_name = "TIMES", value_parser = times)]
    pub(crate) fill: Option<f64>,
    /// Then run this workload in rounds until steady state: job options, or `random` for
    /// rw=randwrite bs=4k
    #[arg(long, value_name = "WORKLOAD")]
    pub(crate) condition: Option<String>,
    /// Time of one round
    #[arg(long, value_name = "TIME", default_value = "30m")]
    pub(crate) round: String,
    /// Start over, even if a stopped preparation could continue (iodyno resume)
    #[arg(long)]
    pub(crate) anew: bool,
    /// Print the planned losses, writes and their time; change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) naming: RunName,
    #[command(flatten)]
    pub(crate) load_options: LoadOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Purge {
    /// Do not purge
    None,
    /// Discard (trim) every block
    Discard,
    /// Format NVM, without a secure erase
    Format,
    /// Format NVM with a user data erase
    FormatUserErase,
    /// Format NVM with a cryptographic erase
    FormatCrypto,
    /// Sanitize by block erase; always of the whole drive
    SanitizeBlock,
    /// Sanitize by cryptographic erase; always of the whole drive
    SanitizeCrypto,
}

impl Purge {
    /// Method as sent to the drive; `None`: no purge.
    pub(crate) const fn method(self) -> Option<PurgeMethod> {
        match self {
            Self::None => None,
            Self::Discard => Some(PurgeMethod::Discard),
            Self::Format => Some(PurgeMethod::Format),
            Self::FormatUserErase => Some(PurgeMethod::FormatUserErase),
            Self::FormatCrypto => Some(PurgeMethod::FormatCrypto),
            Self::SanitizeBlock => Some(PurgeMethod::SanitizeBlock),
            Self::SanitizeCrypto => Some(PurgeMethod::SanitizeCrypto),
        }
    }
}

/// Parses `2x`, `0.5x`, `2`.
fn times(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix(['x', 'X']).unwrap_or(text).parse::<f64>();
    match number {
        Ok(times) if times > 0.0 && times <= 100.0 => Ok(times),
        _ => Err("expected a factor above 0 and at most 100: 2x".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_takes_a_factor() {
        assert_eq!((times("2x"), times("0.5X"), times("3")), (Ok(2.0), Ok(0.5), Ok(3.0)));
        for wrong in ["", "x", "0x", "-1x", "nan", "inf", "101x", "2xx", "2 x"] {
            assert!(times(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn purge_method_names_match_the_models() {
        for word in Purge::value_variants() {
            let typed = word.to_possible_value().unwrap().get_name().to_owned();
            assert_eq!(typed, word.method().map_or("none", PurgeMethod::name));
        }
    }
}
