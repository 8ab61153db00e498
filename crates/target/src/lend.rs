//! Releases devices to mkfs, mdadm and LVM, which refuse one that is held exclusively.

use iodyno_host::{Live, Source};
use iodyno_model::Host;

use crate::guard::Guard;
use crate::{Permission, Target, TargetError, WriteClearance};

/// Releases the exclusive claims on cleared devices for one command that claims them itself. All of
/// the guard's checks are repeated right before; from then until the command opens them they are
/// unclaimed, as with any device that mkfs or mdadm is run on by hand.
///
/// `host` and `permission` are those that they were cleared with. The caller has to clear anew
/// whatever the command made of them.
///
/// # Errors
/// A device is in use by now, or was replaced: the command was not run. A target that is not a
/// block device, or not the clearance's.
pub fn lend<T>(
    lent: Vec<(&Target, WriteClearance)>,
    host: &Host,
    permission: &Permission,
    command: impl FnOnce() -> T,
) -> Result<T, TargetError> {
    lend_with(&Live::new(), lent, host, permission, command)
}

/// As [`lend`], with facts supplied by a test.
pub(crate) fn lend_with<T>(
    source: &dyn Source,
    lent: Vec<(&Target, WriteClearance)>,
    host: &Host,
    permission: &Permission,
    command: impl FnOnce() -> T,
) -> Result<T, TargetError> {
    let guard = Guard { source, host, permission };
    for (target, clearance) in &lent {
        let Target::Block(block) = target else {
            let name = target.name().into();
            return Err(TargetError::Refused { name, why: "only a block device is lent".into() });
        };
        if clearance.identity().0 != block.number || guard.verify(block)? != clearance.words() {
            return Err(TargetError::Changed { name: block.name.clone() });
        }
    }
    drop(lent);
    Ok(command())
}
