# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set aside the entries of the node's package sources that are in the way of the bundle's.

apt refuses everything, also to read its sources, while two entries of one repository name different keys. So this works
on the files alone, and before the bundle's own are written. Nothing of the user's is lost: a file is renamed to a name
that apt ignores silently (Dir::Ignore-Files-Silently), or single entries in it are disabled.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .model import AptSource
from .node_sources import MAIN_FILE, Misfit, architecture, misfits
from .parse import apt_sources as parse
from .probe import sources as probe
from .system import System, known

#: One of Dir::Ignore-Files-Silently of apt, on every platform.
_IGNORED = ".disabled"


class AptSourcesError(Exception):
    """Sources that no run may change. The message says which, and what to do."""


@dataclasses.dataclass(frozen=True)
class Change:
    """One file. ``action``: ``deleted``, ``renamed`` (to ``target``) or ``edited``, which alone has an ``after``."""

    path: str
    action: str
    reasons: t.Tuple[str, ...]
    before: str
    after: str = ""
    target: str = ""


def set_aside(
    system: System, wanted: t.Mapping[str, str], platform: str, check_mode: bool = False
) -> t.Tuple[Change, ...]:
    """Take what is in the way of the wanted files out of apt's sight.

    :arg wanted: text by path of the bundle's own sources files
    :raises AptSourcesError: before anything is changed, where only a person can mend it
    """
    ours = [e for path, text in wanted.items() for e in parse.parse(path, text, architecture(platform))]
    entries = known(probe.sources(system)) or ()
    found = misfits(entries, ours, wanted, platform)
    _refuse(system, found, ours)
    changes = tuple(
        _change(system, path, [misfit for misfit in found if misfit.entry.file == path], entries)
        for path in dict.fromkeys(misfit.entry.file for misfit in found)
    )
    if not check_mode:
        for change in changes:
            _apply(system, change)
    return changes


def _refuse(system: System, found: t.Sequence[Misfit], ours: t.Sequence[AptSource]) -> None:
    told = ["%s %s" % (misfit.cause, misfit.fix) for misfit in found if not misfit.removable]
    for keyring in sorted({path for entry in ours for path in entry.signed_by.split(",") if path.startswith("/")}):
        if known(system.stat(keyring)) is None:
            told.append(
                "The keyring %s of the bundle is not on this node. Write it as the node's own sources have it, or"
                " install the package that ships it." % keyring
            )
    if told:
        raise AptSourcesError(" ".join(told))


def _change(system: System, path: str, found: t.Sequence[Misfit], entries: t.Sequence[AptSource]) -> Change:
    raw = known(system.read_bytes(path)) or b""
    text = raw.decode("utf-8", "surrogateescape")
    reasons = tuple(misfit.cause for misfit in found)
    if all(misfit.ours for misfit in found):
        return Change(path, "deleted", reasons, text)
    mine = [misfit.entry for misfit in found]
    others = [e for e in entries if e.file == path and e not in mine and (e.enabled or e.broken)]
    if others or path == MAIN_FILE:
        return Change(path, "edited", reasons, text, parse.switched_off(text, mine))
    return Change(path, "renamed", reasons, text, target=_free_name(system, path))


def _free_name(system: System, path: str) -> str:
    """A name that apt ignores and nobody has: one that was set aside before is kept."""
    target, number = path + _IGNORED, 1
    while known(system.stat(target)) is not None:
        number += 1
        target = "%s.%d%s" % (path, number, _IGNORED)
    return target


def _apply(system: System, change: Change) -> None:
    if change.action == "deleted":
        system.remove(change.path)
    elif change.action == "renamed":
        system.rename(change.path, change.target)
    else:
        system.write(change.path, change.after.encode("utf-8", "surrogateescape"))
