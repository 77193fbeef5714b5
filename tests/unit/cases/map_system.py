# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report shows of the files of boot, of packages and of the device nodes. See mapping.py."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.parse import initramfs as content
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import secure_boot
from ansible_collections.goldennode.gpu.tests.unit.cases.machine import Machine

Input = t.Mapping[str, t.Any]


# --- what is loaded at boot ------------------------------------------------------------------------------------------


def modprobe_d(machine: Machine, text: str, case: Input) -> None:
    machine.write("/etc/modprobe.d/nvidia.conf", text)


def blacklist_nouveau(machine: Machine, text: str, case: Input) -> None:
    machine.write("/etc/modprobe.d/blacklist-nouveau.conf", text)


def initramfs_has(machine: Machine, modules: t.Sequence[str], case: Input) -> None:
    nouveau = any(name.startswith("nouveau") for name in modules)
    machine.initramfs = content.Content(nouveau, bool(case["initramfs_modprobe_d"]))


def mokutil_sb_state(machine: Machine, text: str, case: Input) -> None:
    on = text.startswith("SecureBoot enabled")
    machine.write(secure_boot.VARIABLE, "\x06\0\0\0" + ("\x01" if on else "\0"))
    machine.answer("mokutil --sb-state", stdout=text + "\n")


def mokutil_list_enrolled(machine: Machine, text: str, case: Input) -> None:
    """By name: the certificates themselves are not in the report."""
    names = re.findall(r"CN=([^,]+)", text)
    shown = "[key %d]\nSHA1 Fingerprint: %s\nCertificate:\n    Serial Number: 4660 (0x1234)\n    Subject: CN=%s\n"
    colons = ":".join(["5d"] * 20)
    listed = (shown % (at + 1, colons, name) for at, name in enumerate(names))
    machine.answer("mokutil --list-enrolled", stdout="\n".join(listed))


def dkms_framework_conf(machine: Machine, text: str, case: Input) -> None:
    machine.write("/etc/dkms/framework.conf", text + "\n")
    certificate = re.sub(r".*=(.*)\.key", r"\1.pub", text)
    machine.write(certificate, "a certificate")
    machine.answer("mokutil --test-key", 0, "%s is not enrolled\n" % certificate)


# --- packages --------------------------------------------------------------------------------------------------------


def dpkg(machine: Machine, text: str, case: Input) -> None:
    """Lines of dpkg -l: state, name, version."""
    for line in text.splitlines():
        state, name, *version = line.split()
        machine.packages[name] = (version[0] if version else "510.47.03-0ubuntu1", name in machine.packages)
        machine.statuses[name] = {"ii": "installed", "iF": "half-configured", "iU": "unpacked"}[state]


def apt_mark_showhold(machine: Machine, text: str, case: Input) -> None:
    held = set(text.split())
    of_driver = set(machine.desired.lock["driver"]["packages"])
    machine.packages = {
        name: (version, name in held if name in of_driver else was) for name, (version, was) in machine.packages.items()
    }


def history_log(machine: Machine, text: str, case: Input) -> None:
    """What it has upgraded is on the disk now."""
    for name, version in re.findall(r"(\S+?):amd64 \([^,]+, ([^)]+)\)", text):
        machine.packages[name] = (version, False)


def installed(machine: Machine, text: str, case: Input) -> None:
    """``name-version`` of each, as rpm -q prints it and as our lock names the same packages."""
    for name, version in re.findall(r"([a-z0-9-]+?)-(\d[\w.]*-\d+)", text):
        machine.packages[name] = (version, True)


def sources_list_d(machine: Machine, text: str, case: Input) -> None:
    for line in text.splitlines():
        name, _colon, entry = line.partition(": ")
        machine.write("/etc/apt/sources.list.d/" + name, entry + "\n")


# --- device nodes ----------------------------------------------------------------------------------------------------


def ls(machine: Machine, text: str, case: Input) -> None:
    if text.endswith(" present"):
        machine.write(text.split()[0], "a library")
        return
    groups = {"root": 0, "video": 44, "1005": 1005}
    for line in text.splitlines():
        found = re.match(r"c(\S{9})\s+(?:\d+ )?root (\w+) (\d+), *(\d+) (\S+)", line)
        assert found, line
        major, minor = int(found[3]), int(found[4])
        path = "/dev/" + found[5]
        machine.nodes[path] = (_mode(found[1]), groups[found[2]], major, minor)
        machine.links["/dev/char/%d:%d" % (major, minor)] = path
        if found[5] == "nvidia-uvm":
            machine.write("/proc/devices", "Character devices:\n195 nvidia\n%d nvidia-uvm\n\nBlock devices:\n" % major)


def missing_nodes(machine: Machine, paths: t.Sequence[str], case: Input) -> None:
    for path in paths:
        del machine.nodes[path]


def proc_params(machine: Machine, text: str, case: Input) -> None:
    there = machine.files["/proc/driver/nvidia/params"].decode()
    for name, value in re.findall(r"(\w+): (\d+)", text):
        there = re.sub(r"(?m)^%s: .*$" % name, "%s: %s" % (name, value), there)
    machine.write("/proc/driver/nvidia/params", there)


def ls_dev_char_195(machine: Machine, text: str, case: Input) -> None:
    assert text == ""
    for path in [path for path in machine.links if path.startswith("/dev/char/195:")]:
        del machine.links[path]


def _mode(letters: str) -> int:
    """rw-rw-rw- as a number, the sticky bit too."""
    value = 0
    for at, letter in enumerate(letters):
        if letter not in "-ST":
            value |= 0o400 >> at
    return value | (0o1000 if letters[8] in "tT" else 0)
