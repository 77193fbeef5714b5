# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The toolkit's log lines, as its logger writes them where no terminal is."""

from __future__ import annotations

import datetime
import sys


class ToolkitError(Exception):
    """Ends a command with status 1 and this text."""


def line(level: str, text: str) -> None:
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    print('time="%s" level=%s msg="%s"' % (now, level, quoted), file=sys.stderr)
