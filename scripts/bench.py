#!/usr/bin/env python3
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures what a run of site.yml costs on simulated nodes that are golden already, and what one look costs.

Next to it run a play that only gathers facts, and the sixteen commands by which people look for the same faults. They
run in turn on the same nodes, so that a ratio means something on any machine; no time is ever asserted. First comes
what needs no node: planning a rollout (bench_rollout.py). Local
facts are left out of the facts play: on golden nodes they would run our own agent.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "pool"), str(ROOT / "collections")]

import bench_rollout  # noqa: E402
from poollib import Node, Pool, bed  # noqa: E402

from ansible_collections.goldennode.gpu.plugins.module_utils import plain, verdict  # noqa: E402

GOAL = 1.2
NODES = (Node("bench1", "a10", 22321), Node("bench2", "h100x8", 22322), Node("bench3", "a10", 22323))

FACTS_ONLY = """
- name: Gather facts and do nothing else
  hosts: gpu_nodes
  gather_facts: true
  fact_path: /nonexistent
"""

#: What a good engineer types, a task each (docs/sixteen-steps.md). The containers are started as people start them.
STEPS = (
    "nvidia-smi",
    "ls -l /dev",
    "lsmod",
    "dmesg",
    "dpkg-query --show nvidia-container-toolkit* libnvidia-container*",
    "docker info",
    "{container} nvidia-smi -L",
    "{container} ls -l /dev",
    "{container} ldconfig -p",
    "docker image inspect {image}",
    "stat --file-system --format %T /sys/fs/cgroup",
    "ls /sys/module",
    "ls /sys/fs",
    "docker context ls",
    "{container} python3 -c 'import ctypes; assert ctypes.CDLL(\"libcuda.so.1\").cuInit(0) == 0'",
    "cat /proc/driver/nvidia/version",
)
CONTAINER = "docker run --rm --network none --runtime nvidia --env NVIDIA_VISIBLE_DEVICES=all {image}"
STEPS_GOAL = 1 / 3
LOOK_TASK = "Look at the whole chain"
END = {"name": "End", "ansible.builtin.debug": None}

#: On a node: one look by its agent, with the time of every command.
LOOK = """
import json, resource, sys, time
begin = time.monotonic()
sys.path.insert(0, "/usr/local/lib/goldennode/agent.pyz")
from goldennode.mark import State
from goldennode.model import to_plain
from goldennode.probe.host import LocalHost
from goldennode.probe.look import look
from goldennode.verdict import run
commands = []
class Timed(LocalHost):
    def run(self, argv, timeout, unprivileged=False, groups=(), where="host"):
        start = time.monotonic()
        command = super().run(argv, timeout, unprivileged, groups, where)
        commands.append([" ".join("SCRIPT" if "\\n" in word else word for word in argv), time.monotonic() - start])
        return command
stored = State().stored().value
loaded = time.monotonic()
evidence = look(Timed(), stored.desired)
looked = time.monotonic()
golden = run(stored.desired, evidence, stored.expected_gpus).golden
print(json.dumps({
    "seconds": {"imports": loaded - begin, "look": looked - loaded, "judge": time.monotonic() - looked},
    "cpu": {who: sum(resource.getrusage(number)[:2]) for who, number in (("own", 0), ("commands", -1))},
    "commands": commands, "golden": golden, "evidence": to_plain(evidence),
    "desired": to_plain(stored.desired), "expected_gpus": stored.expected_gpus,
}))
"""


@dataclasses.dataclass(frozen=True)
class Cost:
    """Seconds of one run: by the clock; of CPU on the controller; of CPU on all nodes, None where nobody counts it."""

    wall: float
    controller: float
    nodes: t.Optional[float]


def main(argv: t.Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="runs of each play (default: %(default)s)")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 3], choices=[1, 2, 3], help="sizes of the pool")
    parser.add_argument("--steps", action="store_true", help="only one look beside sixteen tasks")
    parser.add_argument("--keep", action="store_true", help="leave the nodes, for the next time")
    arguments = parser.parse_args(argv)
    bench_rollout.report()
    try:
        with tempfile.TemporaryDirectory(prefix="goldennode-bench-") as folder:
            pool = Pool(Path(folder), NODES[: max(arguments.nodes)])
            start(pool)
            if arguments.steps:
                report_steps(pool, pool.nodes[min(1, len(pool.nodes) - 1)], arguments.rounds)
                return 0
            for size in sorted(set(arguments.nodes)):
                report_runs(pool, pool.nodes[:size], arguments.rounds)
            for node in pool.nodes[:2]:
                report_look(node)
            report_steps(pool, pool.nodes[min(1, len(pool.nodes) - 1)], arguments.rounds)
    finally:
        if not arguments.keep:
            bed("down", *(node.name for node in NODES), check=False)
    return 0


