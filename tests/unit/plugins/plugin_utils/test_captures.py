# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures on the controller: each way in which a file can be wrong has its one message, and nothing else is raised."""

from __future__ import annotations

import copy
import json
import os
import random
import stat

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import masking
from ansible_collections.goldennode.gpu.plugins.plugin_utils import captures
from ansible_collections.goldennode.gpu.plugins.plugin_utils.captures import CaptureError
from ansible_collections.goldennode.gpu.tests.unit import broken, recorded

TAKE_ONE = "Take one by: ansible-playbook goldennode.gpu.diagnose -e goldennode_capture_to=FOLDER."


def write(path, capture):
    path.write_text(json.dumps(capture), encoding="utf-8")
    return str(path)


def test_a_file_and_a_folder_are_judged(tmp_path):
    write(tmp_path / "gpu07.json", broken.capture("no gpu"))
    write(tmp_path / "gpu08.json", broken.capture("well"))
    (tmp_path / "notes.txt").write_text("not a capture")
    assert [(one.node, one.said) for one in captures.cases(str(tmp_path))] == [("gpu07", "broken"), ("gpu08", "works")]
    assert [one.node for one in captures.cases(str(tmp_path / "gpu08.json"))] == ["gpu08"]


def test_in_a_folder_a_file_that_is_no_capture_has_its_row(tmp_path):
    write(tmp_path / "a.json", broken.capture("well"))
    (tmp_path / "b.json").write_text("{")
    good, bad = captures.cases(str(tmp_path))
    assert (good.said, bad.said, bad.error) == ("works", "not judged", "is not JSON: line 1 column 2")
    assert bad.fix.startswith("It may have been cut short.")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty. It may have been cut short. " + TAKE_ONE),
        (b"\x7fELF\x02\xff\xfe", "is no text: byte 5 cannot be read as UTF-8. Where it is packed, unpack it first."),
        (b"[1, 2", "is not JSON: line 1 column 6. It may have been cut short. " + TAKE_ONE),
        (b"[" * 100000, "is not JSON"),
        (b"[]", "is JSON and no capture: it has no schema and no commands. " + TAKE_ONE),
        (b'{"nodes": {}}', "is JSON and no capture: it has no schema and no commands."),
        (b'{"schema": 2, "commands": []}', "has schema 2, and this version of the collection reads schema 1."),
        (b'{"schema": true, "commands": []}', "has schema True, and this version"),
        (b'{"schema": 1, "commands": []}', "is no whole capture: files is missing or of another kind."),
        (
            b'{"schema":1,"commands":{},"files":{},"dirs":{},"stats":{},"links":{},"states":{},"errors":{}}',
            "is no whole capture: commands is missing or of another kind.",
        ),
    ],
)
def test_what_is_no_capture_is_told_in_one_message(tmp_path, content, words):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(CaptureError) as error:
        captures.cases(str(path))
    assert str(error.value).startswith("goldennode_capture=%s %s" % (path, words))


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(captures, "LIMIT", 1024 * 1024)
    path = tmp_path / "x.json"
    with path.open("wb") as file:
        file.truncate(captures.LIMIT + 1)
    with pytest.raises(CaptureError, match="is larger than 1 MiB, as no capture is"):
        captures.cases(str(path))


def test_places_without_a_capture(tmp_path):
    with pytest.raises(CaptureError, match="is a folder without a file that ends in .json. Take one by: "):
        captures.cases(str(tmp_path))
    with pytest.raises(CaptureError, match="nope is not there. Check the path; a relative one counts from where"):
        captures.cases(str(tmp_path / "nope"))
    with pytest.raises(CaptureError, match="/dev/null is no file. Name a capture, or a folder of captures."):
        captures.cases("/dev/null")


def test_a_capture_judged_anew_is_golden_only_if_it_was(tmp_path):
    capture = broken.capture("well", broken.wanted())
    assert captures.case("x", capture).inferred is False
    assert captures.case("x", capture).desired_digest == broken.wanted().digest
    assert not captures.case("x", broken.capture("well")).golden


