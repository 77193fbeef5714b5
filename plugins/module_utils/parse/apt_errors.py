# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt and dpkg say when they fail, as a cause and a way out. Pure; any text is taken."""

from __future__ import annotations

import dataclasses
import re
import typing as t

#: The kinds that code decides by: somebody else is at work; only the sources are read wrongly; a key is refused.
LOCKED, INTERRUPTED, KEY, SOURCES, NETWORK, SPACE, DKMS, SCRIPT, UNMET, OTHER = (
    "locked",
    "interrupted",
    "key",
    "sources",
    "network",
    "space",
    "dkms",
    "script",
    "unmet",
    "other",
)


@dataclasses.dataclass(frozen=True)
class Trouble:
    """``cause`` ends with apt's own line where that tells more. ``log`` is the file that has the details, or ""."""

    kind: str
    cause: str
    fix: str
    log: str = ""


@dataclasses.dataclass(frozen=True)
class _Rule:
    kind: str
    pattern: t.Pattern[str]
    cause: str
    fix: str


def _rule(kind: str, pattern: str, cause: str, fix: str) -> _Rule:
    return _Rule(kind, re.compile(pattern), cause, fix)


_NEVER_TRUST = "trusted=yes is no answer: it would take packages from anybody"

#: The first that matches counts: the more telling ones stand first.
_RULES: t.Tuple[_Rule, ...] = (
    _rule(
        KEY,
        r"SHA1 is not considered secure|is not bound.*SHA1",
        "the repository's key is bound by a SHA1 signature, which this system no longer accepts",
        "Use the vendor's repository for this release of the distribution, which has a newer key; the same key again "
        "is no answer, and trusted=yes is none either",
    ),
    _rule(
        SOURCES,
        r"Conflicting values set for option Signed-By",
        "the same repository stands twice in the sources, with different keys",
        "Remove the older entry from the node's /etc/apt/sources.list.d, or take the repository out of the bundle",
    ),
    _rule(
        SOURCES,
        r"The list of sources could not be read|Malformed (?:entry|line|stanza)",
        "apt cannot read its sources",
        "Mend the file that it names",
    ),
    _rule(
        KEY,
        r"NO_PUBKEY|Missing key|public key is not available",
        "the repository is signed with another key than the bundle has",
        "Take the vendor's current key into the bundle, and check its fingerprint with the vendor",
    ),
    _rule(
        KEY,
        r"EXPKEYSIG|[Kk]ey (?:\S+ )?expired|certificate is not alive",
        "the repository's key has expired",
        "Take the vendor's current key into the bundle",
    ),
    _rule(
        KEY,
        r"BADSIG|signatures were invalid|is not signed|not be verified|REVKEYSIG",
        "the repository's signature cannot be verified with the key in the bundle",
        "Check key and address with the vendor; a proxy in between may have changed the files. " + _NEVER_TRUST,
    ),
    _rule(
        SOURCES,
        r"is not valid yet|is expired \(invalid since",
        "the repository's index is not valid at this node's time",
        "Check the node's clock, and whether a mirror has stopped being updated",
    ),
    _rule(
        LOCKED,
        r"Could not get lock|Unable to (?:acquire|lock)|lock (?:was|is) locked by|is another process",
        "another process is using the package manager",
        "Wait until it has ended, or end it in its own way; never remove the lock file",
    ),
    _rule(
        INTERRUPTED,
        r"dpkg was interrupted",
        "an earlier run of dpkg was broken off",
        "Run dpkg --configure -a on the node, and see what it says",
    ),
    _rule(
        SPACE,
        r"No space left on device|enough free space|Disk quota exceeded",
        "the disk is full",
        "Make room on the node: apt-get clean, journalctl --vacuum-size=200M, docker image prune",
    ),
    _rule(
        NETWORK,
        r"[Cc]ertificate verification failed|certificate verify failed|Could not handshake",
        "the server's certificate is not trusted by this node",
        "Install the CA certificate on the node (package ca-certificates)",
    ),
    _rule(
        NETWORK,
        r"SSL connection failed|wrong version number",
        "the server does not answer as https asks",
        "Check scheme and port of the address in the bundle",
    ),
    _rule(
        NETWORK,
        r"Temporary failure resolving|Could not resolve",
        "the name of the server cannot be resolved on this node",
        "Check the address in the bundle, and the node's DNS and proxy",
    ),
    _rule(
        NETWORK,
        r"does not have a Release file",
        "there is no such repository at this address",
        "Check uris, suites and components of the source in the bundle",
    ),
    _rule(
        NETWORK,
        r"Hash Sum mismatch|File has unexpected size",
        "what the repository serves is not what its signed index says",
        "A mirror is being updated, or a proxy keeps old files: try again later, or ask for the proxy's cache to be "
        "emptied",
    ),
    _rule(
        NETWORK,
        r"404 +Not Found",
        "there is no such repository at this address, or it has dropped a file that its index names",
        "Check uris, suites and components of the source in the bundle; where a version was dropped, resolve a new "
        "lock",
    ),
    _rule(
        NETWORK,
        r"Could not connect|Unable to connect|[Cc]onnection (?:timed out|refused|failed|reset)|Network is unreachable"
        r"|No route to host|[Tt]ime-?out|timed out|Could not wait for server",
        "the server cannot be reached from this node",
        "Check the network and apt's proxy on the node",
    ),
    _rule(
        NETWORK,
        r"Failed to fetch|Unable to fetch",
        "a file of the repository cannot be fetched",
        "Mend what it names, or try again later",
    ),
)

