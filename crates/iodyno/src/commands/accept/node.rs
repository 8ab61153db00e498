//! Identifies this node among those that take part in an acceptance.

use std::time::Duration;

use iodyno_model::Rank;
use iodyno_store::host_ids;

use super::clock;

/// Maximum length of the node's name within a document's name, characters.
const MAX_NAME_CHARS: usize = 64;

pub(super) struct Node {
    /// Name given by the launcher, else the host name.
    pub(super) name: String,
    /// Digest of the machine id, which itself must not be disclosed (machine-id(5)).
    pub(super) host_id: Option<String>,
    /// Rank among the processes that were started together.
    pub(super) rank: Option<Rank>,
    /// Maximum clock error, ns.
    pub(super) clock_error_ns: Option<u64>,
}

impl Node {
    /// Identifies this node from the environment and the machine.
    pub(super) fn detect() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let text = |path| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let hostname = || text("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".into());
        let named = ["SLURMD_NODENAME", "NODE_NAME"].into_iter().find_map(variable);
        Self {
            name: named.unwrap_or_else(hostname),
            host_id: host_ids().into_iter().next(),
            rank: Rank::of_environment(variable),
            clock_error_ns: clock::error_ns(),
        }
    }

    /// Unique document name, without extension, for this node's acceptance that begins with run
    /// `run_id`.
    pub(super) fn document_name(&self, run_id: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let node: String = self.name.chars().map(plain).take(MAX_NAME_CHARS).collect();
        let id = self.host_id.as_deref().unwrap_or("0");
        let run_id: String = run_id.chars().map(plain).collect();
        format!("{node}.{id}.{run_id}")
    }
}

/// Time until `at_ns` by this machine's clock; zero if it has passed.
pub(super) fn time_until(at_ns: i64) -> Duration {
    let left = at_ns.saturating_sub(iodyno_campaign::now_ns());
    Duration::from_nanos(u64::try_from(left).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_documents_hold_no_path() {
        let host_id = Some("0123456789ab".into());
        let node = Node { name: "../db 01.rack".into(), host_id, ..Node::detect() };
        let name = node.document_name("../0198");
        assert!(name.starts_with("___db_01_rack.") && !name.contains('/'), "{name}");
        assert!(!name.contains(".."), "{name}");
    }
}
