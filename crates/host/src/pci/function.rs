//! PCI functions in sysfs.

use iodyno_model::Fact;

use crate::read;
use crate::source::Source;

/// A PCI function.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    /// PCI address.
    pub(crate) address: String,
    /// Class code: base class, subclass, interface.
    pub(crate) class: u32,
}

impl Function {
    /// Base class and subclass.
    pub(crate) fn kind(&self) -> u32 {
        self.class >> 8
    }

    /// Path in sysfs.
    pub(crate) fn path(&self) -> String {
        format!("/sys/bus/pci/devices/{}", self.address)
    }

    /// Vendor and device id, `144d:a824`; empty if it has vanished.
    pub(crate) fn pci_id(&self, source: &dyn Source) -> String {
        let id = |file| {
            let text = read::text(source, &format!("{}/{file}", self.path()));
            text.get().map(|text| text.trim_start_matches("0x").to_owned())
        };
        match (id("vendor"), id("device")) {
            (Some(vendor), Some(device)) => format!("{vendor}:{device}"),
            _ => String::new(),
        }
    }

    /// Bound driver; absent if none.
    pub(crate) fn driver(&self, source: &dyn Source) -> Fact<String> {
        match source.link(&format!("{}/driver", self.path())) {
            Ok(to) => Fact::Read(read::clean(read::file_name(&to))),
            Err(error) => read::unknown(&error),
        }
    }
}

/// Lists all PCI functions, by address.
pub(crate) fn functions(source: &dyn Source) -> Vec<Function> {
    let addresses = source.list("/sys/bus/pci/devices").unwrap_or_default();
    let function = |address: String| {
        let path = format!("/sys/bus/pci/devices/{address}/class");
        let class = read::parsed(source, &path, |text| {
            u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()
        });
        Some(Function { class: class.value()?, address })
    };
    addresses.into_iter().filter_map(function).collect()
}
