# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engines there are: files, and a process only for an engine that is there beside Docker."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import ContainerEngine, Engines, Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import engines
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import Recorder, Replay
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command, Stat
from ansible_collections.goldennode.gpu.tests.unit import recorded

PROGRAM = Stat("file", 0o755, 0, 0, 1, 0)
FILE = Stat("file", 0o644, 0, 0, 1, 0)
SOCKET = Stat("socket", 0o660, 1000, 1000, 0, 0)
NVIDIA = "BinaryName = '/usr/bin/nvidia-container-runtime'\n"
RUNTIME = "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]\n" + NVIDIA
HOOK = '{"version": "1.0.0", "hook": {"path": "/usr/bin/nvidia-container-runtime-hook"}}'


class Host(recorded.Node):
    """A node with these programs, and no file but those that a test lays."""

    def __init__(self, *programs: str) -> None:
        super().__init__()
        self.stats: t.Dict[str, Stat] = {"/usr/bin/" + name: PROGRAM for name in programs}
        self.texts: t.Dict[str, str] = {}
        self.errors: t.Dict[str, str] = {}
        self.versions = {
            "podman": "podman version 4.9.3\n",
            "crio": "crio version 1.30.4\n",
            "containerd": "containerd c v2.0.1 x\n",
        }
        self.active = "active"
        self.commands: t.List[t.Tuple[str, ...]] = []

    def stat(self, path: str) -> Reading[Stat]:
        if path in self.errors:
            return Reading.unknown(self.errors[path])
        return Reading(self.stats.get(path))

    def read_bytes(self, path: str, limit: int = 1 << 22) -> Reading[bytes]:
        if path in self.errors:
            return Reading.unknown(self.errors[path])
        return Reading(self.texts[path].encode("utf-8") if path in self.texts else None)

    def read(self, path: str, limit: int = 1 << 22) -> Reading[str]:
        raw = self.read_bytes(path)
        return Reading(None if raw.value is None else raw.value.decode("utf-8"), raw.error)

    def listdir(self, path: str) -> Reading[t.Dict[str, Stat]]:
        names = [
            name[len(path) + 1 :].split("/")[0] for name in (*self.texts, *self.stats) if name.startswith(path + "/")
        ]
        return Reading(dict.fromkeys(sorted(set(names)), FILE) or None)

    def run(
        self,
        argv: t.Sequence[str],
        timeout: float,
        unprivileged: bool = False,
        groups: t.Sequence[int] = (),
        where: str = "host",
    ) -> Command:
        assert timeout <= 10
        self.commands.append(tuple(argv))
        if argv[0] == "systemctl":
            blocks = ["Id=%s\nLoadState=loaded\nActiveState=%s\n" % (name, self.active) for name in argv[4:]]
            return Command(where, tuple(argv), 0, "\n".join(blocks))
        assert list(argv[1:]) == ["--version"]
        return Command(where, tuple(argv), 0, self.versions[argv[0]])


def found(host: Host) -> Engines:
    reading = engines.engines(host)
    assert reading.value is not None, reading.error
    return reading.value


def one(host: Host, name: str) -> ContainerEngine:
    engine = found(host).get(name)
    assert engine is not None
    return engine


def test_a_node_with_docker_alone_starts_no_process() -> None:
    host = Host("dockerd", "containerd")
    host.texts["/etc/containerd/config.toml"] = 'disabled_plugins = ["cri"]\n'
    there = found(host)
    assert [engine.name for engine in there.engines] == ["docker", "containerd"]
    assert host.commands == []
    assert one(host, "containerd").cri is False


def test_a_node_without_an_engine() -> None:
    assert engines.engines(Host()) == Reading(Engines(rootless=Reading({})))


def test_a_program_that_is_not_for_running_is_none() -> None:
    host = Host()
    host.stats["/usr/bin/podman"] = FILE
    assert found(host).engines == ()


def test_containerd_where_kubernetes_is() -> None:
    host = Host("dockerd", "containerd", "kubelet")
    host.texts["/etc/containerd/config.toml"] = "version = 3\nimports = ['conf.d/*.toml', '/opt/one.toml']\n"
    host.texts["/etc/containerd/conf.d/99-nvidia.toml"] = RUNTIME
    host.texts["/etc/containerd/conf.d/notes.txt"] = "no TOML at all"
    engine = one(host, "containerd")
    assert (engine.runtimes, engine.version, engine.active) == (("nvidia",), "2.0.1", True)
    assert engine.files == ("/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml")
    assert found(host).kubelet == "/usr/bin/kubelet"
    assert ("containerd", "--version") in host.commands


