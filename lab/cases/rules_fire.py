"""Rules that no other case trips: one boot, short jobs and looks, each of which is what one rule tells of."""

import contextlib
import json

import topology
from cases import FREE, Case, command

MACHINE = topology.HEALTHY_MACHINE
# Reads of drive A, each named after the rule that is to tell of it; one after the other.
READS = {
    "area-reread": "rw=randread\nbs=4k\nsize=256k\nio_size=2m",
    "depth-ignored": "rw=randread\nbs=4k\nsize=1m\nioengine=psync\niodepth=8",
    "overlapping-jobs": "rw=read\nbs=64k\nsize=4m\nnumjobs=2",
    "page-cache": "rw=read\nbs=64k\noffset=64m\nsize=32m\ndirect=0\nioengine=psync",
    # What the last one left in the page cache.
    "counters-differ": "rw=read\nbs=64k\noffset=64m\nsize=32m\ndirect=0\nioengine=psync\ninvalidate=0",
    "steadystate-slope": "rw=randread\nbs=4k\nsteadystate=iops_slope:20%\nsteadystate_duration=30\nruntime=1\ntime_based",
    "steady-state-not-reached": "rw=randread\nbs=4k\nsteadystate=iops:1%\nsteadystate_duration=30\nruntime=1\ntime_based",
    # One I/O at a time would not be the thread's limit, but its course.
    "submitter-saturated": "rw=randread\nbs=4k\noffset=64m\nsize=32m\ndirect=0\niodepth=8\ninvalidate=0\nruntime=2\ntime_based",
}
# Jobs on a queue that was set badly.
BADLY_SET = {
    "io-scheduler": "rw=randread\nbs=4k\nsize=1m\niodepth=2",
    "depth-capped": "rw=randread\nbs=4k\nsize=1m\niodepth=64",
    "blocks-split": "rw=read\nbs=256k\nsize=4m\niodepth=2",
}
# Drive D, which other cases leave without anything that is worth being asked about.
WRITTEN = "LABD0001"
WRITES = {
    "compressible-data": "rw=write\nbs=64k\noffset=512m\nsize=1m\nbuffer_pattern=0xdeadbeef",
    "writeback-throttled": "rw=rw\nbs=64k\noffset=512m\nsize=1m\ndirect=0\nioengine=psync\nend_fsync=1",
}
# As fio prints it: figures that it gets wrong, and a job that failed.
FIO_JOB = {
    "job options": {"rw": "write", "bs": "4k", "ioengine": "libaio", "iodepth": "4", "direct": "1", "verify": "crc32c", "filename": "/dev/nvme9n1"},
    "write": {"io_bytes": 4096000, "total_ios": 1000, "bw_bytes": 4096000, "iops": 1000.0, "runtime": 1000},
}
# One that was answered by memory.
FIO_MEMORY = {
    "jobname": "memory",
    "error": 0,
    "job options": {"rw": "randread", "bs": "4k", "ioengine": "psync", "direct": "1", "filename": "/dev/nvme9n1"},
    "read": {"io_bytes": 4096000, "total_ios": 1000000, "bw_bytes": 4096000000, "iops": 1000000.0, "runtime": 1000, "lat_ns": {"min": 700, "max": 9000, "mean": 900.0, "stddev": 90.0, "N": 1000000}},
}
FIO = {"fio version": "fio-3.36", "jobs": [{"jobname": "verified", "error": 0, **FIO_JOB}, {"jobname": "failed", "error": 5, **FIO_JOB}, FIO_MEMORY]}


