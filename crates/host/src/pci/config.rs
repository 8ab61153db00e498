//! Parses the configuration space of a PCI function (PCIe Base Specification 6.0, section 7.5).

use iodyno_model::Aspm;

/// Bytes that are read: all capabilities used are in the first 256; without privileges the kernel
/// gives 64.
pub(crate) const CONFIG_BYTES: usize = 256;

/// Configuration space, as far as it could be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    bytes: Vec<u8>,
    /// Offset of the PCI Express capability.
    express: Option<usize>,
}

/// Role of a function in the PCIe tree (PCI Express Capabilities, bits 7:4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortKind {
    /// Root port or switch downstream port: a link begins here.
    TowardsDevice,
    /// Anything else: endpoint, switch upstream port, bridge, integrated.
    Other,
}

const CAPABILITY_POINTER: usize = 0x34;
const PCI_EXPRESS: u8 = 0x10;

impl Config {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let express = express_capability(&bytes);
        Self { bytes, express }
    }

    /// True if capabilities could be read, beyond the unprivileged part.
    pub(crate) fn is_complete(&self) -> bool {
        self.bytes.len() >= CONFIG_BYTES
    }

    fn word(&self, offset: usize) -> Option<u16> {
        let at = self.express? + offset;
        let pair = self.bytes.get(at..at + 2)?;
        Some(u16::from_le_bytes([pair[0], pair[1]]))
    }

    /// Role of the port; `None` if unknown.
    pub(crate) fn port_kind(&self) -> Option<PortKind> {
        if !self.is_complete() {
            return None;
        }
        // Root port 4, switch downstream port 6.
        Some(match self.word(0x02).map(|flags| flags >> 4 & 0xf) {
            Some(4 | 6) => PortKind::TowardsDevice,
            _ => PortKind::Other,
        })
    }

    /// Maximum payload size in effect (Device Control, bits 7:5), bytes; codes 6 and 7 are
    /// reserved.
    pub(crate) fn max_payload_bytes(&self) -> Option<u32> {
        let code = self.word(0x08)? >> 5 & 7;
        (code <= 5).then(|| 128 << code)
    }

    /// Maximum payload size supported (Device Capabilities, bits 2:0), bytes.
    pub(crate) fn able_payload_bytes(&self) -> Option<u32> {
        let code = self.word(0x04)? & 7;
        (code <= 5).then(|| 128 << code)
    }

    /// Maximum read request size in effect (Device Control, bits 14:12), bytes.
    pub(crate) fn max_read_request_bytes(&self) -> Option<u32> {
        let code = self.word(0x08)? >> 12 & 7;
        (code <= 5).then(|| 128 << code)
    }

    /// Low-power link states enabled at this end (Link Control, bits 1:0).
    pub(crate) fn aspm(&self) -> Option<Aspm> {
        let control = self.word(0x10)?;
        Some(Aspm { l0s: control & 1 != 0, l1: control & 2 != 0 })
    }

    /// Target link speed (Link Control 2, bits 3:0) as a generation; version 1 of the capability
    /// lacks the register.
    pub(crate) fn target_generation(&self) -> Option<u8> {
        if self.word(0x02)? & 0xf < 2 {
            return None;
        }
        let generation = (self.word(0x30)? & 0xf) as u8;
        (1..=6).contains(&generation).then_some(generation)
    }

    /// True if the port's slot is occupied (Slot Status, bit 6); `None` without a slot (PCI Express
    /// Capabilities, bit 8).
    pub(crate) fn slot_present(&self) -> Option<bool> {
        if self.word(0x02)? & 1 << 8 == 0 {
            return None;
        }
        Some(self.word(0x1a)? & 1 << 6 != 0)
    }

    /// True if the data link layer is active (Link Status, bit 13); `None` if the port does not
    /// report it (Link Capabilities, bit 20).
    pub(crate) fn link_active(&self) -> Option<bool> {
        if self.word(0x0e)? & 1 << 4 == 0 {
            return None;
        }
        Some(self.word(0x12)? & 1 << 13 != 0)
    }
}

fn express_capability(bytes: &[u8]) -> Option<usize> {
    // Status register, bit 4: has a list of capabilities.
    if bytes.get(0x06)? & 1 << 4 == 0 {
        return None;
    }
    let mut at = usize::from(bytes.get(CAPABILITY_POINTER)? & 0xfc);
    // 48 capabilities of 4 bytes fill the space; a longer list is a loop.
    for _ in 0..48 {
        if at < 0x40 {
            return None;
        }
        if *bytes.get(at)? == PCI_EXPRESS {
            return Some(at);
        }
        at = usize::from(bytes.get(at + 1)? & 0xfc);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_capabilities_that_loops_ends() {
        let mut bytes = vec![0_u8; 256];
        bytes[6] = 0x10;
        bytes[0x34] = 0x40;
        bytes[0x40] = 5;
        bytes[0x41] = 0x40;
        assert_eq!(Config::new(bytes).max_payload_bytes(), None);
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for length in (0..2000).map(|i| i % 260) {
            let bytes = std::iter::repeat_with(|| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            });
            let config = Config::new(bytes.take(length).collect());
            let _ = (config.port_kind(), config.max_payload_bytes(), config.target_generation());
            let _ = (config.slot_present(), config.link_active(), config.aspm());
            let _ = (config.able_payload_bytes(), config.max_read_request_bytes());
        }
    }
}
