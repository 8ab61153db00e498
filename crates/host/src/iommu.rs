//! Reads how memory accesses (DMA) of PCI functions are translated.

use iodyno_model::{Fact, Iommu};

use crate::read;
use crate::source::Source;

/// Reads the IOMMU group of the function with this address; `release` is the kernel's. Absent if no
/// IOMMU translates for it.
pub(crate) fn read(source: &dyn Source, address: &str, release: &Fact<String>) -> Fact<Iommu> {
    let path = format!("/sys/bus/pci/devices/{address}/iommu_group");
    let group = match source.link(&path) {
        Ok(to) => read::file_name(&to).parse::<u32>(),
        Err(error) => return read::unknown(&error),
    };
    let Ok(group) = group else { return Fact::Unreadable("a group without a number".into()) };
    let domain = read::text(source, &format!("{path}/type"));
    let strict = match domain.get().map(String::as_str) {
        Some("identity" | "DMA-FQ") => Fact::Read(false),
        // Before 5.15 lazy domains had this name too (Linux commit c208916fe6c7).
        Some("DMA") if names_lazy_domains(release) => Fact::Read(true),
        _ => Fact::Absent,
    };
    Fact::Read(Iommu { group, domain, strict })
}

/// True if a kernel is 5.15 or newer.
fn names_lazy_domains(release: &Fact<String>) -> bool {
    let number = |text: Option<&str>| {
        let digits: String = text?.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    };
    let Some(release) = release.get() else { return false };
    let mut parts = release.split('.');
    matches!((number(parts.next()), number(parts.next())),
        (Some(major), Some(minor)) if (major, minor) >= (5, 15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_kernels_do_not_distinguish_strict_and_lazy() {
        let tells = |release: &str| names_lazy_domains(&Fact::Read(release.into()));
        assert!(tells("6.1.0-56-amd64") && tells("5.15-rc1") && tells("10.0"));
        assert!(!tells("5.14.0-503.el9") && !tells("4.18.0") && !tells("x"));
        assert!(!names_lazy_domains(&Fact::Absent));
    }
}
