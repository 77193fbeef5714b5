# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a node is slow: what is said of it, to whom it happens, and that none of it takes gold away."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks.registry import CHECKS
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    ContainerLimits,
    ControlGroups,
    CpuFrequency,
    CpuTimes,
    Engines,
    Evidence,
    Finding,
    GpuProcess,
    HostLoad,
    MemoryState,
    Reading,
    Stall,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)
IDS = (
    "hardware.cpus",
    "hardware.pressure",
    "container_runtime.starved",
    "container_runtime.engines",
    "policy.limits",
    "policy.cgroups",
)


def findings(check: str, evidence: Evidence) -> t.List[Finding]:
    judged = verdict.run(WANTED, evidence, 1)
    assert judged.golden
    found = [f for f in judged.findings if f.id == check]
    for finding in found:
        assert finding.status != "fail" or all((finding.expected, finding.actual, finding.cause, finding.fix)), finding
    return found


def of_load(check: str, **fields: t.Any) -> Finding:
    (finding,) = findings(check, healthy.known(NODE, load=healthy.load(**fields)))
    return finding


def of_limits(check: str, **fields: t.Any) -> Finding:
    plain: t.Dict[str, t.Any] = {"label": "job 0a0a0a0a0a0a", "gpus": 1, "cpuset": tuple(range(8)), **fields}
    (finding,) = findings(check, healthy.known(NODE, limits=(ContainerLimits(**plain),)))
    return finding


