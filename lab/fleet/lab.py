#!/usr/bin/env python3
"""A fleet on one machine: network namespaces with sshd and slurmd as nodes, loop devices as drives.

    lab/fleet/lab.py --binary target/debug/iodyno [ansible] [slurm] [manifests]

node1 is healthy, node2's drive is slow, node3 has a degraded link (a captured machine), node4's drive dies half way,
node5 cannot be reached. Root, and Debian's slurmctld slurmd slurm-client munge openssh-server ansible-core iproute2."""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CAPTURE = ROOT / "crates/host/tests/fixtures/links.json"
NETWORK = "10.77.9"
BRIDGE = "iodynofleet"
NODES = [f"node{n}" for n in range(1, 6)]
REACHABLE = NODES[:4]
DRIVE_BYTES = 64 << 20
# Of the slow drive, a second.
READS = 100
TOOLS = "ip unshare nsenter losetup ssh-keygen /usr/sbin/sshd".split()
OF_CASE = {"ansible": ["ansible-playbook"], "slurm": "slurmctld slurmd munged srun sbatch scontrol".split(),
           "manifests": []}


def run(*words, check=True, **more):
    """The output of a command, which has to succeed."""
    done = subprocess.run([str(word) for word in words], text=True, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                          stdout=subprocess.PIPE, **more)
    if check and done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}")
    return done.stdout


def eventually(what, is_so, seconds=120):
    give_up = time.monotonic() + seconds
    while True:
        value = is_so()
        if value:
            return value
        assert time.monotonic() < give_up, f"{what}: not within {seconds} s"
        time.sleep(0.2)


