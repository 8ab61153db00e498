"""What passes to a drive is counted, within the kernel where it lets programs in."""

from cases import Case

READS, KIB = 200, 16


def counted(case, drive):
    """The summary of reads that dd makes of a drive, one after the other."""
    case.say(
        f"iodyno record {drive} --summary -o /tmp/summary.json >/tmp/record.txt 2>&1 & "
        "until grep -qs block_bio_queue /proc/[0-9]*/fdinfo/* || grep -qs 1 /sys/kernel/tracing/instances/*/events/block/block_bio_queue/enable; do sleep 0.1; done; "
        f"dd if=/dev/{drive} of=/dev/null bs={KIB}k count={READS} iflag=direct 2>/dev/null; kill -INT $!; wait $!", 30)  # fmt: skip
    _, document = case.iodyno("show /tmp/summary.json")
    trace = document["trace"]
    case.assertEqual([(of["operation"], of["ios"], of["bytes"], of["sequential"], of["latency"]["count"]) for of in trace["operations"]],
                     [("read", READS, READS * KIB << 10, READS - 1, READS)])  # fmt: skip
    case.assertEqual([of["name"] for of in trace["actors"]], ["dd"])
    case.assertEqual((trace["lost"], trace["unmatched"]), (0, 0))
    return trace


class Recording(Case):
    def test_a_summary_is_counted_within_the_kernel(self):
        self.assertEqual(counted(self, self.lab.namespace("A"))["source"], "bpf")