class RulesFire(Case):
    @classmethod
    def setUpClass(cls):
        # Nothing here stands on its rates.
        cls.enterClassContext(cls.lab.throttled("A", FREE))

    def ran(self, words, before="", after=""):
        """The document of `iodyno run`, whatever came of its jobs; commands `before` and `after` it are carried out in any case."""
        result = self.lab.run(f"{before}\n{command('run ' + words)}; status=$?\n{after}\nexit $status", 90)
        self.no_panic(result)
        return self.document(words, result)[1]

    def jobs(self, name, sections, more="direct=1", drive="A"):
        """The path of a job file on a drive, its sections one after the other."""
        text = "".join(f"[{section}]\nstonewall\n{options}\n" for section, options in sections.items())
        path = f"/root/{name}.fio"
        self.say(f"cat > {path} <<'END'\n[global]\nfilename=/dev/{self.lab.namespace(drive)}\nioengine=io_uring\n{more}\n{text}END")
        return path

    def each_fires(self, document, sections):
        for rule in sections:
            with self.subTest(rule=rule):
                self.fires(rule, document, rule)

    def test_reads(self):
        self.each_fires(self.ran(self.jobs("reads", READS)), READS)

    def test_queues_that_were_set_badly(self):
        queue = f"/sys/block/{self.lab.namespace('A')}/queue"
        was = self.say(f"cat {queue}/nr_requests {queue}/max_sectors_kb").split()
        set_badly = f"echo mq-deadline > {queue}/scheduler; echo 8 > {queue}/nr_requests; echo 64 > {queue}/max_sectors_kb"
        set_back = f"echo none > {queue}/scheduler; echo {was[0]} > {queue}/nr_requests; echo {was[1]} > {queue}/max_sectors_kb"
        document = self.ran(self.jobs("badly-set", BADLY_SET), set_badly, set_back)
        self.each_fires(document, BADLY_SET)

    def test_writes(self):
        document = self.ran(f"--allow-write {WRITTEN} --discard-data {WRITTEN} {self.jobs('writes', WRITES, drive='D')}")
        self.each_fires(document, WRITES)

    def test_blocks_that_cannot_be_read(self):
        sections = {"measurement-failed": "", "io-errors": "continue_on_error=all"}
        path = self.jobs("unreadable", sections, "direct=1\nrw=read\nbs=4k\nsize=2m")
        with self.lab.unreadable("A", 2048, 64):
            document = self.ran(path)
        self.each_fires(document, sections)

    def test_blocks_that_do_not_hold_what_was_written(self):
        device = f"/dev/{self.lab.namespace('D')}"
        there = f"--bs=4k --offset=520m --size=1m --direct=1 --verify=crc32c --filename={device}"
        self.ran(f"--allow-write {WRITTEN} --discard-data {WRITTEN} --name=w --rw=write --do_verify=0 {there}")
        overwrite = f"dd if=/dev/urandom of={device} bs=4k seek={520 * 256 + 64} count=1 oflag=direct 2>/dev/null"
        self.fires("verify-mismatch", self.ran(f"--name=r --rw=read --continue_on_error=verify {there}", overwrite), "r ")

    def test_somebody_else_reads(self):
        device = f"/dev/{self.lab.namespace('A')}"
        others = f"while :; do dd if={device} of=/dev/null bs=256k count=400 iflag=direct 2>/dev/null; done & other=$!"
        job = f"--name=t --rw=randread --bs=4k --direct=1 --runtime=2 --time_based --filename={device}"
        self.fires("other-io", self.ran(job, others, "kill $other"), "t ")

    def test_a_volume_that_begins_within_a_block(self):
        device = f"/dev/{self.lab.namespace('A')}"
        make = f"dmsetup create shifted --table '0 65536 linear {device} 1'"
        job = "--name=t --rw=randread --bs=4k --direct=1 --size=1m --filename=/dev/mapper/shifted"
        document = self.ran(job, f"{make} && dmsetup mknodes", "dmsetup remove --retry shifted")
        self.fires("misaligned-layers", document, "t ")

    def test_memory_that_looks_like_a_disk(self):
        self.lab.load("memory")
        make = "echo 64M > /sys/block/zram0/disksize"
        job = "--name=t --rw=randread --bs=4k --direct=1 --ioengine=io_uring --size=8m --filename=/dev/zram0"
        document = self.ran(job, make, "echo 1 > /sys/block/zram0/reset")
        for rule in ("punted", "target-qualified"):
            with self.subTest(rule=rule):
                self.fires(rule, document, "t ")

    def test_all_interrupts_on_one_cpu(self):
        """The other CPU, and with it its queue, is taken out."""
        cpu = "/sys/devices/system/cpu/cpu1/online"
        job = f"--name=t --rw=randread --bs=4k --direct=1 --ioengine=psync --numjobs=2 --number_ios=8000 --filename=/dev/{self.lab.namespace('A')}"
        document = self.ran(job, f"echo 0 > {cpu}", f"echo 1 > {cpu}")
        self.fires("interrupts-on-one-cpu", document, "t ")

    def test_refilled_only_when_nearly_all_is_done(self):
        """On a drive with its own rate, which empties a queue slowly."""
        job = "--rw=randread --bs=4k --direct=1 --ioengine=io_uring --iodepth=32 --iodepth_low=1 --iodepth_batch=32 --number_ios=1000"
        self.fires("depth-not-reached", self.ran(f"--name=t {job} --filename=/dev/{self.lab.namespace('B')}"), "t ")

    def test_a_rate_that_changes_a_little(self):
        """By a fifth, which is no cliff."""
        job = f"run --name=t --rw=read --bs=256k --iodepth=8 --direct=1 --runtime=6 --time_based --filename=/dev/{self.lab.namespace('C')}"
        begun = self.lab.begin(command(job), 90)
        # 4096 blocks are sampled first; then there are some 100 reads a second.
        self.lab.wait_for_reads("C", 4096 + 250)
        with self.lab.throttled("C", 0.8):
            result = self.lab.finish(begun)
        self.no_panic(result)
        self.fires("not-steady", self.document(job, result)[1], "t ")

    def test_a_drive_that_was_slower_alone(self):
        """Its rate is back before both are measured at once."""
        drives = " ".join(self.lab.controller(drive) for drive in "BC")
        with self.lab.throttled("B", 1 / 4):
            begun = self.lab.begin(command(f"check --time 2 {drives}"), 120)
            self.lab.wait_for_reads("C", 4096 + 20)
        result = self.lab.finish(begun)
        self.no_panic(result)
        self.fires("slow-fluctuations", self.document("check", result)[1], "with all at once")

    def test_too_short_to_be_exact(self):
        with self.lab.throttled("B", 1 / 4):
            _, document = self.iodyno(f"check --max-time 1s {self.lab.controller('B')}")
        self.fires("interval-too-wide", document, "seq-read")

    def test_what_another_fio_reported(self):
        self.say(f"cat > /root/fio.json <<'END'\n{json.dumps(FIO)}\nEND")
        self.say("iodyno import --store /tmp/fio.sqlite /root/fio.json; [ $? -le 4 ]")
        result = self.lab.run("iodyno show last --json --store /tmp/fio.sqlite")
        document = self.document("show", result)[1]
        self.fires("fio-defects", document, "verified")
        self.fires("measurement-failed", document, "failed")
        self.fires("latency-too-low", document, "memory")

    def test_a_write_cache_that_is_off(self):
        controller = self.lab.controller("B")
        self.say(f"nvme set-feature /dev/{controller} -f 6 -v 0 || nvme set-feature /dev/{controller} -f 6 -V 0")
        try:
            self.fires("write-cache-differs", self.look(), controller)
        finally:
            self.say(f"nvme set-feature /dev/{controller} -f 6 -v 1 || nvme set-feature /dev/{controller} -f 6 -V 1")
        self.assertNotIn("write-cache-differs", {f["rule"] for f in self.look()["findings"]})

    def test_a_process_that_is_stopped(self):
        name = self.lab.namespace("C")
        job = f"run --name=t --rw=randread --bs=4k --iodepth=8 --direct=1 --runtime=12 --time_based --filename=/dev/{name}"
        count = f"read reads rest </sys/block/{name}/stat"
        # 4096 blocks are sampled first.
        wait = f"{count}; until=$((reads + 4096 + 1500)); while [ $reads -lt $until ]; do usleep 50000; {count}; done"
        result = self.lab.run(f"{command(job)} & pid=$!; {wait}; worker=$(cat /proc/$pid/task/$pid/children); kill -STOP $worker; sleep 5; kill -CONT $worker; wait $pid", 90)
        self.no_panic(result)
        self.fires("process-stopped", self.document(job, result)[1], "t ")

    def test_small_writes_that_cost_as_much_as_large_ones(self):
        """The throttle counts I/Os, as a drive counts its units."""
        sections = {"four": "bs=4k", "sixteen": "bs=16k"}
        more = "direct=1\nrw=randwrite\niodepth=32\noffset=512m\nsize=64m\nruntime=3\ntime_based"
        path = self.jobs("units", sections, more, drive="D")
        self.fires("indirection-unit", self.ran(f"--allow-write {WRITTEN} --discard-data {WRITTEN} {path}"), "four ")

    def look(self):
        """A look without load and without the data sheet, so that drives are held to be as fast as their links."""
        return self.document("check", self.lab.run("iodyno check --no-load --json --store /tmp/look.sqlite"))[1]

    def test_bays_of_other_links(self):
        """One drive in a narrow bay, one that is itself narrow in a wide bay."""
        self.needs_registers()
        with contextlib.ExitStack() as bays:
            bays.enter_context(self.lab.able("root3", topology.GEN3_X2))
            bays.enter_context(self.lab.trained("C", topology.GEN3_X2))
            document = self.look()
            bays.enter_context(self.lab.able("B", topology.GEN3_X2))
            bays.enter_context(self.lab.trained("B", topology.GEN3_X2))
            swapped = self.look()
        for rule in ("link-limited-by-slot", "link-unlike-peers"):
            with self.subTest(rule=rule):
                self.fires(rule, document, self.lab.controller("C"))
        self.fires("better-bay", swapped, self.lab.controller("C"))

    def test_a_link_that_rests(self):
        self.needs_registers()
        with self.lab.resting_link("A"):
            document = self.ran(f"--name=t --rw=randread --bs=4k --direct=1 --number_ios=100 --filename=/dev/{self.lab.namespace('A')}")
        self.fires("power-saving", document, "t ")

    def test_packets_smaller_than_they_could_be(self):
        self.needs_registers()
        with self.lab.larger_payload("C"):
            document = self.look()
        self.fires("payload-size", document, self.lab.controller("C"))

    def test_a_format_that_is_slower_than_another(self):
        self.needs_registers()
        with self.lab.slower_format("C"):
            document = self.look()
        self.fires("lba-format", document, self.lab.namespace("C"))