class Fleet:
    """The nodes, until `down`."""

    def __init__(self, folder, binary):
        self.folder, self.started, self.loops, self.cgroup = folder, [], {}, None
        self.binary = folder / "iodyno"
        # Debug information is not carried to five nodes.
        run("strip", "-o", self.binary, binary) if shutil.which("strip") else shutil.copy(binary, self.binary)

    def up(self):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "id")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "host_key")
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "address", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        for number, node in enumerate(NODES, 11):
            self.node(node, f"{NETWORK}.{number}", number)
        for node in ("node1", "node2", "node4"):
            self.drive(node)
        self.slow_down("node2")
        for number, node in enumerate(NODES, 11):
            eventually(f"{node}'s sshd", lambda number=number: answers(f"{NETWORK}.{number}"), 60)
        run("ip", "link", "set", "iof15", "down")

    def node(self, node, address, number):
        home = self.folder / node
        home.mkdir()
        (home / "machine-id").write_text(f"{number:032x}\n")
        run("ip", "netns", "add", f"iof-{node}")
        run("ip", "link", "add", f"iof{number}", "type", "veth", "peer", "name", "eth0", "netns", f"iof-{node}")
        run("ip", "link", "set", f"iof{number}", "master", BRIDGE, "up")
        for words in (f"address add {address}/24 dev eth0", "link set eth0 up", "link set lo up"):
            run("ip", "-n", f"iof-{node}", *words.split())
        (home / "sshd_config").write_text(
            f"ListenAddress {address}:22\nHostKey {self.folder}/host_key\nPidFile {home}/sshd.pid\n"
            f"AuthorizedKeysFile {self.folder}/id.pub\nStrictModes no\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nUsePAM no\nPermitRootLogin prohibit-password\n")
        Path("/run/sshd").mkdir(exist_ok=True)
        script = (f"hostname {node}; [ ! -e /etc/machine-id ] || mount --bind {home}/machine-id /etc/machine-id; "
                  f"echo $$ > {home}/pid; exec /usr/sbin/sshd -D -f {home}/sshd_config -E {home}/sshd.log")
        self.start("ip", "netns", "exec", f"iof-{node}", "unshare", "--uts", "--mount", "bash", "-c", script)

    def start(self, *words, env=None):
        log = open(self.folder / "daemons.log", "a")
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   env=env)
        self.started.append(process)
        return process

    def within(self, node):
        """The words that put a command into the node."""
        pid = eventually(f"{node} is up", lambda: (self.folder / node / "pid").exists()
                         and (self.folder / node / "pid").read_text().strip(), 30)
        return ["nsenter", "--target", pid, "--net", "--uts", "--mount", "--"]

    def drive(self, node):
        image = self.folder / node / "drive.img"
        with open(image, "wb") as file:
            for _ in range(DRIVE_BYTES >> 20):
                file.write(os.urandom(1 << 20))
        self.loops[node] = run("losetup", "--find", "--show", image).strip()

    def slow_down(self, node):
        device = os.stat(self.loops[node]).st_rdev
        number = f"{os.major(device)}:{os.minor(device)}"
        one = Path("/sys/fs/cgroup/blkio")
        self.cgroup = (one if one.exists() else Path("/sys/fs/cgroup")) / f"iodyno-fleet-{os.getpid()}"
        self.cgroup.mkdir()
        if one.exists():
            (self.cgroup / "blkio.throttle.read_iops_device").write_text(f"{number} {READS}\n")
        else:
            (self.cgroup.parent / "cgroup.subtree_control").write_text("+io")
            (self.cgroup / "io.max").write_text(f"{number} riops={READS}\n")
        self.hold_back(self.within(node)[2])

    def hold_back(self, pid):
        (self.cgroup / "cgroup.procs").write_text(f"{pid}\n")

    def kill_drive_once_read(self, node):
        """Its image is emptied, so that reads fail, once some were answered."""
        name, image = Path(self.loops[node]).name, self.folder / node / "drive.img"
        reads = lambda: int(Path(f"/sys/block/{name}/stat").read_text().split()[0])
        before = reads()

        def wait_and_kill():
            eventually(f"{node} reads", lambda: reads() > before + 2000)
            os.truncate(image, 0)
        thread = threading.Thread(target=wait_and_kill, daemon=True)
        thread.start()
        return thread

    def mend_drive(self, node):
        os.truncate(self.folder / node / "drive.img", DRIVE_BYTES)

    def words(self, node):
        """What the node's `iodyno accept` is told: profile, targets, options."""
        if node == "node3":
            return "check", [], ["--sysroot", str(CAPTURE)]
        return str(self.folder / "reads-accept.toml"), [self.loops.get(node, "/dev/none")], []

    def down(self):
        for process in reversed(self.started):
            process.terminate()
        for node in NODES:
            pids = run("ip", "netns", "pids", f"iof-{node}", check=False).split()
            for pid in filter(str.isdigit, pids):
                subprocess.run(["kill", pid], stderr=subprocess.DEVNULL)
        for process in self.started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        for number, node in enumerate(NODES, 11):
            run("ip", "link", "del", f"iof{number}", check=False)
            run("ip", "netns", "del", f"iof-{node}", check=False)
        run("ip", "link", "del", BRIDGE, check=False)
        for loop in self.loops.values():
            run("losetup", "--detach", loop, check=False)
        if self.cgroup:
            eventually("the slow node's processes end", lambda: not (self.cgroup / "cgroup.procs").read_text(), 20)
            self.cgroup.rmdir()


def answers(address):
    try:
        socket.create_connection((address, 22), 1).close()
        return True
    except OSError:
        return False


def reasons_hold(of):
    """The right node for the right reason."""
    assert "application-bound" in of["node2"] and "1000" in of["node2"].replace("1,000", "1000"), of
    assert "link-degraded" in of["node3"], of
    assert re.search("measurement.failed", of["node4"]), of


