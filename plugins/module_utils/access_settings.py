# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the variables of the role device_access, whatever the lock is. Pure."""

from __future__ import annotations

import re
import typing as t

from .bundle import Problem

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?")
#: A directory may name users as DOMAIN\\name or name@domain.
_USER = re.compile(r"(?:[A-Za-z0-9_.-]+\\)?[A-Za-z_][A-Za-z0-9_.-]*(?:@[A-Za-z0-9_.-]+|\$)?")

_HIGHEST_GID = 2**32 - 2


def problems(access: t.Mapping[str, t.Any]) -> t.List[Problem]:
    return [*_mode(access), *_group(access), *_users(access["device_access_users"])]


def _mode(access: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    text = access["device_access_mode"]
    if not re.fullmatch(r"0?[0-7]{3}", text):
        fix = 'Write it in octal and in quotes, for example device_access_mode: "0660"'
        yield Problem("device_access_mode", text, "is not a mode in octal, as text", fix)
        return
    mode = int(text, 8)
    if mode & 0o660 != 0o660:
        # Written without quotes somewhere on its way, 0660 arrives as 432.
        meant = "0%o" % int(text) if int(text) & 0o660 == 0o660 else ""
        fix = 'Give owner and group read and write: "0660" for the group alone, "0666" for everybody'
        fix += "; %s is decimal for %s" % (text, meant) if meant else ""
        yield Problem("device_access_mode", text, "lets no user of the group open a GPU", fix)
    elif mode & 0o006 != 0o006 and (access["device_access_group"] == "root" or access.get("device_access_gid") == 0):
        fix = 'Name a group that users can be in, such as video; or set device_access_mode: "0666"'
        yield Problem("device_access_group", access["device_access_group"], "leaves the GPUs to root alone", fix)


def _group(access: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    group, gid = access["device_access_group"], access.get("device_access_gid")
    if not _NAME.fullmatch(group):
        message = "is not a name that a group or user can have"
        yield Problem("device_access_group", group, message, "Write it like video")
    if gid is not None and not 0 <= gid <= _HIGHEST_GID:
        fix = "Write the number that getent group %s gives" % group
        yield Problem("device_access_gid", gid, "is not the number of a group", fix)


def _users(users: t.Sequence[str]) -> t.Iterator[Problem]:
    for user in users:
        if not _USER.fullmatch(user):
            message = "is not a name that a group or user can have"
            yield Problem("device_access_users", user, message, "Write it like alice, or alice@example.org")
