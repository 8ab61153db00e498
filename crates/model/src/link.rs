//! PCIe links: their two ends and trained state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Fact, ParseError};

/// Capabilities and settings of one end of a PCIe link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkEnd {
    /// PCI address, `0000:03:00.0`.
    pub address: String,
    /// Highest supported generation (1 = 2.5 GT/s … 6 = 64 GT/s).
    pub max_generation: Fact<u8>,
    /// Highest supported width, lanes.
    pub max_width: Fact<u8>,
    /// Target generation set by firmware or software (Link Control 2), root only.
    pub target_generation: Fact<u8>,
    /// Maximum payload size in force, bytes (Device Control), root only.
    pub max_payload_bytes: Fact<u32>,
    /// Correctable errors counted by AER.
    pub correctable_errors: Fact<u64>,
    /// Uncorrectable errors counted by AER, nonfatal and fatal.
    pub uncorrectable_errors: Fact<u64>,
    /// Maximum payload size supported, bytes (Device Capabilities), root only.
    #[serde(default)]
    pub able_payload_bytes: Fact<u32>,
    /// Maximum read request size in force, bytes (Device Control), root only.
    #[serde(default)]
    pub max_read_request_bytes: Fact<u32>,
    /// Errors by kind, only those that occurred.
    #[serde(default)]
    pub errors: Vec<PcieError>,
}

/// Severity of a PCIe error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PcieSeverity {
    /// Corrected by the link itself, at the cost of time.
    Correctable,
    /// A transaction was lost.
    Nonfatal,
    /// The link is no longer reliable.
    Fatal,
}

/// Errors of one kind counted by AER at one end since boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PcieError {
    /// Severity.
    pub severity: PcieSeverity,
    /// Kernel's short name: `RxErr`, `BadTLP`, `CmpltTO`, …
    pub kind: String,
    /// Number of errors.
    pub count: u64,
}

/// Low-power states enabled by Active State Power Management (ASPM).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Aspm {
    /// L0s: exit takes less than a microsecond.
    pub l0s: bool,
    /// L1: exit takes microseconds.
    pub l1: bool,
}

impl Aspm {
    /// Enabled states: `L0s and L1`; `None`: none.
    pub const fn label(self) -> Option<&'static str> {
        match (self.l0s, self.l1) {
            (false, false) => None,
            (true, false) => Some("L0s"),
            (false, true) => Some("L1"),
            (true, true) => Some("L0s and L1"),
        }
    }
}

/// Generation and width of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkState {
    /// PCIe generation.
    pub generation: u8,
    /// Number of lanes.
    pub width: u8,
}

/// A link between a port (towards the CPU) and a device (towards the drive).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// The end towards the CPU: root port or switch downstream port.
    pub port: LinkEnd,
    /// The end towards the drive: switch upstream port, drive, or card.
    pub device: LinkEnd,
    /// Trained state (speed and width in use).
    #[serde(rename = "in_use", alias = "current")]
    pub current: Fact<LinkState>,
    /// Physical slot of the port, if named by the platform.
    pub slot: Option<String>,
    /// ASPM states enabled at the device end.
    #[serde(default)]
    pub aspm: Fact<Aspm>,
}

impl LinkState {
    /// Raw bytes per second in one direction after line coding; `None` for unknown generations (1
    /// to 6 are known).
    ///
    /// GT/s x lanes x coding / 8, coding 8b/10b for generations 1 and 2, 128b/130b for 3 to 5, 236
    /// of 256 bytes of a flit for 6 (PCIe Base Specification 6.0, sections 4.2.1 to 4.2.3).
    pub fn raw_bytes_per_s(self) -> Option<f64> {
        let (transfers_per_s, coding) = match self.generation {
            1 => (2.5e9, 0.8),
            2 => (5e9, 0.8),
            3 => (8e9, 128.0 / 130.0),
            4 => (16e9, 128.0 / 130.0),
            5 => (32e9, 128.0 / 130.0),
            6 => (64e9, 236.0 / 256.0),
            _ => return None,
        };
        Some(transfers_per_s * f64::from(self.width) * coding / 8.0)
    }

    /// Payload bytes per second from a drive to memory over this link, with a maximum payload size
    /// of `max_payload_bytes`.
    ///
    /// raw x MPS / (MPS + 24) x 0.985: 24 bytes of framing, sequence number, four-word header and
    /// LCRC per packet; 1.5 % acknowledgements, flow control and skip sets (Intel AN 456 and AN
    /// 829). In generation 6 the flit carries the latter: 16 bytes per packet and no 0.985.
    pub fn payload_bytes_per_s(self, max_payload_bytes: u32) -> Option<f64> {
        let raw = self.raw_bytes_per_s()?;
        let payload = f64::from(max_payload_bytes);
        Some(if self.generation >= 6 {
            raw * payload / (payload + 16.0)
        } else {
            raw * payload / (payload + 24.0) * 0.985
        })
    }

