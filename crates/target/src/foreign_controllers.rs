//! Finds controllers of a drive that this machine does not have: of another host, of a guest, or
//! taken over by a user-space driver (SPDK).

use iodyno_host::{AdminRead, Source, controller_ids, namespace_is_shared, parse_purge_support};
use iodyno_model::{Drive, Host, Namespace};

use crate::BlindSpot;
use crate::openers::controllers_of;

/// Returns why others may use the namespaces under `block` through their own controllers, unless
/// the drives rule it out.
pub(crate) fn unseen_controllers(source: &dyn Source, host: &Host, block: &str) -> Vec<BlindSpot> {
    let mut spots = Vec::new();
    for bottom in host.bottom_of(block) {
        let Some((drive, namespace)) = controller_to_query(host, &bottom.name) else { continue };
        let spot = of_namespace(source, host, drive, namespace);
        spots.extend(spot.filter(|spot| !spots.contains(spot)));
    }
    spots
}

/// Returns the controller to query about a namespace, a live one if possible.
fn controller_to_query<'h>(host: &'h Host, name: &str) -> Option<(&'h Drive, &'h Namespace)> {
    let live = host.drives.iter().filter(|drive| drive.state.get().is_some_and(|s| s == "live"));
    let of = |drive: &'h Drive| {
        Some((drive, drive.namespaces.iter().find(|namespace| namespace.name == name)?))
    };
    live.into_iter().find_map(of).or_else(|| host.namespace(name))
}

fn of_namespace(
    source: &dyn Source,
    host: &Host,
    drive: &Drive,
    namespace: &Namespace,
) -> Option<BlindSpot> {
    let unlisted = Some(BlindSpot::UnlistedControllers);
    let ask = |command| source.admin(&drive.name, command).ok();
    let Some(support) =
        ask(AdminRead::IdentifyController).and_then(|page| parse_purge_support(&page))
    else {
        return unlisted;
    };
    if !support.several_controllers {
        return None;
    }
    let Some(nsid) = namespace.nsid.value() else { return unlisted };
    let page = ask(AdminRead::IdentifyNamespace(nsid));
    if page.and_then(|page| namespace_is_shared(&page)) == Some(false) {
        return None;
    }
    // Only drives with namespace management know this command; others may log an error for it.
    let list = AdminRead::AttachedControllers(nsid);
    let attached = support.namespace_management.then(|| ask(list)).flatten();
    let mut ids = attached.map(|page| controller_ids(&page)).unwrap_or_default();
    if ids.is_empty() {
        return unlisted;
    }
    let names = controllers_of(host, &namespace.name);
    let own: Vec<u16> = names.iter().filter_map(|name| own_id(source, name)).collect();
    ids.retain(|id| !own.contains(id));
    (!ids.is_empty()).then_some(BlindSpot::Controllers { ids })
}

/// Returns the id of a controller of this machine.
fn own_id(source: &dyn Source, controller: &str) -> Option<u16> {
    let text = source.read(&format!("/sys/class/nvme/{controller}/cntlid"), 64).ok()?;
    String::from_utf8(text).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use iodyno_model::Fact;

    use super::*;
    use crate::testing::{Faked, block, drive, host};

    /// Fields of Identify Controller and Identify Namespace, and attached controllers.
    fn found(cmic: u8, oacs: u8, nmic: u8, attached: &[u16]) -> Vec<BlindSpot> {
        let (mut controller, mut namespace) = (vec![0; 4096], vec![0; 4096]);
        (controller[76], controller[256], namespace[30]) = (cmic, oacs, nmic);
        let ids = std::iter::once(attached.len() as u16).chain(attached.iter().copied());
        let mut list: Vec<u8> = ids.flat_map(u16::to_le_bytes).collect();
        list.resize(4096, 0);
        let source = Faked::new()
            .page("nvme7", AdminRead::IdentifyController, controller)
            .page("nvme7", AdminRead::IdentifyNamespace(1), namespace)
            .page("nvme7", AdminRead::AttachedControllers(1), list)
            .file("/sys/class/nvme/nvme7/cntlid".into(), "4\n")
            .file("/sys/class/nvme/nvme8/cntlid".into(), "5\n");
        let mut host = host(vec![block("nvme7n1", 259, 0)]);
        for name in ["nvme7", "nvme8"] {
            let mut drive = drive(name, &["nvme7n1"]);
            drive.subsystem_nqn = Fact::Read("nqn.one".into());
            drive.namespaces[0].nsid = Fact::Read(1);
            host.drives.push(drive);
        }
        unseen_controllers(&source, &host, "nvme7n1")
    }

    #[test]
    fn a_namespace_that_another_controller_may_have_is_a_blind_spot() {
        const MANAGED: u8 = 1 << 3;
        let unlisted = [BlindSpot::UnlistedControllers];
        // One controller, or one at a time.
        assert_eq!(found(0b00, 0, 1, &[]), []);
        assert_eq!(found(0b10, 0, 0, &[]), []);
        assert_eq!(found(0b10, 0, 1, &[4]), unlisted);
        // All visible here, then one that is not.
        assert_eq!(found(0b10, MANAGED, 1, &[4]), []);
        assert_eq!(found(0b10, MANAGED, 1, &[4, 5]), []);
        let theirs = BlindSpot::Controllers { ids: vec![9] };
        assert_eq!(found(0b10, MANAGED, 1, &[4, 5, 9]), [theirs]);
        // A list without the queried controller is invalid.
        assert_eq!(found(0b10, MANAGED, 1, &[]), unlisted);
    }

    #[test]
    fn a_drive_that_cannot_be_asked_is_a_blind_spot() {
        let mut host = host(vec![block("nvme7n1", 259, 0)]);
        host.drives.push(drive("nvme7", &["nvme7n1"]));
        let found = unseen_controllers(&Faked::new(), &host, "nvme7n1");
        assert_eq!(found, [BlindSpot::UnlistedControllers]);
    }
}
