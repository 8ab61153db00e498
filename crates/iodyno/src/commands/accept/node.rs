//! Which node this is, among those that others accept.

use std::time::Duration;

use iodyno_model::Rank;
use iodyno_store::host_ids;

use super::clock;

/// Characters of a node's name in that of a document.
const MOST_NAME: usize = 64;

/// This node.
pub(super) struct Node {
    /// As the launcher names it, else the host's name.
    pub(super) name: String,
    /// Digest of the machine id, which itself is not to be given away (machine-id(5)).
    pub(super) host_id: Option<String>,
    /// Place among the processes that were started together.
    pub(super) rank: Option<Rank>,
    /// How far its clock may be off, ns.
    pub(super) clock_error_ns: Option<u64>,
}

impl Node {
    /// As the environment and the machine say.
    pub(super) fn this() -> Self {
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

    /// The name, without its ending, of a document of this node that
    /// begins with the run `run_id`: no other node's.
    pub(super) fn document(&self, run_id: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let node: String = self.name.chars().map(plain).take(MOST_NAME).collect();
        let id = self.host_id.as_deref().unwrap_or("0");
        let run_id: String = run_id.chars().map(plain).collect();
        format!("{node}.{id}.{run_id}")
    }
}

/// Time until `at_ns` by this machine's clock; zero where it is past.
pub(super) fn until(at_ns: i64) -> Duration {
    let left = at_ns.saturating_sub(iodyno_campaign::now_ns());
    Duration::from_nanos(u64::try_from(left).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_documents_hold_no_path() {
        let host_id = Some("0123456789ab".into());
        let node = Node { name: "../db 01.rack".into(), host_id, ..Node::this() };
        let name = node.document("../0198");
        assert!(name.starts_with("___db_01_rack.") && !name.contains('/'), "{name}");
        assert!(!name.contains(".."), "{name}");
    }
}