    /// Payload bytes per second from memory to a drive over this link, in completions of
    /// `completion_bytes` each.
    ///
    /// For a write the drive reads memory and receives the data as completions: a header of three
    /// words, so 20 bytes per packet (12 in generation 6). The root complex may split them at its
    /// read completion boundary of 64 or 128 bytes; none exceeds the maximum payload size (PCIe
    /// Base Specification 6.0, sections 2.2.9 and 2.3.1.1; Intel AN 456).
    pub fn written_bytes_per_s(self, completion_bytes: u32) -> Option<f64> {
        let raw = self.raw_bytes_per_s()?;
        let payload = f64::from(completion_bytes);
        Some(if self.generation >= 6 {
            raw * payload / (payload + 12.0)
        } else {
            raw * payload / (payload + 20.0) * 0.985
        })
    }

    /// Parses `gen4x4`, `Gen4 x4` or `4x4`.
    ///
    /// # Errors
    /// If it is none of these, or there is no such generation or width.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let plain = text.to_ascii_lowercase().replace(' ', "");
        let halves = plain.strip_prefix("gen").unwrap_or(&plain).split_once('x');
        let state = halves.and_then(|(generation, width)| {
            Some(Self { generation: generation.parse().ok()?, width: width.parse().ok()? })
        });
        state
            .filter(|state| {
                state.raw_bytes_per_s().is_some() && [1, 2, 4, 8, 12, 16, 32].contains(&state.width)
            })
            .ok_or_else(|| ParseError::new(text, "a link such as gen4x4"))
    }

    /// Printed form: `Gen4 x4`.
    pub fn label(self) -> String {
        format!("Gen{} x{}", self.generation, self.width)
    }
}

impl Link {
    /// Highest state supported by both ends: the lower generation and the lower width.
    pub fn able(&self) -> Option<LinkState> {
        let generation = self.port.max_generation.get()?.min(self.device.max_generation.get()?);
        let width = self.port.max_width.get()?.min(self.device.max_width.get()?);
        Some(LinkState { generation: *generation, width: *width })
    }

    /// Highest states of the port and of the device, each only if above what both support.
    pub(crate) fn able_beyond(&self) -> [Option<LinkState>; 2] {
        [&self.port, &self.device].map(|end| {
            let (generation, width) = (*end.max_generation.get()?, *end.max_width.get()?);
            let state = LinkState { generation, width };
            Some(state).filter(|state| self.able().is_some_and(|both| both != *state))
        })
    }

    /// Maximum payload size supported by both ends, bytes.
    pub fn able_payload_bytes(&self) -> Option<u32> {
        let (port, device) =
            (self.port.able_payload_bytes.get()?, self.device.able_payload_bytes.get()?);
        Some(*port.min(device))
    }

    /// Maximum payload size in force on this link, bytes: the smaller of the two ends; 256, usual
    /// in servers, if unreadable.
    pub fn max_payload_bytes(&self) -> u32 {
        let ends = [self.port.max_payload_bytes.get(), self.device.max_payload_bytes.get()];
        ends.into_iter().flatten().min().copied().unwrap_or(256)
    }

    /// Payload bytes per second towards memory in the trained state; `None`: state unknown.
    pub fn payload_bytes_per_s(&self) -> Option<f64> {
        self.current.get()?.payload_bytes_per_s(self.max_payload_bytes())
    }

    /// Name of the link: PCI address of its device end.
    pub fn name(&self) -> &str {
        &self.device.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_rates_match_the_kernels_messages() {
        // "15.752 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x2 link"
        let gen3x2 = LinkState { generation: 3, width: 2 };
        assert!((gen3x2.raw_bytes_per_s().unwrap() * 8.0 / 1e9 - 15.753).abs() < 0.002);
        let gen4x4 = LinkState { generation: 4, width: 4 };
        assert!((gen4x4.payload_bytes_per_s(256).unwrap() / 1e6 - 7094.0).abs() < 2.0);
        let gen2x4 = LinkState { generation: 2, width: 4 };
        assert!((gen2x4.payload_bytes_per_s(128).unwrap() / 1e6 - 1659.0).abs() < 1.0);
        assert_eq!(LinkState { generation: 9, width: 4 }.raw_bytes_per_s(), None);
        // 990 PRO 2TB: 6900 MB/s of writes are published on Gen4 x4.
        let [split, whole] = [64, 256].map(|bytes| gen4x4.written_bytes_per_s(bytes).unwrap());
        assert!(split / 1e6 < 6000.0 && whole / 1e6 > 6900.0, "{split} {whole}");
    }

    #[test]
    fn links_are_parsed() {
        let gen2x4 = LinkState { generation: 2, width: 4 };
        for text in ["gen2x4", "Gen2 x4", "2x4"] {
            assert_eq!(LinkState::parse(text), Ok(gen2x4), "{text}");
        }
        for wrong in ["", "gen9x4", "gen4", "gen4x3", "x4", "gen4x400"] {
            assert!(LinkState::parse(wrong).is_err(), "{wrong}");
        }
    }
}
