# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Child: which daemon the ``docker`` command of each user would ask, from files and without running it.

A home is read as its user: root may not see one that lies on a network, and must not follow links that a user lays.
Nothing is printed but the name of a context, an address and the file in which it stands: these files have passwords.
"""

# A child process answers by printing; there is no module.
# pylint: disable=ansible-bad-function

from __future__ import annotations

import hashlib
import json
import os
import pwd
import re
import select
import signal
import stat
import sys
import typing as t

#: For each user: a home on a network may not answer.
SECONDS = 3.0
LIMIT = 1024 * 1024

SHELL_FILES = (".profile", ".bash_profile", ".bash_login", ".bashrc", ".zshenv", ".zprofile", ".zshrc")
_ASSIGNMENT = re.compile(r"^[ \t]*(?:export[ \t]+)?(DOCKER_HOST|DOCKER_CONTEXT)=[\"']?([^\"'\s;#]+)", re.MULTILINE)
#: User and password in front of a host: what is printed is kept in a capture, too.
_USER = re.compile(r"(?<=://)[^/\s]*@")

Found = t.List[t.Dict[str, str]]


def main() -> None:
    """A line for every user as soon as it is known, those that all users share first."""
    for user in ["", *sys.argv[1:]]:
        print(json.dumps({"user": user, **answer(user)}), flush=True)


def answer(user: str) -> t.Dict[str, t.Any]:
    try:
        return {"found": apart(user) if user else everyone("/etc")}
    except (OSError, KeyError, ValueError) as error:
        return {"error": str(error.args[0] if isinstance(error, KeyError) else error)}


def everyone(etc: str) -> Found:
    folder = os.path.join(etc, "profile.d")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    paths = [os.path.join(etc, name) for name in ("environment", "profile", "bash.bashrc")]
    paths += [os.path.join(folder, name) for name in names if name.endswith(".sh")]
    return [found for path in paths for found in assignments(path)]


def apart(user: str) -> Found:
    """What ``of_home`` finds, asked by a process that is the user. One that hangs is left behind."""
    account = pwd.getpwnam(user)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _become(account)
            said = json.dumps({"found": of_home(account.pw_dir)})
        except BaseException as error:  # it must end here whatever happens
            said = json.dumps({"error": str(error)})
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    if not select.select([reading], [], [], SECONDS)[0]:
        os.kill(child, signal.SIGKILL)
        raise OSError("%s gave no answer within %d s" % (account.pw_dir, SECONDS))
    with os.fdopen(reading, "rb") as stream:
        said = stream.read().decode()
    os.waitpid(child, 0)
    plain = json.loads(said)
    if "error" in plain:
        raise OSError(plain["error"])
    return t.cast(Found, plain["found"])


def _become(account: pwd.struct_passwd) -> None:
    if os.geteuid() == 0 and account.pw_uid != 0:
        os.initgroups(account.pw_name, account.pw_gid)
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)


def of_home(home: str) -> Found:
    folder = os.path.join(home, ".docker")
    path = os.path.join(folder, "config.json")
    found = []
    text = _read(path)
    name = json.loads(text).get("currentContext") if text and text.strip() else None
    if isinstance(name, str) and name not in ("", "default"):
        found.append({"by": "context", "value": name, "endpoint": endpoint(folder, name), "file": path})
    for name in SHELL_FILES:
        for one in assignments(os.path.join(home, name)):
            if one["by"] == "DOCKER_CONTEXT":
                one["endpoint"] = endpoint(folder, one["value"])
            found.append(one)
    return found


def endpoint(folder: str, context: str) -> str:
    """The address of a context; "" where its description is not there or says none."""
    digest = hashlib.sha256(context.encode()).hexdigest()
    try:
        plain = json.loads(_read(os.path.join(folder, "contexts", "meta", digest, "meta.json")) or "null")
        address = plain["Endpoints"]["docker"]["Host"]
    except (ValueError, KeyError, TypeError):
        return ""
    return _USER.sub("", address) if isinstance(address, str) else ""


def assignments(path: str) -> Found:
    """Lines of a shell, or of /etc/environment, that name another daemon. Of several the last one counts."""
    last = {name: _USER.sub("", value) for name, value in _ASSIGNMENT.findall(_read(path) or "")}
    return [
        {"by": name, "value": value, "endpoint": value if name == "DOCKER_HOST" else "", "file": path}
        for name, value in sorted(last.items())
        if value != "default"
    ]


def _read(path: str) -> t.Optional[str]:
    """A regular file; None where there is none. Neither a FIFO nor a device is waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("%s is no regular file" % path)
        return file.read(LIMIT).decode("utf-8", "replace")


if __name__ == "__main__":
    main()
