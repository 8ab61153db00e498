//! Which processes have a block device open.

use iodyno_model::Use;

use crate::read;
use crate::source::Source;

/// The other processes that have the block device with this number open, each
/// once, by process id. Without privileges only the user's own processes can
/// be looked at; a file that is registered with an io_uring and closed since
/// is not seen. Walks all of /proc: not part of a snapshot.
pub fn open_by(source: &dyn Source, major: u32, minor: u32) -> Vec<Use> {
    let myself = source.link("/proc/self").ok().and_then(|pid| pid.parse::<u32>().ok());
    let mut pids: Vec<u32> = source
        .list("/proc")
        .unwrap_or_default()
        .iter()
        .filter_map(|name| name.parse().ok())
        .filter(|pid| Some(*pid) != myself)
        .collect();
    pids.sort_unstable();
    pids.into_iter()
        .filter(|pid| {
            let folder = format!("/proc/{pid}/fd");
            // A process may end at any moment: then it has nothing open.
            source.list(&folder).unwrap_or_default().iter().any(|descriptor| {
                let path = format!("{folder}/{descriptor}");
                // Sockets, pipes and the like have no path.
                source.link(&path).is_ok_and(|to| to.starts_with('/'))
                    && source.block_number(&path).is_ok_and(|number| number == (major, minor))
            })
        })
        .map(|pid| {
            let command = read::text(source, &format!("/proc/{pid}/comm")).value();
            Use::OpenBy { pid, command: command.unwrap_or_default() }
        })
        .collect()
}
