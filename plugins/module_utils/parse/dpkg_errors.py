# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why dpkg could not unpack or configure a package: it says so on the line below its error. Pure; any text is taken."""

from __future__ import annotations

import re
import typing as t

_FATAL = re.compile(r"^dpkg: unrecoverable fatal error, aborting:\n (.*)", re.MULTILINE)
_ERROR = re.compile(
    r"^dpkg: error processing (?:archive|package) (?P<what>\S+) \(-\S+\):\n (?P<why>.*(?:\n (?! ).*)*)", re.MULTILINE
)
_WAITS = re.compile(
    r"^dpkg: dependency problems prevent configuration of (\S+):\n(?:.*\n)*?.*Package (\S+) is not", re.M
)
_WAITING = "dependency problems"

#: Patterns of what dpkg says (the package file or name before it, as ``what: why``), with cause and way out.
_CAUSES = tuple(
    (re.compile(pattern), cause, fix)
    for pattern, cause, fix in (
        (
            r"^(?P<what>\S+): .*trying to overwrite '(?P<file>[^']+)', which is also in package (?P<owner>\S+)"
            r" ?(?P<v>\S*)",
            "{what} has the file {file}, which is also in {owner} {v}",
            "Remove {owner} from the node if it is not needed (where apt removes it for the set, packages_allow_remove:"
            " [{owner}] permits it). To overwrite it would leave two packages that break each other",
        ),
        (
            r"trying to overwrite shared '(?P<file>[^']+)', which is different from other instances of package"
            r" (?P<owner>\S+)",
            "{file} is not the same in the packages of two architectures, {owner} and the other: they are of different"
            " versions",
            "Remove {owner} from the node if it is not needed, or bring all its architectures to one version",
        ),
        (
            r"^(?P<what>\S+): .*(?:unexpected end of file|compressed data is corrupt|is not a Debian format archive"
            r"|lzma error|zstd error)",
            "the package file {what} is damaged",
            "Delete it (rm {what}; apt-get clean) and run site.yml again, which fetches it anew",
        ),
        (
            r"^(?P<what>\S+): .*dpkg-deb --\S+ subprocess (?:returned error|failed)",
            "the package file {what} cannot be read",
            "Delete it (rm {what}; apt-get clean) and run site.yml again, which fetches it anew",
        ),
        (
            r"^(?P<what>\S+): .*very bad inconsistent state",
            "{what} was left half installed",
            "Install its package file (dpkg --install FILE; those of the lock are kept in"
            " /var/lib/goldennode/packages), or take it away (dpkg --remove --force-remove-reinstreq {what}), and run"
            " site.yml again",
        ),
    )
)


def explained(text: str) -> t.Optional[t.Tuple[str, str]]:
    """Cause and fix; None where dpkg complains of nothing. A package that only waits for another is not the cause."""
    fatal = _FATAL.search(text)
    if fatal:
        return (
            "dpkg cannot go on: %s" % " ".join(fatal.group(1).split()),
            "Mend what it names below /var/lib/dpkg; a damaged list of a package's files comes back with apt-get"
            " install --reinstall",
        )
    errors = [(match.group("what"), " ".join(match.group("why").split())) for match in _ERROR.finditer(text)]
    for what, why in errors:
        if not why.startswith(_WAITING):
            return _cause(what, why)
    waits = _WAITS.search(text)
    if errors and waits:
        return (
            "%s cannot be configured before %s, which is not" % waits.groups(),
            "See on the node what keeps it: dpkg --configure %s" % waits.group(2),
        )
    return _cause(*errors[0]) if errors else None


def _cause(what: str, why: str) -> t.Tuple[str, str]:
    told = "%s: %s" % (what, why)
    for pattern, cause, fix in _CAUSES:
        match = pattern.search(told)
        if match:
            words = match.groupdict()
            return cause.format(**words).strip(), fix.format(**words)
    return "dpkg could not process %s (dpkg says: %s)" % (what, why), "Mend what it names, then run site.yml again"
