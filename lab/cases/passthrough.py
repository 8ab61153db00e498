"""io_uring_cmd on NVMe drives, and polling with and without queues for it."""

from cases.jobs import SMALL, JobCase, named, shortfalls

MIB = 1 << 20
# The drive is full of random data.
ALLOWED = "--allow-write LABF0001 --discard-data LABF0001"
PASSED = "ioengine=io_uring_cmd\ncmd_type=nvme\niodepth=8\n"


class Passthrough(JobCase):
    def polled(self, rw, place):
        """A job file that polls past and through the block layer, one after the other."""
        name = self.lab.namespace("F")
        sections = {
            "passed": f"filename=/dev/ng{name.removeprefix('nvme')}\n{PASSED}",
            "ring": f"filename=/dev/{name}\nioengine=io_uring\niodepth=8\ndirect=1\n",
        }
        jobs = "".join(f"[{name}]\nstonewall\n{text}" for name, text in sections.items())
        return list(sections), self.file(f"/root/{rw}.fio", f"[global]\nrw={rw}\nbs=4k\nhipri=1\n{place}\n{jobs}")

    def test_polling(self):
        read, written = self.polled("randread", "size=2m"), self.polled("randwrite", "offset=64m\nsize=4m")
        with self.lab.poll_queues("F"):
            writes = self.lab.writes("F")
            _, of_read = self.played(read[1])
            self.assertEqual(self.lab.writes("F"), writes, "a job that reads has written")
            # Jobs that only write sample nothing before; the guard reads some 600 times.
            interrupts = self.interrupts(self.lab.controller("F"))
            _, of_write = self.played(f"{ALLOWED} {written[1]}")
            interrupts = self.interrupts(self.lab.controller("F")) - interrupts
            self.assertGreaterEqual(self.lab.writes("F") - writes, 2000, "Linux merges a few")
        for name in read[0]:
            for document, direction, ios in ((of_read, "read", 512), (of_write, "write", 1024)):
                found = named(document, name)
                done = found[direction]
                self.assertEqual((done["ios"], done["errors"]), (ios, 0), found)
                self.assertNotIn("no poll queues", shortfalls(found))
        self.assertEqual(named(of_read, "passed")["workload"]["ioengine"], "io_uring_cmd")
        self.assertLess(interrupts, 1024, "2048 writes were not polled for")

    def test_hipri_without_poll_queues_is_told(self):
        device = f"--filename=/dev/{self.lab.namespace('F')}"
        result, document = self.played(f"--name=t --rw=randread {SMALL} --ioengine=io_uring --hipri=1 {device}")
        self.assertIn("poll_queues=", shortfalls(named(document, "t")), result.stderr)
        # The guest's Linux 6.1 polls for no call that waits, whatever the device.
        result, document = self.played(f"--name=t --rw=randread {SMALL} --ioengine=pvsync2 --hipri=1 {device}")
        self.assertIn("use io_uring", shortfalls(named(document, "t")), result.stderr)

    def test_writes_and_trims(self):
        name = self.lab.namespace("F")
        generic = f"/dev/ng{name.removeprefix('nvme')}"
        there = f"filename={generic}\n{PASSED}hipri=1\noffset=32m\nsize=1m\n"
        write = self.file("/root/w.fio", f"[w]\n{there}bs=4k\nrw=randwrite\nbuffer_pattern=0xdeadbeef\n")
        # QEMU leaves alone what is smaller than a cluster of its image, 64 KiB.
        trim = self.file("/root/t.fio", f"[t]\n{there}bs=64k\nrw=randtrim\n")
        # What is written here is verified through the block device.
        both = self.file(
            "/root/v.fio",
            f"[global]\noffset=32m\nsize=1m\nbs=4k\nverify=crc32c\n"
            f"[w]\nfilename={generic}\nioengine=io_uring_cmd\ncmd_type=nvme\niodepth=8\nrw=randwrite\ndo_verify=0\n"
            f"[r]\nstonewall\nfilename=/dev/{name}\nioengine=io_uring\ndirect=1\nrw=read\n",
        )
        around = [(32 * MIB - 64 * 1024, 64 * 1024), (33 * MIB, 64 * 1024)]
        with self.lab.poll_queues("F"):
            before, changes = [self.bytes_of(name, *place) for place in around], self.lab.writes("F")
            self.refused(write, "--allow-write LABF0001")
            self.refused(trim, "--allow-write LABF0001")
            self.assertEqual(self.lab.writes("F"), changes)
            _, document = self.played(f"{ALLOWED} {both}")
            self.assertEqual(named(document, "w")["write"]["ios"], 256)
            self.assertEqual((named(document, "r")["read"]["ios"], named(document, "r")["failure"]), (256, None))
            self.played(f"{ALLOWED} {write}")
            made = self.say("for i in $(seq 1024); do printf '\\xde\\xad\\xbe\\xef'; done > /tmp/1; for i in $(seq 256); do cat /tmp/1; done | md5sum")
            self.assertEqual(self.bytes_of(name, 32 * MIB, MIB), made.split()[0])
            self.played(f"{ALLOWED} {trim}")
            # QEMU's drives say that what was deallocated reads as zeros (DLFEAT 1).
            self.assertIn("dlfeat  : 1", self.say(f"nvme id-ns /dev/{name}").replace("dlfeat\t:", "dlfeat  :"))
            zeros = self.say("head -c 1048576 /dev/zero | md5sum").split()[0]
            self.assertEqual(self.bytes_of(name, 32 * MIB, MIB), zeros)
            self.assertEqual([self.bytes_of(name, *place) for place in around], before)
