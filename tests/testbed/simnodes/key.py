# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ssh key that opens every node of this checkout."""

from __future__ import annotations

import typing as t

from .engine import install_program
from .shell import STATE, run

PRIVATE = STATE / "id_ed25519"


def ensure() -> str:
    """The public key; the pair is generated the first time."""
    if not PRIVATE.exists():
        install_program("ssh-keygen", "openssh-client")
        STATE.mkdir(exist_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "goldennode-testbed", "-f", str(PRIVATE))
    return PRIVATE.with_suffix(".pub").read_text()


def ssh_command(port: int, user: str = "root") -> t.List[str]:
    options = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR")
    words = [word for option in options for word in ("-o", option)]
    return ["ssh", "-i", str(PRIVATE), "-p", str(port), *words, "%s@127.0.0.1" % user]
