# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container toolkit's repository: four packages that ask for each other's exact version, as the vendor's do since
1.18, and one release that breaks what it is for."""

from __future__ import annotations

import typing as t
from pathlib import Path

from . import repository
from .debs import Entry, Package, build, tree, units_postinst, units_postrm, units_prerm
from .tools import FILES, fill

#: version -> driver libraries that this release forgets to give to containers
RELEASES: t.Mapping[str, t.Tuple[str, ...]] = {"1.19.1": (), "1.20.0": (), "1.20.1": (), "1.99.0": ("libcuda",)}
REVISION = "1"

_SOURCE = FILES / "toolkit"
_MODULES = "/usr/share/nvidia-container-toolkit/nvct"
#: command -> (package, module)
_COMMANDS = {
    "nvidia-ctk": ("nvidia-container-toolkit-base", "ctk"),
    "nvidia-cdi-hook": ("nvidia-container-toolkit-base", "cdi_hook"),
    "nvidia-container-runtime": ("nvidia-container-toolkit-base", "runtime"),
    "nvidia-container-runtime-hook": ("nvidia-container-toolkit", "legacy_hook"),
    "nvidia-container-cli": ("libnvidia-container-tools", "cli"),
}


def make(target: Path) -> None:
    for version, forgotten in RELEASES.items():
        for package in _packages(version, forgotten):
            build(package, target / "pool")
    repository.index(target, "https://nvidia.github.io/libnvidia-container")


def _packages(version: str, forgotten: t.Sequence[str]) -> t.Iterator[Package]:
    full = "%s-%s" % (version, REVISION)
    config = "/etc/nvidia-container-runtime/config.toml"
    environment = "/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env"
    units = ("nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service")
    modules = tree(_SOURCE / "nvct", _MODULES)
    modules["%s/release.py" % _MODULES] = Entry(_release(version, forgotten))
    yield Package(
        "nvidia-container-toolkit-base",
        full,
        "NVIDIA Container Toolkit Base",
        {
            **modules,
            **_commands("nvidia-container-toolkit-base"),
            "/usr/lib/systemd/system/nvidia-cdi-refresh.path": Entry(_SOURCE / "nvidia-cdi-refresh.path"),
            "/usr/lib/systemd/system/nvidia-cdi-refresh.service": Entry(_refresh_service(version)),
            config: Entry(_SOURCE / "config.toml"),
            environment: Entry(_SOURCE / "nvidia-cdi-refresh.env"),
        },
        {"Depends": "python3, init-system-helpers", "Breaks": "nvidia-container-runtime (<= 3.5.0-1)"},
        {
            "postinst": units_postinst(*units, start=units),
            "prerm": units_prerm(*units),
            "postrm": units_postrm(*units),
        },
        conffiles=(config, environment),
    )
    yield Package(
        "nvidia-container-toolkit",
        full,
        "NVIDIA Container toolkit",
        {
            **_commands("nvidia-container-toolkit"),
            "/usr/bin/nvidia-container-toolkit": Entry(link_to="nvidia-container-runtime-hook"),
        },
        {"Depends": "nvidia-container-toolkit-base (= %s), libnvidia-container-tools (= %s)" % (full, full)},
    )
    yield Package(
        "libnvidia-container-tools",
        full,
        "NVIDIA container runtime library (command-line tools)",
        _commands("libnvidia-container-tools"),
        {"Depends": "python3, libnvidia-container1 (= %s)" % full},
    )
    yield Package(
        "libnvidia-container1",
        full,
        "NVIDIA container runtime library",
        # Nothing calls it: the stand-in's commands are no C programs. It exists because the set has four members.
        {"/usr/share/libnvidia-container1/version": Entry(version + "\n")},
        {"Depends": "libc6, libcap2"},
    )


def _refresh_service(version: str) -> str:
    """Since 1.20 the unit makes the device nodes itself; before, a node without them got no specification."""
    makes_nodes = tuple(map(int, version.split("."))) >= (1, 20)
    command = "ExecStartPre=-/usr/bin/nvidia-ctk system create-device-nodes --control-devices --load-kernel-modules\n"
    return fill(_SOURCE / "nvidia-cdi-refresh.service.in", {"BEFORE": command if makes_nodes else ""})


def _commands(package: str) -> t.Dict[str, Entry]:
    return {
        "/usr/bin/%s" % name: Entry(fill(_SOURCE / "command.in", {"NAME": name, "MODULE": module}), 0o755)
        for name, (owner, module) in _COMMANDS.items()
        if owner == package
    }


def _release(version: str, forgotten: t.Sequence[str]) -> str:
    words = "".join('"%s", ' % name for name in forgotten)
    return fill(_SOURCE / "release.py.in", {"VERSION": version, "FORGOTTEN": words.rstrip()})
