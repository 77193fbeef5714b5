# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""daemon.json is edited by spans: what is not ours stays, to the byte; the rest is refused with its place."""

from __future__ import annotations

import json
import random

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import daemon_json, trees

OURS = {
    "runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}},
    "default-runtime": "runc",
    "features": {"cdi": True},
}


def merged(text, settings):
    return daemon_json.merge(text.encode("utf-8"), settings).decode("utf-8")


@pytest.mark.parametrize("raw", [None, b"", b"\n\n", b" \t\r\n", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_absent_empty_and_blank_files_say_nothing(raw):
    assert daemon_json.load(raw) == {}
    assert daemon_json.merge(raw, {"features": {"cdi": True}}) == b'{\n  "features": {\n    "cdi": true\n  }\n}\n'


def test_no_settings_leave_an_absent_file_empty():
    assert daemon_json.merge(None, {}) == b""


@pytest.mark.parametrize(
    ("raw", "config"),
    [
        (bytes.fromhex("efbbbf7b226c6976652d726573746f7265223a747275657d0a"), {"live-restore": True}),
        (bytes.fromhex("fffe7b007d00"), {}),
        ("{}".encode("utf-16-be"), None),
        (b"\xfe\xff" + '{"a": 1}'.encode("utf-16-be"), {"a": 1}),
    ],
)
def test_byte_order_marks_as_dockerd_takes_them(raw, config):
    """Case 033. UTF-16 without a mark is not a configuration."""
    if config is None:
        with pytest.raises(daemon_json.DaemonJsonError):
            daemon_json.load(raw)
    else:
        assert daemon_json.load(raw) == config


def test_a_changed_file_loses_its_byte_order_mark_and_keeps_the_users_keys():
    """Case 033."""
    raw = bytes.fromhex("efbbbf7b226c6976652d726573746f7265223a747275657d0a")
    assert daemon_json.merge(raw, {"default-runtime": "runc"}) == b'{"live-restore":true,"default-runtime":"runc"}\n'
    wide = b"\xff\xfe" + '{"labels": ["städte"]}'.encode("utf-16-le")
    assert daemon_json.merge(wide, {"debug": True}) == '{"labels": ["städte"], "debug": true}'.encode()


def test_an_unchanged_file_keeps_its_byte_order_mark():
    raw = b'\xef\xbb\xbf{"debug": true}'
    assert daemon_json.merge(raw, {"debug": True}) == raw


def test_enabling_cdi_keeps_the_other_features():
    """Case 032."""
    text = '{"features": {"containerd-snapshotter": true, "buildkit": false}, "data-root": "/data/docker"}'
    result = merged(text, {"features": {"cdi": True}})
    assert result == (
        '{"features": {"containerd-snapshotter": true, "buildkit": false, "cdi": true}, "data-root": "/data/docker"}'
    )
    assert merged(result, {"features": {"cdi": True}}) == result


def test_only_ours_is_added_on_a_kubernetes_node():
    """Case 035."""
    text = (
        '{"exec-opts": ["native.cgroupdriver=systemd"], "log-driver": "json-file", "log-opts": {"max-size": "100m"}, '
        '"storage-driver": "overlay2", "insecure-registries": ["registry.example:5000"]}\n'
    )
    result = merged(text, {"runtimes": OURS["runtimes"]})
    assert result == text[:-2] + (', "runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}}}\n')


@pytest.mark.parametrize(
    ("text", "settings", "result"),
    [
        pytest.param(
            '{\n    "a": 1\n}\n',
            {"b": {"c": [1, "x"]}},
            '{\n    "a": 1,\n    "b": {\n        "c": [1, "x"]\n    }\n}\n',
            id="four spaces",
        ),
        pytest.param('{\n\t"a": 1\n}', {"b": {"c": {}}}, '{\n\t"a": 1,\n\t"b": {\n\t\t"c": {}\n\t}\n}', id="tabs"),
        pytest.param('{"a":1}', {"b": {"c": [1, 2]}}, '{"a":1,"b":{"c":[1,2]}}', id="compact"),
        pytest.param('{"a": 1}', {"b": {"c": 2, "d": 3}}, '{"a": 1, "b": {"c": 2, "d": 3}}', id="one line"),
        pytest.param('{ "a" : 1 }', {"b": 2}, '{ "a" : 1, "b" : 2 }', id="spaced"),
        pytest.param(
            '{\r\n  "a": 1\r\n}\r\n',
            {"b": {"c": 2}},
            '{\r\n  "a": 1,\r\n  "b": {\r\n    "c": 2\r\n  }\r\n}\r\n',
            id="windows",
        ),
        pytest.param('{\n  "a": 1\n, "b": 2\n}', {"c": 3}, '{\n  "a": 1\n, "b": 2\n, "c": 3\n}', id="comma first"),
        pytest.param('{\n  "a": 1,\n\n  "b": 2\n}', {"c": 3}, '{\n  "a": 1,\n\n  "b": 2,\n  "c": 3\n}', id="groups"),
        pytest.param('{\n  "f": {}\n}', {"f": {"c": 3}}, '{\n  "f": {\n    "c": 3\n  }\n}', id="empty inside"),
        pytest.param('{"f": { }}', {"f": {"c": 3}}, '{"f": {"c": 3}}', id="empty inside one line"),
        pytest.param("{}\n\n", {"c": 3}, '{\n  "c": 3\n}\n\n', id="empty with its end kept"),
        pytest.param('\n  {"c": 2}', {"c": 3}, '\n  {"c": 3}', id="leading space"),
        pytest.param('{"a": "1", "b": 2}', {"a": 1, "b": "2"}, '{"a": 1, "b": "2"}', id="wrong type"),
        pytest.param('{"a": 1.0}', {"a": 1}, '{"a": 1}', id="dockerd refuses 1.0 for a count"),
        pytest.param('{"a": [1, 2]}', {"a": [2]}, '{"a": [2]}', id="list"),
        pytest.param('{"\\u0061": 1}', {"a": 2}, '{"\\u0061": 2}', id="escaped key"),
        pytest.param('{"a": null}', {"a": "x"}, '{"a": "x"}', id="null"),
        pytest.param('{"a": "x"}', {"a": 'ü\n"<'}, '{"a": "ü\\n\\"<"}', id="text to be escaped"),
    ],
)
def test_edits_follow_the_files_own_layout(text, settings, result):
    assert merged(text, settings) == result
    assert merged(result, settings) == result


def test_spellings_that_are_not_ours_stay():
    text = (
        '{"n": 123456789012345678901234567890, "e": 1E+2, "f": 1.0, "s": "\\u003c\\/\\ud83d", "big": 1e999,\n'
        '\t"a": [ 1 ,2 ], "log-opts": {"max-size":"10m"} }\r\n \n'
    )
    result = merged(text, {"debug": False})
    assert result.replace(',\n\t"debug": false', "").replace(', "debug": false', "") == text
    assert daemon_json.load(result.encode())["debug"] is False


def test_numbers_longer_than_python_reads_stay():
    text = '{"n": %s}' % ("9" * 5000)
    assert merged(text, {"a": 1}) == '{"n": %s, "a": 1}' % ("9" * 5000)


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("[]", {}, "line 1 column 1: the configuration is a list; it must be an object in braces"),
        ("null", {}, "line 1 column 1: the configuration is null; it must be an object in braces"),
        ('{"a": 1,}', {}, "line 1 column 8: there is a comma before the closing }; remove it"),
        ('{"a": [1,\n]}', {}, "line 1 column 9: there is a comma before the closing ]; remove it"),
        ("{\n  // note\n}", {}, "line 2 column 3: there is a comment, which JSON does not have; remove it"),
        ('{"a" 1}', {}, 'line 1 column 6: a colon after the key "a" is expected, not "1}"'),
        ('{"a": 1', {}, 'line 1 column 8: the file ends where a comma or "}" is expected'),
        ('{"a": }', {}, 'line 1 column 7: a value is expected, not "}"'),
        ('{"a": 01}', {}, 'line 1 column 8: a comma or "}" is expected, not "1}"'),
        ("{'a': 1}", {}, "line 1 column 2: a key in double quotes is expected, not \"'a': 1}\""),
        ('{"a": NaN}', {}, 'line 1 column 7: a value is expected, not "NaN}"'),
        ('{"a": "x\n"}', {}, "line 1 column 7: this text has no closing quote on its line, or a bad escape or "),
        ('{"a": "\\x"}', {}, "line 1 column 7: this text has no closing quote on its line, or a bad escape or "),
        ("{} {}", {}, "line 1 column 4: there is text after the end of the configuration; remove it"),
        (
            '{"a": 1,\n "a": 2}',
            {},
            'line 2 column 2: the key "a" is given twice, first on line 1 column 2; keep one of them',
        ),
        ('{"x": [{"a": 1, "\\u0061": 2}]}', {}, 'line 1 column 17: the key "a" is given twice, first on line 1'),
        (
            '{"runtimes": null}',
            OURS,
            'line 1 column 14: "runtimes" is null, but an object is needed there for "nvidia"; '
            "remove the key, or write it as {...}",
        ),
        ('{"runtimes": []}', OURS, 'line 1 column 14: "runtimes" is a list, but an object is needed'),
        ('{"runtimes": "x"}', OURS, 'line 1 column 14: "runtimes" is text, but an object is needed'),
        ('{"runtimes": {"nvidia": 3}}', OURS, 'line 1 column 25: "runtimes.nvidia" is a number, but an object is'),
        ('{"features": true}', OURS, 'line 1 column 14: "features" is true, but an object is needed'),
        (
            '{"debug": {"x": 1}}',
            {"debug": True},
            'line 1 column 11: "debug" is an object, but true is wanted there; remove it or the setting',
        ),
        ("[" * 500, {}, "line 1 column 102: values are nested deeper than 100 levels"),
    ],
)
def test_what_is_refused(text, settings, message):
    with pytest.raises(daemon_json.DaemonJsonError) as caught:
        merged(text, settings)
    assert str(caught.value).startswith(message)


