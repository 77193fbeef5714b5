# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can make a node slow is read from files alone, and what cannot be read is said."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    ContainerLimits,
    CpuFrequency,
    DeviceNode,
    Reading,
    RunningContainer,
    Stall,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import cgroups, container_limits, pressure
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import Recorder, Replay
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Stat
from ansible_collections.goldennode.gpu.tests.unit import recorded

FILE = Stat("file", 0o644, 0, 0, 1, 0)
FOLDER = Stat("dir", 0o755, 0, 0, 1, 0)
GPU = DeviceNode("/dev/nvidia0", 0o666, 0, 44, 195, 0)
CONTROL = DeviceNode("/dev/nvidiactl", 0o666, 0, 44, 195, 255)
RUNNING = RunningContainer("0a" * 32, "job", nodes=(GPU, CONTROL), pid=77)
SCOPE = "/sys/fs/cgroup/system.slice/docker-0a.scope"
SOME = "some avg10=1.00 avg60=2.00 avg300=3.00 total=9\nfull avg10=0.10 avg60=0.20 avg300=0.30 total=1\n"


class Files(recorded.Node):
    """The recorded node with more files; what is named nowhere is not there. No command is ever answered."""

    def __init__(self, **texts: str) -> None:
        super().__init__()
        self.texts: t.Dict[str, t.Optional[str]] = {}
        self.errors: t.Dict[str, str] = {}

    def read_bytes(self, path: str, limit: int = 1 << 22) -> Reading[bytes]:
        if path in self.errors:
            return Reading.unknown(self.errors[path])
        text = self.texts[path] if path in self.texts else self.capture["files"].get(path)
        return Reading(None if text is None else text.encode("utf-8"))

    def read(self, path: str, limit: int = 1 << 22) -> Reading[str]:
        raw = self.read_bytes(path)
        return Reading(None if raw.value is None else raw.value.decode("utf-8"), raw.error)

    def listdir(self, path: str) -> Reading[t.Dict[str, Stat]]:
        if path in self.errors:
            return Reading.unknown(self.errors[path])
        below = [name[len(path) + 1 :] for name in self.texts if name.startswith(path + "/")]
        return Reading({name.split("/")[0]: FOLDER if "/" in name else FILE for name in below} or None)

    def stat(self, path: str) -> Reading[Stat]:
        return Reading(FOLDER if any(name.startswith(path + "/") for name in self.texts) else None)

    def run(self, *_arguments: t.Any, **_words: t.Any) -> t.Any:
        raise AssertionError("no process is started for this")


def policies(host: Files, driver: str, **governors: str) -> None:
    for policy, governor in governors.items():
        folder = "/sys/devices/system/cpu/cpufreq/%s/" % policy
        host.texts[folder + "scaling_governor"] = governor + "\n"
        host.texts[folder + "scaling_driver"] = driver + "\n"
        host.texts[folder + "energy_performance_preference"] = "power\n"


def test_a_whole_look_at_a_machine() -> None:
    host = Files()
    policies(host, "acpi-cpufreq", policy0="powersave", policy1="performance", policy2="performance")
    for node, cpus in (("node0", "0-3\n"), ("node1", "4-7\n"), ("node2", "\n")):
        host.texts["/sys/devices/system/node/%s/cpulist" % node] = cpus
    host.texts["/sys/devices/system/cpu/isolated"] = "2-3\n"
    found = pressure.load(host).value
    assert found is not None
    assert found.frequency.value == CpuFrequency("acpi-cpufreq", {"powersave": 1, "performance": 2})
    assert found.numa.value == {"0": (0, 1, 2, 3), "1": (4, 5, 6, 7), "2": ()}
    assert (found.online.value, found.isolated.value) == ((0, 1), (2, 3))
    assert set(found.stalls.value or {}) == {"cpu", "memory", "io"}
    assert all(getattr(found, field.name).known for field in dataclasses.fields(found))


def test_where_the_cpu_chooses_its_preference_is_read_too() -> None:
    host = Files()
    policies(host, "intel_pstate", policy0="powersave", policy1="performance")
    found = pressure.load(host).value
    assert found is not None
    assert (found.frequency.value or CpuFrequency()).policies == {"powersave, power": 1, "performance": 1}