def test_what_is_said_on_the_command_line_counts_in_place_of_the_capture():
    capture = broken.capture("well", gpus=None)
    assert captures.case("x", capture).said == "works"
    other = captures.case("x", capture, expected_gpus=4)
    assert (other.said, other.verdict.first_broken, other.expected_gpus) == ("broken", "hardware", 4)


def test_a_capture_of_node_info_is_judged_by_itself():
    capture = recorded.Node().capture
    one = captures.case("x", capture)
    assert (one.inferred, one.verdict.first_broken) == (True, "image")


@pytest.mark.parametrize(
    "judged",
    [
        {"scope": "other"},
        {"expected_gpus": "8"},
        {"expected_gpus": True},
        {"desired": {"digest": 1}},
        {"desired": "x"},
        [1],
    ],
)
def test_what_it_was_judged_against_may_be_broken(judged):
    with pytest.raises(
        CaptureError, match="goldennode_capture=x cannot be judged: .* It was changed, or is of another"
    ):
        captures.case("x", {**broken.capture("well"), "judged": judged})


def test_a_capture_that_somebody_has_changed_ends_in_a_verdict_or_in_one_error():
    chance, ends = random.Random(5), set()
    for _round in range(120):
        capture = copy.deepcopy(broken.capture("well"))
        for _change in range(4):
            harm(chance, capture)
        try:
            ends.add(captures.case("x", capture).said)
        except CaptureError:
            ends.add("refused")
    assert {"refused", "broken"} <= ends


def harm(chance, tree):
    """Put something else in the place of any value in a tree."""
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    if not keys:
        return
    key = chance.choice(keys)
    if isinstance(tree[key], (dict, list)) and tree[key] and chance.random() < 0.85:
        harm(chance, tree[key])
        return
    tree[key] = chance.choice([None, "", "x\x00\u2028", [], {}, -1, 1.5, True, {"base64": "%%"}, [["a"]]])


def test_a_capture_is_written_for_its_owner_alone(tmp_path):
    path = captures.save(str(tmp_path / "new" / "folder"), "../gpu 07", masking.mask(broken.capture("well")))
    assert os.path.dirname(path) == str(tmp_path / "new" / "folder")
    assert os.path.basename(path) == "%2E.%2Fgpu%2007.json"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    assert captures.cases(path)[0].said == "works"


def test_no_two_nodes_share_a_file_and_none_is_hidden():
    names = ["a/b", "a_b", "a b", "a%2Fb", ".a", "a", "..", "a\nb", "\u00e4", ""]
    files = [captures._file_name(name) for name in names]
    assert len(set(files)) == len(names)
    assert not [name for name in files if name.startswith(".") or "/" in name or "\n" in name]
    assert captures._file_name("gpu07.example.com") == "gpu07.example.com.json"


@pytest.mark.parametrize("name", ["pipe", "folder"])
def test_in_a_folder_what_is_no_file_has_its_row_and_is_not_waited_for(tmp_path, name):
    write(tmp_path / "a.json", broken.capture("well"))
    (os.mkfifo if name == "pipe" else os.mkdir)(tmp_path / (name + ".json"))
    found = {one.node: (one.error, one.fix) for one in captures.cases(str(tmp_path))}
    assert found == {"a": ("", ""), name: ("is no file", "Name a capture, or a folder of captures")}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("~no-such-user-at-all/x", "is not there. Check the path; a relative one counts from where the play is"),
        ("x" * 300, "cannot be read: File name too long. Check the path and its permissions"),
        ("x\0y", "embedded null "),
    ],
)
def test_a_path_that_is_none_is_one_error(name, words):
    with pytest.raises(CaptureError) as error:
        captures.cases(name)
    assert words in str(error.value)


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CaptureError, match="file cannot be written to: .*. Name a folder that is yours."):
        captures.save(str(tmp_path / "file"), "x", {})
