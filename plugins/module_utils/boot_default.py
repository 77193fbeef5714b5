# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make GRUB start one kernel by default, with further words on its command line, and read back that it does.

One file of ours is written, which GRUB's generator reads last; nothing of the user's is edited. What is due follows
from the generated configuration, so a run that died before ``update-grub`` had ended is finished by the next.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .model import BootDefault
from .parse import grub
from .probe import boot_default as probe
from .system import System, known, said

HEADER = "# Managed by goldennode.gpu: what the boot loader starts by default. Changes by hand are undone.\n"

_SOURCES = "/etc/default/grub"
_MORE_SOURCES = "/etc/default/grub.d"
_SETS_DEFAULT = re.compile(r"^\s*(?:export\s+)?GRUB_DEFAULT=", re.MULTILINE)


class BootError(Exception):
    """The boot loader could not be set; what it started before it still starts. The message says what to do."""


@dataclasses.dataclass(frozen=True)
class Result:
    """``loader`` is "" where none is known, and nothing was done. ``kernel`` and ``entry`` are what starts by default.

    ``before`` and ``after`` are the texts of our file. In check mode all but ``kernel`` and ``entry`` are predictions.
    """

    changed: bool
    loader: str = ""
    kernel: t.Optional[str] = None
    entry: str = ""
    before: str = ""
    after: str = ""


def apply(
    system: System, kernel: t.Optional[str], arguments: t.Sequence[str], timeout: float, check_mode: bool = False
) -> Result:
    """Make ``kernel`` the default, with ``arguments`` on its command line; what is None or empty is not our business.

    ``timeout`` is in seconds, for one ``update-grub``.
    """
    found = known(probe.boot_default(system))
    if found is None:
        return Result(False)
    before = known(system.read(probe.DROP_IN))
    renewed = False
    if kernel is not None and _ours(found, kernel) and not check_mode and not _default_for(system, found, kernel):
        found, renewed = _with_entry_of(system, found, kernel, timeout), True
    after = _content(system, found, kernel, arguments)
    due = renewed or _due(system, found, kernel, arguments, before, after)
    result = Result(due, found.loader, found.kernel, found.entry, before or "", after or "")
    if not due or check_mode:
        return result
    wrong = _write(system, before, after, kernel, arguments, timeout)
    if wrong and kernel is not None and _default_for(system, found, kernel):
        # The ids may be others now: of settings of the user's that were not in force yet.
        again = _content(system, found, kernel, arguments)
        if again != after:
            after, wrong = again, _write(system, after, again, kernel, arguments, timeout)
    if wrong:
        raise BootError("%s. %s" % (wrong, _put_back(system, before, timeout)))
    if after is None:
        system.remove(probe.DROP_IN)
    now = known(probe.boot_default(system)) or found
    return dataclasses.replace(result, kernel=now.kernel, entry=now.entry, after=after or "")


def _due(
    system: System,
    found: BootDefault,
    kernel: t.Optional[str],
    arguments: t.Sequence[str],
    before: t.Optional[str],
    after: t.Optional[str],
) -> bool:
    if before != after or _failing(found, kernel, arguments):
        return True
    # Written, and not taken up: the run was killed between the two.
    generated, written = known(system.stat(found.config)), known(system.stat(probe.DROP_IN))
    return generated is not None and written is not None and generated.mtime < written.mtime


def _ours(found: BootDefault, kernel: str) -> bool:
    """Whether the default needs our word: one that is right without it is left alone."""
    return found.pinned or found.kernel != kernel


def _failing(found: BootDefault, kernel: t.Optional[str], arguments: t.Sequence[str]) -> str:
    """What the generated configuration does not have as wanted; "" when it has."""
    if kernel is not None and found.kernel != kernel:
        return "it starts %s by default (the entry %r)" % (found.kernel or "another kernel", found.entry)
    missing = [word for word in arguments if word not in found.arguments]
    return "its default entry has not %s" % " ".join(missing) if missing else ""


