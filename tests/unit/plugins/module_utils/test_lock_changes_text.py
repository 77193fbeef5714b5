# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparison of two locks as people read it."""

from __future__ import annotations

import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import lock_changes, lock_changes_text
from ansible_collections.goldennode.gpu.tests.unit.plugins.module_utils.test_lock import made
from ansible_collections.goldennode.gpu.tests.unit.plugins.module_utils.test_lock_changes import changed

NEWER = {
    "version": "580.178.04",
    "packages": {"nvidia-driver-cuda": "580.178.04-1", "libcuda1": "580.178.04-1"},
}


def shown(before: t.Any, after: t.Any, width: int = 100, remarks: t.Sequence[str] = ()) -> t.List[str]:
    def paint(text: str, kind: str) -> str:
        return "<%s>%s" % (kind, text)

    found = lock_changes.changes(before, after)
    return lock_changes_text.render(before, after, found, width, paint, remarks).split("\n")


def test_packages_that_change_alike_share_a_row() -> None:
    before = changed(driver={"packages": {"libcuda1": "580.159.03-1"}})
    lines = shown(before, changed(bundle="pool-2026.12", driver=NEWER))
    assert lines[0] == "debian-13-x86_64: pool-2026.11 (%s) -> pool-2026.12 (%s)" % (
        (before["id"][:19], before["id"][:19])
    )
    assert lines[2:5] == [
        "LAYER        AXIS    WHAT        BEFORE        AFTER",
        "-----------  ------  ----------  ------------  ------------",
        "host_driver  driver  version     580.159.03    580.178.04",
    ]
    assert lines[5].startswith("    REBOOT   The driver in the kernel is replaced: a reboot is due")
    assert lines[6].startswith("             ")
    assert lines[-4:] == [
        "host_driver  driver  2 packages  580.159.03-1  580.178.04-1",
        "    libcuda1, nvidia-driver-cuda",
        "",
        "<good>3 changes. A reboot is due for driver.",
    ]


def test_where_both_versions_have_no_room_they_stand_below() -> None:
    lines = shown(made(), changed(driver=NEWER), width=50)
    at = lines.index("host_driver  driver  version")
    assert lines[at - 2] == "LAYER        AXIS    WHAT, BEFORE -> AFTER"
    assert lines[at + 1] == "    580.159.03 -> 580.178.04"
    assert "    none -> 580.178.04-1" in lines
    assert all(len(line) <= 50 or "<good>" in line for line in lines[2:])


def test_what_is_to_be_looked_at_stands_out_and_in_the_last_line() -> None:
    lines = shown(made(), changed(image={"digest": "sha256:" + "d" * 64}, docker={"version": "26.1.5"}))
    assert any(line.startswith("<bad>    REVIEW   The same tag has other content") for line in lines)
    assert lines[-1] == "<bad>2 changes. Docker is restarted. Look at image."
    assert any(line.endswith("sha256:cccccccccccc  sha256:dddddddddddd") for line in lines), "digests are cut"


def test_nothing_that_differs_is_said_in_one_line() -> None:
    after = changed(bundle="pool-2026.12", id="sha256:" + "1" * 64)
    assert shown(made(), after)[1:] == ["", "<good>Nothing that a node gets is another."]


def test_remarks_and_hostile_text_move_no_cursor() -> None:
    after = changed(driver={"version": "\x1b[2J580", "packages": {"x\ny": "1"}})
    text = "\n".join(shown(made(), after, remarks=["b.json was changed by hand\x07"]))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\\x1b[2J580" in text
    assert "x y" in text
    assert "<bad>b.json was changed by hand\\x07" in text


def test_a_long_text_is_told_short() -> None:
    lines = shown(made(), changed(image={"cuda_command": ["a" * 3000]}))
    assert max(map(len, lines)) < 400
