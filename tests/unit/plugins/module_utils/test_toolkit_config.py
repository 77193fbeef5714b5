# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""config.toml on real files below another root: written whole or not at all, and only what the toolkit would read."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import backups
from ansible_collections.goldennode.gpu.plugins.module_utils import toolkit_config as config
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command
from ansible_collections.goldennode.gpu.plugins.module_utils.system import SystemFailure
from ansible_collections.goldennode.gpu.tests.unit.rooted import Rooted

TEXT = '# mine\nmode-of-mine = 1\n\n[nvidia-container-runtime]\nmode = "legacy" # why\n'
WANTED = {"nvidia-container-runtime": {"mode": "auto"}}


class Node(Rooted):
    """``refuses``: text that this node's nvidia-ctk does not read; None: it is not installed."""

    def __init__(self, root, text=TEXT, refuses=""):
        self.root = root
        self.refuses = refuses
        self.asked = []
        self.clock = 1_800_000_000.0
        self.path = root / config.CONFIG[1:]
        if text is not None:
            self.path.parent.mkdir(parents=True)
            self.path.write_text(text)

    def now(self):
        return self.clock

    def remove(self, path):
        super().remove(self.real(path))

    @contextlib.contextmanager
    def temporary(self, content):
        self.asked.append(content.decode())
        yield "/tmp/candidate"

    def run(self, argv, timeout):
        assert argv == ["nvidia-ctk", "config", "--config-file", "/tmp/candidate"]
        assert timeout > 0
        if self.refuses is None:
            return Command("host", tuple(argv), missing=True, error="nvidia-ctk is not installed")
        refused = bool(self.refuses) and self.refuses in self.asked[-1]
        return Command(
            "host", tuple(argv), 1 if refused else 0, "", "level=error /tmp/candidate: no" if refused else ""
        )

    def realpath(self, path):
        return Reading(path)

    def names(self):
        return sorted(os.listdir(self.path.parent))


def applied(node, settings=None, **options):
    return config.apply(node, config.Wanted(WANTED if settings is None else settings, **options))


def test_the_value_changes_and_nothing_else_and_the_old_file_is_kept(tmp_path):
    node = Node(tmp_path)
    outcome = applied(node)
    assert (outcome.changed, outcome.validated) == (True, True)
    assert (outcome.before, outcome.after) == (TEXT, TEXT.replace('"legacy"', '"auto"'))
    assert node.path.read_text() == outcome.after
    assert outcome.backup_file == config.CONFIG + ".goldennode-20270115T080000Z~"
    assert (tmp_path / outcome.backup_file[1:]).read_text() == TEXT
    again = applied(node)
    assert (again.changed, again.validated, again.backup_file) == (False, False, None)
    assert len(node.names()) == 2


def test_mode_and_a_link_stay(tmp_path):
    node = Node(tmp_path)
    elsewhere = tmp_path / "real.toml"
    node.path.rename(elsewhere)
    elsewhere.chmod(0o640)
    node.path.symlink_to(elsewhere)
    applied(node)
    assert node.path.is_symlink()
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o640
    assert '"auto"' in elsewhere.read_text()


def test_check_mode_tells_and_writes_nothing(tmp_path):
    node = Node(tmp_path)
    outcome = applied(node, check_mode=True)
    assert (outcome.changed, outcome.validated) == (True, True)
    assert node.path.read_text() == TEXT
    assert node.names() == ["config.toml"]


@pytest.mark.parametrize("text", [None, ""])
def test_a_file_that_is_not_there_or_empty_is_written(tmp_path, text):
    node = Node(tmp_path, text)
    assert applied(node).backup_file is None
    assert node.path.read_text() == '[nvidia-container-runtime]\nmode = "auto"\n'
    assert node.names() == ["config.toml"]


def test_without_a_toolkit_nothing_is_validated_and_the_file_is_written(tmp_path):
    node = Node(tmp_path, refuses=None)
    outcome = applied(node)
    assert (outcome.changed, outcome.validated) == (True, False)
    assert node.path.read_text() == outcome.after


@pytest.mark.parametrize(
    ("text", "refuses", "said"),
    [
        ("[a]\n[a]\n", "", config.CONFIG + ", which was left as it is: line 2 column 1: the table a is given twice"),
        (TEXT, '"auto"', "with the wanted settings in it; nothing was changed, mend the settings: nvidia-ctk config "
         "--config-file %s: rc 1: level=error %s: no" % (config.CONFIG, config.CONFIG)),
        (TEXT, "mine", "as it is on the node; nothing was changed, mend the file first"),
    ],
)  # fmt: skip
def test_what_the_toolkit_would_not_read_is_left_alone(tmp_path, text, refuses, said):
    node = Node(tmp_path, text, refuses)
    with pytest.raises(config.ToolkitConfigError) as caught:
        applied(node)
    assert said in str(caught.value)
    assert node.path.read_text() == text
    assert node.names() == ["config.toml"]


def test_a_disk_that_is_full_leaves_the_old_file(tmp_path, monkeypatch):
    node = Node(tmp_path)
    real = os.fsync

    def full(handle):
        if os.fstat(handle).st_size == len(TEXT) - 2:  # the new file, and not its copy
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SystemFailure, match="No space left on device. The file is as it was; make room on its"):
        applied(node)
    assert node.path.read_text() == TEXT
    assert node.names() == ["config.toml"], "no copy of a file that is there still"


def test_what_a_run_that_was_killed_has_left_is_taken_away(tmp_path):
    node = Node(tmp_path)
    half = node.path.parent / ".config.toml.abcd1234.goldennode"
    half.write_text("half")
    applied(node, {"mode-of-mine": 2})
    assert not half.exists()


def test_a_file_that_cannot_be_read_is_no_empty_one(tmp_path):
    node = Node(tmp_path, None)
    node.path.mkdir(parents=True)
    with pytest.raises(SystemFailure):
        applied(node)


def test_the_newest_three_copies_stay(tmp_path):
    node = Node(tmp_path)
    for number in range(5):
        node.clock += 60
        applied(node, {"mode-of-mine": number + 2})
    kept = backups.of(node, config.CONFIG)
    assert len(kept) == 3
    assert "mode-of-mine = 5\n" in (tmp_path / kept[-1][1:]).read_text()
    assert len(node.names()) == 4
