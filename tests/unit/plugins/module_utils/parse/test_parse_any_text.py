# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No text makes a parser raise: a tool may be cut off, garbled or replaced, and the look goes on.

Every function of every parser is asked: one that is not fails a test, so that a new one comes in here.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import random
import sys
import types
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import parse
from ansible_collections.goldennode.gpu.plugins.module_utils.model import ContainerEngine, Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import (
    apt_errors,
    apt_sources,
    build_failure,
    cdi,
    cgroup_limits,
    cgroup_version,
    container,
    container_image,
    cuda,
    daemon_json,
    device_answers,
    devices,
    dkms,
    dkms_log,
    dkms_output,
    docker_clients,
    docker_info,
    docker_journal,
    docker_socket,
    dpkg,
    dpkg_errors,
    engine_kept,
    engine_settings,
    fabric_manager,
    frameworks,
    gpu_state,
    groups,
    grub,
    image_environment,
    initramfs,
    json_lines,
    kept_packages,
    kernel_log,
    ldconfig,
    modinfo,
    modprobe_d,
    mokutil,
    mountinfo,
    nvidia_smi,
    nvidia_smi_banner,
    nvidia_smi_xml,
    nvml,
    os_release,
    own_holds,
    pci,
    pcie,
    pressure,
    proc_nvidia,
    running_containers,
    sxid,
    systemctl_show,
    text,
    toolkit_config,
    xid,
)
from ansible_collections.goldennode.gpu.tests.unit import fixtures

RC = (0, 1, 18, 255, -9, None)
Parser = t.Callable[[str, t.Optional[int]], Reading[t.Any]]


def grub_default(said: str, block: str) -> Reading[t.Any]:
    menu = grub.parse(said, grub.environment_block(block))
    if menu.value:
        grub.default_for(menu.value, "6.12")
    return grub.chosen(menu.value) if menu.value else menu


def sources_of(said: str, path: str) -> Reading[t.Any]:
    """A value that is no reading must be a sensible one all the same: it is looked at by whoever asked."""
    entries = apt_sources.parse(path, said, "amd64")
    for entry in entries[:3]:
        apt_sources.for_packages(said, entry)
    return Reading((entries, apt_sources.switched_off(said, entries)))


def small(said: str) -> Reading[t.Any]:
    """The questions that several parsers ask."""
    return Reading(
        (
            text.first_line(said),
            text.last_line(said),
            text.failure("tool", 1, said, said[9:]),
            text.pci_address(said[:20]),
            text.gpu_uuid(said[:40]),
            text.mig_uuid(said[:40]),
            text.integer(said[:20]),
            text.colons(said[:20]),
            text.without_secrets(said),
            text.is_secret(said[:40]),
        )
    )


def drivers_of(said: str) -> Reading[t.Any]:
    mounts = mountinfo.parse(said)
    return (
        Reading((mountinfo.driver_versions(mounts.value), mountinfo.dev_is_own(mounts.value)))
        if mounts.value
        else mounts
    )


def engines_of(text: str) -> Reading[t.Any]:
    """Settings of every engine, where the text is TOML at all."""
    bare = ContainerEngine("any", "/usr/bin/any")
    plain = toolkit_config.parse(text.encode("utf-8", "replace"), "config.toml")
    if plain.value is None:
        return plain
    every = (engine_settings.containerd, engine_settings.crio, engine_settings.podman)
    return Reading([parse(bare, [plain.value, plain.value]) for parse in every])


def state_lines(said: str) -> t.List[t.Dict[str, t.Any]]:
    """What a child may print of each question in place of its answer."""
    names = ("mig", "mig_devices", "ecc", "ecc_volatile", "remapped", "recovery", "fabric", "pcie", "processes", said)
    answers: t.Tuple[t.Any, ...] = (said, [said], [[said]], [[0, 0, 0, said]], {"state": said}, len(said), None)
    return [{"state": 0, "of": name, "value": value} for name in names for value in answers]