def ansible(fleet):
    """The role: the healthy host passes, three fail with their reasons, one is unreachable, all documents are here."""
    results = fleet.folder / "results"
    # As an earlier play left them: the host that cannot be reached now has no verdict.
    results.mkdir()
    for node in NODES:
        (results / f"{node}.json").write_text("of an earlier play")
    hosts = {}
    for number, node in enumerate(NODES, 11):
        profile, targets, options = fleet.words(node)
        hosts[node] = {"ansible_host": f"{NETWORK}.{number}", "iodyno_dir": str(fleet.folder / node / "iodyno"),
                       "iodyno_profile": profile, "iodyno_targets": targets, "iodyno_options": options}
    inventory = {"all": {"hosts": hosts, "vars": {
        "ansible_user": "root", "ansible_ssh_private_key_file": str(fleet.folder / "id"),
        "ansible_python_interpreter": sys.executable if sys.executable.startswith("/usr/bin") else "/usr/bin/python3",
        "ansible_host_key_checking": False, "iodyno_binary": str(fleet.binary), "iodyno_results": str(results),
        "iodyno_deadline": "5m"}}}
    (fleet.folder / "inventory.json").write_text(json.dumps(inventory))
    dying = fleet.kill_drive_once_read("node4")
    env = dict(os.environ, ANSIBLE_CONFIG=str(DEPLOY / "ansible/ansible.cfg"), ANSIBLE_HOST_KEY_CHECKING="False",
               ANSIBLE_NOCOLOR="1", ANSIBLE_LOCAL_TEMP=str(fleet.folder / "ansible"), LC_ALL="C.UTF-8",
               # Control sockets have short names, and end with the test.
               ANSIBLE_SSH_CONTROL_PATH_DIR=str(fleet.folder / "cp"), HOME=str(fleet.folder))
    done = subprocess.run(["ansible-playbook", "-i", fleet.folder / "inventory.json", DEPLOY / "ansible/accept.yml"],
                          env=env, text=True, stdin=subprocess.DEVNULL, capture_output=True)
    dying.join(5)
    fleet.mend_drive("node4")
    recap = dict(re.findall(r"^(node\d) .*?: (.*)$", done.stdout.split("PLAY RECAP")[-1], re.M))
    counts = {node: dict(re.findall(r"(\w+)=(\d+)", line)) for node, line in recap.items()}
    outcome = {node: (int(of["failed"]), int(of["unreachable"])) for node, of in counts.items()}
    fatal = re.finditer(r"^fatal: \[(node\d)\]: FAILED! => ", done.stdout, re.M)
    told = {one[1]: json.JSONDecoder().raw_decode(done.stdout, one.end())[0] for one in fatal}
    reasons = {node: of.get("msg", "") for node, of in told.items()}
    expected = {"node1": (0, 0), "node2": (1, 0), "node3": (1, 0), "node4": (1, 0), "node5": (0, 1)}
    assert done.returncode != 0 and outcome == expected, f"{outcome}\n{reasons}\n{done.stdout[-4000:]}{done.stderr[-2000:]}"
    reasons_hold(reasons)
    fetched = sorted(path.name for path in results.glob("*.json"))
    assert fetched == [f"{node}.json" for node in REACHABLE], fetched
    table = run(fleet.binary, "--store", fleet.folder / "none.sqlite", "runs", "fleet", results)
    ids = {json.loads((results / name).read_text())["accepted"]["host_id"] for name in fetched}
    assert len(ids) == len(fetched), f"hosts are told apart: {ids}"
    print(table)
    for node, reason in sorted(reasons.items()):
        print(f"  {node}: {reason}")