def test_text_that_is_not_utf8_is_refused_with_its_byte():
    with pytest.raises(daemon_json.DaemonJsonError, match="byte 8 is not UTF-8 .*; save the file as UTF-8"):
        daemon_json.load(b'{"a": "\xe9"}')


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"log-opts": {1: "x"}}, 'setting "log-opts": the key 1 is not text'),
        ({"a": float("nan")}, 'setting "a": nan is no number that JSON can carry'),
        ({"a": [float("inf")]}, 'setting "a": inf is no number that JSON can carry'),
        ({"a": {1, 2}}, 'setting "a": JSON cannot carry a set'),
        ({"a": "\udc80"}, 'setting "a": .* is not valid Unicode'),
    ],
)
def test_settings_that_json_cannot_carry(settings, message):
    with pytest.raises(daemon_json.DaemonJsonError, match=message):
        daemon_json.merge(b"{}", settings)


def test_differing_names_the_paths():
    config = {"runtimes": {"nvidia": {"path": "/old", "args": []}, "mine": {"path": "m"}}, "debug": 1}
    assert trees.differing(config, {**OURS, "debug": True}) == [
        ("runtimes", "nvidia", "path"),
        ("default-runtime",),
        ("features",),
        ("debug",),
    ]
    assert trees.differing(daemon_json.load(daemon_json.merge(b'{"debug": 1}', OURS)), OURS) == []