PARSERS: t.Dict[str, Parser] = {
    "nvidia_smi.query": lambda s, rc: nvidia_smi.query(s, s[:40], rc),
    "nvidia_smi.listing": lambda s, rc: nvidia_smi.listing(s, "", rc),
    "nvidia_smi.mig_devices": nvidia_smi.mig_devices,
    "nvidia_smi.banner": lambda s, rc: nvidia_smi.banner(s, "", rc),
    "nvidia_smi_banner": lambda s, rc: nvidia_smi_banner.parse(s, "", rc),
    "nvidia_smi_xml": lambda s, rc: nvidia_smi_xml.parse(s),
    "sxid": lambda s, rc: sxid.parse(s.splitlines()),
    "xid": lambda s, rc: xid.parse(s.splitlines()),
    "proc_nvidia.loaded": lambda s, rc: proc_nvidia.loaded(s, s[:12] or None),
    "proc_nvidia.params": lambda s, rc: proc_nvidia.params(s),
    "modinfo": lambda s, rc: modinfo.parse(s, s, rc, "6.12"),
    "mokutil.state": lambda s, rc: mokutil.state(s, s, rc),
    "mokutil.test_key": lambda s, rc: mokutil.test_key(s, s, rc),
    "mokutil.enrolled": lambda s, rc: mokutil.enrolled(s, s, rc),
    "dkms.status": lambda s, rc: dkms.status(s, s, rc),
    "dkms.certificate": lambda s, rc: dkms.certificate([s, s[9:]], "ubuntu" if rc else "debian"),
    "fabric_manager": lambda s, rc: fabric_manager.mismatch(s),
    "dpkg": lambda s, rc: dpkg.parse(s, ("nvidia-*", "[", "libcuda*")),
    "os_release": lambda s, rc: os_release.parse(s, "x86_64", s),
    "ldconfig": lambda s, rc: ldconfig.parse(s, "x86_64", ("libcuda.so.1",)),
    "devices": lambda s, rc: devices.parse(s),
    "docker_info": lambda s, rc: docker_info.parse(s, s, rc),
    "docker_socket": lambda s, rc: docker_socket.parse(s, s, rc),
    "docker_clients": lambda s, rc: docker_clients.parse(s, s, rc, ("root", "a"), "" if rc else "killed"),
    "mountinfo.containing": lambda s, rc: mountinfo.containing(s, "/var/lib/docker"),
    "docker_info.repo_digests": lambda s, rc: docker_info.repo_digests(s, s, rc),
    "daemon_json": lambda s, rc: daemon_json.parse(s.encode("utf-16-le" if rc else "utf-8", "replace"), "daemon.json"),
    "systemctl_show": lambda s, rc: systemctl_show.parse(s, s, rc),
    "cdi": lambda s, rc: Reading((cdi.parse(s), cdi.target(s))),
    "cuda": lambda s, rc: cuda.parse(s, s, rc),
    "nvml": lambda s, rc: nvml.parse(s, s, rc, "" if rc else "killed"),
    "container": lambda s, rc: container.parse(s, s, rc, "cdi", "x86_64", "" if rc else "killed"),
    "container_image.driver_files": lambda s, rc: container_image.driver_files(s, rc or 0),
    "container_image.frameworks": lambda s, rc: container_image.frameworks(s, rc or 0),
    "container_image.ldconfig": lambda s, rc: container_image.ldconfig(s, rc or 0),
    "frameworks": lambda s, rc: frameworks.parse(s, s, rc, ("torch", "jax"), "" if rc else "killed"),
    "image_environment": lambda s, rc: image_environment.parse(s, s, rc),
    "initramfs": lambda s, rc: initramfs.parse(s, s, rc),
    "kernel_log": lambda s, rc: kernel_log.parse(s),
    "groups": lambda s, rc: groups.parse(s),
    "grub": lambda s, rc: grub_default(s, s[:60]),
    "toolkit_config": lambda s, rc: toolkit_config.parse(s.encode("utf-8", "replace"), "config.toml"),
    "mountinfo": lambda s, rc: drivers_of(s),
    "running_containers.described": lambda s, rc: running_containers.described(s, s[:30], rc),
    "running_containers.device_allow": lambda s, rc: running_containers.device_allow(s, s, rc),
    "device_answers": lambda s, rc: device_answers.parse(s, s, rc),
    "pressure.stall": lambda s, rc: pressure.stall(s, "io"),
    "pressure.load": lambda s, rc: pressure.load(s),
    "pressure.cpu_times": lambda s, rc: pressure.cpu_times(s),
    "pressure.memory": lambda s, rc: pressure.memory(s, s, s[:9]),
    "pressure.cpus": lambda s, rc: pressure.cpus(s, "online"),
    "cgroup_limits.groups": lambda s, rc: cgroup_limits.groups(s),
    "cgroup_limits": lambda s, rc: Reading(
        [
            *(read(s) for read in (cgroup_limits.quota, cgroup_limits.limit, cgroup_limits.throttled)),
            *(read(s) for read in (cgroup_limits.shm_size, cgroup_limits.device_minor)),
            cgroup_limits.counter(s, "oom_kill"),
        ]
    ),
    "cgroup_version": lambda s, rc: cgroup_version.version(s),
    "cgroup_version.delegated": lambda s, rc: Reading(cgroup_version.delegated([s, s[9:]])),
    "engine_settings": lambda s, rc: engines_of(s),
    "engine_kept": lambda s, rc: engine_kept.kept(Reading(s.encode("utf-8", "replace")), "/etc/crio/crio.conf"),
    "engine_settings.version": lambda s, rc: Reading((engine_settings.version(s), engine_settings.is_hook(s))),
    "engine_settings.imports": lambda s, rc: Reading(engine_settings.imports({"imports": s.split()})),
    "gpu_state.clock_events": lambda s, rc: Reading([gpu_state.states(state_lines(s)), gpu_state.clock_events(len(s))]),
    "pcie": lambda s, rc: Reading([pcie.generation(s), pcie.lanes(s)]),
    "json_lines": lambda s, rc: json_lines.parse_object(s, "it"),
    "apt_errors": lambda s, rc: Reading((apt_errors.explain(s), apt_errors.repositories(s), apt_errors.reason(s))),
    "apt_errors.concerning": lambda s, rc: Reading(apt_errors.concerning(s, lambda name: "goldennode" in name)),
    "apt_sources.list": lambda s, rc: sources_of(s, "/etc/apt/sources.list"),
    "apt_sources.sources": lambda s, rc: sources_of(s, "/etc/apt/sources.list.d/x.sources"),
    "build_failure": lambda s, rc: Reading(build_failure.parse(s, "make.log", s[:60])),
    "dkms_log": lambda s, rc: Reading(dkms_log.reason(s, s[:60])),
    "dkms_output": lambda s, rc: Reading(
        (dkms_output.failed_builds(s), dkms_output.skipped_for_headers(s), dkms_output.refused_for_headers(s))
    ),
    "docker_journal": lambda s, rc: docker_journal.parse(s),
    "dpkg.held": lambda s, rc: dpkg.held(s),
    "dpkg_errors": lambda s, rc: Reading(dpkg_errors.explained(s)),
    "kept_packages": lambda s, rc: kept_packages.parse(s),
    "kept_packages.lock_packages": lambda s, rc: kept_packages.lock_packages(s, "previous.json"),
    "modinfo.stands_for": lambda s, rc: Reading(modinfo.stands_for(s)),
    "modprobe_d": lambda s, rc: Reading(tuple(modprobe_d.parse("/etc/modprobe.d/x.conf", s))),
    "mokutil.variable": lambda s, rc: Reading(mokutil.variable(raw(s)[:6])),
    "own_holds": lambda s, rc: Reading(own_holds.parse(s)),
    "pci": lambda s, rc: Reading(pci.is_vgpu(raw(s)[: rc or 300])),
    "text": lambda s, rc: small(s),
}


