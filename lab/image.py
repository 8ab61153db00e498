"""A disk full of random data that takes little of the host: a qcow2 image in which many blocks share one cluster.

A drive's data must neither compress nor be zero, and must not come from the host's disk, whose speed would then be
measured. A few megabytes of random data that appear again and again over the whole disk stay in the host's page
cache. The format is QEMU's docs/interop/qcow2.txt, version 2.
"""

import os
import struct

CLUSTER_BITS = 16
CLUSTER_BYTES = 1 << CLUSTER_BITS
L2_ENTRIES = CLUSTER_BYTES // 8
COPIED = 1 << 63
DATA_CLUSTERS = 256


SECTOR_BYTES = 512


def test_data(size_bytes):
    """Random data with the stamp of a benchmark, the offset in each sector: nothing that `--discard-data` is asked for."""
    data = bytearray(os.urandom(size_bytes))
    for offset in range(0, size_bytes, SECTOR_BYTES):
        struct.pack_into("<Q", data, offset, offset)
    return bytes(data)


def write_repeating(path, size_bytes):
    """Writes an image of `size_bytes`, every cluster of it random data, that fits in about 16 MiB."""
    clusters = -(-size_bytes // CLUSTER_BYTES)
    l2_tables = -(-clusters // L2_ENTRIES)
    reference_table, reference_block, l1_table, first_l2 = range(1, 5)
    first_data = first_l2 + l2_tables
    references = [1] * first_data + [0] * DATA_CLUSTERS
    entries = []
    for cluster in range(clusters):
        data = first_data + cluster % DATA_CLUSTERS
        references[data] += 1
        # Not marked as copied, that is, as referred to once: a write would go to a new cluster.
        entries.append(data * CLUSTER_BYTES)
    header = struct.pack(
        ">4sIQIIQIIQQIIQ",
        *(b"QFI\xfb", 2, 0, 0, CLUSTER_BITS, size_bytes, 0),
        *(l2_tables, l1_table * CLUSTER_BYTES, reference_table * CLUSTER_BYTES, 1, 0, 0),
    )
    l1 = struct.pack(f">{l2_tables}Q", *((first_l2 + i) * CLUSTER_BYTES | COPIED for i in range(l2_tables)))
    parts = [
        header,
        struct.pack(">Q", reference_block * CLUSTER_BYTES),
        struct.pack(f">{len(references)}H", *references),
        l1,
        struct.pack(f">{clusters}Q", *entries),
    ]
    with open(path, "wb") as file:
        for part in parts:
            file.write(part + bytes(-len(part) % CLUSTER_BYTES))
        file.write(os.urandom(DATA_CLUSTERS * CLUSTER_BYTES))
