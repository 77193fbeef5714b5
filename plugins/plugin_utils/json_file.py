# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of an action as a file for machines. Controller only."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

from ansible.errors import AnsibleActionFail

from ansible_collections.goldennode.gpu.plugins.plugin_utils import whole_file


def write(path: str, content: t.Mapping[str, t.Any], told: str) -> None:
    """Write it whole or not at all.

    :arg told: how the message names the file, as ``result: FILE``
    :raises AnsibleActionFail: where it cannot be written
    """
    text = json.dumps(content, indent=1) + "\n"
    try:
        whole_file.write(pathlib.Path(os.path.expanduser(path)), text.encode("utf-8"))
    except OSError as error:
        words = "%s cannot be written: %s. Name a file in a folder that is yours"
        raise AnsibleActionFail(words % (told, error.strerror)) from None