@pytest.mark.parametrize("name", ["scaling_governor", "scaling_driver", "energy_performance_preference"])
def test_a_policy_that_cannot_be_read_is_unknown(name: str) -> None:
    host = Files()
    policies(host, "intel_pstate", policy0="powersave")
    path = "/sys/devices/system/cpu/cpufreq/policy0/%s" % name
    host.errors[path] = "%s could not be read: Input/output error" % path
    found = pressure.load(host).value
    assert found is not None
    assert found.frequency.error == host.errors[path]


@pytest.mark.parametrize("how", ["not there", "switched off"])
def test_a_kernel_that_counts_no_waiting(how: str) -> None:
    host = Files()
    for name in pressure.RESOURCES:
        path = "/proc/pressure/%s" % name
        host.texts[path] = None
        if how == "switched off":
            host.errors[path] = "%s could not be read: Operation not supported" % path
    found = pressure.load(host).value
    assert found is not None
    assert found.stalls == Reading({})


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/proc/pressure/io", "stalls"),
        ("/proc/loadavg", "load"),
        ("/proc/stat", "times"),
        ("/proc/meminfo", "memory"),
        ("/sys/devices/system/cpu/cpufreq", "frequency"),
        ("/sys/devices/system/cpu/online", "online"),
        ("/sys/devices/system/cpu/isolated", "isolated"),
        ("/sys/devices/system/node", "numa"),
    ],
)
def test_a_part_that_cannot_be_read_is_unknown_and_no_other(path: str, field: str) -> None:
    host = Files()
    host.errors[path] = "%s could not be read: Input/output error" % path
    found = pressure.load(host).value
    assert found is not None
    unknown = {
        f.name: getattr(found, f.name).error for f in dataclasses.fields(found) if not getattr(found, f.name).known
    }
    assert unknown == {field: host.errors[path]}


def second_version(**texts: str) -> Files:
    """A container of version 2 with GPU 0, which is near NUMA node 1."""
    host = Files()
    own = {
        "cpu.max": "max 100000\n",
        "cpu.stat": "nr_periods 100\nnr_throttled 20\n",
        "cpuset.cpus.effective": "0-3\n",
        "memory.max": "max\n",
        "memory.events": "oom 1\noom_kill 1\n",
        "pids.max": "100\n",
        "pids.current": "95\n",
        "cpu.pressure": SOME,
        "memory.pressure": SOME,
        "io.pressure": SOME,
        **{name.replace("__", "."): text for name, text in texts.items()},
    }
    host.texts.update({"%s/%s" % (SCOPE, name): text for name, text in own.items()})
    host.texts["/proc/77/cgroup"] = "0::/system.slice/docker-0a.scope\n"
    host.texts["/proc/77/mountinfo"] = "620 614 0:66 / /dev/shm rw - tmpfs shm rw,size=65536k\n"
    host.texts["/proc/driver/nvidia/gpus/0000:17:00.0/information"] = "Device Minor: \t 0\n"
    host.texts["/sys/bus/pci/devices/0000:17:00.0/numa_node"] = "1\n"
    return host


def only(host: Files, running: RunningContainer = RUNNING) -> ContainerLimits:
    (found,) = container_limits.limits(host, Reading((running,))).value or ()
    return found


