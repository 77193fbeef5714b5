# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How versions compare."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.version import version_numbers


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("580.159.03", (580, 159, 3)),
        ("26.1.5+dfsg1", (26, 1, 5)),
        ("6.12.57+deb13-amd64", (6, 12, 57)),
        ("7.0.0-15-generic", (7, 0, 0)),
        ("615", (615,)),
        ("1.20.", (1, 20)),
        ("", ()),
        ("v1", ()),
    ],
)
def test_numbers_of_a_version(version, numbers):
    assert version_numbers(version) == numbers
