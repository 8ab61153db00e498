"""The guest's software: Debian's packages, fetched with apt-get and unpacked, without installing anything.

A kernel is whatever its metapackage depends on today, so no version is written down here that will vanish from
the archive; Ubuntu's are known by their digests instead. What was unpacked is kept under a name that follows
from the packages' versions.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

# The small kernel, and the one that has drivers for what clouds have not: five times as much to unpack.
CLOUD_KERNEL, FULL_KERNEL = "linux-image-cloud-amd64", "linux-image-amd64"
# Kernels of earlier years, as PACKAGE/SUITE: Debian's, and what Ubuntu's archive has kept.
OLD_KERNELS = {
    "4.18": "4.18.0-25-generic/bionic-updates",
    "5.4": "5.4.0-26-generic/focal",
    "5.10": "linux-image-cloud-amd64/bullseye",
    "5.15": "5.15.0-25-generic/jammy",
}
# The archive of Ubuntu (http://...). Debian's keyring has no key of it, so that each package is known by its SHA-256.
UBUNTU = os.environ.get("LAB_UBUNTU", "")
UBUNTUS = {
    "linux-image-4.18.0-25-generic": "5aa66e12e25b091d0cedb1eeaa66235bdb7d9889a484daec1f9e908d92beddef",
    "linux-modules-4.18.0-25-generic": "d21662c73ba590cce15b4360a282120d7f12b0c2febb72dd655ffe2ee92d7eee",
    "linux-image-5.4.0-26-generic": "5f619f3d9123f40603a164c6358fdcb1485b742c9bf497099bcc642076e0e782",
    "linux-modules-5.4.0-26-generic": "82cf8aa4ab5d8b4bb78f452c7069ffc7429fe1d0e2eef13f4b35ebe0b848b1a4",
    "linux-image-5.15.0-25-generic": "ad56f8c442a54d4f5ff2dff010d00321d53e32b543f3a92f3ba4e042d20a71da",
    "linux-modules-5.15.0-25-generic": "d0ba4087d9e1d497925b3481d3531fba6c2a852855f8019d73b0b1385aa4da1f",
}
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


def old_kernels():
    """Those of OLD_KERNELS that can be had: Ubuntu's where LAB_UBUNTU says where its archive is."""
    return {version: name for version, name in OLD_KERNELS.items() if UBUNTU or not _ubuntus(name)}


def _ubuntus(kernel):
    """The packages of one of Ubuntu's kernels."""
    return [package for package in UBUNTUS if package.endswith(kernel.partition("/")[0])]


def _suite(cache, name, ubuntus):
    """apt's options for a suite of Ubuntu, or of this machine's archive that is not its own: lists apart, below `cache`."""
    home = (cache / f"apt-{name}").resolve()
    for folder in ("lists/partial", "archives/partial"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    archive = [f"[trusted=yes] {UBUNTU}"] if ubuntus else _output("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split()
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
    ubuntus = _ubuntus(name)
    options = _suite(cache, suite, ubuntus)
    return _unpacked(cache, "kernel", f"{suite}-{name}", lambda: ubuntus or _kernel_of(name, options), options)


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
            known = UBUNTUS.get(package.name.split("_")[0])
            if known and known != hashlib.sha256(package.read_bytes()).hexdigest():
                raise PackageError(f"{package.name} is not the package that the lab knows")
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
