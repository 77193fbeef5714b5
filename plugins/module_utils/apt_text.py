# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt prints: text in, plain values out. Pure; any text is taken.

Used for the throw-away package root in which a lock is resolved.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t


@dataclasses.dataclass(frozen=True)
class Available:
    """What the repositories have of one package. ``versions`` are full ones, the newest first."""

    candidate: t.Optional[str] = None
    versions: t.Tuple[str, ...] = ()


def policy(text: str) -> t.Dict[str, Available]:
    """``apt-cache policy NAME…`` as candidate and versions by name."""
    found: t.Dict[str, Available] = {}
    name, candidate, versions = "", None, []  # type: str, t.Optional[str], t.List[str]

    def keep() -> None:
        if name:
            found[name] = Available(candidate, tuple(dict.fromkeys(versions)))

    for line in text.splitlines():
        head = re.fullmatch(r"(\S+):", line)
        if head:
            keep()
            name, candidate, versions = head.group(1), None, []
            continue
        chosen = re.fullmatch(r"  Candidate: (\S+)", line)
        if chosen and chosen.group(1) != "(none)":
            candidate = chosen.group(1)
        version = re.fullmatch(r" (?:\*\*\*|   ) (\d\S*)(?: -?\d+)?", line)
        if version:
            versions.append(version.group(1))
    keep()
    return found


def simulation(text: str) -> t.Tuple[t.Dict[str, str], t.Tuple[str, ...]]:
    """``apt-get --simulate install``: full version by name of what would be installed, and what would be removed."""
    installed = re.findall(r"^Inst ([^\s:]+)(?::\S+)? (?:\[[^\]]*\] )?\((\S+)", text, re.MULTILINE)
    removed = re.findall(r"^Remv ([^\s:]+)", text, re.MULTILINE)
    return dict(installed), tuple(dict.fromkeys(removed))


def reason(text: str) -> str:
    """Why apt refuses a set, in its own words and in one line: the unmet dependencies, else its errors."""
    unmet = re.findall(r"^ (\S+ : .*(?:\n {4,}.*)*)", text, re.MULTILINE)
    if unmet:
        return "; ".join(" ".join(item.split()) for item in unmet)
    errors = [line[3:] for line in text.splitlines() if line.startswith("E: ")]
    return "; ".join(errors) or " ".join(text.split())[-300:] or "it gave no reason"


#: What apt-get update says -> cause and fix. The first that matches counts: the more telling ones stand first.
_UPDATE_FAILURES: t.Tuple[t.Tuple[str, str, str], ...] = (
    (
        r"SHA1 is not considered secure|is not bound.*SHA1",
        "the repository's key is bound by a SHA1 signature, which this system no longer accepts",
        "Use the vendor's repository for this release of the distribution, which has a newer key; the same key again "
        "is no answer, and trusted=yes is none either",
    ),
    (
        r"Conflicting values set for option Signed-By",
        "the same repository stands twice in the sources, with different keys",
        "Remove the older entry from the node's /etc/apt/sources.list.d, or take the repository out of the bundle",
    ),
    (
        r"NO_PUBKEY|Missing key|public key is not available",
        "the repository is signed with another key than the bundle has",
        "Take the vendor's current key into the bundle, and check its fingerprint with the vendor",
    ),
    (
        r"EXPKEYSIG|[Kk]ey (?:\S+ )?expired|certificate is not alive",
        "the repository's key has expired",
        "Take the vendor's current key into the bundle",
    ),
    (
        r"BADSIG|signatures were invalid|is not signed|not be verified",
        "the repository's signature cannot be verified with the key in the bundle",
        "Check key and address with the vendor; a proxy in between may have changed the files",
    ),
    (
        r"is not valid yet|is expired \(invalid since",
        "the repository's index is not valid at this node's time",
        "Check the node's clock, and whether a mirror has stopped being updated",
    ),
    (
        r"[Cc]ertificate verification failed|certificate verify failed|Could not handshake",
        "the server's certificate is not trusted by this node",
        "Install the CA certificate on the node (package ca-certificates)",
    ),
    (
        r"SSL connection failed|wrong version number",
        "the server does not answer as https asks",
        "Check scheme and port of the address in the bundle",
    ),
    (
        r"Temporary failure resolving|Could not resolve",
        "the name of the server cannot be resolved on this node",
        "Check the address in the bundle, and the node's DNS and proxy",
    ),
    (
        r"404 +Not Found|does not have a Release file",
        "there is no such repository at this address",
        "Check uris, suites and components of the source in the bundle",
    ),
    (
        r"Could not connect|Unable to connect|[Cc]onnection (?:timed out|refused|failed)|Network is unreachable",
        "the server cannot be reached from this node",
        "Check the network and apt's proxy on the node",
    ),
)


def update_failure(text: str) -> t.Tuple[str, str]:
    """Cause and fix of a failed ``apt-get update``; the cause ends with apt's own line."""
    lines = [line for line in text.splitlines() if line[:3] in ("E: ", "W: ", "Err")] or text.splitlines()
    for pattern, cause, fix in _UPDATE_FAILURES:
        if re.search(pattern, text):
            line = next((line for line in lines if re.search(pattern, line)), lines[0] if lines else "")
            return "%s (apt says: %s)" % (cause, _words(line)), fix
    first = next((line for line in lines if line.startswith("E: ")), lines[0] if lines else "nothing")
    return "apt-get update fails (apt says: %s)" % _words(first), "Mend what it names"


def _words(line: str) -> str:
    text = " ".join(line.split())
    return text[3:] if text[:3] in ("E: ", "W: ") else text
