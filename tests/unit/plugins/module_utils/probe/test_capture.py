# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A capture holds what a host answered, in a form that JSON can carry, and a replay answers the same."""

from __future__ import annotations

import json

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import Recorder, Replay, key
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import LocalHost


def test_everything_that_was_asked_is_answered_again(tmp_path):
    (tmp_path / "text").write_text("grün\n", encoding="utf-8")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe{\0}\0")
    (tmp_path / "link").symlink_to("text")
    recorder = Recorder(LocalHost())
    argv = ["sh", "-c", "echo out; exit 3"]

    def ask(host):
        return [
            host.run(argv, 30),
            host.run(["sleep", "300"], 0.1),
            host.read(str(tmp_path / "text")),
            host.read_bytes(str(tmp_path / "bytes")),
            host.read(str(tmp_path / "bytes")),
            host.read(str(tmp_path / "absent")),
            host.read(str(tmp_path)),
            host.stat(str(tmp_path / "link")),
            host.listdir(str(tmp_path)),
            host.realpath(str(tmp_path / "link")),
            host.file_state(str(tmp_path / "text")),
            host.hostname(),
            host.machine(),
        ]

    live = ask(recorder)
    capture = json.loads(json.dumps(recorder.capture()))
    for path in tmp_path.iterdir():
        path.unlink()
    assert ask(Replay(capture)) == live
    assert capture["files"][str(tmp_path / "text")] == "grün\n"
    assert capture["files"][str(tmp_path / "absent")] is None
    assert capture["errors"] == {"files": {str(tmp_path): "%s could not be read: not a regular file" % tmp_path}}


def test_what_was_not_asked_is_unknown():
    replay = Replay(Recorder(LocalHost()).capture())
    assert replay.run(["nvidia-smi"], 10).error == "nvidia-smi: not in the capture"
    for ask in (replay.read, replay.read_bytes, replay.stat, replay.listdir, replay.realpath, replay.file_state):
        assert ask("/x").error == "/x: not in the capture"


def test_a_script_counts_by_its_place_and_the_probe_by_no_name():
    one = key("container", ["docker", "run", "--name", "goldennode-probe-0123ab", "-c", "a\nb", "x"])
    two = key("container", ["docker", "run", "--name", "goldennode-probe-ffff00", "-c", "c\n", "x"])
    assert one == two
    assert one != key("host", ["docker", "run", "--name", "goldennode-probe-0123ab", "-c", "a\nb", "x"])
    assert one != key("container", ["docker", "run", "--name", "goldennode-probe-0123ab", "-c", "a\nb", "y"])


def test_a_capture_of_another_schema_is_refused():
    with pytest.raises(ValueError, match="the capture has schema 2; this version reads schema 1"):
        Replay({"schema": 2})


class WithPasswords(LocalHost):
    """Every file of it has an address with a password, and something that is no text."""

    def read_bytes(self, path, limit=0):
        return Reading(b"deb https://svc:S3cret@m.example/x / # \xff\n")


@pytest.mark.parametrize("path", ["/etc/apt/sources.list", "/etc/apt/sources.list.d/x.list"])
def test_a_capture_has_no_password_of_a_package_source(path):
    recorder = Recorder(WithPasswords())
    assert b"S3cret" in recorder.read_bytes(path).value  # whoever asked gets what is there
    again = Replay(json.loads(json.dumps(recorder.capture())))
    assert again.read_bytes(path).value == b"deb https://m.example/x / # \xff\n"


def test_a_capture_has_other_files_as_they_are():
    recorder = Recorder(WithPasswords())
    live = recorder.read_bytes("/x")
    assert Replay(recorder.capture()).read_bytes("/x") == live