def _content(
    system: System, found: BootDefault, kernel: t.Optional[str], arguments: t.Sequence[str]
) -> t.Optional[str]:
    """The text of our file; None where there need not be one."""
    lines = []
    if kernel is not None and _ours(found, kernel):
        # Only in check mode may the kernel still have no entry.
        name = _default_for(system, found, kernel) or "the entry of %s" % kernel
        lines.append('GRUB_DEFAULT="%s"\n' % name)
    if arguments:
        lines.append('GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX %s"\n' % " ".join(arguments))
    return HEADER + "".join(lines) if lines else None


def _default_for(system: System, found: BootDefault, kernel: str) -> t.Optional[str]:
    """By ids, which hold the kernel's release: a number or a title means another entry after the next new kernel."""
    menu = known(probe.menu(system, found.config))
    name = grub.default_for(menu, kernel) if menu else None
    return None if name is None or re.search(r'["$`\\]', name) else name


def _with_entry_of(system: System, found: BootDefault, kernel: str, timeout: float) -> BootDefault:
    """The default after the menu, which is of before the kernel was installed, was made anew."""
    if known(system.stat("/boot/vmlinuz-" + kernel)) is None:
        raise BootError(
            "kernel %s cannot be the default of the boot loader: /boot/vmlinuz-%s is not there. Install its package"
            % (kernel, kernel)
        )
    wrong = _update(system, timeout)
    found = known(probe.boot_default(system)) or found
    if wrong or not _default_for(system, found, kernel):
        raise BootError(
            "kernel %s cannot be the default of the boot loader: /boot/vmlinuz-%s is there, and %s has no entry with an"
            " id for it%s. Look at /etc/grub.d/10_linux and at what update-grub says"
            % (kernel, kernel, found.config, ", after " + wrong if wrong else " after update-grub")
        )
    return found


def _write(
    system: System,
    before: t.Optional[str],
    after: t.Optional[str],
    kernel: t.Optional[str],
    arguments: t.Sequence[str],
    timeout: float,
) -> str:
    """Bring our file into force, and say what is wrong afterwards; "" when nothing is.

    A file that is to go says nothing until GRUB has taken that up, and is removed then: so that what is left of a run
    that is killed between the two is still seen.
    """
    text = after if after is not None else HEADER
    if text != before:
        system.write(probe.DROP_IN, text.encode("utf-8"))
    wrong = _update(system, timeout)
    if wrong:
        return wrong
    now = known(probe.boot_default(system))
    if now is None:
        return "update-grub ended well, and left no configuration"
    failing = _failing(now, kernel, arguments)
    if not failing:
        return ""
    others = _other_sources(system)
    return "update-grub has taken %s up, and yet %s has not what it says: %s%s" % (
        probe.DROP_IN,
        now.config,
        failing,
        "; GRUB_DEFAULT is also set in %s" % ", ".join(others) if others else "",
    )


def _update(system: System, timeout: float) -> str:
    """Generate the configuration; say how that failed, "" when it did not."""
    command = system.run(["update-grub"], timeout)
    if command.missing:
        return "update-grub is not installed: install grub2-common"
    return "" if command.rc == 0 else "update-grub failed: %s" % said(command)


def _put_back(system: System, before: t.Optional[str], timeout: float) -> str:
    if before is None:
        system.remove(probe.DROP_IN)
    else:
        system.write(probe.DROP_IN, before.encode("utf-8"))
    wrong = _update(system, timeout)
    what = "%s was put back as it was" % probe.DROP_IN if before is not None else "%s was removed" % probe.DROP_IN
    if wrong:
        return "%s, but its undoing could not be taken up (%s): look at the boot loader before a reboot" % (what, wrong)
    return "%s again, and update-grub run" % what


def _other_sources(system: System) -> t.List[str]:
    """Files besides ours that set a default; of these, the last one counts."""
    names = known(system.listdir(_MORE_SOURCES)) or {}
    paths = [_SOURCES] + ["%s/%s" % (_MORE_SOURCES, name) for name in names if name.endswith(".cfg")]
    return [path for path in paths if path != probe.DROP_IN and _SETS_DEFAULT.search(system.read(path).value or "")]