def start(pool: Pool) -> None:
    """Nodes made golden by a run of site.yml; those that an earlier bench has kept are golden already."""
    for node in pool.nodes:
        bed("up", "%s=%s:%d" % (node.name, node.profile, node.port))
    done = pool.site()
    if done.rc != 0:
        sys.exit("the nodes did not become golden:\n%s" % done.output)


# --- Runs ---------------------------------------------------------------------------------------------------------


def report_runs(pool: Pool, nodes: t.Sequence[Node], rounds: int) -> None:
    facts_only = pool.directory / "facts.yml"
    facts_only.write_text(FACTS_ONLY)
    site = pool.command("site", "--limit", ",".join(["localhost", *(node.name for node in nodes)]))
    plays = {"facts only": [site[0], str(facts_only), *site[2:]], "site.yml": site}
    # Verbose, Ansible tells of everything that it starts on a node. These runs also open the connections.
    calls = {name: run(pool, nodes, [*play, "-vvv"])[0].count(" SSH: EXEC ") for name, play in plays.items()}
    costs: t.Dict[str, t.List[Cost]] = {name: [] for name in plays}
    for _round in range(rounds):
        for name, play in plays.items():
            costs[name].append(run(pool, nodes, play)[1])
    print("\n%d node%s, median of %d rounds" % (len(nodes), "s" * (len(nodes) > 1), rounds))
    print("%-12s %8s %16s %12s %14s" % ("", "seconds", "CPU, controller", "CPU, a node", "calls, a node"))
    for name, of_play in costs.items():
        of_nodes = [cost.nodes / len(nodes) for cost in of_play if cost.nodes is not None]
        a_node = "%.2f s" % statistics.median(of_nodes) if of_nodes else "not known"
        values = (middle(of_play, "wall"), middle(of_play, "controller"), a_node, calls[name] / len(nodes))
        print("%-12s %8.2f %14.2f s %12s %14.1f" % (name, *values))
    ratio = middle(costs["site.yml"], "wall") / middle(costs["facts only"], "wall")
    print("%-12s %8.2f (goal: at most %.1f)" % ("ratio", ratio, GOAL))


def report_steps(pool: Pool, node: Node, rounds: int) -> None:
    """One look next to the same questions as tasks: in the same run on one node, and which comes first takes turns."""
    words = {"image": node.image(), "container": CONTAINER.format(image=node.image())}
    steps = [
        {"name": "Step %d" % number, "ansible.builtin.command": step.format(**words), "changed_when": False}
        for number, step in enumerate(STEPS, 1)
    ]
    wanted = {name: "{{ bundle.%s }}" % name for name in ("desired", "bundles", "expected_gpus")}
    look = {"name": LOOK_TASK, "goldennode.gpu.node_verify": wanted}
    known = {"name": "Bundle", "goldennode.gpu.desired": None, "register": "bundle", "become": False}
    path, site = pool.directory / "steps.yml", pool.command("site", "--limit", "localhost,%s" % node.name)
    taken: t.Dict[str, t.List[float]] = {"sixteen tasks": [], "one look": []}
    for number in range(rounds):
        tasks = [known, *([look, *steps] if number % 2 else [*steps, look]), END]
        path.write_text(yaml.safe_dump([{"hosts": "gpu_nodes", "gather_facts": False, "tasks": tasks}]))
        times = task_times(pool, [site[0], str(path), *site[2:]])
        taken["one look"].append(times[LOOK_TASK])
        taken["sixteen tasks"].append(sum(times[step["name"]] for step in steps))
    print("\n%s (%s), median of %d rounds, both in one run" % (node.name, node.profile, rounds))
    middles = {name: statistics.median(of_run) for name, of_run in taken.items()}
    for name, seconds in middles.items():
        print("%-14s %8.2f s" % (name, seconds))
    ratio = middles["one look"] / middles["sixteen tasks"]
    print("%-14s %8.2f (goal: at most %.2f)" % ("ratio", ratio, STEPS_GOAL))


