# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why dockerd does not start, by the words that it leaves in the journal of its unit.

A flag that collides with daemon.json stands in no file that is judged: it may come from a drop-in, or by a variable
from a file that the unit names. dockerd knows, and says it.
"""

from __future__ import annotations

import re
import typing as t

from ..model import Evidence
from .wanted import RUN_SITE

_FILE = "/etc/docker/daemon.json"


class Refusal(t.NamedTuple):
    """Why it does not start, and what to do; ``repair`` as in a finding."""

    cause: str
    fix: str
    repair: str = "manual"


_Row = t.Tuple[t.Pattern[str], str, str, str]

_BOTH = re.compile(r"specified both as a flag and in the configuration file: (.*)$")
_KEY = re.compile(r"(?:^|\), )([\w-]+): \(from flag: ")

#: The first that fits counts. ``{0}`` is what the pattern has found.
_ROWS: t.Tuple[_Row, ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), cause, fix, repair)
    for pattern, cause, fix, repair in (
        (
            r"directives? don't match any configuration option: ([\w, -]+)",
            "daemon.json has {0}, which this Docker does not know",
            "Mend the name of the key in %s, or take the key out: it is of another version of Docker, or misspelt."
            % _FILE,
            "manual",
        ),
        (
            r"cannot unmarshal (\w+ into Go struct field \S+ of type \S+|\w+ into Go value of type \S+)",
            "a value in daemon.json is of the wrong type (%s)" % "{0}",
            "Mend that value in %s; nothing is written to it before." % _FILE,
            "manual",
        ),
        (
            r"runtime name '?\"?(\w+)'?\"? is reserved",
            "daemon.json names a runtime {0}, and that name is Docker's own",
            "Take runtimes.{0} out of %s, or give that runtime another name." % _FILE,
            "manual",
        ),
        (
            r"((?:invalid character|unexpected (?:end of JSON|EOF)|looking for beginning of)[^;]*)",
            "daemon.json is no JSON ({0})",
            "Mend %s at that place; nothing is written to a file that cannot be read." % _FILE,
            "manual",
        ),
        (
            r"(?:specified default runtime|default runtime) '?\"?([\w.-]+)'?\"? does not exist",
            "its default runtime is {0}, and no runtime of that name is registered",
            "%s It registers the nvidia runtime; another one is for whoever named it in %s." % (RUN_SITE, _FILE),
            "roles",
        ),
        (
            r"process with PID (\d+) is still running|pid file found, ensure docker is not running",
            "another dockerd runs already, or its /run/docker.pid was left behind",
            "Look for it: pgrep -a dockerd. Stop the one that docker.service has not started; where there is none, "
            "remove /run/docker.pid. Then: systemctl restart docker.",
            "manual",
        ),
        (
            r"(failed to (?:dial|connect to) [^;]*containerd[^;]*"
            r"|containerd[^;]*: (?:timeout|connection refused)[^;]*)",
            "containerd does not answer it ({0})",
            "Look at journalctl -b -u containerd; then: systemctl restart containerd docker.",
            "manual",
        ),
        (
            r"no space left on device|disk quota exceeded",
            "the disk that it keeps its data on is full",
            "Make room below its data-root, then: systemctl restart docker.",
            "manual",
        ),
        (
            r"error initializing graphdriver: ([^;]*)|(driver not supported[^;]*)",
            "it cannot use its storage driver ({0})",
            "Put storage-driver in %s right, or mend the file system below the data-root; images of another driver are "
            "not seen while it runs." % _FILE,
            "manual",
        ),
        (
            r"error (?:initializing|creating) (?:default|network controller)[^;]*: ([^;]*)",
            "it cannot set up its network ({0})",
            "Look at that error: the kernel's modules for iptables or nftables, or an address that is in use. The GPU "
            "stack is not at fault.",
            "manual",
        ),
        (
            r"(cgroup[^;]*(?:not mounted|mountpoint does not exist|not found)[^;]*)",
            "it finds no control groups ({0})",
            "Mount the control groups, which systemd does at boot; in a container they must be given in.",
            "manual",
        ),
        (
            r"unknown (?:flag|shorthand flag): ?'?([\w-]+)'?",
            "its unit gives it the flag {0}, which it does not know",
            "Take the flag out of the unit: systemctl edit docker.service.",
            "manual",
        ),
        (
            r"unable to configure the Docker daemon with file \S+: (.*)$",
            "it refuses daemon.json ({0})",
            "Mend %s; nothing is written to it before." % _FILE,
            "manual",
        ),
    )
)


def find(evidence: Evidence) -> t.Optional[Refusal]:
    """What its last words mean; None where they say nothing that is known."""
    for line in evidence.docker_journal.value or ():
        both = _BOTH.search(line)
        if both:
            return _given_twice(both.group(1))
        for pattern, cause, fix, repair in _ROWS:
            match = pattern.search(line)
            if match:
                found = next((group for group in match.groups() if group), "").strip().rstrip(".")
                return Refusal(cause.replace("{0}", found), fix.replace("{0}", found), repair)
    return None


def _given_twice(said: str) -> Refusal:
    """The user's key stays: what the unit says besides is the packager's default."""
    keys = _KEY.findall(said) or ["a setting"]
    given = "%s %s given" % (", ".join(keys), "is" if len(keys) == 1 else "are")
    return Refusal(
        "%s both in %s and as a flag of docker.service" % (given, _FILE),
        "Keep each in one place. To keep it in the file, run systemctl edit docker.service, write the three lines "
        "[Service], ExecStart= and ExecStart=/usr/bin/dockerd, and run systemctl daemon-reload and systemctl restart "
        "docker. A flag may also come from a file that the unit names as EnvironmentFile.",
    )
