"""Damage planted under data that was written for verifying, which a later reading has to find and name."""

import re
from dataclasses import dataclass
from pathlib import Path

from generators import GeneratorError

BLOCK = 4096
SIZE = 1 << 20
METHODS = ["crc32c", "md5", "xxhash", "sha256", "crc32", "crc64", "pattern"]


@dataclass(frozen=True)
class Damage:
    """What is done to a file's bytes, and the offset of the block in which it must be found."""

    name: str
    at: int

    def plant(self, data):
        if self.name == "flipped bit":
            data[self.at + 1234] ^= 0x10
        elif self.name == "lost write":
            data[self.at : self.at + BLOCK] = bytes(BLOCK)
        else:  # misdirected: what belongs elsewhere stands here
            data[self.at : self.at + BLOCK] = data[7 * BLOCK : 8 * BLOCK]


DAMAGES = [Damage("flipped bit", 5 * BLOCK), Damage("lost write", 100 * BLOCK), Damage("misdirected write", 33 * BLOCK)]


def job(method, rw):
    """A job file that writes without verifying, or reads and verifies. The pattern holds each block's offset: a
    constant one is the same at every place, and cannot show a write that went astray."""
    # fio begins to read before it has looked at all of a file that is mapped or cached: direct I/O sees the damage.
    lines = ["[verified]", "directory=${DIR}", "filename=data", f"rw={rw}", f"bs={BLOCK}", f"size={SIZE}", "ioengine=psync",
             "direct=1", f"verify={method}"]  # fmt: skip
    lines += ["verify_pattern=%o"] if method == "pattern" else []
    lines += ["do_verify=0"] if rw == "write" else ["verify_fatal=1"]
    return "\n".join(lines) + "\n"


def named_offsets(text):
    """Offsets in bytes that a message names."""
    return [int(found) for found in re.findall(r"offset\D{0,3}(\d+)", text)]


def found(generator, method, damage, directory):
    """What is wrong with how a generator finds the damage in what it wrote itself, as lines."""
    files = generator.fresh()
    write, read = (Path(directory, f"damage-{rw}.fio") for rw in ("write", "read"))
    write.write_text(job(method, "write"))
    read.write_text(job(method, "read"))
    generator.succeeding(write, files)
    generator.succeeding(read, files)  # undamaged, it is found good
    path = files / "data"
    data = bytearray(path.read_bytes())
    if len(data) != SIZE:
        raise GeneratorError(f"it wrote {len(data)} bytes instead of {SIZE}")
    before = bytes(data)
    damage.plant(data)
    if data == before:
        raise GeneratorError("nothing was damaged: all blocks are the same")
    path.write_bytes(data)
    outcome = generator.run(read, files)
    said = f"{outcome.printed}\n{outcome.output}"
    if outcome.status == 0:
        return ["found nothing: exit status 0"]
    if not any(damage.at <= offset < damage.at + BLOCK for offset in named_offsets(said)):
        return [f"failed without naming an offset in the block at {damage.at}: {outcome.printed.strip()[-500:]}"]
    return []
