# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every way in which the text of a YAML file can be wrong is one clear message with its line."""

from __future__ import annotations

import codecs
import pathlib

import pytest

from ansible_collections.goldennode.gpu.plugins.plugin_utils import yaml_file

PATH = pathlib.Path("/pool/bundle.yml")


def parse(text):
    return yaml_file.parse(text if isinstance(text, bytes) else text.encode(), PATH)


def refused(text):
    with pytest.raises(yaml_file.YamlError) as caught:
        parse(text)
    said = str(caught.value)
    assert said.startswith("/pool/bundle.yml ")
    assert "\n" not in said
    return said


def test_plain_data():
    assert parse("a: {b: [1, two, null, true], c: '1.20'}\n") == {"a": {"b": [1, "two", None, True], "c": "1.20"}}
    assert parse("") is None
    assert parse("# only a comment\n") is None


def test_a_byte_order_mark_of_utf8_is_not_held_against_the_file():
    assert parse(codecs.BOM_UTF8 + b"a: \xc3\xa9\n") == {"a": "é"}


def test_a_number_remembers_how_it_was_written():
    number = parse("version: 1.20")["version"]
    assert number == 1.2
    assert number.as_written == "1.20"
    assert parse("version: 580.159.03")["version"] == "580.159.03"


def test_merge_keys_and_anchors_work():
    assert parse("a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3\n") == {"a": {"k": 1, "l": 2}, "b": {"k": 1, "l": 3}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3, column 1: the key a stands twice, here and in line 1"),
        ("x:\n  toolkit: 1\n  toolkit: 1\n", "line 3, column 3: the key toolkit stands twice, here and in line 2"),
        ("{a: 1, a: 2}", "the key a stands twice"),
        ("a: [1, 2\nb: 3\n", "is not valid YAML: line 2, column"),
        ("a:\n\t- tab\n", "line 2, column 1"),
        ("a: b: c\n", "mapping values are not allowed"),
        ("a: 'open\n", "while scanning a quoted scalar"),
        ("? [1, 2]\n: 3\n", "this key is not plain text"),
        ("a: !!python/object/apply:os.system ['true']\n", "could not determine a constructor"),
        ("a: 1\n--- \nb: 2\n", "expected a single document"),
        (b"a: \x00", "is not valid YAML"),
    ],
)
def test_what_is_no_yaml_is_told_with_its_line(text, said):
    assert said in refused(text)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("bundle: é".encode("latin-1"), "is not UTF-8: byte 8 cannot be read. Save the file as UTF-8."),
        ("bundle: x".encode("utf-16"), "is not UTF-8: looks like UTF-16"),
        (codecs.BOM_UTF16_BE + "bundle: x".encode("utf-16-be"), "is not UTF-8: looks like UTF-16"),
    ],
)
def test_another_encoding_is_told(raw, said):
    assert said in refused(raw)


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(yaml_file.YamlError, match=r"cannot be read: No such file or directory. Check the path"):
        yaml_file.read(tmp_path / "none.yml")
    with pytest.raises(yaml_file.YamlError, match=r"cannot be read: Is a directory"):
        yaml_file.read(tmp_path)
