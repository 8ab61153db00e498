//! Checks that passthrough I/O meets blocks without metadata.

use iodyno_model::Namespace;

/// Checks that the blocks of a namespace carry no metadata. With passthrough I/O no buffer is
/// provided for it: the drive would write it after the data buffer, or to address zero of the
/// command.
pub(crate) fn check_no_metadata(namespace: &Namespace) -> Result<(), String> {
    let name = &namespace.name;
    let format =
        namespace.identify.get().and_then(|identify| identify.formats.get(identify.format_in_use));
    match format.map(|format| format.metadata_bytes) {
        Some(0) => Ok(()),
        Some(bytes) => Err(format!(
            "io_uring_cmd cannot be used on {name}: its blocks carry {bytes} bytes of metadata; use ioengine=io_uring on its block device"
        )),
        None => Err(format!(
            "io_uring_cmd cannot be used on {name}: its metadata size is unknown (Identify Namespace needs root); use ioengine=io_uring on its block device"
        )),
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Bytes, Fact, IdentifyNamespace, LbaFormat};

    use super::*;

    #[test]
    fn passthrough_takes_blocks_without_metadata_only() {
        let format =
            |metadata_bytes| LbaFormat { data_bytes: 512, metadata_bytes, relative_performance: 0 };
        let mut namespace = Namespace {
            name: "nvme0n1".into(),
            nsid: Fact::Read(1),
            size: Fact::Read(Bytes(1 << 30)),
            logical_block_bytes: Fact::Read(512),
            identify: Fact::Read(IdentifyNamespace {
                size_blocks: 1 << 21,
                capacity_blocks: 1 << 21,
                used_blocks: 0,
                deallocated_reads_as: None,
                deallocated_read_may_fail: false,
                formats: vec![format(0), format(8)],
                format_in_use: 0,
            }),
            ..Namespace::default()
        };
        assert_eq!(check_no_metadata(&namespace), Ok(()));
        if let Fact::Read(identify) = &mut namespace.identify {
            identify.format_in_use = 1;
        }
        assert!(check_no_metadata(&namespace).unwrap_err().contains("8 bytes of metadata"));
        namespace.identify = Fact::NeedsRoot;
        assert!(check_no_metadata(&namespace).unwrap_err().contains("needs root"));
    }
}