def task_times(pool: Pool, play: t.Sequence[str]) -> t.Dict[str, float]:
    """Seconds from the announcement of each task to that of the next, by name."""
    begun: t.List[t.Tuple[str, float]] = []
    with subprocess.Popen(
        play, cwd=ROOT, env=pool.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout or ():
            if line.startswith("TASK ["):
                begun.append((line[len("TASK [") :].rstrip(" *\n").rstrip("]"), time.monotonic()))
    if process.returncode != 0:
        sys.exit("a look beside sixteen tasks ended with %d" % process.returncode)
    return {name: end - start for (name, start), (_next, end) in zip(begun, begun[1:])}


def middle(costs: t.Sequence[Cost], field: str) -> float:
    return statistics.median(getattr(cost, field) for cost in costs)


def run(pool: Pool, nodes: t.Sequence[Node], play: t.Sequence[str]) -> t.Tuple[str, Cost]:
    """Output and cost of a run, which must leave every node as it was."""
    nodes_before, own_before, begin = [node_cpu(node) for node in nodes], os.times(), time.monotonic()
    done = subprocess.run(
        play, cwd=ROOT, env=pool.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    wall, own, nodes_after = time.monotonic() - begin, os.times(), [node_cpu(node) for node in nodes]
    if done.returncode != 0 or re.search(r"changed=[1-9]", done.stdout):
        end = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        sys.exit("a run that should find nothing to do ended with %d:\n%s" % (done.returncode, end))
    controller = own.children_user + own.children_system - own_before.children_user - own_before.children_system
    spent = [
        after - before for before, after in zip(nodes_before, nodes_after) if before is not None and after is not None
    ]
    return done.stdout, Cost(wall, controller, sum(spent) if len(spent) == len(nodes) else None)


def node_cpu(node: Node) -> t.Optional[float]:
    """Seconds of CPU that a node has used, its Docker and containers included; None where cgroups do not tell."""
    inspect = ["docker", "inspect", "--format", "{{.State.Pid}} {{.Id}}", "goldennode-%s" % node.name]
    pid, identity = subprocess.run(inspect, capture_output=True, text=True, check=True).stdout.split()
    for line in Path("/proc/%s/cgroup" % pid).read_text().splitlines():
        _number, controllers, path = line.split(":", 2)
        whole = path[: path.find(identity) + len(identity)].lstrip("/")  # systemd inside may have made groups below
        usage = Path("/sys/fs/cgroup", controllers, whole, "cpuacct.usage")
        if "cpuacct" in controllers.split(",") and usage.is_file():
            return int(usage.read_text()) / 1e9
        stat = Path("/sys/fs/cgroup", whole, "cpu.stat")
        if not controllers and stat.is_file():
            return int(re.findall(r"^usage_usec (\d+)$", stat.read_text(), re.MULTILINE)[0]) / 1e6
    return None


# --- One look -----------------------------------------------------------------------------------------------------


def report_look(node: Node) -> None:
    node.ssh("python3 -I -c %s" % shlex.quote(LOOK))  # so that the other one finds its files in memory
    before = node_cpu(node)
    answer = json.loads(node.ssh("python3 -I -c %s" % shlex.quote(LOOK)).stdout)
    after = node_cpu(node)
    print("\none look by the agent of %s (%s), golden: %s" % (node.name, node.profile, answer["golden"]))
    for part, seconds in answer["seconds"].items():
        print("%8.0f ms  %s" % (seconds * 1000, part))
    whole = "" if before is None or after is None else ", all of the node %.2f s" % (after - before)
    print("CPU: own %(own).2f s, its commands %(commands).2f s" % answer["cpu"] + whole)
    print("side by side, within the look:")
    for command, seconds in sorted(answer["commands"], key=lambda pair: -float(pair[1])):
        print("%8.0f ms  %s" % (seconds * 1000, command[:100]))
    print("the judge: %d nodes a second on one core" % judge_rate(answer))


def judge_rate(answer: t.Mapping[str, t.Any]) -> float:
    """Verdicts a second on this machine, for evidence that is parsed already."""
    desired, evidence = plain.desired_from_plain(answer["desired"]), plain.evidence_from_plain(answer["evidence"])
    count, begin = 0, time.process_time()
    while time.process_time() - begin < 1:
        verdict.run(desired, evidence, answer["expected_gpus"])
        count += 1
    return count / (time.process_time() - begin)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
