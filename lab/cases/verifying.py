"""Verifying finds what a drive did wrong, and says where: dm-flakey and swapped blocks stand for the drive's faults."""

from cases.jobs import JobCase, named

BLOCK = 4096
BLOCKS = 256
SECTORS = BLOCK // 512
LOST, FLIPPED, SWAPPED = 64, 128, (192, 193)
JOB = f"--bs={BLOCK} --size={BLOCKS * BLOCK} --direct=1 --verify=crc32c --verify_pattern=0xaa --filename=/dev/dm-0"


class Verifying(JobCase):
    def table(self, special):
        """A device-mapper table over the drive's first blocks; `special` has other targets for some."""
        device = f"/dev/{self.lab.namespace('F')}"
        plain = "linear {device} {sector}"
        lines = []
        for block in range(BLOCKS):
            sector = block * SECTORS
            target = special.get(block, plain).format(device=device, sector=sector)
            lines.append(f"{sector} {SECTORS} {target}")
        return "\n".join(lines)

    def load(self, special):
        table = self.file("/root/table", self.table(special))
        self.say(f"dmsetup create faulty --uuid LAB-faulty {table} 2>/dev/null || dmsetup reload faulty {table}; dmsetup resume faulty")

    def mismatches(self, name, result):
        """The measurement, and what its finding says, a line each."""
        self.assertEqual((result.status in (1, 3), "panicked" in result.stderr), (True, False), result.stderr)
        document = self.document(name, result)[1]
        found = named(document, name)
        self.assertNotEqual(found["validity"], "VALID")
        (finding,) = [f for f in document["findings"] if f["rule"] == "verify-mismatch"]
        return found, "\n".join([finding["what"], *(e["value"] for e in finding["evidence"])])

    def tearDown(self):
        self.say("dmsetup remove --retry faulty")

    def test_faults_between_writing_and_reading(self):
        self.load({LOST: "flakey {device} {sector} 0 1 1 drop_writes"})
        _, document = self.played(f"--allow-write LAB-faulty --discard-data LAB-faulty --name=w --rw=write --do_verify=0 {JOB}")
        self.assertEqual(named(document, "w")["write"]["ios"], BLOCKS)
        one, other = SWAPPED
        self.load({
            FLIPPED: "flakey {device} {sector} 0 1 5 corrupt_bio_byte 1000 r 171 0",
            one: f"linear {{device}} {other * SECTORS}",
            other: f"linear {{device}} {one * SECTORS}",
        })
        result = self.job(f"--name=r --rw=read --continue_on_error=verify {JOB}")
        found, said = self.mismatches("r", result)
        self.assertEqual(found["failure"], None)
        self.keep("verify.txt", said)
        for block in (LOST, FLIPPED, *SWAPPED):
            self.assertIn(f"offset {block * BLOCK}: ", said)
        self.assertIn(f"{other * BLOCK}", next(line for line in said.splitlines() if f"offset {one * BLOCK}: " in line))
        self.assertIn("one bit is flipped, in byte 999", next(line for line in said.splitlines() if f"offset {FLIPPED * BLOCK}: " in line))

    def test_a_lost_write_is_told_in_the_same_run(self):
        self.load({LOST: "flakey {device} {sector} 0 1 1 drop_writes"})
        result = self.job(f"--allow-write LAB-faulty --discard-data LAB-faulty --name=w --rw=write {JOB}")
        _, said = self.mismatches("w", result)
        self.assertIn(f"offset {LOST * BLOCK}: ", said)
        self.assertIn("lost write", said)

    def test_nothing_is_found_where_nothing_is_wrong(self):
        self.load({})
        _, document = self.played(f"--allow-write LAB-faulty --discard-data LAB-faulty --name=w --rw=randwrite --iodepth=4 --ioengine=libaio {JOB}")
        self.assertEqual(named(document, "w")["failure"], None)
