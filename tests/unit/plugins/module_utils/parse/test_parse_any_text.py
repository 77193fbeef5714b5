# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No text makes a parser raise: a tool may be cut off, garbled or replaced, and the look goes on."""

from __future__ import annotations

import random
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import (
    cdi,
    container,
    container_image,
    cuda,
    daemon_json,
    device_answers,
    devices,
    dkms,
    docker_clients,
    docker_info,
    docker_socket,
    dpkg,
    fabric_manager,
    frameworks,
    groups,
    grub,
    image_environment,
    initramfs,
    json_lines,
    kernel_log,
    ldconfig,
    modinfo,
    mokutil,
    mountinfo,
    nvidia_smi,
    nvml,
    os_release,
    proc_nvidia,
    running_containers,
    systemctl_show,
    toolkit_config,
)
from ansible_collections.goldennode.gpu.tests.unit import fixtures

RC = (0, 1, 18, 255, -9, None)
Parser = t.Callable[[str, t.Optional[int]], Reading[t.Any]]


def grub_default(text: str, block: str) -> Reading[t.Any]:
    menu = grub.parse(text, grub.environment_block(block))
    return grub.chosen(menu.value) if menu.value else menu


def drivers_of(text: str) -> Reading[t.Any]:
    mounts = mountinfo.parse(text)
    return (
        Reading((mountinfo.driver_versions(mounts.value), mountinfo.dev_is_own(mounts.value)))
        if mounts.value
        else mounts
    )


PARSERS: t.Dict[str, Parser] = {
    "nvidia_smi.query": lambda s, rc: nvidia_smi.query(s, s[:40], rc),
    "nvidia_smi.listing": lambda s, rc: nvidia_smi.listing(s, "", rc),
    "nvidia_smi.banner": lambda s, rc: nvidia_smi.banner(s, "", rc),
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
    "json_lines": lambda s, rc: json_lines.parse_object(s, "it"),
}

#: Beginnings for the mutations: real output, and the form that our own children print.
SEEDS = [
    *(path.read_text(encoding="utf-8")[:6000] for path in sorted(fixtures.FOLDER.iterdir()) if path.suffix != ".md"),
    '{"driver": "580.159.03", "cuda": 13000, "count": 1}\n{"asking": 0}\n{"gpu": {"index": 0, "pci": "0:1:2.3"}}\n',
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


def mutated(source: random.Random) -> str:
    text = source.choice(SEEDS)
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
        reading = PARSERS[name](text, source.choice(RC))
        assert isinstance(reading, Reading), text
        assert reading.error != "", text
        assert reading.value is None or reading.error is None, text
