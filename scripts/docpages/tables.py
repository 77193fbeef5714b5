# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a check reads its cause out of a table of words or codes, the page has the whole table."""

from __future__ import annotations

import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.checks import card_faults, start_errors, tools

from .markdown import sentence, table, text

_START_ERRORS = {
    "container_runtime.injection": "container_runtime",
    "image.requirement": "image",
    "policy.container_devices": "policy",
}
_TOOLS = ("host_driver.nvidia_smi", "host_driver.nvml")
_CUDA = ("host_driver.cuda", "image.cuda")


def of(check: str) -> str:
    """The table of a check, with its heading; "" where it has none."""
    if check in _START_ERRORS:
        return _titled("What the engine says, told apart", start_rows(_START_ERRORS[check]))
    if check in _TOOLS:
        return _titled("What the tool says, told apart", ((m.cause, m.fix) for m in tools.TOOL_ERRORS))
    if check in _CUDA:
        rows = (("%d: %s" % (code, cause), fix) for code, (cause, fix, _repair) in sorted(tools.CUDA_ERRORS.items()))
        return _titled("CUDA's codes, told apart", rows)
    if check == "hardware.gpu_healthy":
        return _titled(
            "What the driver says of a card", ((f.cause % "0000:17:00.0", f.fix) for f in card_faults.FAULTS)
        )
    return ""


def start_rows(layer: str) -> t.Iterator[t.Tuple[str, str]]:
    return ((row.cause, row.fix) for row in start_errors.START_ERRORS if row.layer == layer)


def _titled(title: str, rows: t.Iterable[t.Tuple[str, str]]) -> str:
    cells = [(text(sentence(cause)), text(sentence(fix))) for cause, fix in rows]
    return "## %s\n\n%s" % (title, table(("cause", "fix"), dict.fromkeys(cells)))
