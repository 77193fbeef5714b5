# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wanted of the container toolkit: values inside config.toml, and units that keep the CDI specification fresh.

Pure; ``desired`` puts it together with the rest.
"""

from __future__ import annotations

import copy
import typing as t

from . import compat, trees
from .problem import MISSING, Problem
from .toml_scan import TomlError
from .toml_text import check_settings
from .version import version_numbers

CONFIG = "/etc/nvidia-container-runtime/config.toml"

ENVVAR = "accept-nvidia-visible-devices-envvar-when-unprivileged"
MOUNTS = "accept-nvidia-visible-devices-as-volume-mounts"
NO_GIDS = "no-additional-gids-for-device-nodes"

#: First toolkit with units of its own that write the CDI specification, and with the mode jit-cdi.
REFRESHING_TOOLKIT = (1, 18)

DROP_IN = "/etc/systemd/system/nvidia-cdi-refresh.service.d/goldennode.conf"
OWN_UNITS = ("goldennode-cdi-refresh.path", "goldennode-cdi-refresh.service")
VENDOR_UNITS = ("nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service")

#: Where our own unit writes the specification; it does not ask the vendor's environment file.
OWN_TARGET = "/run/cdi/nvidia.yaml"

#: Keys that are managed, and what to set in place of them.
_OWNED = {
    (ENVVAR,): "Set toolkit_multi_tenant instead",
    (MOUNTS,): "Set toolkit_multi_tenant instead",
    ("nvidia-container-cli", "no-cgroups"): (
        "Take it out: true would leave containers of the system's engine without their device rules; a rootless engine"
        " has a file of its own, nvidia-container-runtime/config.toml in its user's XDG_CONFIG_HOME"
    ),
    ("nvidia-container-runtime", "mode"): "Set toolkit_runtime_mode instead",
    ("features", NO_GIDS): "Set toolkit_cdi_additional_gids instead",
}
_TABLES = ("features", "nvidia-container-cli", "nvidia-container-runtime")

Lock = t.Mapping[str, t.Any]
Variables = t.Mapping[str, t.Any]  # of the role toolkit, by name


def problems(variables: Variables) -> t.List[Problem]:
    """What is wrong with the values whatever the lock is."""
    found = []
    options = variables["toolkit_config_options"]
    for path, fix in _OWNED.items():
        value = trees.at(options, path, MISSING)
        if value is not MISSING:
            name = "toolkit_config_options." + ".".join(path)
            found.append(Problem(name, value, "is managed by this collection", fix))
    for key in options:
        if isinstance(key, str) and "." in key:
            fix = "Write tables as dictionaries: %s: {…}" % key.partition(".")[0]
            found.append(Problem("toolkit_config_options", key, "is one key with a dot in it, and no table", fix))
    for key in _TABLES:
        if key in options and not isinstance(options[key], dict):
            fix = "Write it as one"
            found.append(Problem("toolkit_config_options." + key, options[key], "is not a dictionary", fix))
    try:
        check_settings(options)
    except TomlError as error:
        fix = "Use text, numbers, true, false, lists and dictionaries"
        found.append(Problem("toolkit_config_options", MISSING, "cannot be written: %s" % error, fix))
    if variables["toolkit_runtime_mode"] == "cdi" and not variables["toolkit_cdi"]:
        fix = "Set toolkit_cdi to true, or take auto: it needs no specification"
        message = "reads the CDI specification, which is not kept while toolkit_cdi is false"
        found.append(Problem("toolkit_runtime_mode", "cdi", message, fix))
    return found


def lock_problems(lock: Lock, variables: Variables) -> t.List[Problem]:
    version, mode = lock["toolkit"]["version"], variables["toolkit_runtime_mode"]
    if mode == "jit-cdi" and version_numbers(version) < REFRESHING_TOOLKIT:
        fix = "Take auto, or toolkit %s or newer" % compat.TOOLKIT_FLOOR
        return [Problem("toolkit_runtime_mode", mode, "is a mode that toolkit %s does not know" % version, fix)]
    return []


def config(lock: Lock, variables: Variables) -> t.Dict[str, t.Any]:
    """The values wanted inside config.toml.

    They are written also where they are the toolkit's defaults: a node on which they were once something else must come
    back. The mode auto stays auto in the file: the toolkit then takes CDI where a container names CDI devices alone,
    and else what its version does best (jit-cdi, and before 1.18 legacy).
    """
    tenants = bool(variables["toolkit_multi_tenant"])
    wanted: t.Dict[str, t.Any] = copy.deepcopy(dict(variables["toolkit_config_options"]))
    wanted[ENVVAR] = not tenants
    wanted[MOUNTS] = tenants
    wanted.setdefault("nvidia-container-cli", {})["no-cgroups"] = False
    wanted.setdefault("nvidia-container-runtime", {})["mode"] = variables["toolkit_runtime_mode"]
    if _may_write_gids(lock):
        wanted.setdefault("features", {})[NO_GIDS] = not variables["toolkit_cdi_additional_gids"]
    return wanted


def spec_wanted(cdi_in_use: bool, variables: Variables) -> bool:
    """Whether the node is to have a specification: for the engine, or for the nvidia runtime that reads it itself."""
    return cdi_in_use or variables["toolkit_runtime_mode"] == "cdi"


def units(lock: Lock) -> t.Dict[str, str]:
    """The units that write the specification: at boot, since it is on a tmpfs, and when a module was installed."""
    path, service = VENDOR_UNITS if _refreshes(lock) else OWN_UNITS
    return {path: "active+enabled", service: "enabled"}


def spec_target(service: str, told: str) -> str:
    """Where ``service`` writes the specification.

    :arg told: where the environment file of the vendor's unit says
    """
    return OWN_TARGET if service in OWN_UNITS else told


def files(lock: Lock, variables: Variables) -> t.Dict[str, str]:
    """Content by path, without the header that all our files have."""
    if not _refreshes(lock):
        folder = "/etc/systemd/system/"
        return {folder + name: text for name, text in zip(OWN_UNITS, (_OWN_PATH, _OWN_SERVICE))}
    flags = ""
    if _may_write_gids(lock) and not variables["toolkit_cdi_additional_gids"]:
        flags = "Environment=NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS=%s\n" % NO_GIDS
    return {DROP_IN: _DROP_IN + flags}


def _refreshes(lock: Lock) -> bool:
    return version_numbers(lock["toolkit"]["version"]) >= REFRESHING_TOOLKIT


def _may_write_gids(lock: Lock) -> bool:
    return version_numbers(lock["toolkit"]["version"]) >= version_numbers(compat.CDI_070_TOOLKIT)


#: A container that is started with Docker finds no specification where that is still being written; and a driver that
#: hangs must not keep Docker from starting for ever.
_DROP_IN = """\
[Unit]
After=goldennode-uvm.service
Before=docker.service

[Service]
TimeoutStartSec=120
"""

#: For toolkits before 1.18. The specification is written elsewhere on the same tmpfs and then renamed, so that no
#: engine reads half of one; its name must end in .yaml, or the toolkit adds that.
_OWN_SERVICE = """\
[Unit]
Description=Write the CDI specification of the GPUs, before containers
ConditionPathExists=/usr/bin/nvidia-ctk
After=goldennode-uvm.service
Before=docker.service

[Service]
Type=oneshot
TimeoutStartSec=120
UMask=0022
RuntimeDirectory=goldennode-cdi
ExecStart=/usr/bin/nvidia-ctk cdi generate --output=/run/goldennode-cdi/nvidia.yaml
ExecStart=/bin/mkdir -p /run/cdi
ExecStart=/bin/mv -f /run/goldennode-cdi/nvidia.yaml /run/cdi/nvidia.yaml

[Install]
WantedBy=multi-user.target
"""

_OWN_PATH = """\
[Unit]
Description=Write the CDI specification of the GPUs when kernel modules were installed

[Path]
PathChanged=/lib/modules/%v/modules.dep

[Install]
WantedBy=multi-user.target
"""