def test_drop_ins_of_containerd_count_without_a_main_file() -> None:
    host = Host("containerd", "kubelet")
    host.texts["/etc/containerd/conf.d/99-nvidia.toml"] = RUNTIME
    assert one(host, "containerd").runtimes == ("nvidia",)


def test_podman_with_an_old_hook_and_a_users_own() -> None:
    host = Host("podman")
    host.texts["/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json"] = HOOK
    host.texts["/etc/containers/oci/hooks.d/other.json"] = HOOK.replace("nvidia-container-runtime-hook", "other")
    host.texts["/etc/containers/containers.conf.d/gpu.conf"] = (
        "[engine.runtimes]\ngpu = ['/usr/bin/nvidia-container-runtime']\n"
    )
    host.stats["/run/user/1000/podman/podman.sock"] = SOCKET
    host.stats["/run/user/1000/docker.sock"] = SOCKET
    host.stats["/run/user/1001/docker.sock"] = FILE
    there = found(host)
    assert there.hooks == ("/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json",)
    assert there.rootless == Reading({"1000": ("/run/user/1000/docker.sock", "/run/user/1000/podman/podman.sock")})
    host.errors["/run/user/1001/docker.sock"] = "/run/user/1001/docker.sock could not be read: Permission denied"
    assert found(host).rootless.error == host.errors["/run/user/1001/docker.sock"]
    assert one(host, "podman").version == "4.9.3"
    assert one(host, "podman").runtimes == ("gpu",)


def test_crio_reads_its_drop_ins_in_order() -> None:
    host = Host("crio")
    host.active = "inactive"
    host.texts["/etc/crio/crio.conf"] = "[crio.runtime]\ndefault_runtime = 'runc'\n"
    host.texts["/etc/crio/crio.conf.d/10-crun.conf"] = "[crio.runtime]\ndefault_runtime = 'crun'\n"
    host.texts["/etc/crio/crio.conf.d/99-nvidia.conf"] = (
        "[crio.runtime]\ndefault_runtime = 'nvidia'\n[crio.runtime.runtimes.nvidia]\n"
        "runtime_path = '/usr/bin/nvidia-container-runtime'\n"
    )
    engine = one(host, "crio")
    assert (engine.default_runtime, engine.runtimes, engine.active) == ("nvidia", ("nvidia",), False)


@pytest.mark.parametrize("how", ["unreadable", "no TOML"])
def test_settings_that_cannot_be_read_leave_the_engine_there(how: str) -> None:
    host = Host("dockerd", "podman")
    path = "/etc/containers/containers.conf"
    host.texts[path] = "[engine\n"
    if how == "unreadable":
        host.errors[path] = "%s could not be read: Permission denied" % path
    engine = one(host, "podman")
    assert (engine.error or "").startswith(path)
    assert engine.version == "4.9.3"
    assert one(host, "docker").error is None


def test_a_version_that_hangs_is_none_and_the_rest_is_read() -> None:
    host = Host("podman")
    host.run = lambda argv, *_more, **_words: Command("host", tuple(argv), timed_out=True, error="killed")  # type: ignore
    engine = one(host, "podman")
    assert (engine.version, engine.active, engine.error) == ("", None, None)


def test_a_place_of_programs_that_cannot_be_read_is_unknown() -> None:
    host = Host()
    host.errors["/usr/sbin/podman"] = "/usr/sbin/podman could not be read: Input/output error"
    assert engines.engines(host).error == host.errors["/usr/sbin/podman"]


def test_all_of_it_comes_out_of_a_capture() -> None:
    host = Host("dockerd", "containerd", "podman", "crio", "kubelet")
    host.texts["/etc/containerd/config.toml"] = RUNTIME
    host.texts["/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json"] = HOOK
    host.texts["/etc/crio/crio.conf"] = "[crio.runtime]\ndefault_env = ['TOKEN=hunter2']\ndefault_runtime = 'crun'\n"
    recorder = Recorder(host)
    live = engines.engines(recorder)
    assert live.known
    assert engines.engines(Replay(recorder.capture())) == live
    assert "hunter2" not in str(recorder.capture())
