# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What single lines of apt's and dpkg's mean: a table of patterns, with cause and way out. ``apt_errors`` "
"reads by it."""

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
class Rule:
    """``cause`` and ``fix`` may name the groups of ``pattern``, as ``{0}``."""

    kind: str
    pattern: t.Pattern[str]
    cause: str
    fix: str


def _rule(kind: str, pattern: str, cause: str, fix: str) -> Rule:
    return Rule(kind, re.compile(pattern, re.MULTILINE), cause, fix)


_NEVER_TRUST = "trusted=yes is no answer: it would take packages from anybody"

_KEYS = (
    _rule(
        SOURCES,
        r"keyring\(?s?\)? (\S+) are ignored as the file is not readable",
        "apt cannot read the key file {0}",
        "Make it readable for everybody, and its folder too (chmod 644 {0})",
    ),
    _rule(
        SOURCES,
        r"keyring\(?s?\)? (\S+) are ignored as the file has an unsupported filetype",
        "the key file {0} is in no form that apt reads",
        "A key in text (BEGIN PGP PUBLIC KEY BLOCK) must be in a file that ends in .asc, a binary one in .gpg; a page"
        " that was saved in place of the key is none",
    ),
    _rule(
        OTHER,
        r"required for verification, but neither seems installed",
        "apt has no program on this node to verify signatures with",
        "Install gpgv on the node",
    ),
    _rule(
        OTHER,
        r"Couldn't create temporary file (\S+)",
        "apt cannot write {0}, and so verifies no signature",
        "See on the node that this folder has room, is mounted to be written to and, where it is /tmp, has mode 1777",
    ),
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
        r"Type '([^']*)' is not known on line (\d+) in source list (\S+)",
        "{2} is no list of sources: its line {1} begins with {0}",
        "Remove that file, or mend it: a page that was saved in place of a list is none",
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
        NETWORK,
        r"got 'NO(?:SPLIT|DATA)'|does the network require authentication|signatures were invalid: NODATA",
        "what answers at this address is no repository: a page to log in at, or a proxy's own words",
        "Log the node in where its network asks for it, and check apt's proxy and the address in the bundle",
    ),
    _rule(
        KEY,
        r"BADSIG|signatures were invalid|invalid signature was|is (?:not|no longer) signed|not be verified|REVKEYSIG",
        "the repository's signature cannot be verified with the key in the bundle",
        "Check key and address with the vendor; a proxy in between may have changed the files. " + _NEVER_TRUST,
    ),
    _rule(
        KEY,
        r"There were unauthenticated packages",
        "packages of the set come from a repository whose signature was not verified",
        "Give that repository its key in the bundle, or remove it from the node. " + _NEVER_TRUST,
    ),
)

_NODE = (
    _rule(
        SOURCES,
        r"is not valid yet|is expired \(invalid since",
        "the repository's index is not valid at this node's time",
        "Check the node's clock, and whether a mirror has stopped being updated",
    ),
    # These hold no lock, and waiting for them helps nothing.
    _rule(
        OTHER,
        r"Read-only file system|Not using locking for read only lock file",
        "a file system of the node is mounted to be read only",
        "See in dmesg whether its disk has failed; once it is whole, mount it to be written to again",
    ),
    _rule(
        OTHER,
        r"open \(13: Permission denied\)|are you root\?",
        "the package manager was not run as root",
        "Run the play with become: true",
    ),
    _rule(
        LOCKED,
        r"Could not get lock|Unable to (?:acquire|lock)|lock (?:was|is) locked by|is locked by another process"
        r"|is another process",
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
        OTHER,
        r"The package (\S+) needs to be reinstalled, but I can't find an archive",
        "{0} was left half installed, and apt does nothing before it is whole again",
        "Install its package file (dpkg --install FILE; those of the lock are kept in /var/lib/goldennode/packages), or"
        " take it away (dpkg --remove --force-remove-reinstreq {0}), and run site.yml again",
    ),
    _rule(
        OTHER,
        r"Problem with MergeList|package lists or status file could not be parsed",
        "an index that apt has kept on the node is damaged",
        "Remove the lists (rm -r /var/lib/apt/lists/*) and run site.yml again; they are read anew",
    ),
    _rule(
        OTHER,
        r"Invalid record in the preferences file (\S+?),? ",
        "apt cannot read the pins in {0}",
        "Mend that file or remove it: each of its parts must have Package, Pin and Pin-Priority",
    ),
    _rule(
        OTHER,
        r"Held packages were changed and -y was used",
        "the set would move packages that are held on the node",
        "Look at apt-mark showhold, and release what may move (apt-mark unhold NAME)",
    ),
)

_SERVERS = (
    _rule(
        OTHER,
        r"(?:The r|R)epository '(\S+)[^']*' changed its '([^']+)' value from '([^']*)' to '([^']*)'",
        "{0} calls itself something else than before ({1}: {2}, now {3}), which apt wants to have accepted",
        "Check with whoever runs it that this is meant, and accept it on the node: apt-get update"
        " --allow-releaseinfo-change",
    ),
    _rule(
        NETWORK,
        # apt sets the code of an answer off by two spaces: a size ("Get:1 x [512 kB]", "get 512 MB") is none.
        r"(?:  (?=\d{3}  \S)|HTTP/[\d.]+ )(4(?!04)\d\d|5\d\d)\b",
        "the server or a proxy refuses access (code {0})",
        "Check the user and password in the address, apt's proxy on the node, and the address itself",
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
        r"(?:does not have|no longer has) a Release file",
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

#: The first that matches counts: the more telling ones stand first.
RULES: t.Tuple[Rule, ...] = (*_KEYS, *_NODE, *_SERVERS)
