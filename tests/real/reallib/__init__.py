# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the real tests share: a node, a machine, the Debian mirror, and runs of playbooks."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]

# The simulated nodes' engine, key and runner serve here too.
sys.path.insert(0, str(ROOT / "tests" / "testbed"))
