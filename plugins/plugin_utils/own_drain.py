# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drain of one's own (``rollout_drain_tasks``): whether its two files are there, before a node needs them.

Controller only. Found out with the first canary drained, a wrong path would be a failed canary.
"""

from __future__ import annotations

import pathlib
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.printable import one_line

FILES = ("drain.yml", "undrain.yml")


def problem(folder: str) -> str:
    """Why this folder does not do, and what to write; "" where it does, or where there is none."""
    shown = "rollout_drain_tasks: '%s'" % one_line(folder)
    if not folder:
        return ""
    if not pathlib.PurePath(folder).is_absolute():
        return '%s is not a whole path. Write it as "{{ inventory_dir }}/drain"' % shown
    missing = [name for name in FILES if not pathlib.Path(folder, name).is_file()]
    if missing:
        return (
            "%s has no %s. It is a folder on the controller with drain.yml and undrain.yml: roles/rollout/DRAIN.md"
            % (
                shown,
                " and no ".join(missing),
            )
        )
    return ""


def problems(folders: t.Iterable[str]) -> t.List[str]:
    """What is wrong, each folder told once."""
    found = [problem(folder) for folder in dict.fromkeys(folders)]
    return [said for said in found if said]
