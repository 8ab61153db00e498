//! Identity of the host that made a change: a store may be shared by several hosts, and a change
//! must be undone on its own.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::lock::boot_id;

/// Length of a host digest, hexadecimal digits.
const DIGITS: usize = 12;

/// Returns digests that identify this host, the best one first: of its machine id, which must not
/// be disclosed itself (machine-id(5)), and of its board, which containers of one host share.
pub fn host_ids() -> Vec<String> {
    let files = ["/etc/machine-id", "/var/lib/dbus/machine-id", "/sys/class/dmi/id/product_uuid"];
    let texts = files.into_iter().filter_map(|file| std::fs::read_to_string(file).ok());
    let mut ids: Vec<String> =
        texts.map(|text| text.trim().to_owned()).filter(|id| !id.is_empty()).collect();
    ids.dedup();
    ids.iter().map(|id| digest(id)).collect()
}

fn digest(id: &str) -> String {
    let mut hash = Sha256::new();
    hash.update("iodyno ");
    hash.update(id);
    let mut digits = String::new();
    for byte in hash.finalize().iter().take(DIGITS / 2) {
        digits.push_str(&format!("{byte:02x}"));
    }
    digits
}

/// Host in a journal row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostIdentity {
    /// Host name, for people.
    pub(crate) name: String,
    /// Its [`host_ids`].
    ids: Vec<String>,
    /// Its boot id.
    boot: String,
}

impl HostIdentity {
    /// Returns this host.
    pub(crate) fn this() -> Self {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self { name: name.trim().to_owned(), ids: host_ids(), boot: boot_id() }
    }

    /// True if it is another host than `this`. Containers of one host may have their own ids, but
    /// share its boot id; a host without ids is never taken for another.
    pub(crate) fn is_other_than(&self, this: &Self) -> bool {
        let is_same = self.boot == this.boot || self.ids.iter().any(|id| this.ids.contains(id));
        !self.ids.is_empty() && !is_same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_by_all_known_ids() {
        let host = |ids: &[&str], boot: &str| HostIdentity {
            name: "any".into(),
            ids: ids.iter().map(|id| digest(id)).collect(),
            boot: boot.into(),
        };
        let this = host(&["machine", "board"], "now");
        assert!(host(&["other"], "then").is_other_than(&this));
        assert!(host(&["other", "other board"], "then").is_other_than(&host(&[], "now")));
        let of_this_host = [
            host(&["machine"], "then"),
            // A container, or an image with a new machine id at each boot.
            host(&["other", "board"], "then"),
            host(&["other"], "now"),
            host(&[], "then"),
        ];
        for one in of_this_host {
            assert!(!one.is_other_than(&this), "{one:?}");
        }
        assert_eq!(digest("x").len(), DIGITS);
        assert_ne!(digest("x"), digest("y"));
    }
}
