# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What templating gives becomes plain data, to any depth."""

from __future__ import annotations

import collections
import json

import pytest

from ansible_collections.goldennode.gpu.plugins.plugin_utils.plain import plain


class Text(str):
    """As Ansible's tagged or unsafe strings are."""


class Number(int):
    pass


class Fraction(float):
    pass


@pytest.mark.parametrize(
    ("value", "kind"),
    [(Text("a"), str), (Text(""), str), (Number(3), int), (Fraction(1.5), float), (True, bool), (None, type(None))],
)
def test_simple_values_lose_their_own_type(value, kind):
    assert plain(value).__class__ is kind
    assert plain(value) == value


def test_containers_are_copied_to_any_depth():
    value = collections.OrderedDict([(Text("a"), (Text("b"), [collections.OrderedDict(c=Number(1))]))])
    found = plain(value)
    assert found == {"a": ["b", [{"c": 1}]]}
    assert found.__class__ is dict
    assert next(iter(found)).__class__ is str
    assert found["a"][1][0]["c"].__class__ is int
    json.dumps(found)
