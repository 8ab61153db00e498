//! Finds drives that are present but do not work.

use iodyno_model::{BlockDevice, BlockKind, Bytes, Drive, Evidence, Fact, Host, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

const WHY: &str = "The machine cannot use this drive.";

/// Drivers that detach a drive from the kernel on purpose.
const DETACHING_DRIVERS: [&str; 3] = ["vfio-pci", "uio_pci_generic", "igb_uio"];

pub(super) static RULE: Rule = Rule {
    id: "drive-dead",
    severity: Severity::Fail,
    summary: "NVMe functions without controller, controllers that are not live or have no namespace, namespaces of 0 bytes, occupied slots without link",
    checks: Checks::Host(check),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    functions(host, tally);
    controllers(context, host, tally);
    namespaces(host, tally);
    slots(host, tally);
}

fn functions(host: &Host, tally: &mut Tally) {
    for function in &host.nvme_functions {
        tally.checked();
        if function.controller.is_some() {
            continue;
        }
        let driver = function.driver.value();
        let given_away =
            driver.as_deref().is_some_and(|driver| DETACHING_DRIVERS.contains(&driver));
        let evidence = vec![
            Evidence::new("PCI id", function.pci_id.clone()),
            Evidence::new("driver", driver.unwrap_or_else(|| "none".into())),
        ];
        let address = &function.address;
        let subjects = vec![address.clone()];
        tally.found(if given_away {
            finding(
                Severity::Info,
                subjects,
                format!("The NVMe function {address} is passed to another program or VM."),
                evidence,
                "It has no block device here and was not checked.",
                "If unintended, check the function's driver_override and the driver's boot options.",
            )
        } else {
            finding(
                Severity::Fail,
                subjects,
                format!("The NVMe function {address} has no controller."),
                evidence,
                WHY,
                format!("See the kernel log: sudo dmesg | grep {address}; then: sudo lspci -vv -s {address}"),
            )
        });
    }
}

fn controllers(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for drive in &host.drives {
        let name = &drive.name;
        let state = tally.known_or_note(name, "controller state", &drive.state);
        if state.is_some() {
            tally.checked();
        }
        let evidence = |what: &str, value: String| {
            let serial = drive.serial.value().unwrap_or_else(|| "unknown".into());
            vec![Evidence::new(what, value), Evidence::new("serial", serial)]
        };
        if let Some(state) = state.filter(|state| *state != "live") {
            tally.found(finding(
                Severity::Fail,
                vec![name.clone()],
                format!("The controller {name} is {state}, not live."),
                evidence("state", state.clone()),
                WHY,
                format!("See why: sudo dmesg | grep {name}; a reset may bring it back: sudo nvme reset /dev/{name}"),
            ));
        } else if let Some(state) = state.and_then(|_| became(context, drive)) {
            tally.found(finding(
                Severity::Fail,
                vec![name.clone()],
                format!("The controller {name} was live at the start, and is {state} at the end."),
                evidence("state", state.to_owned()),
                WHY,
                format!("See why: sudo dmesg | grep {name}; a reset may bring it back: sudo nvme reset /dev/{name}"),
            ));
        } else if drive.namespaces.is_empty() && !is_discovery(drive) {
            tally.found(finding(
                Severity::Fail,
                vec![name.clone()],
                format!("The controller {name} has no namespace that is a block device."),
                evidence("namespaces", "0".into()),
                WHY,
                format!("See what it holds: sudo nvme list-ns /dev/{name} --all; attach one with: sudo nvme attach-ns /dev/{name} --namespace-id=ID --controllers=CNTLID"),
            ));
        }
    }
}

fn namespaces(host: &Host, tally: &mut Tally) {
    for block in empty_namespaces(host) {
        let known = host.namespace(&block.name).map(|(drive, _)| drive.name.as_str());
        let drive = known.unwrap_or(&block.name);
        tally.found(finding(
            Severity::Fail,
            vec![block.name.clone()],
            format!("The namespace {} holds 0 bytes.", block.name),
            vec![Evidence::new("size", "0")],
            "The kernel dropped it, or cannot use its format (metadata, zones).",
            format!("See why: sudo dmesg | grep {drive}; what the drive says of it: sudo nvme id-ns /dev/{}", block.name),
        ));
    }
}

fn slots(host: &Host, tally: &mut Tally) {
    for slot in &host.slots {
        // Ports that cannot report it are common; ports that cannot be read are a gap.
        for fact in [&slot.present, &slot.link_active] {
            match fact {
                Fact::Absent => {}
                _ if tally.known_or_note(&slot.address, "slot and link status", fact).is_some() => {
                    tally.checked();
                }
                _ => {}
            }
        }
        let (Some(true), Some(false)) = (slot.present.get(), slot.link_active.get()) else {
            continue;
        };
        tally.found(finding(
            Severity::Fail,
            vec![slot.address.clone()],
            format!("Slot {} is occupied, but its link is down.", slot.name),
            vec![
                Evidence::new("presence", "detected"),
                Evidence::new("data link layer", "not active"),
                Evidence::new("address", slot.address.clone()),
            ],
            "A drive that does not train a link is invisible to the machine.",
            "Reseat what is in the slot, then try it in another one.",
        ));
    }
}

/// State of a drive at the end of the run, unless it is live or being removed.
fn became<'f>(context: &RuleContext<'f>, drive: &Drive) -> Option<&'f str> {
    let now =
        context.record().host_after()?.drive(&drive.name).filter(|now| !now.is_being_removed())?;
    now.state.get().map(String::as_str).filter(|state| *state != "live")
}