def stalls(name: str, some: float, full: float) -> t.Dict[str, Stall]:
    still = Stall((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    return {"cpu": still, "memory": still, "io": still, name: Stall((0.0, 0.0, some), (0.0, 0.0, full))}


@pytest.mark.parametrize("check", IDS)
def test_none_of_it_takes_gold_away(check: str) -> None:
    assert [c.required for c in CHECKS if c.id == check] == [False]


def test_a_slow_node_is_a_proven_one_and_one_of_which_it_is_not_known_is_told() -> None:
    busy = verdict.run(WANTED, healthy.known(NODE, load=healthy.load(stalls=stalls("io", 90.0, 90.0))), 1)
    assert (busy.golden, busy.not_proven) == (True, ())
    unread = verdict.run(WANTED, healthy.unreadable(NODE, "limits"), 1)
    assert unread.not_proven == (
        "container_runtime.starved: limits: limits was unreadable",
        "policy.limits: limits: limits was unreadable",
    )


def test_an_engine_that_cannot_give_gpus_leaves_something_unproven() -> None:
    hooks = Engines(hooks=("/etc/containers/oci/hooks.d/oci-nvidia-hook.json",), rootless=Reading({}))
    (said,) = verdict.run(WANTED, healthy.known(NODE, engines=hooks), 1).not_proven
    assert said.startswith("container_runtime.engines: Podman and CRI-O still start NVIDIA's old hook beside CDI")


@pytest.mark.parametrize("check", IDS)
def test_a_node_that_is_not_slow(check: str) -> None:
    assert [finding.status for finding in findings(check, NODE)] == ["pass"]


def test_cpus_that_are_kept_at_their_lowest_frequency() -> None:
    finding = of_load("hardware.cpus", frequency=CpuFrequency("acpi-cpufreq", {"powersave": 8}))
    assert (finding.status, finding.entity) == ("fail", "CPU governor")
    assert finding.cause == "The CPUs are kept at their lowest frequency, so that they feed the GPUs slowly."
    assert "cpupower frequency-set --governor performance" in finding.fix


@pytest.mark.parametrize("driver", ["intel_pstate", "amd-pstate-epp"])
def test_powersave_is_no_brake_where_the_cpu_chooses_itself(driver: str) -> None:
    assert (
        of_load("hardware.cpus", frequency=CpuFrequency(driver, {"powersave, balance_performance": 8})).status == "pass"
    )
    assert of_load("hardware.cpus", frequency=CpuFrequency(driver, {"powersave": 8})).status == "pass"
    told = of_load("hardware.cpus", frequency=CpuFrequency(driver, {"powersave, power": 8}))
    assert told.cause == "The CPUs are told to save power rather than to be fast, so that they feed the GPUs slowly."


def test_a_guest_without_a_governor() -> None:
    finding = of_load("hardware.cpus", frequency=CpuFrequency())
    assert (finding.status, finding.actual) == ("pass", "8 CPUs, 2 NUMA nodes, no governor")


@pytest.mark.parametrize(
    ("isolated", "status"), [((4, 5, 6), "pass"), ((4, 5, 6, 7), "fail"), ((8, 9, 10, 11), "pass")]
)
def test_isolated_cpus(isolated: t.Tuple[int, ...], status: str) -> None:
    assert of_load("hardware.cpus", isolated=isolated).status == status


@pytest.mark.parametrize(("steal", "status"), [(4.9, "pass"), (5.0, "fail")])
def test_a_hypervisor_that_takes_time(steal: float, status: str) -> None:
    assert of_load("hardware.cpus", times=CpuTimes(0.0, steal)).status == status


@pytest.mark.parametrize("field", ["frequency", "isolated", "times"])
def test_a_part_that_is_not_known_is_no_pass(field: str) -> None:
    load = HostLoad(**{**healthy.load().__dict__, field: Reading.unknown("it could not be read")})
    (finding,) = findings("hardware.cpus", healthy.known(NODE, load=load))
    assert (finding.status, finding.actual) == ("unknown", "it could not be read")


@pytest.mark.parametrize(("full", "status"), [(19.9, "pass"), (20.0, "fail")])
def test_a_node_that_waits_for_its_disks(full: float, status: str) -> None:
    finding = of_load("hardware.pressure", stalls=stalls("io", full, full))
    assert finding.status == status
    if status == "fail":
        assert (finding.entity, finding.actual) == ("io", "everything waited 20.0 % of the last 5 minutes")
        assert "leave the GPUs idle" in finding.cause
        assert "local NVMe disk" in finding.fix


TRAINING = (GpuProcess(4242, "python3", 5 << 30),)
DISKS = healthy.load(stalls=stalls("io", 64.0, 41.5))
WAITING = "everything waited 41.5 % of the last 5 minutes"


def of_many_gpus(*states: t.Mapping[str, t.Any], load: HostLoad = DISKS) -> Finding:
    """Of a node with more GPUs, of which the first have these states."""
    wanted = healthy.desired("h100x8")
    node = healthy.known(healthy.evidence("h100x8", wanted), load=load)
    for index, fields in enumerate(states):
        node = healthy.of_gpu(node, index, **fields)
    judged = verdict.run(wanted, node, 8)
    assert judged.golden
    (finding,) = [f for f in judged.findings if f.id == "hardware.pressure"]
    return finding


@pytest.mark.parametrize(("percent", "waits"), [(0, True), (9, True), (10, False), (97, False)])
def test_a_gpu_that_waits_while_the_disks_are_waited_for_is_named(percent: int, waits: bool) -> None:
    finding = of_many_gpus({"utilization": percent, "processes": TRAINING})
    assert (finding.status, finding.entity) == ("fail", "io")
    assert finding.actual == (
        "%s; %s at %d %% (python3 (pid 4242))" % (WAITING, healthy.address(0), percent) if waits else WAITING
    )
    assert ("GPUs wait with it (1 of 1 that programs are on)" in finding.cause) is waits
    assert ("nvidia-smi dmon" in finding.fix) is not waits
    assert "iostat -x 5" in finding.fix


def test_gpus_that_have_work_are_counted_beside_those_that_wait() -> None:
    busy = {"utilization": 98, "processes": TRAINING}
    finding = of_many_gpus({"utilization": 3, "processes": TRAINING}, busy, {"utilization": 0})
    assert "GPUs wait with it (1 of 2 that programs are on)" in finding.cause


@pytest.mark.parametrize(
    "fields",
    [
        {"utilization": 0, "processes": ()},
        {"utilization": None, "processes": TRAINING},  # with MIG on there is no such number
        {"utilization": Reading.unknown("NVML: Unknown Error (code 999)"), "processes": TRAINING},
        {"utilization": 0, "processes": Reading.unknown("NVML: Insufficient Permissions (code 4)")},
    ],
    ids=["nobody is on it", "not told", "not known", "its programs are not known"],
)
def test_a_gpu_of_which_it_is_not_known_is_not_said_to_wait(fields: t.Mapping[str, t.Any]) -> None:
    assert of_many_gpus(fields).actual == WAITING


def test_a_gpu_that_waits_is_no_fault_where_nobody_waits_for_disks() -> None:
    assert of_many_gpus({"utilization": 0, "processes": TRAINING}, load=healthy.load()).status == "pass"


def test_where_nvml_does_not_answer_the_disks_are_told_all_the_same() -> None:
    node = healthy.unreadable(healthy.known(NODE, load=DISKS), "nvml")
    (finding,) = [f for f in verdict.run(WANTED, node, 1).findings if f.id == "hardware.pressure"]
    assert (finding.status, finding.actual) == ("fail", WAITING)


def test_a_gpu_waits_also_where_the_kernel_counts_no_waiting() -> None:
    load = healthy.load(stalls={}, times=CpuTimes(30.0, 0.0))
    finding = of_many_gpus({"utilization": 0, "processes": TRAINING}, load=load)
    assert finding.actual.startswith("CPUs idled for disks 30.0 % of the time since boot; ")


def test_disks_that_some_wait_for_are_no_fault() -> None:
    assert of_load("hardware.pressure", stalls=stalls("io", 90.0, 5.0)).status == "pass"


def test_a_node_with_too_little_memory_says_how_full_its_swap_is() -> None:
    memory = MemoryState(64 << 20, 1 << 20, 1000, 250, 9, 60)
    finding = of_load("hardware.pressure", stalls=stalls("memory", 9.0, 6.0), memory=memory)
    wanted = "everything waited 6.0 % of the last 5 minutes; 75 % of the swap in use, swappiness 60"
    assert (finding.entity, finding.actual) == ("memory", wanted)


@pytest.mark.parametrize(
    ("some", "queue", "status"), [(90.0, 16.0, "fail"), (90.0, 15.9, "pass"), (79.0, 40.0, "pass")]
)
def test_cpus_are_short_only_where_a_queue_stands_before_them(some: float, queue: float, status: str) -> None:
    load = {"stalls": stalls("cpu", some, 0.0), "load": (0.0, queue, 0.0)}
    assert of_load("hardware.pressure", **load).status == status


def test_where_the_kernel_does_not_count_waiting_the_load_is_asked() -> None:
    calm = of_load("hardware.pressure", stalls={})
    assert (calm.status, calm.actual) == ("pass", "no long queue; this kernel does not count waiting (psi=1 makes it)")
    assert of_load("hardware.pressure", stalls={}, load=(0.0, 32.0, 0.0)).entity == "cpu"
    assert of_load("hardware.pressure", stalls={}, times=CpuTimes(20.0, 0.0)).entity == "io"


def test_waiting_that_cannot_be_read_is_unknown() -> None:
    load = HostLoad(**{**healthy.load().__dict__, "stalls": Reading.unknown("it could not be read")})
    (finding,) = findings("hardware.pressure", healthy.known(NODE, load=load))
    assert (finding.status, finding.cause) == ("unknown", "Whether the node is slow for its pressure is not known.")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"cpus": 1.5}, "fail"),
        ({"cpus": 2.0}, "pass"),
        ({"gpus": 4, "cpus": 7.0}, "fail"),
        ({"cpuset": (3,)}, "fail"),
        ({"cpus": 16.0, "cpuset": (3,)}, "fail"),
        ({"cpus": None, "cpuset": ()}, "pass"),
    ],
)
def test_too_few_cpus_for_its_gpus(fields: t.Dict[str, t.Any], status: str) -> None:
    finding = of_limits("policy.limits", **fields)
    assert finding.status == status
    if status == "fail":
        wanted = "Container job 0a0a0a0a0a0a may use too few CPUs to keep its GPUs busy."
        assert (finding.entity, finding.cause) == ("job 0a0a0a0a0a0a", wanted)


