//! Reads NVMe subsystems.

use iodyno_model::{Subsystem, natural};

use crate::read;
use crate::source::Source;

const SUBSYSTEMS: &str = "/sys/class/nvme-subsystem";

/// Reads all subsystems, in natural order.
pub(crate) fn read(source: &dyn Source) -> Vec<Subsystem> {
    let mut names = source.list(SUBSYSTEMS).unwrap_or_default();
    names.sort_by_key(|name| natural(name));
    let subsystem = |name: String| {
        let folder = format!("{SUBSYSTEMS}/{name}");
        let mut controllers = source.list(&folder).unwrap_or_default();
        controllers.retain(|entry| crate::drive::is_controller(entry));
        controllers.sort_by_key(|name| natural(name));
        Subsystem {
            nqn: read::text(source, &format!("{folder}/subsysnqn")),
            io_policy: read::text(source, &format!("{folder}/iopolicy")),
            name: read::clean(&name),
            controllers,
        }
    };
    names.into_iter().map(subsystem).collect()
}
