"""Installs and runs each package in a root of its own: make packages-test.

Takes the folder with the archives and packages as ARCHIVES. Requires root (chroot), dpkg and rpm; what
cannot be tried here is counted as skipped. Nothing outside of temporary folders is changed.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ARCHIVES = Path(os.environ.get("ARCHIVES", HERE)).resolve()
OWN = platform.machine()
KINDS = ["iodyno-*-{arch}-linux-musl.tar.gz", "iodyno_*_{debian}.deb", "iodyno-*.{arch}.rpm", "iodyno-*_{arch}.whl"]
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


def package(kind: int, arch: str = OWN) -> Path:
    found = sorted(ARCHIVES.glob(KINDS[kind].format(arch=arch, debian=DEBIAN[arch])))
    if not found:
        raise unittest.SkipTest(f"no {KINDS[kind]} for {arch} in {ARCHIVES}: make packages")
    return found[-1]


def run(*command: object, **more: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def files(root: Path) -> set[str]:
    paths = (path.relative_to(root) for path in root.rglob("*") if not path.is_dir())
    return {str(path) for path in paths if not re.match(r"var/|tmp/|dev/", str(path))}


def file_digests(archive: Path) -> dict[str, str]:
    """Of the archive, and of each file in it, which tells what differs."""
    with tarfile.open(archive) as tar:
        found = {file.name: tar.extractfile(file).read() for file in tar if file.isfile()}
    found[archive.name] = archive.read_bytes()
    return {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}


class Packages(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)

    def needs(self, *tools: str) -> None:
        if os.geteuid() != 0:
            self.skipTest("not root")
        for tool in tools:
            if not shutil.which(tool):
                self.skipTest(f"no {tool}")

    def unpacked(self, arch: str = OWN) -> Path:
        with tarfile.open(package(0, arch)) as tar:
            tar.extractall(self.root)
        (folder,) = self.root.glob("iodyno-*")
        return folder

    def check_root(self, root: Path) -> None:
        """What an installed package has to hold, run with no other file than its own."""
        (root / "tmp").mkdir(exist_ok=True)
        version = run("chroot", root, "/usr/bin/iodyno", "--version")
        self.assertRegex(version, r"^iodyno \d+\.\d+\.\d+")
        for file in (
            "usr/share/man/man1/iodyno.1.gz",
            "usr/share/man/man1/iodyno-check.1.gz",
            "usr/share/bash-completion/completions/iodyno",
            "usr/share/fish/vendor_completions.d/iodyno.fish",
            "usr/lib/systemd/system/iodyno-check.service",
            "usr/share/doc/iodyno/copyright",
            "usr/share/doc/iodyno/THIRD-PARTY-LICENSES",
        ):
            self.assertTrue((root / file).is_file(), file)
        # The timer is there, and nothing starts it.
        timer = (root / "usr/lib/systemd/system/iodyno-check.timer").read_text()
        self.assertIn("OnCalendar=weekly", timer)
        self.assertFalse(list(root.rglob("timers.target.wants")))
        if shutil.which("systemd-analyze"):
            unit = (root / "usr/lib/systemd/system/iodyno-check.service").read_text()
            copy = self.root / "iodyno-check.service"
            copy.write_text(unit)
            run("systemd-analyze", "verify", "--man=no", copy)

    def test_archive_runs_alone_in_a_root(self) -> None:
        """As in a container from nothing: no shell, no C library, no /sys; /proc only to measure."""
        self.needs("unshare")
        folder = self.unpacked()
        self.assertRegex(run("chroot", folder, "/iodyno", "--version"), r"^iodyno ")
        run("chroot", folder, "/iodyno", "help")
        listed = subprocess.run(["chroot", folder, "/iodyno", "list"], capture_output=True, text=True)
        self.assertNotIn("panicked", listed.stderr)
        # A measurement needs a file and a place for the store.
        job = ["run", "--quiet", "--name=t", "--filename=/data", "--size=1m", "--rw=randread", "--runtime=100ms"]
        (folder / "data").write_bytes(os.urandom(1 << 20))
        (folder / "proc").mkdir()
        inside = ["unshare", "--mount", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', folder]
        printed = run(*inside, "/iodyno", "--store", "/store.sqlite", "--json", *job)
        self.assertIn('"iops"', printed)

    def test_archive_names_what_it_is_made_of(self) -> None:
        folder = self.unpacked()
        bill = json.loads((folder / "sbom.cdx.json").read_text())
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"))
        names = {component["name"] for component in bill["components"]}
        self.assertLessEqual({"clap", "libsqlite3-sys", "iodyno-native"}, names)
        self.assertFalse(names & {"proptest", "expect-test"}, "of tests alone")
        for component in bill["components"]:
            self.assertTrue(component.get("licenses"), component["name"])
        crates = {(component["name"], component["version"]) for component in bill["components"]}
        # Panics name the files of their crates: those are linked, whoever else says so.
        source = rb"/cargo/registry/src/[^/\0]+/([A-Za-z0-9_-]+?)-(\d+\.\d+\.\d+[^/\0]*)/"
        binary = (folder / "iodyno").read_bytes()
        named = {(name.decode(), version.decode()) for name, version in re.findall(source, binary)}
        self.assertGreater(len(named), 30)
        self.assertEqual(named - crates, set())
        lock = tomllib.loads((HERE.parent / "Cargo.lock").read_text())["package"]
        digests = {(one["name"], one["version"]): one.get("checksum") for one in lock}
        for component in bill["components"]:
            digest = digests[component["name"], component["version"]]
            hashes = [{"alg": "SHA-256", "content": digest}] if digest else []
            self.assertEqual(component.get("hashes", []), hashes, component["name"])
        # And assertions of C name theirs. Where they lay when they were compiled is nobody's business.
        self.assertIn(b"/target/", binary)
        for place in (HERE.parent, Path.home()):
            self.assertNotIn(f"{place}/".encode(), binary)
        texts = (folder / "THIRD-PARTY-LICENSES").read_text()
        for component in bill["components"]:
            if not component["name"].startswith("iodyno"):
                self.assertIn(f"{component['name']} {component['version']} (", texts)

    def test_bill_of_materials_is_valid(self) -> None:
        python = self.environment("cyclonedx-python-lib[json-validation]")
        script = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
print(JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read()))
"""
        self.assertEqual(run(python, "-c", script, self.unpacked() / "sbom.cdx.json"), "None\n")

    def test_archive_is_the_same_again(self) -> None:
        """Compiled in another folder, of a clone: a quarter of an hour."""
        if not os.environ.get("REBUILD"):
            self.skipTest("REBUILD=1 compiles all of it again")
        clone = self.root / "elsewhere"
        run("git", "-c", "safe.directory=*", "clone", "-q", "--no-tags", HERE.parent, clone)
        environment = {**os.environ, "CARGO_TARGET_DIR": str(self.root / "other-target")}
        run(clone / "dist/build", self.root / "again", env=environment)
        for arch in DEBIAN:
            self.assertEqual(*(file_digests(folder / package(0, arch).name) for folder in (ARCHIVES, self.root / "again")), arch)

    def test_container(self) -> None:
        """Built without any registry, the image holds the binary alone."""
        self.needs("buildah")
        archive, context = package(0), self.root / "context"
        context.mkdir()
        for path in (archive, HERE / "Containerfile"):
            shutil.copy(path, context)
        buildah = ["buildah", f"--root={self.root}/storage", f"--runroot={self.root}/running", "--storage-driver=vfs"]
        build = ["build", "--isolation=chroot", f"--build-arg=ARCHIVE={archive.name}", "--tag=iodyno"]
        run(*buildah, *build, f"--file={context}/Containerfile", context)
        container = run(*buildah, "from", "iodyno").strip()
        self.addCleanup(run, *buildah, "rm", "--all")
        image = Path(run(*buildah, "mount", container).strip())
        self.assertEqual(files(image), {"usr/bin/iodyno"})
        inside = [*buildah, "run", "--isolation=chroot", container, "--", "/usr/bin/iodyno"]
        self.assertRegex(run(*inside, "--version"), r"^iodyno ")
        job = ["--quiet", "--json", "--name=t", "--filename=/data", "--size=1m", "--rw=randrw", "--runtime=100ms"]
        self.assertIn('"iops"', run(*inside, "run", *job))
        # Its store is where the volume would be.
        self.assertIn("t", run(*inside, "runs"))

    def test_archive_of_the_other_processor(self) -> None:
        arch = ({"x86_64", "aarch64"} - {OWN}).pop()
        emulator = shutil.which(f"qemu-{arch}-static") or self.skipTest(f"no qemu-{arch}-static")
        folder = self.unpacked(arch)
        iodyno = [emulator, folder / "iodyno", "--store", self.root / "store.sqlite", "--quiet"]
        self.assertRegex(run(*iodyno, "--version"), r"^iodyno ")
        run(*iodyno, "list")
        job = ["--name=t", f"--filename={self.root}/data", "--size=1m", "--rw=randread", "--runtime=100ms"]
        for engine in ("auto", "psync", "io_uring", "libaio"):
            done = subprocess.run(
                [str(word) for word in (*iodyno, "--json", "run", *job, f"--ioengine={engine}")], capture_output=True, text=True
            )
            self.assertNotIn("panicked", done.stderr)
            # The emulator has no io_uring and no AIO: by name they are refused, and the reason is said.
            self.assertIn(done.returncode, (0,) if engine in ("auto", "psync") else (0, 3), done.stderr)
            self.assertTrue('"iops"' in done.stdout or engine in done.stdout + done.stderr, done.stderr)
        checked = subprocess.run([*map(str, iodyno), "check", "--busy", "--time", "100ms", str(self.root)], capture_output=True, text=True)
        self.assertIn(checked.returncode, (0, 1, 4), checked.stderr)
        self.assertIn("IOPS", checked.stdout)

    def test_deb(self) -> None:
        self.needs("dpkg")
        for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"):
            (self.root / folder).mkdir(parents=True)
        for file in ("status", "available"):
            (self.root / "var/lib/dpkg" / file).touch()
        before = files(self.root)
        dpkg = ["dpkg", f"--root={self.root}", f"--log={self.root}/var/log"]
        run(*dpkg, "--install", package(1))
        self.check_root(self.root)
        run(*dpkg, "--verify", "iodyno")
        (self.root / "iodyno-check.service").unlink(missing_ok=True)
        run(*dpkg, "--purge", "iodyno")
        self.assertEqual(files(self.root), before)

    def test_rpm(self) -> None:
        self.needs("rpm")
        rpm = ["rpm", "--root", self.root]
        run(*rpm, "--initdb")
        before = files(self.root)
        run(*rpm, "--install", package(2))
        self.check_root(self.root)
        run(*rpm, "--verify", "--nouser", "--nogroup", "iodyno")
        (self.root / "iodyno-check.service").unlink(missing_ok=True)
        run(*rpm, "--erase", "iodyno")
        self.assertEqual(files(self.root), before)

    def test_service_writes_metrics(self) -> None:
        """The unit's own command, with the binary of the archive."""
        folder = self.unpacked()
        unit = (HERE / "systemd/iodyno-check.service").read_text()
        script = re.search(r"^ExecStart=/bin/sh -c '(.*)'$", unit, re.MULTILINE).group(1)
        metrics = self.root / "metrics"
        metrics.mkdir()
        theirs = self.root / "theirs"
        theirs.write_text("theirs")
        (metrics / "iodyno.prom").symlink_to(theirs)
        environment = {
            "PATH": f"{folder}:/usr/bin:/bin",
            "TEXTFILES": str(metrics),
            "STATE_DIRECTORY": str(self.root),
            "IODYNO_STORE": str(self.root / "store.sqlite"),
        }
        done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1, 4), done.stderr)
        self.assertEqual([path.name for path in metrics.iterdir()], ["iodyno.prom"])
        self.assertIn("# TYPE iodyno_", (metrics / "iodyno.prom").read_text())
        self.assertEqual(theirs.read_text(), "theirs")

    def environment(self, *packages: str) -> Path:
        """A Python of its own with the wheel, and what it is asked to have besides."""
        venv.create(self.root / "venv", with_pip=True)
        python = self.root / "venv/bin/python"
        run(python, "-m", "pip", "install", "--quiet", "--no-index", package(3))
        for other in packages:
            try:
                run(python, "-m", "pip", "install", "--quiet", other)
            except AssertionError as error:
                self.skipTest(f"no {other}: {str(error)[-200:]}")
        return python

    def test_wheel_is_the_binary(self) -> None:
        python = self.environment()
        (archived,) = (self.unpacked() / "iodyno",)
        installed = python.parent / "iodyno"
        self.assertEqual(*(hashlib.sha256(path.read_bytes()).digest() for path in (archived, installed)))
        self.assertRegex(run(installed, "--version"), r"^iodyno ")

    def test_wheel_loads_results(self) -> None:
        python = self.environment("pandas", "pyarrow", "polars")
        script = """
import iodyno, subprocess, os
job = ["--name=t", "--filename=data", "--size=1m", "--rw=randrw", "--runtime=100ms", "--time_based"]
call = lambda *words: subprocess.run([iodyno.binary(), *words], check=True, stdout=subprocess.DEVNULL)
call("run", "-q", "--run-name", "one", "--stream", "seconds.ndjson", *job)
call("runs", "export", "one", "-o", "one.json")
call("runs", "export", "one", "--format", "parquet", "-o", "one.parquet")
names = [word for name in ("NA", "007", "@at") for word in (f"--name={name}", *job[1:], "--rw=randread", "--stonewall")]
call("run", "-q", "--run-name", "1E5", *names)
for engine in ("pandas", "polars"):
    for source in ("one", "one.json", "one.parquet"):
        frame = iodyno.load(source, engine=engine)
        assert type(frame).__module__.startswith(engine), type(frame)
        assert len(frame) == 2, (engine, source, len(frame))
        assert set(frame["direction"]) == {"read", "write"}, frame["direction"]
        assert frame["iops"].min() > 0
    assert len(iodyno.load("one", "one.json", engine=engine)) == 4
    frame = iodyno.load("1E5", engine=engine)
    assert list(frame["measurement"]) == ["NA", "007", "@at"], frame["measurement"]
    assert set(frame["run_name"]) == {"1E5"}, frame["run_name"]
    assert "type" in iodyno.load("seconds.ndjson", engine=engine).columns
try:
    iodyno.load("no such run")
except iodyno.IodynoError as error:
    assert "no such run" in str(error), error
else:
    raise AssertionError("loaded a run that is not there")
"""
        store = str(self.root / "store.sqlite")
        run(python, "-c", script, cwd=self.root, env={**os.environ, "IODYNO_STORE": store})

    def test_release(self) -> None:
        """A release of a clone: its version, tag, checksums and recipes. The archives are those at hand."""
        self.needs("rpmbuild", "dpkg-deb", "git", "cargo")
        clone, archives, home = self.root / "clone", self.root / "archives", self.root / "home"
        git = ["git", "-c", "safe.directory=*"]
        run(*git, "clone", "-q", "--no-tags", HERE.parent, clone)
        changelog = clone / "CHANGELOG.md"
        changelog.write_text(changelog.read_text().replace("## Unreleased\n", "## Unreleased\n\n- Something new.\n", 1))
        home.mkdir()
        (home / ".gitconfig").write_text("[user]\nname = A Tester\nemail = tester@localhost\n[safe]\ndirectory = *\n")
        cargo_home = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
        rustup_home = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))
        environment = {**os.environ, "HOME": str(home), "CARGO_HOME": cargo_home, "RUSTUP_HOME": rustup_home}
        run("git", "-C", clone, "commit", "-qam", "new", env=environment)
        version, url = "97.0.1", "https://example.org/iodyno/releases/v97.0.1"
        folder = self.unpacked()
        archives.mkdir()
        for arch in DEBIAN:
            name = f"iodyno-{version}-{arch}-linux-musl"
            folder = folder.rename(self.root / name)
            run("tar", "--create", "--gzip", f"--file={archives}/{name}.tar.gz", f"--directory={self.root}", name)
        release = [clone / "dist/release", "--archives", archives, version, url]

        head = run("git", "-C", clone, "rev-parse", "HEAD", env=environment)
        said = run(release[0], "--dry-run", *release[1:], env=environment)
        self.assertIn("tag: v97.0.1", said)
        self.assertEqual(run("git", "-C", clone, "rev-parse", "HEAD", env=environment), head)
        self.assertEqual(run("git", "-C", clone, "tag", env=environment), "")

        run(*release, env=environment)
        self.assertEqual(run("git", "-C", clone, "describe", env=environment), "v97.0.1\n")
        self.assertEqual(run("git", "-C", clone, "status", "--porcelain", env=environment), "")
        self.assertIn("Something new.", run("git", "-C", clone, "tag", "-n99", env=environment))
        for text in ('[workspace.package]\nversion = "97.0.1"', 'iodyno-native = { path = "crates/native", version = "97.0.1" }'):
            self.assertIn(re.sub(r"\s+", " ", text), re.sub(r"\s+", " ", (clone / "Cargo.toml").read_text()))
        self.assertRegex(changelog.read_text(), r"## Unreleased\n\n## 97\.0\.1 \(\d{4}-\d\d-\d\d\)\n\n- Something new")
        made = clone / "dist/97.0.1"
        for arch in DEBIAN:
            digest = hashlib.sha256((archives / f"iodyno-{version}-{arch}-linux-musl.tar.gz").read_bytes()).hexdigest()
            for recipe in ("PKGBUILD", "iodyno.rb", "iodyno.nix"):
                text = (made / recipe).read_text()
                self.assertIn(digest, text)
                self.assertNotRegex(text, "@[A-Z]")
        run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=made)
        run("bash", "-n", made / "PKGBUILD")
        again = subprocess.run([str(word) for word in release], env=environment, capture_output=True, text=True)
        self.assertEqual(again.returncode, 2)
        self.assertIn("already there", again.stderr)

    def test_same_archive_same_packages(self) -> None:
        self.needs("rpmbuild", "dpkg-deb")
        sums = []
        for copy in ("one", "another"):
            # Another folder, and another path to the script.
            folder, dist = self.root / copy, self.root / f"dist-{copy}"
            folder.mkdir()
            shutil.copytree(HERE, dist, ignore=shutil.ignore_patterns("*.tar.gz", "*.deb", "*.rpm", "*.whl"))
            shutil.copy(package(0), folder)
            run(sys.executable, dist / "packages", folder)
            sums.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()})
        self.assertEqual(len(sums[0]), 4)
        self.assertEqual(*sums)


if __name__ == "__main__":
    ran = unittest.main(exit=False, verbosity=2).result
    failed = len(ran.failures) + len(ran.errors)
    print(f"{ran.testsRun - failed - len(ran.skipped)} passed, {failed} failed, {len(ran.skipped)} skipped")
    sys.exit(1 if failed else 0)
