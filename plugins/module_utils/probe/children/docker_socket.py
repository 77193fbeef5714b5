# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Child: which process listens on a socket. The kernel knows it of every connection; nothing is sent."""

# A child process answers by printing; there is no module.
# pylint: disable=ansible-bad-function

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import typing as t

SECONDS = 5.0


def main() -> None:
    print(json.dumps(ask(sys.argv[1])), flush=True)


def ask(path: str) -> t.Dict[str, t.Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(SECONDS)
        try:
            link.connect(path)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError) as error:
            return {"nobody": str(error)}
        except OSError as error:
            return {"error": "%s: %s" % (path, error)}
        credentials = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid = struct.unpack("3i", credentials)[0]
    return {"path": os.path.realpath(path), "pid": pid, "program": program(pid), "cgroup": cgroup(pid)}


def program(pid: int) -> str:
    """The first word alone: others may hold a secret."""
    return _read(pid, "cmdline").split("\0")[0]


def cgroup(pid: int) -> str:
    """The control group in the unified hierarchy, or in systemd's own where that one is not in use."""
    groups = {}
    for line in _read(pid, "cgroup").splitlines():
        _number, _colon, rest = line.partition(":")
        controllers, _colon, path = rest.partition(":")
        groups[controllers] = path
    unified = groups.get("", "")
    return unified if unified not in ("", "/") else groups.get("name=systemd", unified)


def _read(pid: int, name: str) -> str:
    try:
        with open("/proc/%d/%s" % (pid, name), encoding="utf-8", errors="replace") as file:
            return file.read(65536)
    except OSError:
        return ""


if __name__ == "__main__":
    main()
