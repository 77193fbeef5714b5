# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of containerd, CRI-O and Podman: what each says of GPUs, in all versions of its file."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import ContainerEngine, Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import engine_kept
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import engine_settings as settings
from ansible_collections.goldennode.gpu.plugins.module_utils.toml_text import load

NVIDIA = '"/usr/bin/nvidia-container-runtime"'


def toml(text: str) -> t.Dict[str, t.Any]:
    return load(text.encode("utf-8"))


def containerd(*texts: str) -> ContainerEngine:
    return settings.containerd(ContainerEngine("containerd", "/usr/bin/containerd"), [toml(text) for text in texts])


def runtime(plugin: str, name: str = "nvidia", number: t.Optional[int] = 2) -> str:
    table = "plugins.'%s'.containerd" % plugin
    head = "" if number is None else "version = %d\n" % number
    return "%s[%s]\ndefault_runtime_name = '%s'\n[%s.runtimes.%s.options]\nBinaryName = %s\nSystemdCgroup = true\n" % (
        head, table, name, table, name, NVIDIA
    )  # fmt: skip


@pytest.mark.parametrize(
    ("plugin", "number"),
    [
        ("cri", None),
        ("cri", 1),
        ("io.containerd.grpc.v1.cri", 2),
        ("io.containerd.cri.v1.runtime", 3),
        ("io.containerd.cri.v1.runtime", 4),
    ],
)
def test_the_runtime_by_the_version_of_the_file(plugin: str, number: t.Optional[int]) -> None:
    found = containerd(runtime(plugin, number=number))
    assert (found.runtimes, found.default_runtime, found.systemd_cgroup) == (("nvidia",), "nvidia", True)
    assert (found.misplaced, found.cri) == ((), True)


@pytest.mark.parametrize(
    ("plugin", "number"), [("io.containerd.grpc.v1.cri", 3), ("io.containerd.cri.v1.runtime", 2), ("cri", 2)]
)
def test_a_runtime_below_the_plugin_of_another_version_is_not_read(plugin: str, number: int) -> None:
    found = containerd(runtime(plugin, number=number))
    assert (found.runtimes, found.misplaced) == ((), ("%s: nvidia" % plugin,))


def test_a_drop_in_is_laid_over_the_first_file_and_goes_by_its_own_version() -> None:
    main = "version = 3\ndisabled_plugins = []\n[plugins.'io.containerd.cri.v1.runtime']\nenable_cdi = false\n"
    old = containerd(main, runtime("io.containerd.grpc.v1.cri", number=2))
    assert (old.runtimes, old.misplaced, old.cdi) == (("nvidia",), (), False)
    same = containerd(main, runtime("io.containerd.cri.v1.runtime", number=None))
    assert (same.runtimes, same.misplaced) == (("nvidia",), ())


def test_dockers_package_switches_off_what_serves_kubernetes() -> None:
    assert containerd('disabled_plugins = ["cri"]\n').cri is False


def test_without_a_file_everything_is_as_containerd_has_it() -> None:
    found = containerd()
    assert (found.runtimes, found.default_runtime, found.systemd_cgroup, found.cri, found.cdi) == (
        (), "runc", None, True, None
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "plugins = 1\n",
        "version = true\n[plugins]\ncri = []\n",
        "disabled_plugins = 3\nversion = 'x'\n",
        "imports = 1\n",
    ],
)
def test_settings_of_a_wrong_kind_say_nothing(text: str) -> None:
    assert containerd(text).runtimes == ()
    assert settings.imports(toml(text)) == ()


def test_crio() -> None:
    text = "[crio.runtime]\ndefault_runtime = 'nvidia'\ncgroup_manager = 'systemd'\n[crio.runtime.runtimes.nvidia]\n"
    texts = [toml("[crio.runtime]\ndefault_runtime = 'crun'\n"), toml(text + "runtime_path = %s\n" % NVIDIA)]
    found = settings.crio(ContainerEngine("crio", "/usr/bin/crio"), texts)
    assert (found.runtimes, found.default_runtime, found.systemd_cgroup) == (("nvidia",), "nvidia", True)


def test_podman() -> None:
    text = "[engine]\nruntime = 'crun'\ncgroup_manager = 'cgroupfs'\ncdi_spec_dirs = ['/opt/cdi']\n[engine.runtimes]\n"
    found = settings.podman(ContainerEngine("podman", "/usr/bin/podman"), [toml(text + "gpu = [%s]\n" % NVIDIA)])
    assert (found.runtimes, found.default_runtime, found.systemd_cgroup) == (("gpu",), "crun", False)
    assert found.cdi_dirs == ("/opt/cdi",)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("podman version 4.9.3\n", "4.9.3"),
        ("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3\n", "1.6.20~ds1"),
        ("containerd containerd.io v2.2.3 77c84241c7cbdd9b4eca2591793e3d4f4317c590\n", "2.2.3"),
        ("crio version 1.30.4\nVersion: 1.30.4\n", "1.30.4"),
        ("", ""),
        ("no version", ""),
    ],
)
def test_the_version_of_an_engine(text: str, version: str) -> None:
    """containerd 1.6.20 is of Debian 12; 2.2.3 is told in leptonai/gpud#1242."""
    assert settings.version(text) == version


@pytest.mark.parametrize("path", ["/usr/bin/nvidia-container-runtime-hook", "/usr/bin/nvidia-container-toolkit"])
def test_a_hook_of_nvidias(path: str) -> None:
    """The shape is told in containers/podman#16839."""
    assert settings.is_hook('{"version": "1.0.0", "hook": {"path": "%s"}, "stages": ["prestart"]}' % path)


@pytest.mark.parametrize("text", ["", "[]", '{"hook": 1}', '{"hook": {"path": 3}}', '{"hook": {"path": "/bin/other"}}'])
def test_another_hook(text: str) -> None:
    assert not settings.is_hook(text)


SECRETS = """
version = 2
[plugins.'io.containerd.grpc.v1.cri'.registry.configs.'registry.example'.auth]
password = 'hunter2'
[plugins.'io.containerd.grpc.v1.cri']
enable_cdi = true
[crio.runtime]
default_env = ['TOKEN=hunter2']
default_runtime = 'nvidia'
[containers]
env = ['PASSWORD=hunter2']
[engine]
env = ['https_proxy=http://me:hunter2@proxy']
runtime = 'crun'
"""


def test_a_capture_has_what_is_judged_and_no_password() -> None:
    """And what is judged is the same."""
    whole = (SECRETS + runtime("io.containerd.grpc.v1.cri", number=None)).encode("utf-8")
    kept = engine_kept.kept(Reading(whole), "/etc/containerd/config.toml").value
    assert kept is not None
    assert b"hunter2" not in kept
    bare = ContainerEngine("any", "/usr/bin/any")
    for parse in (settings.containerd, settings.crio, settings.podman):
        assert parse(bare, [load(kept)]) == parse(bare, [load(whole)])
    assert settings.containerd(bare, [load(kept)]).runtimes == ("nvidia",)


def test_a_file_that_is_not_understood_is_unknown_in_a_capture_too() -> None:
    kept = engine_kept.kept(Reading(b"[engine\npassword = 'hunter2'\n"), "/etc/containers/containers.conf")
    assert (kept.error or "").startswith("/etc/containers/containers.conf: ")
    assert "hunter2" not in (kept.error or "")


@pytest.mark.parametrize("reading", [Reading(None), Reading.unknown("it could not be read")])
def test_a_file_that_is_not_there_stays_so(reading: Reading[bytes]) -> None:
    assert engine_kept.kept(reading, "/etc/crio/crio.conf") == reading
