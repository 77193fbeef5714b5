# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What repositories offer of a package, and what is said where none has the lock's version. Pure; any text is taken."""

from __future__ import annotations

import re
import typing as t

from .parse.apt_errors import Trouble
from .parse.apt_rules import NETWORK
from .parse.text import without_users

#: A version in the table of apt-cache policy, and a place that has it, with the priority before it.
_HEAD = re.compile(r"(\S+):")
_VERSION = re.compile(r" (?:\*\*\*|   ) (\S+)(?: -?\d+)?(?: \(phased \d+%\))?")
_PLACE = re.compile(r" {8,}-?\d+ (\S+)(?: (\S+))?")
_STATUS = "/var/lib/dpkg/status"

#: Packages that one message names.
_SHOWN = 20
_UNCHANGED = "Nothing was changed."
_FIX = (
    "Lock again (ansible-playbook goldennode.gpu.lock), look at what that changes, and commit the file; or, where a"
    " mirror still has %s, name it in the bundle's sources and lock again."
)


class Offer(t.NamedTuple):
    """A version of a package, and a repository that has it."""

    version: str
    uri: str
    suite: str = ""

    @property
    def place(self) -> str:
        return ("%s %s" % (self.uri, self.suite)).strip()


def offers(text: str) -> t.Dict[str, t.List[Offer]]:
    """``apt-cache policy NAME…``: what each repository has, the newest first. What is only installed is no offer."""
    found: t.Dict[str, t.List[Offer]] = {}
    name = version = ""
    for line in text.splitlines():
        head = _HEAD.fullmatch(line)
        if head:
            name, version = head.group(1), ""
            found.setdefault(name, [])
            continue
        place = _PLACE.match(line) if version else None
        if place and name:
            if place.group(1) != _STATUS:
                found[name].append(Offer(version, without_users(place.group(1)), place.group(2) or ""))
            continue
        listed = _VERSION.fullmatch(line)
        if listed and name:
            version = listed.group(1)
    return found


class Gone(t.NamedTuple):
    """A package that was not found at its version, with what the repositories have under its name."""

    name: str
    version: str
    offered: t.Sequence[Offer] = ()

    @property
    def said(self) -> str:
        return "%s=%s" % (self.name, self.version)


def refusal(gone: t.Sequence[Gone], places: t.Sequence[str]) -> str:
    """That packages cannot be had any more, which, what there is in place of them, and what to do.

    :arg places: the lock's own repositories
    """
    lines = [_gone(one, places) for one in gone]
    them = "it" if len(gone) == 1 else "them"
    if len(lines) == 1:
        return "The lock's %s. The node keeps no file of it. %s %s" % (lines[0], _UNCHANGED, _FIX % them)
    shown = ["- %s" % line for line in lines[:_SHOWN]]
    if len(lines) > _SHOWN:
        shown.append("- and %d more" % (len(lines) - _SHOWN))
    head = "%d packages of the lock cannot be had any more, and the node keeps no files of them. %s %s"
    return "\n".join([head % (len(gone), _UNCHANGED, _FIX % them), *shown])


def unreachable(gone: t.Sequence[Gone], trouble: Trouble) -> str:
    """That it is not known whether packages can be had, since a repository did not answer."""
    names = [one.said for one in gone]
    listed = ", ".join(names[:3]) + (" and %d more" % (len(names) - 3) if len(names) > 3 else "")
    what = "cannot be reached" if trouble.kind == NETWORK else "cannot be read"
    message = "A repository %s, so it is not known whether the lock's %s can still be had: %s. %s %s, and run again."
    return message % (what, listed, trouble.cause.rstrip("."), _UNCHANGED, trouble.fix.rstrip("."))


def _gone(one: Gone, places: t.Sequence[str]) -> str:
    if not one.offered:
        where = ", ".join([*places, "the distribution"])
        return "%s cannot be had any more: no package of this name is in %s" % (one.said, where)
    by_place: t.Dict[str, t.List[str]] = {}
    for offer in one.offered:
        by_place.setdefault(offer.place, []).append(offer.version)
    have = ["%s has %s" % (place, ", ".join(dict.fromkeys(versions[:3]))) for place, versions in by_place.items()]
    return "%s cannot be had any more: %s" % (one.said, "; ".join(have[:3]))


def places(lock: t.Mapping[str, t.Any]) -> t.List[str]:
    """The lock's repositories in words."""
    return [" ".join([*source["uris"], *source["suites"]]) for source in lock["sources"]]
