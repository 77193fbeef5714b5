# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action goldennode.gpu.compare_locks: says what changes between two locks, on which layer, and what that risks."""

from __future__ import annotations

import os
import pathlib
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.goldennode.gpu.plugins.module_utils import lock_changes
from ansible_collections.goldennode.gpu.plugins.module_utils.model import SCHEMA
from ansible_collections.goldennode.gpu.plugins.module_utils.version import VERSION
from ansible_collections.goldennode.gpu.plugins.plugin_utils import json_file, lock_file, terminal_locks
from ansible_collections.goldennode.gpu.plugins.plugin_utils.plain import plain


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: t.Any = None, task_vars: t.Optional[t.Dict[str, t.Any]] = None) -> t.Dict[str, t.Any]:
        result: t.Dict[str, t.Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(
            {
                "before": {"type": "path", "required": True},
                "after": {"type": "path", "required": True},
                "result": {"type": "path"},
            }
        )
        given = plain(arguments)
        paths = {name: pathlib.Path(os.path.expanduser(given[name])) for name in ("before", "after")}
        try:
            before, after = lock_file.pair(paths["before"], paths["after"])
        except lock_file.LockFileError as error:
            raise AnsibleActionFail(str(error)) from None  # said whole; Ansible would say the cause again
        remarks = [*lock_file.remarks(before, given["before"]), *lock_file.remarks(after, given["after"])]
        found = lock_changes.changes(before, after)
        terminal_locks.show(before, after, found, self._display, remarks)
        told = dict(lock_changes.plain(before, after, found), remarks=remarks)
        if given["result"]:
            content = {"schema": SCHEMA, "collection": VERSION, **told}
            json_file.write(given["result"], content, "result: %s" % given["result"])
        result.update(told, changed=False)
        return result
