# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules of this collection say of check mode, diff mode and platforms."""

from __future__ import annotations


class ModuleDocFragment:
    """For modules that change something; each says itself what it supports."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and tell what would be changed, without changing it.
  diff_mode:
    description: Returns what was changed, or would be in C(check_mode), when in diff mode.
  platform:
    description: Operating systems on which the module works.
    support: full
    platforms: linux
"""

    # For modules that only look.
    LOOKS = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode). The module only looks, so that it makes no difference.
    support: full
  diff_mode:
    description: Returns what was changed, or would be in C(check_mode), when in diff mode.
    support: none
    details: The module changes nothing.
  platform:
    description: Operating systems on which the module works.
    support: full
    platforms: linux
"""