def raw(said: str) -> bytes:
    return said.encode("utf-8", "surrogatepass")


#: Beginnings for the mutations: real output, and the form that our own children print.
SEEDS = [
    *(path.read_text(encoding="utf-8")[:6000] for path in sorted(fixtures.FOLDER.iterdir()) if path.suffix != ".md"),
    '{"driver": "580.159.03", "cuda": 13000, "count": 1}\n{"asking": 0}\n{"gpu": {"index": 0, "pci": "0:1:2.3"}}\n',
    '{"count": 1}\n{"gpu": {"index": 0}}\n{"state": 0, "of": "mig", "value": [0, 1]}\n'
    '{"state": 0, "of": "pcie", "error": "x"}\n',
    '{"state": 0, "of": "processes", "value": [{"pid": 1, "name": "a", "memory": null}]}\n'
    '{"state": 0, "of": "fabric"}\n',
    "NVRM: Xid (PCI:0000:17:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)\n",
    '{"modules": ["nouveau.ko"], "modprobe": {"a": "b"}, "nvidia": {"a": "1.2", "b": null}}\n',
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build\n",
    "Character devices:\n195 nvidia\n\nBlock devices:\n",
    'next_entry=1>2\nset default=0\nif [ "${next_entry}" ] ; then\nset default="$next_entry"\nfi\nmenuentry a {\n}\n',
    "root:x:0:\nvideo:x:44:alice\n",
    '{"path": "/run/docker.sock", "pid": 1}\n{"nobody": null}\n{"user": "a", "found": [{"by": 1}, 2]}\n{"user": "b"}\n',
    '{"host": {"distribution": []}, "store": {}, "version": 1}\n',
    "36 35 98:0 /r /var/lib\\040x rw - ext4 /dev/sda1 rw\n36 35 98:0 / / rw a:1 - overlay o rw\n - \n",
    "NVRM: The NVIDIA GPU 0000:03:00.0\n   NVRM: installed in\n",
    "GPU 0: NVIDIA A30 (UUID: GPU-1)\n  MIG 1g Device 0: (UUID: MIG-1)\n",
    '{"code": 0, "devices": [1], "library": {}}\n{"asking": null}\n{"gpu": []}\n{"count": "x"}\n{"error": []}\n',
    "",
    "nvidia/535.54.03, 5.15.0-76-generic, x86_64: installed (WARNING! Diff between built and installed module!)\n",
    "SHA1 Fingerprint: 5d:8b\n  Serial Number: 4660 (0x1234)\n  Subject: CN = a key\nmok.der is not enrolled\n",
    "interface version 530.30.02 don't match with driver version 530.41.03\nmok_certificate='x'\n",
    "36 35 0:31 /lib/libcuda.so.580.95.05//deleted /usr/lib/libcuda.so.580.95.05 ro - ext4 /dev/sda1 rw\n",
    '{"id": "0a", "name": "/web", "pid": 7, "mounts": [{"Source": "/a", "Destination": 1}, 2], "swarm": {}}\n',
    "Id=docker-%s.scope\nDevicePolicy=strict\nDeviceAllow=/dev/char/195:0 rw\n" % ("0a" * 32),
    '[nvidia-container-runtime]\nmode = "legacy" # so\n',
    "node /dev/nvidia0 sh: 5: cannot open /dev/nvidia0: Operation not permitted\nsmi 255\nUnknown Error\n",
    "some avg10=1.00 avg60=2.00 avg300=3.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "cpu  95584 30357 63854 366007 1781 0 778 115 0 0\ncpu0 1\n",
    "MemTotal: 10 kB\nMemAvailable: 5 kB\nSwapTotal: 4 kB\nSwapFree: 1 kB\npswpin 5\n",
    "0-3,8,10-11\n",
    "16.0 GT/s PCIe\n",
    "150000 100000\n",
    "0::/system.slice/docker-0a.scope\n4:memory:/docker/0a\n",
    "oom_kill 2\nnr_periods 200\nnr_throttled 50\nDevice Minor: 3\n",
    "620 614 0:66 / /dev/shm rw - tmpfs shm rw,size=65536k\n35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    "[Service]\nDelegate=pids memory cpu\n",
    "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia.options]\nBinaryName = 'x'\n",
    "version = 1\nplugins = {cri = {containerd = 1}}\n[crio.runtime.runtimes]\na = ['b']\n[engine]\nruntimes = 1\n",
    '{"version": "1.0.0", "hook": {"path": "/usr/bin/nvidia-container-runtime-hook"}}',
    "mount /a\nfile /a/libcuda.so.1\ntarget /a/libcuda.so.1 => /b\nfile /c\n",
    "package /p/torch/version.py\n| cuda: Optional[str] = '12.4'\n| __version__ = None\nfolder /p/jax_cuda12_plugin\n",
    "package /p/tensorflow/python/platform/build_info.py\n| {'is_cuda_build': True, 'cuda_version': '12.5'}\n",
    "package /p/jaxlib/version.py\n| _version = '0.4'\n@@goldennode frameworks\n@@goldennode rc 0\n",
    '{"framework": "torch", "devices": true, "capabilities": [1, "8.6"], "available": 1}\n{"framework": []}\n',
    '"CUDA_VISIBLE_DEVICES="\n"LD_LIBRARY_PATH"\n7\n',
    "[" * 5000,
    '{"a":' * 3000,
    "9" * 5000,
]
PIECES = [
    *("\n", "\0", "\x85", "\u2028", "\ufeff", "\ud800", "٣", "²", "{", "}", "[", "]", '"', ":", "=", ", ", "\t", "\\"),
    *("-1", "null", "true", "1e999", "9" * 40, "%s", "[GPU is lost]", "GPU 99999999999: x"),
    *("@@goldennode rc ", "@@goldennode smi"),
]


