//! Options of every command, and value parsers that many use.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// Store of runs [default: $IODYNO_STORE, else $XDG_DATA_HOME/iodyno/store.sqlite; as root
    /// /var/lib/iodyno/store.sqlite]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) store: Option<PathBuf>,
    /// Print one JSON document (schemas: docs/schema)
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No progress and no notes on standard error
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Colour the text
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,
    /// Show what is measured on a full screen or in one line [default: full where it takes a while]
    #[arg(long, global = true, value_name = "VIEW")]
    pub(crate) live: Option<LiveView>,
    /// Read a machine captured by `iodyno capture` instead of this one
    #[arg(long, global = true, value_name = "CAPTURE")]
    pub(crate) sysroot: Option<PathBuf>,
    /// Work as a step of `accept`: judge without a store too, and measure nothing without a target
    #[arg(long, global = true, hide = true)]
    pub(crate) as_step: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LiveView {
    Line,
    Full,
    Off,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Table {
    /// Print all columns, however wide
    #[arg(long)]
    pub(crate) wide: bool,
    /// Columns of the table of drives.
    #[arg(skip)]
    pub(crate) columns: Option<Vec<String>>,
}

/// Options of commands that print the table of drives.
#[derive(Debug, Args)]
pub(crate) struct DriveTable {
    #[command(flatten)]
    table: Table,
    /// Print these columns of the table of drives, separated by commas: name, model, serial,
    /// capacity, lba, usage, firmware, state, address, link, numa, temperature, wear, use, verdict
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    columns: Option<Vec<String>>,
}

impl DriveTable {
    pub(crate) fn table(&self) -> Table {
        Table { columns: self.columns.clone(), ..self.table.clone() }
    }
}

impl Table {
    /// True if the user chose columns for the table of drives; `--wide` does so for a check only.
    pub(crate) fn is_of_drives(&self, is_check: bool) -> bool {
        (self.wide && is_check) || self.columns.is_some()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Generator {
    Native,
    /// Simulated drives without any I/O, for tests and demonstrations
    Simulated,
}

/// Parses a time such as `30`, `30s`, `500ms` or `5m`, as ns.
pub(crate) fn time(text: &str) -> Result<u64, String> {
    let ns = iodyno_campaign::parse_time(text)?;
    if ns < 100_000_000 {
        return Err("expected at least 100ms".into());
    }
    Ok(ns)
}

/// Parses `8080`, `:8080`, `0.0.0.0:8080`, `[::1]:8080`, `localhost:8080`; a port alone is on
/// loopback.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let port = ["localhost:", ":"].iter().find_map(|start| text.strip_prefix(start));
    let port = port.unwrap_or(text).parse::<u16>();
    let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    port.map(loopback)
        .or_else(|_| text.parse())
        .map_err(|_| "expected a port or an address with a port: 8080, 192.0.2.7:8080".into())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use iodyno_report::text::Style;

    use super::address;

    #[test]
    fn the_help_names_the_columns_of_drives() {
        let columns = Some(vec!["none of them".into()]);
        let error = Style { width: 80, color: false, wide: false, columns }.check().unwrap_err();
        let error = error.to_string();
        let (_, names) = error.split_once("the columns are ").unwrap();
        let mut command = crate::arguments::Arguments::command();
        let list = command.find_subcommand_mut("list").unwrap();
        let columns = list.get_arguments().find(|one| one.get_id() == "columns").unwrap();
        let help = columns.get_help().unwrap().to_string();
        assert!(help.ends_with(names), "{help}");
    }

    #[test]
    fn a_port_alone_is_on_loopback() {
        for text in ["8080", ":8080", "localhost:8080", "127.0.0.1:8080"] {
            assert_eq!(address(text).unwrap().to_string(), "127.0.0.1:8080", "{text}");
        }
        assert_eq!(address("0.0.0.0:1").unwrap().to_string(), "0.0.0.0:1");
        assert_eq!(address("[::1]:1").unwrap().to_string(), "[::1]:1");
        for wrong in ["", ":", "70000", "example.org:80", "1.2.3.4", "-1", "localhost"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
