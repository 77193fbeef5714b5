# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The vendor: repositories and registry, built and served by vendor/build.py, known to the nodes as vendor.testbed."""

from __future__ import annotations

import subprocess
import sys
import typing as t

from .shell import TESTBED, TestbedError, docker, run

CONTAINER = "goldennode-vendor"
PROGRAM = TESTBED / "vendor" / "build.py"

#: Fault of the repositories: what its words after ``on`` mean. The registry has none.
FAULTS = {
    "slow": "[PATH [SECONDS]] each answer below PATH (all) waits SECONDS (30)",
    "dead": "[PATH] requests below PATH (all) are taken and never answered",
    "refused": "[PATH] requests below PATH (all) end with 503",
    "withdrawn": "PACKAGE VERSION: these packages, PACKAGE may be a pattern, are no longer offered in this version",
    "failing-postinst": "PACKAGE VERSION [once]: the postinst fails, always or the first time",
}
#: What takes another content of the repositories.
CHANGES = ("withdrawn", "failing-postinst")
DIRECTORY = "/run/vendor/faults"


def start(network: str) -> None:
    """Its progress goes to stderr: the first build takes minutes."""
    done = subprocess.run([sys.executable, str(PROGRAM), "--start", network], stdout=sys.stderr, check=False)
    if done.returncode != 0:
        raise TestbedError("the vendor could not be started; its own words are above")


def content() -> str:
    """The directory that it serves, named by a digest of the sources, in a checkout that has a key of its own."""
    return docker("inspect", "--format", '{{index .Config.Labels "content"}}', CONTAINER)


def stop() -> None:
    if docker("ps", "--all", "--quiet", "--filter", "name=^%s$" % CONTAINER):
        docker("rm", "--force", CONTAINER)


def switch(fault: str, state: str, words: t.Sequence[str]) -> None:
    """A fault ends with the vendor's container at the latest."""
    if fault not in FAULTS:
        raise TestbedError("the vendor has no fault %r; it has: %s" % (fault, ", ".join(FAULTS)))
    if state == "off":
        _execute("rm", "-f", "%s/%s" % (DIRECTORY, fault))
    else:
        write = 'mkdir -p "$0" && printf "%s\\n" "$2" > "$0/$1"'
        _execute("sh", "-ec", write, DIRECTORY, fault, " ".join(words))
    if fault in CHANGES:
        try:
            _execute("python3", "-B", "/vendor/changes.py")
        except TestbedError:
            _execute("rm", "-f", "%s/%s" % (DIRECTORY, fault))
            raise


def active() -> t.List[str]:
    return docker("exec", CONTAINER, "ls", DIRECTORY, check=False).split()


def _execute(*argv: str) -> None:
    run("docker", "exec", CONTAINER, *argv)
