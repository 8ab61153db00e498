//! PCI addresses and sysfs paths that contain them.

/// True if `text` is a PCI address, `0000:03:00.0` or `10000:01:00.0`.
pub(crate) fn is_address(text: &str) -> bool {
    let hex = |part: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let mut parts = text.split(':');
    let (Some(domain), Some(bus), Some(slot), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let Some((device, function)) = slot.split_once('.') else { return false };
    hex(domain, 4..=8)
        && hex(bus, 2..=2)
        && hex(device, 2..=2)
        && matches!(function.as_bytes(), [b'0'..=b'7'])
}

/// PCI functions on a real path of sysfs, from the root complex down, as pairs of address and path.
/// A host bridge (`pci0000:00`) on the way starts over: the tree behind Intel VMD (`pci10000:00`)
/// is separate.
pub(crate) fn chain(real: &str) -> Vec<(String, String)> {
    let (mut found, mut path) = (Vec::new(), String::new());
    for part in real.split('/').skip(1) {
        path.push('/');
        path.push_str(part);
        if part.strip_prefix("pci").is_some_and(|rest| rest.contains(':')) {
            found.clear();
        } else if is_address(part) {
            found.push((part.to_owned(), path.clone()));
        }
    }
    found
}

/// PCI function whose own domain contains the path: a VMD controller.
pub(crate) fn domain_owner(real: &str) -> Option<String> {
    let (mut last, mut owner) = (None, None);
    for part in real.split('/') {
        if part.strip_prefix("pci").is_some_and(|rest| rest.contains(':')) {
            owner = last.take();
        } else if is_address(part) {
            last = Some(part);
        }
    }
    owner.map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_are_accepted() {
        assert!(is_address("0000:03:00.0"));
        assert!(is_address("10000:e1:1f.7"));
        for other in
            ["0000:00:01.0:pcie010", "pci0000:00", "0000:00", "0000:00:00.8", "000g:00:00.0", ""]
        {
            assert!(!is_address(other), "{other}");
        }
    }

    #[test]
    fn behind_vmd_the_chain_begins_anew() {
        let path = "/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:02.0/10000:e1:00.0/nvme/nvme0";
        let addresses: Vec<String> = chain(path).into_iter().map(|(address, _)| address).collect();
        assert_eq!(addresses, ["10000:e0:02.0", "10000:e1:00.0"]);
        assert_eq!(domain_owner(path).as_deref(), Some("0000:00:0e.0"));
        assert_eq!(domain_owner("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"), None);
    }
}
