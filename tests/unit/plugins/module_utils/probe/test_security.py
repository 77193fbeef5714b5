# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SELinux as a node shows it. No kernel with SELinux is at hand: the files are written as the kernel writes them."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import SELinux
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import security
from ansible_collections.goldennode.gpu.tests.unit import recorded

NARROW, WIDE = security.BOOLEANS
CONFIG = "# one of\n# SELINUX=disabled\nSELINUX=enforcing\nSELINUXTYPE=targeted\n"


def node(
    enforce: t.Optional[str] = "1", config: t.Optional[str] = CONFIG, **booleans: t.Optional[str]
) -> recorded.Node:
    found = recorded.Node()
    directory = {"kind": "dir", "mode": 0o755, "uid": 0, "gid": 0, "size": 0, "mtime": 0}
    found.capture["stats"][security.SELINUX] = directory
    files = {"/etc/selinux/config": config, security.SELINUX + "/enforce": enforce}
    files.update({"%s/booleans/%s" % (security.SELINUX, name): booleans.get(name) for name in security.BOOLEANS})
    found.capture["files"].update(files)
    return found


@pytest.mark.parametrize(
    ("there", "state"),
    [
        (node(), SELinux("enforcing", "enforcing")),
        (node("0\n"), SELinux("permissive", "enforcing")),
        (node("1", None), SELinux("enforcing", "")),
        (node("1", "SELINUX = Permissive\n"), SELinux("enforcing", "permissive")),
        (node(**{NARROW: "0 0", WIDE: "0 0"}), SELinux("enforcing", "enforcing", NARROW)),
        (node(**{NARROW: "1 1", WIDE: "0 0"}), SELinux("enforcing", "enforcing", NARROW, allowed=True)),
        (node(**{NARROW: "0 0", WIDE: "1 1"}), SELinux("enforcing", "enforcing", NARROW, allowed=True)),
        (node(**{WIDE: "0 0"}), SELinux("enforcing", "enforcing", WIDE)),
        (node(**{NARROW: "0 1"}), SELinux("enforcing", "enforcing", NARROW)),  # pending is not in force
        (node(None, None), SELinux("disabled")),  # Debian without AppArmor: no policy was ever loaded
        (node(None, "SELINUX=disabled\n"), SELinux("disabled", "disabled")),
    ],
)
def test_states(there: recorded.Node, state: SELinux) -> None:
    assert security.selinux(there).value == state


def test_a_kernel_without_it() -> None:
    assert security.selinux(recorded.Node()).value == SELinux("disabled")


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (node(None), "selinuxfs is not mounted"),
        (node("yes"), "says 'yes', neither 0 nor 1"),
    ],
)
def test_what_is_not_understood_is_unknown(there: recorded.Node, words: str) -> None:
    assert words in (security.selinux(there).error or "")


@pytest.mark.parametrize("path", ["/enforce", "/booleans/" + NARROW, "/booleans/" + WIDE])
def test_what_cannot_be_read_is_not_absent(path: str) -> None:
    there = node(**{NARROW: "1 1", WIDE: "0 0"})
    there.break_path("files", security.SELINUX + path)
    assert security.selinux(there).error == "%s%s could not be read: Input/output error" % (security.SELINUX, path)
