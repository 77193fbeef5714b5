# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the boot loader starts when nobody chooses, and the command line that the kernel was started with.

Read from what GRUB reads at boot: its generated configuration and its environment block. What stands in
/etc/default/grub says only what the next ``update-grub`` will generate.
"""

from __future__ import annotations

import re
import typing as t

from ..model import BootDefault, Reading
from ..parse import grub
from .host import Host

CONFIGURATIONS = ("/boot/grub/grub.cfg", "/boot/grub2/grub.cfg")

#: Read by grub-mkconfig after /etc/default/grub, in the order of the names, so that ours is the last word.
DROP_IN = "/etc/default/grub.d/zz-goldennode.cfg"

COMMAND_LINE = "/proc/cmdline"

#: The firmware's note of the boot loader that it started, in UTF-16 after four bytes of attributes.
_LOADER = "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

_SOURCES_CUSTOM = re.compile(
    r"^if \[ -f +\$\{config_directory\}/custom\.cfg \]; then\n.*?^fi$", re.MULTILINE | re.DOTALL
)

_PINNED = re.compile(r"^GRUB_DEFAULT=", re.MULTILINE)
_ADDED = re.compile(r'^GRUB_CMDLINE_LINUX="\$GRUB_CMDLINE_LINUX ([^"]*)"$', re.MULTILINE)


def configuration(host: Host) -> Reading[str]:
    """Path of GRUB's generated configuration; None where the machine is not started by GRUB."""
    noted = host.read_bytes(_LOADER)
    if not noted.known:
        return Reading.unknown(noted.error or "")
    name = (noted.value or b"")[4:].decode("utf-16-le", "replace")
    if name and not name.startswith("GRUB"):
        return Reading(None)
    for path in CONFIGURATIONS:
        stat = host.stat(path)
        if not stat.known:
            return Reading.unknown(stat.error or "")
        if stat.value is not None and stat.value.kind == "file":
            return Reading(path)
    return Reading(None)


def menu(host: Host, config: str, once: bool = False) -> Reading[grub.Menu]:
    """GRUB's menu. ``once``: with the choice that was made for the next boot alone, if one was."""
    folder = config.rpartition("/")[0]
    text, block, custom = host.read(config), host.read(folder + "/grubenv"), host.read(folder + "/custom.cfg")
    if text.value is None or not block.known or not custom.known:
        return Reading.unknown(text.error or block.error or custom.error or "%s is not there" % config)
    variables = grub.environment_block(block.value or "")
    if not once:
        variables.pop("next_entry", None)
    # An administrator's own entries and settings, which 41_custom has GRUB read where the file is there.
    whole = _SOURCES_CUSTOM.sub(lambda _: "\n%s\n" % (custom.value or ""), text.value, count=1)
    return grub.parse(whole, variables)


def boot_default(host: Host) -> Reading[BootDefault]:
    config, ours = configuration(host), host.read(DROP_IN)
    if not config.known or not ours.known:
        return Reading.unknown(config.error or ours.error or "")
    if config.value is None:
        return Reading(None)
    always = _chosen(host, config.value, once=False)
    once = _chosen(host, config.value, once=True)
    if always.value is None or once.value is None:
        return Reading(None, always.error or once.error)
    entry, next_entry = always.value[-1:], once.value[-1:]
    return Reading(
        BootDefault(
            loader="grub",
            config=config.value,
            kernel=entry[0].kernel if entry else None,
            entry=_titles(always.value),
            arguments=entry[0].arguments if entry else (),
            once=(next_entry[0].kernel or _titles(once.value)) if next_entry != entry else None,
            pinned=_PINNED.search(ours.value or "") is not None,
            added=added(ours.value or ""),
        )
    )


def added(drop_in: str) -> t.Tuple[str, ...]:
    """The words that our file puts on the kernel's command line."""
    found = _ADDED.search(drop_in)
    return tuple(found.group(1).split()) if found else ()


def command_line(host: Host) -> Reading[str]:
    text = host.read(COMMAND_LINE)
    if text.value is None:
        return Reading.unknown(text.error or "%s is not there" % COMMAND_LINE)
    return Reading(text.value.strip())


def _chosen(host: Host, config: str, once: bool) -> Reading[t.Tuple[grub.Entry, ...]]:
    """None where the menu stands in files that are not read here (Boot Loader Specification)."""
    read = menu(host, config, once)
    if read.value is None:
        return Reading.unknown(read.error or "")
    return Reading(None) if read.value.bls else grub.chosen(read.value)


def _titles(path: t.Sequence[grub.Entry]) -> str:
    return " > ".join(entry.title for entry in path)
