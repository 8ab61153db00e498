//! `iodyno accept`.

use std::path::PathBuf;

use clap::Args;

use super::global::time;
use super::{DataSheets, WritePermissions};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  iodyno accept --list
  sudo iodyno accept quick --drain-hint
  sudo iodyno accept check --push /srv/acceptance --push http://localhost:8000/accept/
  sudo iodyno accept check --push @/etc/iodyno/push-url --deadline 5m
  iodyno accept fit etcd /var/lib/etcd
  sudo iodyno accept burn-in /dev/nvme0n1 --allow-write SERIAL --deadline 72h

iodyno keeps one document of all steps in store and outbox, then pushes it. A destination that is \
unreachable loses nothing: the next accept or iodyno runs push sends the rest. A URL with a password \
or signature comes from a file (@FILE) or a variable (env:NAME); IODYNO_PUSH_TOKEN or \
IODYNO_PUSH_TOKEN_FILE authorises HTTP, PGPASSFILE (~/.pgpass) or PGPASSWORD Postgres, \
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials, s3://BUCKET/PREFIX \
(AWS_ENDPOINT_URL: a server of your own).

Exit status: 0 no FAIL, 1 at least one FAIL, 2 bad usage, 3 interrupted, past the deadline or a \
measurement failed, 4 something could not be judged (--require-verdict) or measured, or there is no \
NVMe drive. \
Pushing does not change it.")]
pub(crate) struct Accept {
    /// Profile: a name of --list, or a TOML file
    #[arg(value_name = "PROFILE", required_unless_present = "list")]
    pub(crate) profile: Option<String>,
    /// Drives [default: every NVMe drive]; of `fit` the application and its directory
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// List the profiles
    #[arg(long)]
    pub(crate) list: bool,
    /// Directory, http://, https://, s3:// or postgres:// URL, @FILE or env:NAME; repeatable
    #[arg(long, value_name = "URL")]
    pub(crate) push: Vec<String>,
    /// Also push the measurements as Parquet, for data frames and DuckDB
    #[arg(long, requires = "push")]
    pub(crate) push_parquet: bool,
    /// Time limit of all steps, complete or not [default: the profile's]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) deadline: Option<u64>,
    /// Print one line if the node should be drained, else nothing: for scontrol's Reason
    #[arg(long, conflicts_with = "json")]
    pub(crate) drain_hint: bool,
    /// Start at this time, together with other nodes: seconds since 1970, or RFC 3339
    #[arg(long, value_name = "TIME", value_parser = start_time)]
    pub(crate) start_at: Option<i64>,
    /// Also write the document to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Exit 4 instead of 0 for unjudged results: nothing to compare with, or not valid
    #[arg(long)]
    pub(crate) require_verdict: bool,
    #[command(flatten)]
    pub(crate) permissions: WritePermissions,
    #[command(flatten)]
    pub(crate) sheets: DataSheets,
}

/// Parses a time as ns since 1970 UTC.
fn start_time(text: &str) -> Result<i64, String> {
    let seconds = text.parse::<f64>().ok().filter(|s| (0.0..=1e10).contains(s));
    let ns = seconds.map(|seconds| (seconds * 1e9) as i64);
    ns.or_else(|| iodyno_model::parse_rfc3339(text))
        .ok_or_else(|| "expected seconds since 1970 or 2026-11-23T08:00:00Z".into())
}