def test_limits_of_a_container_of_version_2() -> None:
    stall = Stall((1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
    assert only(second_version()) == ContainerLimits(
        label="job 0a0a0a0a0a0a",
        gpus=1,
        cgroup="v2",
        cpuset=(0, 1, 2, 3),
        oom_kills=1,
        pids=100,
        pids_now=95,
        throttled=20.0,
        shm=64 << 20,
        gpu_numa=(1,),
        stalls={"cpu": stall, "memory": stall, "io": stall},
    )


def test_the_tightest_limit_of_the_groups_above_counts() -> None:
    host = second_version(cpu__max="400000 100000\n", memory__max="8589934592\n")
    host.texts["/sys/fs/cgroup/system.slice/cpu.max"] = "150000 100000\n"
    host.texts["/sys/fs/cgroup/system.slice/memory.max"] = "17179869184\n"
    found = only(host)
    assert (found.cpus, found.memory) == (1.5, 8 << 30)


def test_limits_of_a_container_of_version_1() -> None:
    host = second_version()
    host.texts["/proc/77/cgroup"] = "".join(
        "%d:%s:/docker/0a\n" % (number, name) for number, name in enumerate(["cpu,cpuacct", "memory", "pids", "cpuset"])
    )
    for path, text in {
        "cpu/docker/0a/cpu.cfs_quota_us": "200000\n",
        "cpu/docker/0a/cpu.cfs_period_us": "100000\n",
        "cpu/docker/0a/cpu.stat": "nr_periods 0\nnr_throttled 0\n",
        "memory/docker/0a/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/docker/0a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
        "pids/docker/0a/pids.max": "max\n",
        "pids/docker/0a/pids.current": "5\n",
        "cpuset/docker/0a/cpuset.effective_cpus": "4-7\n",
    }.items():
        host.texts["/sys/fs/cgroup/" + path] = text
    found = only(host)
    assert (found.cgroup, found.cpus, found.memory, found.oom_kills) == ("v1", 2.0, None, 3)
    assert (found.cpuset, found.pids, found.pids_now, found.throttled) == ((4, 5, 6, 7), None, 5, None)


def test_a_gpu_whose_numa_node_nobody_knows() -> None:
    host = second_version()
    host.texts["/sys/bus/pci/devices/0000:17:00.0/numa_node"] = "-1\n"
    assert only(host).gpu_numa == ()


def test_a_container_without_a_gpu_is_not_looked_at() -> None:
    bare = dataclasses.replace(RUNNING, nodes=(CONTROL,))
    host = second_version()
    assert container_limits.limits(host, Reading((bare,))) == Reading(())
    assert host.asked == []


def test_without_docker_or_a_list_there_are_no_limits_and_that_is_said() -> None:
    assert container_limits.limits(Files(), Reading(None)) == Reading(None)
    assert container_limits.limits(Files(), Reading.unknown("docker was killed")).error == "docker was killed"


def test_one_that_ends_meanwhile_is_left_out() -> None:
    host = second_version()
    host.texts = {}
    assert container_limits.limits(host, Reading((RUNNING,))) == Reading(())
    host.texts = {"/proc/77/cgroup": "0::/system.slice/docker-0a.scope\n"}
    host.stat = lambda path: Reading(None)  # type: ignore[method-assign]
    assert container_limits.limits(host, Reading((RUNNING,))) == Reading(())


@pytest.mark.parametrize(
    "path", [SCOPE + "/memory.max", SCOPE + "/io.pressure", "/proc/77/cgroup", "/proc/77/mountinfo", SCOPE]
)
def test_limits_that_cannot_be_read_are_said(path: str) -> None:
    host = second_version()
    host.errors[path] = "%s could not be read: Permission denied" % path
    wanted = "%s is not there" % SCOPE if path == SCOPE else host.errors[path]
    assert only(host).error == wanted


def test_a_group_that_cannot_be_seen_from_here_is_said() -> None:
    host = second_version()
    host.texts["/proc/77/cgroup"] = "0::/../docker/0a\n"
    assert only(host).error == "the process is in no control group that can be seen"


def test_all_of_it_comes_out_of_a_capture() -> None:
    recorder = Recorder(second_version())
    live = (
        pressure.load(recorder),
        cgroups.cgroups(recorder),
        container_limits.limits(recorder, Reading((RUNNING,))),
    )
    replay = Replay(recorder.capture())
    again = (pressure.load(replay), cgroups.cgroups(replay), container_limits.limits(replay, Reading((RUNNING,))))
    assert live == again
    assert all(reading.known for reading in live)


def test_what_users_are_handed() -> None:
    host = Files()
    found = cgroups.cgroups(host).value
    assert found is not None
    assert (found.version, found.delegated) == ("2", Reading(("cpu", "memory", "pids")))
    assert found.controllers == ("cpu", "cpuset", "hugetlb", "io", "memory", "pids")
    host.texts["/etc/systemd/system/user@.service.d/delegate.conf"] = "[Service]\nDelegate=cpuset io\n"
    host.texts["/usr/lib/systemd/system/user@.service.d/delegate.conf"] = "[Service]\nDelegate=no\n"
    found = cgroups.cgroups(host).value
    assert found is not None
    assert found.delegated == Reading(("cpu", "cpuset", "io", "memory", "pids")), "the one in /etc hides its namesake"


def test_a_drop_in_that_cannot_be_read_is_unknown_and_not_absent() -> None:
    host = Files()
    path = "/etc/systemd/system/user@.service.d/delegate.conf"
    host.texts[path] = ""
    host.errors[path] = "%s could not be read: Permission denied" % path
    found = cgroups.cgroups(host).value
    assert found is not None
    assert found.delegated.error == host.errors[path]


def test_version_1_hands_nothing_to_anybody() -> None:
    host = Files()
    host.texts["/proc/self/mountinfo"] = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    found = cgroups.cgroups(host).value
    assert found is not None
    assert (found.version, found.delegated) == ("1", Reading(()))
