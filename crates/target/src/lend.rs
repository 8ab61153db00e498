//! Lending: mkfs, mdadm and LVM refuse a device that somebody holds for itself.

use iodyno_host::{Live, Source};
use iodyno_model::Host;

use crate::guard::Guard;
use crate::{Permission, Target, TargetError, WriteClearance};

/// Gives up the claims of cleared devices for one command that claims them
/// for itself. All that the guard looks at is looked at once more right before;
/// from then until the command opens them nobody holds them, as with any
/// device that mkfs or mdadm is run on by hand.
///
/// `host` and `permission` are those that they were cleared with. What the
/// command made of them is for the caller to clear anew.
///
/// # Errors
/// A device is in use by now, or another thing is in its place: the command
/// was not run. A target that is no block device, or not the clearance's.
pub fn lend<T>(
    lent: Vec<(&Target, WriteClearance)>,
    host: &Host,
    permission: &Permission,
    command: impl FnOnce() -> T,
) -> Result<T, TargetError> {
    lend_with(&Live::new(), lent, host, permission, command)
}

/// The same with facts of a test's own.
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
        if clearance.identity().0 != block.number || guard.verified(block)? != clearance.words() {
            return Err(TargetError::Changed { name: block.name.clone() });
        }
    }
    drop(lent);
    Ok(command())
}
