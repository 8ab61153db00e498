"""`iodyno run` when things go wrong: no io_uring, errors, a stop by the user, a drive that stops answering."""

import json

from cases import command
from cases.jobs import SMALL, JobCase, named, shortfalls

ENOSYS, EPERM = 38, 1
MIB = 1 << 20


class Misfortune(JobCase):
    def test_without_io_uring(self):
        job = f"--name=t --rw=randread {SMALL} --iodepth=4 --filename=/dev/{self.lab.namespace('F')}"
        _, document = self.played(f"{job} --ioengine=auto", before=f"without_io_uring {ENOSYS}")
        found = named(document, "t")
        self.assertEqual((found["workload"]["ioengine"], found["read"]["ios"]), ("libaio", 16))
        self.assertIn("io_uring does not work here", found["conditions"]["engine_reason"])
        refused = self.job(f"{job} --ioengine=io_uring", before=f"without_io_uring {EPERM}")
        self.assertNotEqual(refused.status, 0)
        for word in ("kernel.io_uring_disabled", "ioengine=auto"):
            self.assertIn(word, refused.stderr)

    def test_check_without_io_uring(self):
        checked = command(f"check --time 1 {self.lab.controller('F')}")
        result = self.lab.run(f"without_io_uring {ENOSYS} {checked}", 90)
        self.no_panic(result)
        _, document = self.document("check", result)
        found = named(document, "rand-read")
        self.assertIn(found["workload"]["ioengine"], ("libaio", "psync"))
        self.assertGreater(found["read"]["iops"]["value"], 0)

    def test_unreadable_blocks(self):
        """32 KiB at 1 MiB cannot be read: eight blocks of 4 KiB."""
        device = f"/dev/{self.lab.namespace('F')}"
        how = {
            "none": f"filename={device}",
            "all": f"filename={device}\ncontinue_on_error=all",
            "read": f"filename={device}\ncontinue_on_error=read",
            "passed": f"filename={device.replace('/nvme', '/ng')}\ncontinue_on_error=all\nioengine=io_uring_cmd\ncmd_type=nvme",
        }
        sections = "".join(f"[{name}]\nstonewall\n{option}\n" for name, option in how.items())
        path = self.file(
            "/root/errors.fio",
            f"[global]\nrw=read\nbs=4k\nsize=2m\ndirect=1\nioengine=io_uring\niodepth=1\n{sections}",
        )
        with self.lab.unreadable("F", 2048, 64):
            result = self.job(path)
        _, document = self.document(path, result)
        self.assertNotEqual(result.status, 0)
        none = named(document, "none")
        self.assertTrue(none["failure"] and str(MIB) in none["failure"], none["failure"])
        self.assertEqual((none["read"]["ios"], none["read"]["errors"]), (256, 1))
        for name in ("all", "read", "passed"):
            found = named(document, name)
            self.assertEqual((found["failure"], found["read"]["ios"], found["read"]["errors"]), (None, 504, 8))
        said = [e["value"] for f in document["findings"] if f["rule"] == "io-errors" for e in f["evidence"]]
        offsets = ", ".join(str(MIB + 4096 * i) for i in range(8))
        told = [text for text in said if text.startswith("8 x") and text.endswith(offsets)]
        # Past the block layer as well, and with the same errno.
        self.assertEqual((len(told), len(set(told))), (3, 1), said)

    def test_stopped_by_the_user(self):
        job = f"run --store /tmp/iodyno.sqlite --output-format=json --name=t --rw=randread --bs=4k --direct=1 --filename=/dev/{self.lab.namespace('F')}"
        # The blocks that are sampled first are 4096 reads.
        reads = f"$(awk '{{print $1}}' /sys/block/{self.lab.namespace('F')}/stat)"
        # A shell without job control has its children in the background ignore SIGINT, until they ask for it.
        result = self.lab.run(
            f"goal=$(({reads} + 5500)); iodyno {job} & pid=$!; "
            f"until [ {reads} -ge $goal ] || ! kill -0 $pid; do usleep 50000; done; kill -INT $pid; wait $pid"
        )
        self.no_panic(result)
        self.assertEqual(result.status, 3, result.stderr)
        (job,) = json.loads(result.stdout)["jobs"]
        self.assertGreater(job["read"]["total_ios"], 400)

    def test_a_device_that_is_silent_before_the_start(self):
        # It looks for data on the device before it may write, and gets no answer. Nothing is allowed to be written.
        name = self.lab.namespace("F")
        self.say(f"dmsetup create silent --table '0 65536 linear /dev/{name} 0'")
        watched = (
            "dmsetup suspend --noflush --nolockfs silent; "
            f"{command('run')} --name=t --rw=randwrite --bs=4k --filename=/dev/dm-0 >/tmp/out 2>/tmp/err & pid=$!; n=0; "
            "until grep -q 'has not answered a read' /tmp/err || [ $n -gt 600 ]; do usleep 100000; n=$((n+1)); done; "
            # It is gone although the device does not answer; the kernel keeps the process in which it worked.
            "worker=$(cat /proc/$pid/task/$pid/children); kill -INT $pid; wait $pid; s=$?; "
            "[ -d /proc/$worker ] || s=100; dmsetup resume silent; "
            "until [ ! -d /proc/$worker ]; do usleep 50000; done; cat /tmp/out; cat /tmp/err >&2; exit $s"
        )
        try:
            result = self.lab.run(watched, 240)
        finally:
            self.say("dmsetup resume silent; dmsetup remove --retry silent")
        self.no_panic(result)
        self.assertEqual(result.status, 3, result.stderr)
        self.assertRegex(result.stderr, r"/dev/dm-0 has not answered a read for \d+ s")
        self.assertRegex(result.stderr, r"interrupted, and /dev/dm-0 has not answered a read")

    def test_an_end_that_a_silent_device_does_not_hold_up(self):
        name = self.lab.namespace("F")
        self.say(f"dmsetup create keeps --table '0 65536 linear /dev/{name} 0'")
        # The kernel lets a process go whose io_uring has I/O in flight; any other stays until the device answers.
        for engine, stays in (("io_uring", ""), ("libaio", "[ -d /proc/$worker ] || s=100; "), ("psync", "[ -d /proc/$worker ] || s=100; ")):
            watched = (
                f"reads() {{ awk '{{print $1}}' /sys/block/dm-0/stat; }}; goal=$(($(reads) + 4800)); "
                f"{command('run')} --name=t --rw=randread --bs=4k --iodepth=4 --direct=1 --ioengine={engine} "
                "--runtime=600 --time_based --filename=/dev/dm-0 >/tmp/out 2>/tmp/err & pid=$!; "
                "until [ $(reads) -gt $goal ] || ! kill -0 $pid; do usleep 50000; done; "
                "worker=$(cat /proc/$pid/task/$pid/children); dmsetup suspend --noflush --nolockfs keeps; "
                # The device is still suspended when it is gone.
                f"kill -INT $pid; wait $pid; s=$?; {stays}dmsetup resume keeps; "
                "until [ ! -d /proc/$worker ]; do usleep 50000; done; cat /tmp/out; cat /tmp/err >&2; exit $s"
            )
            with self.subTest(engine):
                try:
                    result = self.lab.run(watched, 120)
                finally:
                    self.say("dmsetup resume keeps")
                self.no_panic(result)
                self.assertEqual(result.status, 3, result.stderr)
                if stays:
                    self.assertRegex(result.stderr, r"interrupted, and .* has not answered .* is left behind")
        self.say("dmsetup remove --retry keeps")

    def test_a_device_that_stops_answering(self):
        name = self.lab.namespace("F")
        self.say(f"dmsetup create hangs --table '0 65536 linear /dev/{name} 0'")
        # It is suspended once reads have come through, and answers again when iodyno has said that it does not.
        watched = (
            f"{command('run')} --name=t --rw=randread --bs=4k --iodepth=4 --direct=1 --ioengine=libaio "
            "--runtime=4 --time_based --filename=/dev/dm-0 >/tmp/out 2>/tmp/err & pid=$!; "
            "until [ $(awk '{print $1}' /sys/block/dm-0/stat) -gt 4800 ] || ! kill -0 $pid; do usleep 50000; done; "
            "dmsetup suspend --noflush --nolockfs hangs; n=0; "
            "until grep -q 'no answer' /tmp/err || [ $n -gt 100 ]; do usleep 100000; n=$((n+1)); done; "
            "dmsetup resume hangs; wait $pid; s=$?; cat /tmp/out; cat /tmp/err >&2; exit $s"
        )
        try:
            result = self.lab.run(watched, 120)
        finally:
            self.say("dmsetup resume hangs; dmsetup remove --retry hangs")
        self.no_panic(result)
        self.assertRegex(result.stderr, r"no answer for \d+ s to a read of 4096 bytes at offset \d+")
        _, document = self.document("run", result)
        found = named(document, "t")
        self.assertEqual((found["failure"], found["read"]["errors"]), (None, 0), shortfalls(found))
        self.assertGreater(found["read"]["ios"], 500)
