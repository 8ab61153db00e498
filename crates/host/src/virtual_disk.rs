//! Recognizes disks of clouds and hypervisors that report as NVMe drives.

/// Prefix of the model string, and the disk's name. Sources: AWS "Amazon EBS volumes and NVMe" and
/// "SSD instance store volumes"; Microsoft "Azure NVMe overview"; Google "Local SSD: device names"
/// (`nvme_card`); QEMU hw/nvme/ctrl.c; VirtualBox DevNVMe; VMware "Virtual NVMe controller".
const KNOWN: [(&str, &str); 9] = [
    ("Amazon Elastic Block Store", "Amazon EBS volume"),
    ("Amazon EC2 NVMe Instance Storage", "Amazon EC2 instance storage"),
    ("MSFT NVMe Accelerator", "Azure managed disk"),
    ("Microsoft NVMe Direct Disk", "Azure local disk"),
    ("nvme_card-pd", "Google Persistent Disk"),
    ("nvme_card", "Google Cloud local SSD"),
    ("QEMU NVMe Ctrl", "QEMU"),
    ("VMware Virtual NVMe Disk", "VMware"),
    ("ORCL-VBOX-NVME", "VirtualBox"),
];

/// Name of the cloud's or hypervisor's disk with this model string; `None` for a physical drive.
pub fn virtual_disk(model: &str) -> Option<&'static str> {
    KNOWN.iter().find(|(prefix, _)| model.starts_with(prefix)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_disks_are_distinguished_from_drives() {
        assert_eq!(virtual_disk("nvme_card-pd"), Some("Google Persistent Disk"));
        assert_eq!(virtual_disk("nvme_card0"), Some("Google Cloud local SSD"));
        assert_eq!(virtual_disk("QEMU NVMe Ctrl"), Some("QEMU"));
        assert_eq!(virtual_disk("Samsung SSD 970 EVO 500GB"), None);
        assert_eq!(virtual_disk(""), None);
    }
}