def slurm(fleet):
    """sbatch, HealthCheckProgram and Prolog drain the right nodes with the right reasons."""
    folder = fleet.folder / "slurm"
    for name in ("state", "spool", "log"):
        (folder / name).mkdir(parents=True)
    conf = folder / "slurm.conf"
    env = dict(os.environ, SLURM_CONF=str(conf))
    real, wrapper = fleet.binary, folder / "iodyno"
    # Each node has options of its own, as a fleet's nodes have drives of their own.
    script(wrapper, f'''node=${{SLURMD_NODENAME:-$(hostname)}}
export IODYNO_STORE={fleet.folder}/$node/slurm.sqlite
[ "$1" = accept ] || exec {real} "$@"
[ "$2" = quick ] && exec {real} "$@"
shift 2; mapfile -t own < {fleet.folder}/$node/words
exec {real} accept "${{own[@]}}" "$@"''')
    for node in REACHABLE:
        profile, targets, options = fleet.words(node)
        (fleet.folder / node / "words").write_text("\n".join([profile, *targets, *options]) + "\n")
        options = f"OPTIONS=(--sysroot {CAPTURE})" if node == "node3" else ""
        (fleet.folder / node / "healthcheck").write_text(f"IODYNO={wrapper}\n{options}\n")
    for name in ("healthcheck", "prolog"):
        script(folder / name, f'export SLURM_CONF={conf} IODYNO_HEALTHCHECK={fleet.folder}/$SLURMD_NODENAME/healthcheck\n'
                              f'exec {DEPLOY}/slurm/{name}.sh')
    configure(fleet, conf, "")
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    # munged refuses folders that others may write to; it is told that this is meant.
    fleet.start("munged", "--foreground", "--force", "--key-file", folder / "munge.key", "--socket", folder / "munge.socket",
                "--pid-file", folder / "munged.pid", "--log-file", folder / "log/munged", "--seed-file", folder / "seed")
    eventually("munged", (folder / "munge.socket").exists, 30)
    fleet.start("slurmctld", "-D", "-c", env=env)
    for node in REACHABLE:
        process = fleet.start(*fleet.within(node), "slurmd", "-D", "-N", node, env=env)
        if node == "node2":
            fleet.hold_back(process.pid)
    states = lambda: {line.split()[0]: line.split()[1] for line in
                      run("sinfo", "-h", "-N", "-o", "%N %T", env=env, check=False).splitlines() if len(line.split()) == 2}
    reason = lambda node: run("sinfo", "-h", "-n", node, "-o", "%E", env=env).strip()
    of = lambda *wanted: lambda: all(states().get(node) in wanted for node in REACHABLE)
    eventually("the nodes are idle", of("idle"))

    dying = fleet.kill_drive_once_read("node4")
    out = folder / "accept.out"
    job = dict(env, IODYNO=str(wrapper), LAST="")
    run("sbatch", "--wait", "--nodes=4", "--output", out, DEPLOY / "slurm/accept.sbatch", "check", env=job, check=False)
    dying.join(5)
    fleet.mend_drive("node4")
    said = out.read_text()
    eventually("the job is over", lambda: states().get("node1") == "idle")
    assert f"node1 passed" in said, said
    once = [sum(line.startswith(f"{node} ") for line in said.splitlines()) for node in REACHABLE]
    assert once == [1, 1, 1, 1], said
    drained = {node: reason(node) for node in REACHABLE if states()[node].startswith("drain")}
    assert sorted(drained) == ["node2", "node3", "node4"], f"{drained} {states()}\n{said}"
    reasons_hold(drained)
    print(said)
    stores = [fleet.folder / node / "slurm.sqlite" for node in REACHABLE]
    together = run(fleet.binary, "--store", folder / "none.sqlite", "runs", "fleet", "--format", "together", *stores)
    # All tasks of a job begin together; node3 has another profile.
    assert re.search(r"^reads, step 1 at .* 3 nodes .*missing: rank \d .*started within", together, re.M), together
    print(together)

    for node in drained:
        run("scontrol", "update", f"NodeName={node}", "State=RESUME", env=env)
    eventually("the nodes are back", of("idle"))
    run("sbatch", "--wait", "--nodes=4", "--output", out, DEPLOY / "slurm/accept.sbatch", "check", "--deadlin", "5m", env=job, check=False)
    eventually("the mistyped job is over, and drained nothing", of("idle"))
    said = out.read_text()
    assert said.count(" 2 not begun, not drained") == 4, said
    configure(fleet, conf, f"HealthCheckProgram={folder}/healthcheck\nHealthCheckInterval=5\nHealthCheckNodeState=ANY\n")
    run("scontrol", "reconfigure", env=env)
    eventually("the health check drains node3", lambda: states().get("node3", "").startswith("drain"))
    assert "link-degraded" in reason("node3"), reason("node3")
    assert all(states()[node] == "idle" for node in REACHABLE if node != "node3"), states()
    print(f"health check: node3 {reason('node3')}")

    configure(fleet, conf, f"Prolog={folder}/prolog\n")
    run("scontrol", "reconfigure", env=env)
    run("scontrol", "update", "NodeName=node3", "State=RESUME", env=env)
    eventually("node3 is back", of("idle"))
    assert run("srun", "-w", "node1", "-N1", "hostname", env=env).strip().endswith("node1")
    subprocess.run(["timeout", "20", "srun", "-w", "node3", "-N1", "true"], env=env, stdin=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    eventually("the prolog drains node3", lambda: states().get("node3", "").startswith("drain"))
    print(f"prolog: node3 {reason('node3')}")


def configure(fleet, conf, more):
    folder = conf.parent
    nodes = "".join(f"NodeName={node} NodeHostname={node} NodeAddr={NETWORK}.{number} CPUs={os.cpu_count()} State=UNKNOWN\n"
                    for number, node in enumerate(REACHABLE, 11))
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
    conf.write_text(f"""ClusterName=fleet
SlurmctldHost={socket.gethostname().split('.')[0]}({NETWORK}.1)
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/slurmd.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=none
{more}{nodes}PartitionName=storage Nodes=node[1-4] Default=YES OverSubscribe=EXCLUSIVE State=UP
""")


def script(path, text):
    path.write_text(f"#!/bin/bash\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n{text}\n")
    path.chmod(0o755)


def manifests(_):
    """The manifests hold to what Jobs and claims are, as far as that can be seen without a cluster; the clean step."""
    import yaml
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        for item in yaml.safe_load_all(path.read_text()):
            if item["kind"] != "Job":
                assert item["kind"] == "PersistentVolumeClaim" and item["spec"]["volumeMode"] in ("Block", "Filesystem")
                continue
            spec = item["spec"]
            pod = spec["template"]["spec"]
            assert spec["completionMode"] == "Indexed" and pod["restartPolicy"] == "Never", path
            container, = pod["containers"]
            assert container["args"][0] == "accept" and "://" not in " ".join(container["args"]), path
            names = {volume["name"] for volume in pod["volumes"]}
            used = {mount["name"] for mount in container.get("volumeMounts", []) + container.get("volumeDevices", [])}
            assert names == used, f"{path}: {names} {used}"
            # Privileged pods are about their node, and say its name.
            assert bool(pod.get("hostNetwork")) == bool(container["securityContext"].get("privileged")), path
            assert {one["name"] for one in container["env"]} >= {"NODE_NAME", "JOB_COMPLETIONS", "PUSH_URL"}, path
    print(run(sys.executable, DEPLOY / "ironic/test_iodyno_hardware.py").strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=Path)
    parser.add_argument("cases", nargs="*", default=list(OF_CASE))
    arguments = parser.parse_args()
    wanted = {tool for case in arguments.cases for tool in OF_CASE[case]} | set(TOOLS)
    missing = sorted(tool for tool in wanted if not shutil.which(tool))
    if os.geteuid() != 0 or missing:
        raise SystemExit(f"root is needed, and: {' '.join(missing)}")
    with tempfile.TemporaryDirectory(prefix="iodyno-fleet-", ignore_cleanup_errors=True) as folder:
        # Slurm's daemons and sshd look at who owns the way to their files.
        os.chmod(folder, 0o755)
        fleet = Fleet(Path(folder), arguments.binary)
        (fleet.folder / "reads-accept.toml").write_text(
            'format = "iodyno.accept/1"\nname = "reads"\nabout = "of the laboratory"\ndeadline = "5m"\n\n'
            f'[[step]]\nrun = ["fit", "{ROOT}/lab/fleet/reads.toml", "{{targets}}"]\n')
        failed = []
        try:
            fleet.up()
            for case in arguments.cases:
                began = time.monotonic()
                try:
                    globals()[case](fleet)
                    print(f"{case}: passed in {time.monotonic() - began:.0f} s\n")
                except (AssertionError, SystemExit) as error:
                    failed.append(case)
                    print(f"{case}: FAILED: {error}\n")
        finally:
            fleet.down()
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
