# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check can say. Its id and layer are not said here: the registry knows them, and the judge puts them on."""

from __future__ import annotations

import typing as t

from ..model import REPAIRS, Finding


def passed(actual: str, entity: str = "") -> Finding:
    """All is as wanted; ``actual`` says what was seen, so that a report can show it."""
    return Finding(id="", layer="", status="pass", entity=entity, actual=actual)


def failed(
    entity: str = "", *, expected: str, actual: str, cause: str, fix: str, repair: str, required: bool = True
) -> Finding:
    """Something is not as wanted. ``cause`` and ``fix`` are sentences for people, ``repair`` is for the playbook."""
    if repair not in REPAIRS:
        raise ValueError("repair %r is none of %s" % (repair, ", ".join(REPAIRS)))
    return Finding(
        id="",
        layer="",
        status="fail",
        entity=entity,
        expected=expected,
        actual=actual,
        cause=cause,
        fix=fix,
        required=required,
        repair=repair,
    )


def unknown(why: str, entity: str = "", *, cause: str = "", fix: str = "", required: bool = True) -> Finding:
    """It could not be found out. Never a pass."""
    return Finding(
        id="", layer="", status="unknown", entity=entity, actual=why, cause=cause, fix=fix, required=required
    )


def skipped(why: str, entity: str = "") -> Finding:
    """Not judged, because another finding stands in the way; ``why`` names that one. Never a pass."""
    return Finding(id="", layer="", status="skip", entity=entity, actual=why)


def all_passed(problems: t.Iterable[Finding], actual: str) -> t.List[Finding]:
    """The problems, or one pass that says ``actual`` where there are none."""
    return list(problems) or [passed(actual)]
