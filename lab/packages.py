"""The guest's software: Debian's packages, fetched with apt-get and unpacked, without installing anything.

A kernel is whatever its metapackage depends on today, so no version is written down here that will vanish from
the archive. What was unpacked is kept under a name that follows from the packages' versions.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

# The small kernel, and the one that has drivers for what clouds have not: five times as much to unpack.
CLOUD_KERNEL, FULL_KERNEL = "linux-image-cloud-amd64", "linux-image-amd64"
# That of an earlier Debian, PACKAGE/SUITE: 5.10.
OLD_KERNEL = "linux-image-cloud-amd64/bullseye"
TOOLS = "bcache-tools btrfs-progs busybox-static cryptsetup-bin dmsetup e2fsprogs lvm2 mdadm mount nfs-kernel-server nvme-cli pciutils sg3-utils util-linux xfsprogs".split()
# Which dependencies come along: libraries and the PCI names. The C library is the host's, because the binary
# under test is linked against that one.
WANTED = re.compile(r"^(lib|zlib1g|pci\.ids)")
HOSTS_OWN = {"libc6", "libgcc-s1"}
TIMEOUT_S = 300
APT_LISTS = Path("/var/lib/apt/lists")


class PackageError(Exception):
    """A package cannot be had; the text says which and what to do."""


def _output(*argv, cwd=None):
    try:
        done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S)
    except FileNotFoundError:
        raise PackageError(f"{argv[0]} not found: the lab fetches its guest with Debian's apt") from None
    except subprocess.TimeoutExpired:
        raise PackageError(f"{' '.join(argv[:3])} took more than {TIMEOUT_S} s") from None
    if done.returncode != 0:
        raise PackageError(f"{' '.join(argv)} failed; run 'apt-get update' first?\n{done.stderr.strip()}")
    return done.stdout


def _suite(cache, name):
    """apt's options for a suite of this machine's archive that is not its own: lists apart, below `cache`."""
    home = (cache / f"apt-{name}").resolve()
    for folder in ("lists/partial", "archives/partial"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    archive = _output("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split()
    if not archive:
        raise PackageError("this machine's apt has no archive; run 'apt-get update' first?")
    (home / "sources.list").write_text(f"deb {archive[0]} {name} main\n")
    settings = {
        "Dir::Etc::SourceList": home / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": home / "lists",
        "Dir::Cache": home,
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
    }
    options = [word for setting in settings.items() for word in ("-o", "=".join(map(str, setting)))]
    _output("apt-get", *options, "-q", "update")
    return options


def _dependencies(packages, options=()):
    """{package: names it depends on}, without virtual packages and alternatives' markers."""
    found, current = {}, None
    for line in _output("apt-cache", *options, "depends", "--important", *packages).splitlines():
        if not line.startswith((" ", "|", "<")):
            current = found.setdefault(line.strip(), [])
        elif current is not None and (match := re.match(r"\s*\|?(?:Pre)?Depends: ([^<\s]+)", line)):
            current.append(match[1])
    return found


def _kernel_of(metapackage, options):
    """The kernel that a metapackage stands for."""
    kernels = [k for k in _dependencies([metapackage], options).get(metapackage, []) if k.startswith("linux-image-")]
    if not kernels:
        raise PackageError(f"{metapackage} names no kernel; run 'apt-get update' first?")
    return kernels[:1]


def _closure():
    """The tools, and the libraries that they need."""
    wanted, fresh = set(TOOLS), TOOLS
    while fresh:
        names = {name for deps in _dependencies(fresh).values() for name in deps}
        fresh = sorted(n for n in names - wanted - HOSTS_OWN if WANTED.match(n))
        wanted.update(fresh)
    return sorted(wanted)


def tools(cache):
    """The directory below `cache` that holds the guest's programs, unpacked."""
    # What is unpacked goes by the list it was made from: with another list it is another tree.
    return _unpacked(cache, "tools", hashlib.sha256(" ".join(TOOLS).encode()).hexdigest()[:4], _closure)


def kernel(cache, metapackage):
    """The directory below `cache` that holds a kernel and its modules, unpacked."""
    name, _, suite = metapackage.partition("/")
    if not suite:
        return _unpacked(cache, "kernel", name, lambda: _kernel_of(name, ()))
    # An earlier suite changes no more.
    for tree in cache.glob(f"kernel-{suite}-{name}-*"):
        return tree
    options = _suite(cache, suite)
    return _unpacked(cache, "kernel", f"{suite}-{name}", lambda: _kernel_of(name, options), options)


def _unpacked(cache, kind, key, names, options=()):
    """The tree of the packages that `names` gives; fetched where it is missing.

    apt is asked only where its lists are newer than what is there: its answers take seconds.
    """
    trees = f"{kind}-{key}-"
    for tree in cache.glob(f"{trees}*"):
        if not APT_LISTS.exists() or APT_LISTS.stat().st_mtime < tree.stat().st_mtime:
            return tree
    packages = names()
    versions = _output("apt-cache", *options, "show", "--no-all-versions", *packages)
    stamp = "\n".join(sorted(re.findall(r"^(?:Package|Version|SHA256): .*$", versions, re.M)))
    tree = cache / (trees + hashlib.sha256(stamp.encode()).hexdigest()[:12])
    if tree.is_dir():
        tree.touch()
        return tree
    cache.mkdir(parents=True, exist_ok=True)
    for stale in cache.glob(f"{trees if kind == 'kernel' else kind}*"):
        shutil.rmtree(stale)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as work:
        work = Path(work)
        # As root apt downloads as the user _apt, which must be able to write here; it says so at length otherwise.
        _output("apt-get", *options, "-q", "-o", "APT::Sandbox::User=root", "download", *packages, cwd=work)
        for package in work.glob("*.deb"):
            _output("dpkg", "-x", str(package), str(work / "tree"))
        (work / "tree").rename(tree)
    tree.touch()
    return tree


def image(tree):
    """The kernel image in an unpacked tree."""
    images = sorted((tree / "boot").glob("vmlinuz-*"))
    if not images:
        raise PackageError(f"no kernel in {tree}; delete it and try again")
    return images[-1]