_SCRIPT = re.compile(
    r"(?:installed|new|old) (\S+) package (pre|post)-(installation|removal) script subprocess"
    r" (?:returned error|failed with) exit status (\d+)"
)
#: apt's and dpkg's own lines around what a script prints.
_NOT_THE_SCRIPTS = re.compile(
    r"dpkg: |debconf: |Setting up |Preparing to |Unpacking |Removing |Processing triggers|Selecting |\(Reading |E: "
    r"|Errors were |Reading |Building dependency|\d+ (?:upgraded|not fully)|Need to get|After this operation|Fetched "
    r"|The following |WARNING: apt|Get:\d|Hit:\d|Solving "
)
_SCRIPT_FILE = {
    ("pre", "installation"): "preinst",
    ("post", "installation"): "postinst",
    ("pre", "removal"): "prerm",
    ("post", "removal"): "postrm",
}
_DKMS_FAILED = re.compile(r"Bad return status for module build on kernel:? (\S+)")
_DKMS_LOG = re.compile(r"[Cc]onsult (?:the )?(/var/lib/dkms/\S+?make\.log)")
_NO_HEADERS = re.compile(
    r"(?:[Bb]uild|autoinstall) for kernel (\S+) was skipped since the\s+kernel headers"
    r"|kernel headers for kernel (\S+)\s+cannot be found"
)
_UNMET = re.compile(r"have unmet dependencies|you have held broken packages|Unable to satisfy dependencies")
_VERSION_GONE = re.compile(r"Version '([^']+)' for '([^']+)' was not found|Unable to locate package (\S+)")

_TOLD_LINES = 4


def explain(text: str, what: str = "apt-get") -> Trouble:
    """The one trouble that a failed command is about.

    :arg text: all that it printed
    :arg what: the command, for a message that is not known
    """
    # What a package's script prints is about anything: it comes before words of which some may be in it.
    scripted = _dkms(text) or _script(text)
    for rule in _RULES:
        if rule.pattern.search(text) and (scripted is None or rule.kind in (SPACE, LOCKED)):
            return _ruled(rule, text)
    explained = scripted or _unmet(text)
    if explained:
        return explained
    lines = _telling(text)
    first = next((line for line in lines if line.startswith(("E: ", "dpkg: error"))), lines[0] if lines else "nothing")
    return Trouble(OTHER, "%s fails (apt says: %s)" % (what, _words(first)), "Mend what it names")


def repositories(text: str) -> t.Tuple[str, ...]:
    """Addresses of the repositories that apt complains of."""
    lines = [line for line in text.splitlines() if line.startswith(("E: ", "W: ", "Err"))]
    return tuple(dict.fromkeys(re.findall(r"\b(?:[a-z+]+):/+[^\s'\"]+", "\n".join(lines))))


def skipped_for_headers(text: str) -> t.Optional[str]:
    """The kernel for which DKMS built nothing since its headers are missing, which it does not count as a failure."""
    match = _NO_HEADERS.search(text)
    return (match.group(1) or match.group(2)).strip("'\".,") if match else None


