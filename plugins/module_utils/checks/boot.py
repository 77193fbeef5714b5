# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer host_driver: which kernel the next boot starts, and what stands on its command line.

A node that works now and comes up with another kernel after the next reboot is not what the bundle wants.
"""

from __future__ import annotations

import typing as t

from ..model import BootDefault, Desired, Evidence, Finding
from .outcome import failed, passed, unknown
from .wanted import REBOOT, RUN_SITE, kernel_release, setting

#: The environment block lies beside the configuration.
_FORGET = "grub-editenv %s/grubenv unset next_entry"


def default(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    want, found = kernel_release(desired), evidence.boot_default.value
    if want is None:
        return [_unpinned(found)]
    if found is None:
        return [
            unknown(
                "the boot loader of this node is not known",
                cause="The boot loader of this node is not known, so it is not proven that %s boots next." % want,
                fix="Make %s the default of the boot loader." % want,
                required=False,
            )
        ]
    if found.kernel != want:
        return [
            failed(
                expected=want,
                actual=found.kernel or "an entry whose kernel is not known",
                cause="The next boot does not start the lock's kernel: the default of %s is %s."
                % (found.config, "the entry %r" % found.entry if found.entry else "no entry"),
                fix=RUN_SITE,
                repair="roles",
            )
        ]
    proven = passed("%s: %s" % (want, found.entry))
    if found.once in (None, want):
        return [proven]
    return [proven, _once(want, found)]


def _unpinned(found: t.Optional[BootDefault]) -> Finding:
    if found is None or not found.pinned:
        return passed("the kernel is not the bundle's business")
    return failed(
        expected="no default of ours, since kernel_pin is false",
        actual=found.entry,
        cause="The default of the boot loader is still the one that was set while kernel_pin was true.",
        fix=RUN_SITE,
        repair="roles",
    )


def _once(want: str, found: BootDefault) -> Finding:
    """Somebody's own choice for one boot; it is told, and not taken away."""
    return failed(
        "next boot",
        expected=want,
        actual=str(found.once),
        cause="The next boot alone starts %s: it was chosen with grub-reboot." % found.once,
        fix="Where that is not meant: %s." % (_FORGET % found.config.rpartition("/")[0]),
        repair="manual",
        required=False,
    )


def arguments(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    want, found = list(setting(desired, "kernel_arguments")), evidence.boot_default.value
    missing = [word for word in want if word not in (evidence.command_line.value or "").split()]
    if found is None:
        return [_by_hand(missing) if missing else passed("all of kernel_arguments are in force")]
    not_written = [word for word in want if word not in found.arguments or word not in found.added]
    left_over = [word for word in found.added if word not in want]
    if not_written or left_over:
        words = " ".join(not_written or left_over)
        return [
            failed(
                words,
                expected="%s in the default entry" % words if not_written else "no longer added by us",
                actual=" ".join(found.arguments) or "no arguments",
                cause="The next boot starts the kernel %s %s." % ("without" if not_written else "with", words),
                fix=RUN_SITE,
                repair="roles",
            )
        ]
    if missing:
        words = " ".join(missing)
        return [
            failed(
                words,
                expected="%s on the kernel's command line" % words,
                actual=str(evidence.command_line.value),
                cause="The kernel was started without %s; the boot loader has it for the next boot." % words,
                fix=REBOOT,
                repair="reboot",
            )
        ]
    return [passed("all of kernel_arguments are in force")]


def _by_hand(missing: t.Sequence[str]) -> Finding:
    words = " ".join(missing)
    return failed(
        words,
        expected="%s on the kernel's command line" % words,
        actual="missing there",
        cause="The kernel was started without %s, and the boot loader of this node is none that can be set." % words,
        fix="Put %s on the kernel's command line in the boot loader's own configuration, and reboot." % words,
        repair="manual",
    )