/// Discovery controllers have no namespaces; kernels before 5.17 do not report the controller type
/// (cntrltype), but the NQN shows it (NVM Express Base Specification 2.0, 4.7).
fn is_discovery(drive: &Drive) -> bool {
    drive.subsystem_nqn.get().is_some_and(|nqn| nqn == "nqn.2014-08.org.nvmexpress.discovery")
}

/// Namespaces of 0 bytes whose controllers are all live: other controllers have findings of their
/// own.
fn empty_namespaces(host: &Host) -> impl Iterator<Item = &BlockDevice> {
    let is_live = |name: &str| {
        let has_it = |drive: &&Drive| drive.namespaces.iter().any(|one| one.name == name);
        let state = |drive: &Drive| drive.state.get().is_none_or(|state| state == "live");
        host.drives.iter().filter(has_it).all(state)
    };
    host.blocks
        .iter()
        .filter(|block| block.kind == BlockKind::Nvme && block.size.get() == Some(&Bytes(0)))
        .filter(move |block| is_live(&block.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known};
    use iodyno_model::{PciFunction, Slot};

    #[test]
    fn dead_drives_are_found_and_healthy_ones_not() {
        assert_eq!(check_rule(&RULE, &Bench::new(2).record()), Outcome::Clear);
        let dead = Bench::new(1).drive(0, |drive| drive.state = known("dead".into())).record();
        assert!(check_rule(&RULE, &dead).only(Severity::Fail).what.contains("dead"));
        let died = |state: &str| {
            let after = |host: &mut Host| host.drives[1].state = known(state.into());
            check_rule(&RULE, &Bench::new(2).after(after).record())
        };
        let died_so = died("resetting");
        let what = &died_so.only(Severity::Fail).what;
        assert_eq!(
            what,
            "The controller nvme1 was live at the start, and is resetting at the end."
        );
        assert_eq!(died("deleting"), Outcome::Clear, "drive-missing tells it");
        let empty = Bench::new(1).drive(0, |drive| drive.namespaces.clear()).record();
        assert!(check_rule(&RULE, &empty).only(Severity::Fail).what.contains("no namespace"));
        let over_tcp = |nqn: &str| {
            let bench = Bench::new(1).drive(0, |drive| {
                drive.namespaces.clear();
                drive.transport = known("tcp".into());
                drive.subsystem_nqn = known(nqn.into());
            });
            check_rule(&RULE, &bench.record())
        };
        over_tcp("nqn.2014-08.org.example:a").only(Severity::Fail);
        assert_eq!(over_tcp("nqn.2014-08.org.nvmexpress.discovery"), Outcome::Clear);
        let blind = Bench::new(1).drive(0, |drive| drive.state = Fact::Absent).record();
        assert_eq!(check_rule(&RULE, &blind).unknown(), 1);
    }

    #[test]
    fn an_empty_namespace_is_reported_once() {
        let with = |state: &str| {
            let bench = Bench::new(2).host(|host| host.blocks[1].size = known(Bytes(0)));
            check_rule(&RULE, &bench.drive(1, |drive| drive.state = known(state.into())).record())
        };
        assert_eq!(with("live").only(Severity::Fail).subjects, ["nvme1n1"]);
        assert_eq!(with("dead").only(Severity::Fail).subjects, ["nvme1"]);
    }

    #[test]
    fn a_function_without_controller_is_dead_unless_it_was_given_away() {
        let function = |driver| PciFunction {
            address: "0000:09:00.0".into(),
            pci_id: "144d:a80a".into(),
            driver,
            ..PciFunction::default()
        };
        let with = |driver: Fact<String>| {
            Bench::new(1).host(|host| host.nvme_functions.push(function(driver))).record()
        };
        let found = check_rule(&RULE, &with(Fact::Absent));
        assert_eq!(found.only(Severity::Fail).subjects, ["0000:09:00.0"]);
        check_rule(&RULE, &with(known("vfio-pci".into()))).only(Severity::Info);
    }

    #[test]
    fn an_occupied_slot_needs_a_link() {
        let with = |present, link_active| {
            let slot =
                Slot { name: "7".into(), address: "0000:0a:00".into(), present, link_active };
            check_rule(&RULE, &Bench::new(1).host(|host| host.slots.push(slot)).record())
        };
        with(known(true), known(false)).only(Severity::Fail);
        assert_eq!(with(known(false), known(false)), Outcome::Clear);
        assert_eq!(with(Fact::NeedsRoot, Fact::NeedsRoot).unknown(), 1);
        assert_eq!(with(Fact::Absent, Fact::Absent), Outcome::Clear);
    }
}
