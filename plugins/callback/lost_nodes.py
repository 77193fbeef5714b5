# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Callback goldennode.gpu.lost_nodes: the table also when a run lost every node, and no task could print it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: lost_nodes
type: aggregate
short_description: Print the table of the pool when no node was left to print it
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - The table at the end of C(goldennode.gpu.site) is printed by a task, and a task needs a node. Where every node
    of a run was lost after its look, this callback prints the table at the end.
  - Does nothing in any other run.
requirements:
  - It is named in C(callbacks_enabled) of C(ansible.cfg), as it is in that of this collection.
"""

import typing as t

from ansible.plugins.callback import CallbackBase

from ansible_collections.goldennode.gpu.plugins.plugin_utils import pool, terminal
from ansible_collections.goldennode.gpu.plugins.plugin_utils.plain import plain

LOOK = "goldennode.gpu.node_verify"
TABLE = "goldennode.gpu.report"


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "goldennode.gpu.lost_nodes"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: t.Any, **kwargs: t.Any) -> None:
        super().__init__(*args, **kwargs)
        self._looks: t.Dict[str, t.Dict[str, t.Any]] = {}
        self._lost: t.Set[str] = set()
        self._shown = False

    def v2_runner_on_ok(self, result: t.Any) -> None:
        if result.task.action == LOOK:
            self._looks[result.host.get_name()] = plain(result.result)
        elif result.task.action == TABLE:
            self._shown = True

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        self._lost.add(result.host.get_name())

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        if self._shown or not self._lost.intersection(self._looks):
            return
        rows = [pool.row(host, look, None, None, lost=host in self._lost) for host, look in sorted(self._looks.items())]
        terminal.show(rows, self._display)