def _ruled(rule: _Rule, text: str) -> Trouble:
    lines = _telling(text)
    matching = (line for line in (*lines, *text.splitlines()) if rule.pattern.search(line))
    line = next(matching, lines[0] if lines else "")
    cause, fix = rule.cause, rule.fix
    if rule.kind == LOCKED:
        cause += _holder(text)
    elif rule.kind == KEY:
        cause += _key(text)
    return Trouble(rule.kind, "%s (apt says: %s)" % (cause, _words(line)), fix)


def _holder(text: str) -> str:
    match = re.search(r"held by process (\d+)(?: \(([^)]+)\))?|process with pid (\d+)", text)
    if not match:
        return ""
    pid, name = match.group(1) or match.group(3), match.group(2)
    return ": %s" % (name + ", " if name else "") + "pid %s" % pid


def _key(text: str) -> str:
    """The key and the repository, as far as apt's words have them."""
    key = re.search(
        r"(?:Signing key on|NO_PUBKEY|EXPKEYSIG|REVKEYSIG|BADSIG|Missing key) ([0-9A-F]{6,40})",
        text,
    )
    where = repositories(text)
    told = [": key %s" % (key.group(1))] if key else []
    told += ["%s repository %s" % ("of" if told else ":", where[0].rstrip(":"))] if where else []
    return " ".join(told)


def _dkms(text: str) -> t.Optional[Trouble]:
    failed, log = _DKMS_FAILED.search(text), _DKMS_LOG.search(text)
    if not failed and not log:
        return None
    path = log.group(1) if log else ""
    kernel = " for kernel %s" % failed.group(1) if failed else ""
    cause = "DKMS could not build the module%s%s" % (kernel, " (its log: %s)" % path if path else "")
    fix = "Use a driver that builds on this kernel, or another kernel, in the bundle"
    return Trouble(DKMS, cause, fix, path)


def _script(text: str) -> t.Optional[Trouble]:
    match = _SCRIPT.search(text)
    if not match:
        return None
    name, when, what, status = match.groups()
    before = text[: match.start()]
    begun = max(before.rfind("Setting up %s (" % name), before.rfind(") over (%s" % name), 0)
    lines = [" ".join(line.split()) for line in before[begun:].splitlines()]
    last = [line for line in lines if line and not _NOT_THE_SCRIPTS.match(line)][-_TOLD_LINES:]
    cause = "the %s script of %s ended with status %s" % (_SCRIPT_FILE[(when, what)], name, status)
    if last:
        cause += " (its last words: %s)" % " / ".join(last)
    return Trouble(SCRIPT, cause, "Mend what it names, then run dpkg --configure -a or site.yml again")


def _unmet(text: str) -> t.Optional[Trouble]:
    gone = _VERSION_GONE.search(text)
    if gone:
        name = "%s=%s" % (gone.group(2), gone.group(1)) if gone.group(1) else gone.group(3)
        cause = "no repository of this node has %s" % name
        return Trouble(UNMET, cause, "Add the repository that has it, or resolve a new lock")
    if not _UNMET.search(text):
        return None
    cause = "the packages cannot be installed together: %s" % reason(text)
    fix = (
        "Nothing needs to be unheld and nothing forced: what apt calls held broken packages is a conflict with packages"
        " of another branch, or a set that is not whole. Remove the package that it names, or resolve a new lock"
    )
    return Trouble(UNMET, cause, fix)


def reason(text: str) -> str:
    """Why apt refuses a set, in its own words and in one line: the unmet dependencies, else its errors."""
    unmet = re.findall(r"^ (\S+ : .*(?:\n {4,}.*)*)", text, re.MULTILINE)
    if unmet:
        return "; ".join(" ".join(item.split()) for item in unmet)
    errors = [line[3:] for line in text.splitlines() if line.startswith("E: ")]
    return "; ".join(errors) or " ".join(text.split())[-300:] or "it gave no reason"


def _telling(text: str) -> t.List[str]:
    marked = ("E: ", "W: ", "Err", "dpkg: error")
    return [line for line in text.splitlines() if line.startswith(marked)] or text.splitlines()


def _words(line: str) -> str:
    text = " ".join(line.split())
    return text[3:] if text[:3] in ("E: ", "W: ") else text