def as_read(said: str, source: random.Random) -> str:
    """Some bytes of it are others, and what is no UTF-8 any more is decoded as a host does, or as Python's own way."""
    data = bytearray(said.encode("utf-8", "surrogatepass"))
    for _change in range(min(len(data), source.randrange(1, 9))):
        data[source.randrange(len(data))] = source.randrange(256)
    return bytes(data).decode("utf-8", source.choice(("replace", "surrogateescape")))


def mutated(source: random.Random) -> str:
    text = source.choice(SEEDS)
    if source.randrange(4) == 0:
        text = as_read(text, source)
    for _change in range(source.randrange(6)):
        at = source.randrange(len(text) + 1)
        change = source.randrange(4)
        if change == 0:  # cut off
            text = text[:at]
        elif change == 1:  # something foreign in the middle
            text = text[:at] + source.choice(PIECES) + text[at:]
        elif change == 2:  # a hole
            text = text[:at] + text[at + source.randrange(60) :]
        else:  # lines in another order
            lines = text.split("\n")
            source.shuffle(lines)
            text = "\n".join(lines)
    return text


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_any_text_gives_a_reading(name):
    source = random.Random("goldennode " + name)
    for _round in range(300):
        text = mutated(source)
        is_sound(PARSERS[name](text, source.choice(RC)), text)


