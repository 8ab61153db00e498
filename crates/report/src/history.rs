//! History of the states that drives were prepared to.

use iodyno_model::{DriveState, Host, PreparationState};

/// State in which a preparation left a drive.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Past<'a> {
    pub(crate) state: &'a DriveState,
    /// Current name of the namespace on the host; `None` if it is not there.
    pub(crate) name: Option<&'a str>,
    /// Bytes that hosts have written to the whole drive since, by its own counter; only of its
    /// newest state. `None`: not known.
    pub(crate) written_since_bytes: Option<u64>,
}

/// Returns the history from `states`, which are grouped by drive, each drive's in order of time. A
/// begun preparation is skipped if the same run has a later state.
pub(crate) fn history<'a>(states: &'a [DriveState], host: &'a Host) -> Vec<Past<'a>> {
    let with_next = states.iter().enumerate().map(|(n, state)| {
        let next = states.get(n + 1).filter(|next| key(next) == key(state));
        (state, next)
    });
    with_next
        .filter(|(state, next)| {
            let has_later_state = next.is_some_and(|next| next.run_id == state.run_id);
            state.state != PreparationState::Begun || !has_later_state
        })
        .map(|(state, next)| Past {
            state,
            name: name(state, host),
            written_since_bytes: next.is_none().then(|| written_since(state, host)).flatten(),
        })
        .collect()
}

fn key(state: &DriveState) -> (&str, u32) {
    (&state.serial, state.nsid)
}

fn name<'h>(state: &DriveState, host: &'h Host) -> Option<&'h str> {
    let drive = host.drives.iter().find(|drive| drive.serial.get() == Some(&state.serial))?;
    let own = drive.namespaces.iter().find(|one| one.nsid.get() == Some(&state.nsid))?;
    Some(&own.name)
}

fn written_since(state: &DriveState, host: &Host) -> Option<u64> {
    let drive = host.drives.iter().find(|drive| drive.serial.get() == Some(&state.serial))?;
    let now = drive.health.get()?.host_written_bytes;
    u64::try_from(now.checked_sub(state.host_written_bytes?)?).ok()
}