@pytest.mark.parametrize(
    ("cpuset", "gpu_numa", "status"),
    [
        ((0, 1, 2, 3), (1,), "fail"),
        ((0, 1, 4), (1,), "pass"),
        ((0, 1, 2, 3), (0, 1), "pass"),
        ((0, 1, 2, 3), (), "pass"),
        ((0, 1, 2, 3), (9,), "pass"),
    ],
)
def test_cpus_far_from_the_gpu(cpuset: t.Tuple[int, ...], gpu_numa: t.Tuple[int, ...], status: str) -> None:
    finding = of_limits("policy.limits", cpuset=cpuset, gpu_numa=gpu_numa)
    assert finding.status == status
    if status == "fail":
        assert finding.expected == "CPUs of NUMA node 1"
        assert finding.fix == (
            "Start it anew with --cpuset-cpus=4-7. docker update --cpuset-cpus=4-7 job does it while it runs, where it "
            "got its GPUs by CDI; one that got them by the old hook loses them then (see "
            "container_runtime.behind_systemd)."
        )


@pytest.mark.parametrize(("shm", "status"), [(64 << 20, "fail"), ((64 << 20) + 1, "pass"), (None, "pass")])
def test_a_small_dev_shm(shm: t.Optional[int], status: str) -> None:
    finding = of_limits("policy.limits", shm=shm)
    assert finding.status == status
    if status == "fail":
        assert finding.actual == "64 MiB"
        assert "--shm-size=8g" in finding.fix