def _any_value(rng, depth):
    kinds = ["int", "float", "text", "word", "list", "object"][: 6 if depth < 3 else 4]
    kind = rng.choice(kinds)
    if kind == "int":
        return rng.randint(-5, 10**20)
    if kind == "float":
        return rng.choice([0.5, -1e300, 1.0])
    if kind == "text":
        return rng.choice(["", "a\\b", 'q"', "ü", "\u2028", "{,}"])
    if kind == "word":
        return rng.choice([True, False, None])
    if kind == "list":
        return [_any_value(rng, depth + 1) for _i in range(rng.randint(0, 3))]
    return {k: _any_value(rng, depth + 1) for k in rng.sample("abcdef", rng.randint(0, 4))}


def _expected(config, settings):
    """The merge, said plainly: objects key by key, everything else replaced."""
    result = dict(config)
    for key, wanted in settings.items():
        both = isinstance(wanted, dict) and isinstance(config.get(key), dict)
        result[key] = _expected(config[key], wanted) if both else wanted
    return result


def _object_against_something_else(config, settings):
    for key in config.keys() & settings.keys():
        ours, theirs = settings[key], config[key]
        if isinstance(ours, dict) != isinstance(theirs, dict):
            return True
        if isinstance(ours, dict) and _object_against_something_else(theirs, ours):
            return True
    return False


@pytest.mark.parametrize("seed", range(200))
def test_any_file_and_any_settings(seed):
    """The edited text means what a plain merge means, with the same order of keys; a second merge changes nothing."""
    rng = random.Random(seed)
    config = {k: _any_value(rng, 0) for k in rng.sample("abcdef", rng.randint(0, 5))}
    settings = {k: _any_value(rng, 0) for k in rng.sample("abcdefgh", rng.randint(0, 4))}
    layout = rng.choice([{}, {"indent": 4}, {"indent": "\t"}, {"separators": (",", ":")}])
    text = json.dumps(config, ensure_ascii=rng.random() < 0.5, **layout)
    if _object_against_something_else(config, settings):
        with pytest.raises(daemon_json.DaemonJsonError, match="object"):
            merged(text, settings)
        return
    result = merged(text, settings)
    wanted = _expected(config, settings)
    assert json.dumps(json.loads(result)) == json.dumps(wanted)
    assert merged(result, settings) == result
    assert daemon_json.load(result.encode()) == wanted