def is_sound(reading: Reading[t.Any], text: str) -> None:
    assert isinstance(reading, Reading), text
    assert reading.error != "", text
    assert reading.value is None or reading.error is None, text


#: What a runaway program prints until it is cut, in one line and in many.
HUGE = ("x" * 400_000, "NVRM: a line\n" * 30_000, "{" * 400_000, ("\t" * 40 + "\n") * 9_000, "=" * 400_000)


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_a_huge_text_gives_a_reading(name):
    """A parser whose time goes with the square of the text hangs here."""
    for said in HUGE:
        is_sound(PARSERS[name](said, 0), said[:60])


def functions() -> t.Dict[str, types.CodeType]:
    """Every function of every module of ``parse`` that others may call, but those that write."""
    found = {}
    for module in pkgutil.iter_modules(parse.__path__):
        whole = importlib.import_module("%s.%s" % (parse.__name__, module.name))
        for name, member in inspect.getmembers(whole, inspect.isfunction):
            if member.__module__ == whole.__name__ and not name.startswith("_") and name != "render":
                found["%s.%s" % (module.name, name)] = member.__code__
    return found


def test_every_function_of_every_parser_is_asked():
    called: t.Set[types.CodeType] = set()

    def note(frame: types.FrameType, event: str, _argument: t.Any) -> None:
        if event == "call":
            called.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for ask in PARSERS.values():
            for said in SEEDS:
                ask(said, 0)
    finally:
        sys.setprofile(before)
    assert sorted(name for name, code in functions().items() if code not in called) == []
