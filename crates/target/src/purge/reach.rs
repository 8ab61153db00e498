//! Determines which namespaces a purge would empty.

use iodyno_host::{
    AdminRead, PurgeSupport, SanitizeState, Source, namespace_ids, parse_purge_support,
};
use iodyno_model::{BlockKind, Drive, Host, Namespace, PurgeMethod};

use super::{nvme_action, query, sanitize_status};
use crate::identity::is_same_drive;
use crate::nvme::{SanitizeAction, SecureErase};
use crate::{BlindSpot, TargetError};

/// Namespaces that a purge reaches.
pub(super) struct Reach<'h> {
    pub(super) drive: &'h Drive,
    pub(super) namespaces: Vec<&'h Namespace>,
    pub(super) estimated_s: Option<u32>,
    /// Reason why it may reach something that this machine does not see.
    pub(super) blind: Option<BlindSpot>,
}

impl<'h> Reach<'h> {
    /// Finds everything that a purge of `name` reaches, the namespace itself first.
    ///
    /// # Errors
    /// The drive cannot do it now, or its reach is unknown.
    pub(super) fn of(
        source: &dyn Source,
        host: &'h Host,
        name: &str,
        method: PurgeMethod,
    ) -> Result<Self, TargetError> {
        let cannot =
            |why: String, offered| TargetError::CannotPurge { name: name.into(), why, offered };
        let whole = host.block(name).is_some_and(|block| block.kind == BlockKind::Nvme);
        let Some((drive, own)) = host.namespace(name).filter(|_| whole) else {
            let why = "it is not a whole namespace of an NVMe drive";
            return Err(cannot(why.into(), vec![PurgeMethod::Discard]));
        };
        let page = query(source, name, &drive.name, AdminRead::IdentifyController)?;
        let support = parse_purge_support(&page)
            .ok_or_else(|| cannot("its controller's answer is invalid".into(), Vec::new()))?;
        if !is_offered(&support, method) {
            let all = [
                PurgeMethod::Format,
                PurgeMethod::FormatUserErase,
                PurgeMethod::FormatCrypto,
                PurgeMethod::SanitizeBlock,
                PurgeMethod::SanitizeCrypto,
            ];
            let offered = all.into_iter().filter(|method| is_offered(&support, *method));
            let offered = offered.chain([PurgeMethod::Discard]).collect();
            return Err(cannot(
                format!("its controller does not offer {}", method.name()),
                offered,
            ));
        }
        let (erase, sanitize) = nvme_action(method);
        let estimated_s = match sanitize {
            Some(action) => {
                let status = sanitize_status(source, name, &drive.name)?;
                if status.state == SanitizeState::Going {
                    let percent = status.done * 100.0;
                    let why = format!("its drive is being sanitized ({percent:.0} % done)");
                    return Err(cannot(why, Vec::new()));
                }
                match action {
                    SanitizeAction::BlockErase => status.block_erase_s,
                    SanitizeAction::CryptoErase => status.crypto_erase_s,
                }
            }
            None => None,
        };
        // A secure erase sets the format of the namespace as well.
        let of_all = sanitize.is_some()
            || support.formats_all_namespaces
            || support.erases_all_namespaces && erase != SecureErase::None;
        let namespaces = affected_namespaces(host, drive, own, of_all);
        if of_all {
            verify_all_visible(source, name, drive, &support, &namespaces)?;
        }
        // Without namespace management only this controller's own namespaces are listed.
        let is_blind = of_all && support.several_controllers && !support.namespace_management;
        let blind = is_blind.then_some(BlindSpot::UnlistedControllers);
        Ok(Self { drive, namespaces, estimated_s, blind })
    }
}

/// Returns the block devices that are emptied with the namespace `own`, itself first.
fn affected_namespaces<'h>(
    host: &'h Host,
    drive: &Drive,
    own: &'h Namespace,
    of_all: bool,
) -> Vec<&'h Namespace> {
    let controllers = host.drives.iter().filter(|other| is_same_drive(other, drive));
    let mut namespaces: Vec<&Namespace> = vec![own];
    // Without multipath a namespace is a block device for each controller.
    for other in controllers.flat_map(|controller| &controller.namespaces) {
        let is_new = !namespaces.iter().any(|known| known.name == other.name);
        if is_new && (of_all || other.nsid == own.nsid) {
            namespaces.push(other);
        }
    }
    namespaces
}

fn is_offered(support: &PurgeSupport, method: PurgeMethod) -> bool {
    match method {
        PurgeMethod::Discard => true,
        PurgeMethod::Format | PurgeMethod::FormatUserErase => support.format,
        PurgeMethod::FormatCrypto => support.format && support.format_crypto,
        PurgeMethod::SanitizeBlock => support.sanitize_block,
        PurgeMethod::SanitizeCrypto => support.sanitize_crypto,
    }
}

/// Verifies that no namespace of the drive is hidden from this machine: whether a hidden one is in
/// use is unknown.
fn verify_all_visible(
    source: &dyn Source,
    name: &str,
    drive: &Drive,
    support: &PurgeSupport,
    seen: &[&Namespace],
) -> Result<(), TargetError> {
    let list = match support.namespace_management {
        true => AdminRead::AllocatedNamespaces,
        false => AdminRead::ActiveNamespaces,
    };
    let page = query(source, name, &drive.name, list)?;
    let hidden = namespace_ids(&page)
        .into_iter()
        .find(|nsid| !seen.iter().any(|namespace| namespace.nsid.get() == Some(nsid)));
    match hidden {
        None => Ok(()),
        Some(nsid) => Err(TargetError::CannotPurge {
            name: name.into(),
            why: format!(
                "it would destroy namespace {nsid} of the drive as well, which is no block device \
                 here and may be in use"
            ),
            offered: vec![PurgeMethod::Discard],
        }),
    }
}
