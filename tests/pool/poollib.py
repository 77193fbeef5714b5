# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pool tests share: simulated nodes that start from a snapshot, and runs of the real playbooks on them.

A snapshot of a golden node is made by a real run of site.yml on a bare node, and is named by a digest of everything
that such a run depends on: a change of a role, a module or the test bed makes a new one.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import typing as t

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTBED = ROOT / "tests" / "testbed" / "testbed"
STATE = ROOT / ".testbed"
BUNDLES = ROOT / "tests" / "testbed" / "bundles"
REGISTRY = "vendor.testbed:5000"
#: The same images, for one user.
PRIVATE_REGISTRY = "vendor.testbed:5001"
#: What a bare node needs a run to be allowed.
CONSENT = {"golden_allow_reboot": True, "docker_allow_restart": True}


def bed(*args: str, timeout: float = 900, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the test bed's command; its output is in the error when it fails."""
    done = subprocess.run(
        [sys.executable, str(TESTBED), *args], cwd=ROOT, capture_output=True, text=True, timeout=timeout
    )
    if check and done.returncode != 0:
        raise AssertionError("testbed %s -> %d\n%s%s" % (" ".join(args), done.returncode, done.stdout, done.stderr))
    return done


@dataclasses.dataclass(frozen=True)
class Run:
    """A finished run of a playbook: exit status, what it printed, and its report by node."""

    rc: int
    output: str
    report: t.Dict[str, t.Dict[str, t.Any]]

    def recap(self, node: str) -> t.Dict[str, int]:
        """The node's counters in PLAY RECAP: ok, changed, unreachable, failed, skipped, rescued, ignored."""
        for line in self.output.splitlines():
            name, colon, counters = line.partition(":")
            if colon and name.strip() == node and "ok=" in counters:
                return {key: int(value) for key, value in (word.split("=") for word in counters.split())}
        raise AssertionError("no recap for %s in\n%s" % (node, self.output))


@dataclasses.dataclass(frozen=True)
class Rollout:
    """A finished run of rollout.yml, and what it says of each node: wave, outcome, reason."""

    rc: int
    output: str
    nodes: t.Dict[str, t.Dict[str, str]]

    def outcomes(self) -> t.Dict[str, str]:
        return {name: node["outcome"] for name, node in self.nodes.items()}


@dataclasses.dataclass(frozen=True)
class Node:
    """A simulated node that can be reached over SSH on a port of this machine."""

    name: str
    profile: str
    port: int
    system: str = "debian-13"

    @property
    def spec(self) -> str:
        """The word by which `testbed up` knows it."""
        return "%s=%s@%s:%d" % (self.name, self.profile, self.system, self.port)

    @property
    def gpus(self) -> int:
        return 8 if self.profile == "h100x8" else 1

    def ssh(
        self, command: str, check: bool = True, timeout: float = 60, user: str = "root"
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["ssh", "-i", str(STATE / "id_ed25519"), "-p", str(self.port), "-o", "StrictHostKeyChecking=no",
             "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes",
             "-o", "ConnectTimeout=10", "%s@127.0.0.1" % user, command],
            capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip
        if check and done.returncode != 0:
            raise AssertionError(
                "%s on %s -> %d\n%s%s" % (command, self.name, done.returncode, done.stdout, done.stderr)
            )
        return done

    def fact(self) -> t.Dict[str, t.Any]:
        """What ansible_local.goldennode would be now."""
        return t.cast("t.Dict[str, t.Any]", json.loads(self.ssh("/etc/ansible/facts.d/goldennode.fact").stdout))

    def is_golden(self) -> bool:
        """What the node says of itself; a node that does not answer is not golden."""
        done = self.ssh("/etc/ansible/facts.d/goldennode.fact", check=False)
        return done.returncode == 0 and bool(json.loads(done.stdout)["golden"])

    def image(self) -> str:
        """The image of the bundle, by digest."""
        return self.ssh("docker image ls --digests --format '{{.Repository}}@{{.Digest}}' | head -n 1").stdout.strip()

    def mark(self) -> t.Optional[t.Dict[str, t.Any]]:
        done = self.ssh("cat /var/lib/goldennode/mark.json", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def rollout_record(self) -> t.Dict[str, t.Any]:
        """What the node keeps of the last rollout."""
        return t.cast("t.Dict[str, t.Any]", json.loads(self.ssh("cat /var/lib/goldennode/rollout.json").stdout))

    def lock(self) -> t.Dict[str, t.Any]:
        return t.cast("t.Dict[str, t.Any]", json.loads(self.ssh("cat /var/lib/goldennode/lock.json").stdout))

    def wait(self, what: str, answer: t.Callable[[], bool], seconds: float = 90) -> None:
        """Wait until ``answer`` is true; a node that is rebooting may not answer at all meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if answer():
                    return
            except (AssertionError, subprocess.TimeoutExpired, ValueError):
                pass
            time.sleep(1)
        raise AssertionError("%s: not after %d s: %s" % (self.name, seconds, what))


def node_of_this_worker(number: int, profile: str, system: str = "debian-13") -> Node:
    """A node that no other worker of pytest-xdist has; those of the first, or only, one are ptest01 to ptest09."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[len("gw") :])
    return Node("ptest%d%d" % (worker, number), profile, 22240 + 10 * worker + number, system)


class Pool:
    """Nodes with an inventory of their own below a temporary directory, and runs on them."""

    def __init__(self, directory: pathlib.Path, nodes: t.Sequence[Node], bundle: str = "sim-a.yml") -> None:
        self.directory = directory
        self.nodes = list(nodes)
        self.bundle = directory / "bundles" / bundle
        no_locks = shutil.ignore_patterns("*.lock.json")
        shutil.copytree(BUNDLES, directory / "bundles", dirs_exist_ok=True, ignore=no_locks)
        for file in (directory / "bundles").glob("*.yml"):
            file.write_text(file.read_text().replace("../../../.testbed/vendor.asc", str(STATE / "vendor.asc")))
        self.inventory = directory / "inventory.yml"
        self.write_inventory()

    def locks(self) -> t.List[pathlib.Path]:
        return sorted(self.bundle.parent.glob("*.lock.json"))

    def take_locks(self, snapshot: str) -> None:
        """The locks of the run that made the nodes golden."""
        for lock in (STATE / "locks" / snapshot).iterdir():
            shutil.copy(lock, self.bundle.parent)

    def write_inventory(self, variables: t.Optional[t.Dict[str, t.Any]] = None) -> None:
        common = {
            "ansible_host": "127.0.0.1",
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(STATE / "id_ed25519"),
            "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null",
            "ansible_python_interpreter": "/usr/bin/python3",
            "bundle_file": str(self.bundle),
            "docker_daemon_options": {"insecure-registries": [REGISTRY]},
        }
        hosts = {n.name: {"ansible_port": n.port, "golden_expected_gpus": n.gpus} for n in self.nodes}
        group = {"vars": {**common, **(variables or {})}, "hosts": hosts}
        self.inventory.write_text(yaml.safe_dump({"gpu_nodes": group}))

    def command(self, playbook: str, *args: str, variables: t.Optional[t.Dict[str, t.Any]] = None) -> t.List[str]:
        extra = {**(variables or {}), "goldennode_report_file": str(self.directory / "report.json")}
        ansible = pathlib.Path(sys.executable).with_name("ansible-playbook")
        return [str(ansible), "playbooks/%s.yml" % playbook, "-i", str(self.inventory), "-e", json.dumps(extra), *args]

    def environment(self) -> t.Dict[str, str]:
        return {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0", "COLUMNS": "160"}

    def run(
        self, playbook: str, *args: str, variables: t.Optional[t.Dict[str, t.Any]] = None, timeout: float = 900
    ) -> Run:
        report = self.directory / "report.json"
        report.unlink(missing_ok=True)
        done = subprocess.run(
            self.command(playbook, *args, variables=variables), cwd=ROOT, env=self.environment(), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
        )  # fmt: skip
        rows = json.loads(report.read_text())["nodes"] if report.exists() else {}
        return Run(done.returncode, done.stdout, rows)

    def verify(self, *args: str) -> Run:
        return self.run("site", "--tags", "verify", *args)

    def site(self, *args: str, **variables: t.Any) -> Run:
        return self.run("site", *args, variables={**CONSENT, **variables})

    def with_bundle(self, name: str, **axes: t.Any) -> Pool:
        """The same nodes with a bundle that is this one but for some axes; it has no lock yet."""
        data = yaml.safe_load(self.bundle.read_text())
        (self.bundle.parent / (name + ".yml")).write_text(yaml.safe_dump({**data, **axes, "bundle": name}))
        other = copy.copy(self)
        other.bundle = self.bundle.with_name(name + ".yml")
        return other

    def lock(self) -> None:
        """Resolve the bundle, as people do before a rollout."""
        run = self.run("lock", variables={"bundle_file": str(self.bundle)})
        assert run.rc == 0, run.output

    def rollout(self, *args: str, **variables: t.Any) -> Rollout:
        """Run rollout.yml to this bundle."""
        result = self.directory / "rollout.json"
        result.unlink(missing_ok=True)
        run = self.run("rollout", *args, variables={**CONSENT, **self.rollout_variables(), **variables}, timeout=1800)
        found = json.loads(result.read_text()) if result.exists() else {}
        return Rollout(run.rc, run.output, found.get("nodes", {}))

    def rollout_variables(self) -> t.Dict[str, t.Any]:
        return {"bundle_file": str(self.bundle), "goldennode_result_file": str(self.directory / "rollout.json")}

    def run_killed_at(self, task: str, playbook: str = "site", **variables: t.Any) -> None:
        """Run a playbook and SIGKILL ansible-playbook with all its children as soon as it announces ``task``."""
        with self._started(playbook, variables) as process:
            _read_until(process, task)
            os.killpg(process.pid, signal.SIGKILL)

    def run_cut_off_at(self, task: str, cut: t.Callable[[], object], playbook: str = "site", **variables: t.Any) -> str:
        """Run a playbook, call ``cut`` as soon as it announces ``task``, and return all that it prints."""
        with self._started(playbook, variables) as process:
            before = _read_until(process, task)
            cut()
            return before + process.communicate(timeout=600)[0]

    @contextlib.contextmanager
    def _started(self, playbook: str, variables: t.Mapping[str, t.Any]) -> t.Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            self.command(playbook, variables={**CONSENT, **variables}), cwd=ROOT, env=self.environment(), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _read_until(process: subprocess.Popen[str], task: str) -> str:
    """What the run prints until it announces ``task``."""
    seen: t.List[str] = []
    for line in process.stdout or ():
        seen.append(line)
        if line.startswith("TASK [") and task in line:
            return "".join(seen)
    raise AssertionError("%r was never announced:\n%s" % (task, "".join(seen)))


def digest() -> str:
    """Digest of all that a golden snapshot depends on: the product and the test bed, without tests and docs."""
    total = hashlib.sha256()
    for top in ("plugins", "roles", "playbooks", "tests/testbed"):
        for file in sorted((ROOT / top).rglob("*")):
            if (
                file.is_file()
                and file.suffix in (".py", ".yml", ".c", ".h", ".sh", ".conf", "")
                and "__pycache__" not in file.parts
            ):
                if "tests" in file.relative_to(ROOT / top).parts:
                    continue
                total.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return total.hexdigest()[:12]


def snapshot_exists(name: str) -> bool:
    done = subprocess.run(["docker", "image", "inspect", "goldennode/snap-%s" % name], capture_output=True)
    return done.returncode == 0


def golden_snapshots(nodes: t.Sequence[Node], directory: pathlib.Path, bundle: str = "sim-a.yml") -> t.Dict[Node, str]:
    """Snapshots in which the nodes are golden, made by one run of site.yml for all that have none yet.

    The mark names the GPUs by UUID, so a snapshot belongs to one node. The locks that the run made are kept with it:
    they belong to the wanted state that the node was marked for.
    """
    names = {node: "golden-%s-%s" % (node.name, digest()) for node in nodes}
    missing = [
        node for node in nodes if not (snapshot_exists(names[node]) and (STATE / "locks" / names[node]).is_dir())
    ]
    if not missing:
        return names
    bed("up", *(node.spec for node in missing))
    for node in missing:
        bed("reset", node.name, "bare")
    pool = Pool(directory / "golden", missing, bundle)
    run = pool.site()
    assert run.rc == 0, run.output
    for node in missing:
        bed("snapshot", node.name, names[node])
        locks = STATE / "locks" / names[node]
        shutil.rmtree(locks, ignore_errors=True)
        locks.mkdir(parents=True)
        for lock in pool.locks():
            shutil.copy(lock, locks)
    return names
