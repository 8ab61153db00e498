//! Sends NVMe admin commands through the kernel's passthrough ioctl.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use crate::source::AdminRead;

/// `_IOWR('N', 0x41, struct nvme_passthru_cmd)`: `NVME_IOCTL_ADMIN_CMD` of linux/nvme_ioctl.h.
const ADMIN_COMMAND: u64 = 3 << 30 | (size_of::<PassthroughCommand>() as u64) << 16 | 0x4e41;

/// `struct nvme_passthru_cmd` of linux/nvme_ioctl.h, 72 bytes.
#[repr(C)]
#[derive(Debug, Default)]
struct PassthroughCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace_id: u32,
    dword_2: u32,
    dword_3: u32,
    metadata: u64,
    address: u64,
    metadata_length: u32,
    data_length: u32,
    dword_10: u32,
    dword_11: u32,
    dword_12: u32,
    dword_13: u32,
    dword_14: u32,
    dword_15: u32,
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<PassthroughCommand>() == 72);

const GET_LOG_PAGE: u8 = 0x02;
const IDENTIFY: u8 = 0x06;
const GET_FEATURES: u8 = 0x0a;
const HEALTH_LOG: u32 = 0x02;
const SANITIZE_LOG: u32 = 0x81;
const ACTIVE_NAMESPACES: u32 = 0x02;
const ALLOCATED_NAMESPACES: u32 = 0x10;
const ATTACHED_CONTROLLERS: u32 = 0x12;
const UUID_LIST: u32 = 0x17;
const OCP_HEALTH_LOG: u32 = 0xc0;
const LATENCY_MONITOR_LOG: u32 = 0xc3;
const VOLUME_LIMITS_LOG: u32 = 0xd0;
const POWER_MANAGEMENT: u32 = 0x02;
const VOLATILE_WRITE_CACHE: u32 = 0x06;
const AUTONOMOUS_POWER_STATES: u32 = 0x0c;
const ALL_NAMESPACES: u32 = 0xffff_ffff;

/// Length of the table that Get Features 0Ch returns in addition to dword 0, of 32 entries.
const AUTONOMOUS_TABLE_BYTES: usize = 256;

/// Sends a read-only command and returns its answer. Only [`AdminRead`]'s commands can be built,
/// none of which changes the drive. The kernel's own timeout holds: a shorter one would make it
/// reset the controller.
pub(crate) fn admin_read(device: &File, command: AdminRead) -> io::Result<Vec<u8>> {
    // Features answer in dword 0, one of them with a table in addition.
    let (is_feature, length) = match command {
        AdminRead::PowerState | AdminRead::VolatileWriteCache => (true, 0),
        AdminRead::AutonomousPowerStates => (true, AUTONOMOUS_TABLE_BYTES),
        page => (false, page.length_bytes()),
    };
    let mut data = vec![0_u8; length];
    // Number of dwords, zero-based, in the upper half.
    let log = |page: u32| page | (length as u32 / 4 - 1) << 16;
    let (opcode, namespace_id, dword_10, uuid_index) = match command {
        AdminRead::IdentifyNamespace(nsid) => (IDENTIFY, nsid, 0, 0),
        AdminRead::IdentifyController => (IDENTIFY, 0, 1, 0),
        // Those above namespace id 0: all.
        AdminRead::ActiveNamespaces => (IDENTIFY, 0, ACTIVE_NAMESPACES, 0),
        AdminRead::AllocatedNamespaces => (IDENTIFY, 0, ALLOCATED_NAMESPACES, 0),
        // Those from controller id 0 on: all.
        AdminRead::AttachedControllers(nsid) => (IDENTIFY, nsid, ATTACHED_CONTROLLERS, 0),
        AdminRead::UuidList => (IDENTIFY, 0, UUID_LIST, 0),
        AdminRead::Health => (GET_LOG_PAGE, ALL_NAMESPACES, log(HEALTH_LOG), 0),
        AdminRead::SanitizeStatus => (GET_LOG_PAGE, 0, log(SANITIZE_LOG), 0),
        AdminRead::OcpHealth(uuid) => (GET_LOG_PAGE, ALL_NAMESPACES, log(OCP_HEALTH_LOG), uuid),
        AdminRead::LatencyMonitor(uuid) => {
            (GET_LOG_PAGE, ALL_NAMESPACES, log(LATENCY_MONITOR_LOG), uuid)
        }
        AdminRead::VolumeLimits(_) => (GET_LOG_PAGE, 1, log(VOLUME_LIMITS_LOG), 0),
        AdminRead::PowerState => (GET_FEATURES, 0, POWER_MANAGEMENT, 0),
        AdminRead::VolatileWriteCache => (GET_FEATURES, 0, VOLATILE_WRITE_CACHE, 0),
        AdminRead::AutonomousPowerStates => (GET_FEATURES, 0, AUTONOMOUS_POWER_STATES, 0),
    };
    let mut request = PassthroughCommand {
        opcode,
        namespace_id,
        address: if data.is_empty() { 0 } else { data.as_mut_ptr() as u64 },
        data_length: length as u32,
        dword_10,
        // UUID Index, bits 6:0.
        dword_14: u32::from(uuid_index & 0x7f),
        ..PassthroughCommand::default()
    };
    // SAFETY: the descriptor is open; `request` is the struct that this ioctl
    // takes (its size is in the request number); `address` and `data_length`
    // describe `data`, which lives and is not touched until the call returns.
    let status = unsafe { libc::ioctl(device.as_raw_fd(), ADMIN_COMMAND as _, &raw mut request) };
    match status {
        0 if is_feature => Ok(request.result.to_le_bytes().to_vec()),
        0 => Ok(data),
        status if status > 0 => {
            Err(io::Error::other(format!("the drive answered with NVMe status {status:#x}")))
        }
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_number_is_the_kernels() {
        assert_eq!(ADMIN_COMMAND, 0xc048_4e41);
    }

    #[test]
    fn other_files_are_no_drive() {
        let null = File::open("/dev/null").unwrap();
        assert!(admin_read(&null, AdminRead::IdentifyController).is_err());
    }
}