@pytest.mark.parametrize(("now", "status"), [(90, "fail"), (89, "pass"), (None, "pass")])
def test_processes_that_run_out(now: t.Optional[int], status: str) -> None:
    assert of_limits("policy.limits", pids=100, pids_now=now).status == status


def test_limits_that_are_not_known_never_pass() -> None:
    for check in ("policy.limits", "container_runtime.starved"):
        assert of_limits(check, error="memory.max could not be read").status == "unknown"


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"throttled": 10.0}, "used up its share of CPUs"),
        ({"stalls": stalls("io", 30.0, 20.0)}, "waits for disks"),
        ({"stalls": stalls("memory", 30.0, 5.0)}, "too little memory"),
        ({"oom_kills": 1, "memory": 2 << 30}, "killed processes"),
    ],
)
def test_a_container_that_starves(fields: t.Dict[str, t.Any], word: str) -> None:
    finding = of_limits("container_runtime.starved", **fields)
    assert finding.status == "fail"
    assert word in finding.cause
    assert of_limits("policy.limits", **fields).status == "pass", "what it lacked is said once"


@pytest.mark.parametrize("fields", [{"throttled": 9.9}, {"stalls": stalls("io", 90.0, 19.0)}, {"oom_kills": 0}])
def test_a_container_that_has_enough(fields: t.Dict[str, t.Any]) -> None:
    assert of_limits("container_runtime.starved", **fields).actual == "1 running containers with GPUs, none held back"


def cgroups(version: str, handed: t.Any = (), users: t.Any = ()) -> Finding:
    delegated = handed if isinstance(handed, Reading) else Reading(tuple(handed))
    rootless = (
        users if isinstance(users, Reading) else Reading({user: ("/run/user/%s/docker.sock" % user,) for user in users})
    )
    groups = ControlGroups(version, delegated=delegated)
    (finding,) = findings("policy.cgroups", healthy.known(NODE, cgroups=groups, engines=Engines(rootless=rootless)))
    return finding


@pytest.mark.parametrize("version", ["1", "hybrid"])
def test_control_groups_of_version_1(version: str) -> None:
    finding = cgroups(version)
    assert finding.status == "fail"
    assert "systemd.unified_cgroup_hierarchy" in finding.fix


def test_what_a_rootless_engine_is_not_handed() -> None:
    """What Debian 12 and Ubuntu 24.04 hand: --cpuset-cpus and --device-read-bps are left out with a warning."""
    finding = cgroups("2", ["cpu", "memory", "pids"], ["1000"])
    assert (finding.status, finding.entity, finding.actual) == ("fail", "user@.service", "without cpuset, io")
    assert "/etc/systemd/system/user@.service.d/delegate.conf" in finding.fix


def test_nobody_needs_what_users_are_handed_where_no_rootless_engine_runs() -> None:
    assert cgroups("2", Reading.unknown("no user@.service was found")).status == "pass"
    assert cgroups("2", ["cpu", "cpuset", "io", "memory", "pids"], ["1000"]).status == "pass"


def test_what_users_are_handed_that_cannot_be_read() -> None:
    assert cgroups("2", Reading.unknown("it could not be read"), ["1000"]).status == "unknown"
    assert cgroups("2", ["cpu"], Reading.unknown("it could not be read")).status == "unknown"
