# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table at the widths that people have."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import table
from ansible_collections.goldennode.gpu.plugins.module_utils.checks.registry import CHECKS
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Finding
from ansible_collections.goldennode.gpu.plugins.module_utils.table import Row, render

GOLDEN = Row("canary1", "golden", 8, 8, "580.159.03", "1.20.0", "26.1.4")
BROKEN = Row(
    "node2",
    "not golden",
    None,
    1,
    "580.126.09",
    "1.20.0",
    "26.1.4",
    layer="host_driver",
    reason="The loaded driver is 580.126.09 and the libraries are 580.159.03",
    fix="Reboot the node, or run site.yml with golden_allow_reboot=true",
)
LOST = Row(
    "node3", "unreachable", expected_gpus=8, reason="ssh: connect to host 10.0.0.3 port 22: Connection timed out"
)
ROWS = [GOLDEN, BROKEN, LOST]


def plain(text, _kind):
    return text


def test_at_80_columns_the_explanation_stands_below():
    assert render(ROWS, 80, plain) == (
        "NODE     GPUS  DRIVER      TOOLKIT  DOCKER  VERDICT\n"
        "-------  ----  ----------  -------  ------  -----------\n"
        "canary1  8/8   580.159.03  1.20.0   26.1.4  golden\n"
        "node2    ?/1   580.126.09  1.20.0   26.1.4  not golden\n"
        "    host_driver: The loaded driver is 580.126.09 and the libraries are\n"
        "    580.159.03. Reboot the node, or run site.yml with golden_allow_reboot=true.\n"
        "node3    ?/8   ?           ?        ?       unreachable\n"
        "    ssh: connect to host 10.0.0.3 port 22: Connection timed out.\n"
        "\n"
        "1 of 3 nodes are golden."
    )


def test_at_160_columns_the_explanation_is_a_column():
    lines = render(ROWS, 160, plain).splitlines()
    assert lines[0].endswith("VERDICT      FIRST BROKEN LAYER AND FIX")
    assert lines[3].startswith(
        "node2    ?/1   580.126.09  1.20.0   26.1.4  not golden   host_driver: The loaded driver is 580.126.09"
    )
    assert lines[4].startswith(" " * lines[0].index("FIRST"))
    assert lines[-1] == "1 of 3 nodes are golden."


PAGE = "docs/checks/container_runtime.daemon_current.md"


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_the_page_stands_at_the_end_and_in_one_piece(width):
    """So that it can be copied: where the explanation is a narrow column, the line is rather too long."""
    row = dataclasses.replace(BROKEN, page=PAGE)
    assert row.explanation.endswith("golden_allow_reboot=true. See %s." % PAGE)
    assert " %s." % PAGE in render([row], width, plain)


def test_the_narrowest_column_has_room_for_every_page():
    assert max(len("%s." % Finding(id=check.id, layer="", status="fail").page) for check in CHECKS) <= table._READABLE


def test_at_100_columns_the_page_is_the_end_of_a_sentence():
    row = dataclasses.replace(BROKEN, page="docs/checks/host_driver.loaded.md")
    assert render([row], 100, plain).splitlines()[3:5] == [
        "    host_driver: The loaded driver is 580.126.09 and the libraries are 580.159.03. Reboot the node,",
        "    or run site.yml with golden_allow_reboot=true. See docs/checks/host_driver.loaded.md.",
    ]


@pytest.mark.parametrize("width", [40, 60, 79, 80, 100, 120, 160, 250])
def test_no_line_is_wider_than_the_terminal_where_words_allow_it(width):
    table = len("NODE     GPUS  DRIVER      TOOLKIT  DOCKER  VERDICT    ")
    assert max(map(len, render(ROWS, width, plain).splitlines())) <= max(width, table)


@pytest.mark.parametrize("width", [80, 160])
def test_every_word_of_the_explanation_is_there_and_all_is_ascii(width):
    text = render(ROWS, width, plain)
    for row in ROWS:
        for word in row.explanation.split():
            assert word in text
    assert text.isascii()
    assert not any(line.endswith(" ") for line in text.splitlines())


@pytest.mark.parametrize("width", [80, 160])
def test_without_anything_to_explain_there_is_no_column_for_it(width):
    assert render([GOLDEN], width, plain) == (
        "NODE     GPUS  DRIVER      TOOLKIT  DOCKER  VERDICT\n"
        "-------  ----  ----------  -------  ------  -------\n"
        "canary1  8/8   580.159.03  1.20.0   26.1.4  golden\n"
        "\n"
        "1 of 1 nodes are golden."
    )


def test_no_host_at_all():
    assert render([], 80, plain).endswith("0 of 0 nodes are golden.")


def test_only_the_verdict_is_painted():
    """A node may be called as a verdict is."""
    rows = [Row("golden-1", "golden"), Row("failed", "failed", layer="image", reason="failed")]
    lines = render(rows, 80, lambda text, kind: "<%s:%s>" % (kind, text)).splitlines()
    assert lines[2] == "golden-1  ?/?   ?       ?        ?       <good:golden>"
    assert lines[3] == "failed    ?/?   ?       ?        ?       <bad:failed>"
    assert lines[-1] == "<bad:1 of 2 nodes are golden.>"
    assert render(rows[:1], 80, lambda text, kind: kind).endswith("good")


def test_no_gpu_is_not_the_same_as_not_known():
    assert "0/8" in render([Row("a", "not golden", 0, 8)], 80, plain)
    assert "?/8" in render([Row("a", "not golden", None, 8)], 80, plain)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (Row("a", "x", layer="image", reason="It is gone", fix="Pull it"), "image: It is gone. Pull it."),
        (Row("a", "x", layer="image"), "image."),
        (Row("a", "x", reason="Why?\n  So."), "Why? So."),
        (Row("a", "x"), ""),
    ],
)
def test_the_explanation_is_sentences(row, said):
    assert row.explanation == said


def test_nothing_of_a_node_steers_the_terminal():
    row = Row("a\x1b[2J\nb", "not\x07", driver="1\x9b", reason="so\x1b[31m", fix="Do\u202e it")
    text = render([row], 120, lambda text, kind: text)
    assert [one for one in "\x1b\x07\x9b\u202e" if one in text] == []
    assert "a\\x1b[2J b  ?/?   1\\x9b" in text
