# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""config.toml is edited by spans: what is not ours stays, to the byte; the rest is refused with its place."""

from __future__ import annotations

import copy
import random
import re

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import toml_scan, toml_text
from ansible_collections.goldennode.gpu.plugins.module_utils.toml_scan import Moment, TomlError

tomllib = pytest.importorskip("tomllib", reason="Python's own reader, the oracle, is there since 3.11")

ENVVAR = "accept-nvidia-visible-devices-envvar-when-unprivileged"
PACKAGED = """\
# As packaged.
#accept-nvidia-visible-devices-as-volume-mounts = false
#accept-nvidia-visible-devices-envvar-when-unprivileged = true
disable-require = false

[features]
#no-additional-gids-for-device-nodes = false

[nvidia-container-cli]
#debug = "/var/log/toolkit.log"
environment = []
load-kmods = true
#no-cgroups = false

[nvidia-container-runtime]
mode = "auto"
runtimes = ["runc", "crun"]
"""
OURS = {ENVVAR: False, "nvidia-container-cli": {"no-cgroups": False}, "nvidia-container-runtime": {"mode": "auto"}}


def merged(text, settings):
    return toml_text.merge(text.encode(), settings).decode()


def twice(text, settings):
    """The result, which a second run leaves alone and Python's own reader understands."""
    result = merged(text, settings)
    assert merged(result, settings) == result
    tomllib.loads(result.lstrip("\ufeff"))
    return result


def test_the_packaged_file_keeps_its_comments_and_gets_each_key_below_the_comment_that_shows_it():
    off = "#%s = true\n" % ENVVAR
    result = twice(PACKAGED, OURS)
    assert result == PACKAGED.replace(off, off + ENVVAR + " = false\n").replace(
        "#no-cgroups = false\n", "#no-cgroups = false\nno-cgroups = false\n"
    )


@pytest.mark.parametrize("raw", [None, b""])
def test_an_absent_and_an_empty_file_are_written_with_what_is_wanted(raw):
    assert toml_text.load(raw) == {}
    assert toml_text.merge(raw, OURS).decode() == (
        "%s = false\n\n[nvidia-container-cli]\nno-cgroups = false\n\n[nvidia-container-runtime]\n" % ENVVAR
        + 'mode = "auto"\n'
    )
    assert toml_text.merge(raw, {}) == b""


@pytest.mark.parametrize(
    ("text", "settings", "result"),
    [
        pytest.param("a = 1\n", {"a": 2}, "a = 2\n", id="value"),
        pytest.param("a=1 # why\nb=2", {"a": 3, "c": 4}, "a=3 # why\nb=2\nc=4", id="no end of the last line"),
        pytest.param('[t]\r\nm = "x"\r\n', {"t": {"n": 1}}, '[t]\r\nm = "x"\r\nn = 1\r\n', id="windows"),
        pytest.param("\ufeffa = 1\n", {"a": 2}, "\ufeffa = 2\n", id="byte order mark"),
        pytest.param("\ufeff", {"a": 2}, "\ufeffa = 2\n", id="byte order mark alone"),
        pytest.param("\"t\".'m' = true\n", {"t": {"m": False}}, "\"t\".'m' = false\n", id="quoted keys"),
        pytest.param("t.m = 1\n[u]\n", {"t": {"n": 2}}, "t.m = 1\nt.n = 2\n[u]\n", id="dotted"),
        pytest.param(
            "[a]\nb . c . d = 1\nx = 2\n",
            {"a": {"b": {"e": 3}}},
            "[a]\nb . c . d = 1\nb.e = 3\nx = 2\n",
            id="deep dots",
        ),
        pytest.param("t = { m = 1 }\n", {"t": {"m": 2, "n": 3}}, "t = { m = 2, n = 3 }\n", id="braces"),
        pytest.param("t = {}\n", {"t": {"m": 2, "n": 3}}, "t = { m = 2, n = 3 }\n", id="empty braces"),
        pytest.param(
            "t = { u = {}, v.w = 1 }\n",
            {"t": {"u": {"x": 1}, "v": {"y": 2}, "z": {"q": 3}}},
            "t = { u = { x = 1 }, v.w = 1, v.y = 2, z.q = 3 }\n",
            id="braces in braces",
        ),
        pytest.param("[a.b]\nx = 1\n", {"a": {"y": 2}}, "[a.b]\nx = 1\n\n[a]\ny = 2\n", id="table that is implied"),
        pytest.param("[a]\n", {"a": {"b": {"c": 1}}}, "[a]\n\n[a.b]\nc = 1\n", id="table below"),
        pytest.param("[a]\n[b]\n", {"a": {"x": 1}, "r": 2}, "r = 2\n\n[a]\nx = 1\n[b]\n", id="tables without keys"),
        pytest.param("  [a]\n    x = 1\n", {"a": {"y": 2}}, "  [a]\n    x = 1\n    y = 2\n", id="indent"),
        pytest.param("[a]", {"a": {"x": 1}}, "[a]\nx = 1", id="header at the end"),
        pytest.param("# who\n\n[a]\n", {"x": 1}, "# who\n\nx = 1\n\n[a]\n", id="below the comment of the file"),
        pytest.param("# of a\n[a]\n", {"x": 1}, "x = 1\n# of a\n[a]\n", id="above the comment of a table"),
        pytest.param('a = """\n#b = 1\n"""\n', {"b": 2}, 'a = """\n#b = 1\n"""\nb = 2\n', id="no comment, but text"),
        pytest.param("a = [\n 1, # one\n 2,\n]\n", {"b": 3}, "a = [\n 1, # one\n 2,\n]\nb = 3\n", id="list over lines"),
        pytest.param("a = [1,\n2]\n", {"a": [1, 2]}, "a = [1,\n2]\n", id="the same list, spelled otherwise"),
        pytest.param("a = 0x0a\nb = '''\nx'''\n", {"a": 10, "b": "x"}, "a = 0x0a\nb = '''\nx'''\n", id="spellings"),
        pytest.param("a = 1\n", {"a": "1"}, 'a = "1"\n', id="text for a number"),
        pytest.param('a = "true"\n', {"a": True}, "a = true\n", id="not text"),
        pytest.param("a = 1\n", {"a": 1.0}, "a = 1.0\n", id="not an integer"),
        pytest.param('a = ""\n', {"a": 'q"\\\x7f\n'}, 'a = "q\\"\\\\\\u007f\\n"\n', id="text to be escaped"),
        pytest.param("[[l]]\nx = 1\n", {"a": 1}, "a = 1\n\n[[l]]\nx = 1\n", id="list of tables"),
        pytest.param("", {"a b": {"c.d": 1}}, '["a b"]\n"c.d" = 1\n', id="keys to be quoted"),
    ],
)
def test_edits_follow_the_files_own_layout(text, settings, result):
    assert twice(text, settings) == result


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("[t]\n[u]\n[t]\n", {}, "line 3 column 1: the table t is given twice, first on line 1; keep one of them"),
        ("a = 1\na = 2\n", {}, "line 2 column 1: the key a is given twice, first on line 1; keep one of them"),
        ("a.b = 1\n[a]\n", {}, "line 2 column 1: the table a is given twice, first on line 1; keep one of them"),
        ("a = {b = 1}\n[a.c]\n", {}, "line 2 column 1: a cannot be added to here: it got its value on line 1; put all "
         "of it in one place"),
        ("[[a]]\n[a]\n", {}, "line 2 column 1: the table a is given twice, first on line 1; keep one of them"),
        ("[a\n", {}, 'line 1 column 3: "]" after the name of the table is expected, not the end of the line'),
        ("a = \n", {}, "line 1 column 5: a value (text stands in quotes) is expected, not the end of the line"),
        ("mode = auto\n", {}, 'line 1 column 8: a value (text stands in quotes) is expected, not "auto"'),
        ("a = 1 b = 2\n", {}, 'line 1 column 7: the end of the line is expected, not "b = 2"'),
        ('a = "x\nb = 1\n', {}, "line 1 column 5: this text has no closing quote on its line, or a bad escape or "
         "control character in it"),
        ('a = """x\n', {}, "line 1 column 5: this text has no closing quote, or a bad escape or control character in "
         "it"),
        ("a = {b = 1\n}\n", {}, 'line 1 column 11: a comma or "}" (a table in braces stands on one line) is expected, '
         "not the end of the line"),
        ("a = [1 2]\n", {}, 'line 1 column 8: a comma or "]" is expected, not "2]"'),
        ("a\n", {}, 'line 1 column 2: "=" after the key a is expected, not the end of the line'),
        ("{}\n", {}, 'line 1 column 1: a key is expected, not "{}"'),
        ("x = 1\n# \x01\n", {}, "line 2 column 3: this character may not stand in a comment; remove it"),
        ("a = 2020-13-01\n", {}, 'line 1 column 5: a value (text stands in quotes) is expected, not "2020-13-01"'),
        ("a = 01\n", {}, 'line 1 column 5: a value (text stands in quotes) is expected, not "01"'),
        ("t = 1\n", {"t": {"x": 1}}, "line 1 column 5: t is a number, but a table is needed there for x; remove the "
         "key"),
        ("[t]\n", {"t": True}, "line 1 column 1: t is a table, but t = true is wanted; remove it or the setting"),
        ("t = {}\n", {"t": True}, "line 1 column 5: t is a table, but t = true is wanted; remove it or the setting"),
        ("[[t]]\n", {"t": {"x": 1}}, "line 1 column 1: t is a list of tables, but t.x = 1 is wanted; remove it or the "
         "setting"),
        ("a = {b.c = 1}\n", {"a": {"b": 2}}, "line 1 column 5: a.b is a table, but a.b = 2 is wanted; remove it or the "
         "setting"),
        ("a = %s\n" % ("[" * 200), {}, "line 1 column 106: values are nested deeper than 100 levels"),
    ],
)  # fmt: skip
def test_what_is_not_toml_or_cannot_take_a_setting_is_refused_with_its_place(text, settings, message):
    with pytest.raises(TomlError) as caught:
        merged(text, settings)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\xff\xfea\x00", "the file is UTF-16, and TOML is UTF-8; save it as UTF-8"),
        (b"a = '\xe4'\n", "byte 6 is not UTF-8 (invalid continuation byte); save the file as UTF-8"),
    ],
)
def test_another_encoding_is_refused(raw, message):
    with pytest.raises(TomlError) as caught:
        toml_text.load(raw)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"a": {"b": None}}, 'setting "a.b": TOML cannot carry a NoneType'),
        ({"a": float("inf")}, 'setting "a": inf is no number that TOML can carry'),
        ({1: 2}, "the settings: the key 1 is not text; put it in quotes"),
        ({"a": ["\ud800"]}, "setting \"a\": '\\ud800' is not valid Unicode"),
    ],
)
def test_settings_that_toml_cannot_carry_are_refused(settings, message):
    with pytest.raises(TomlError) as caught:
        toml_text.merge(b"", settings)
    assert str(caught.value) == message


# --- property: generated files against Python's own reader ---------------------------------------------------------

MANAGED = {
    ENVVAR: False,
    "nvidia-container-cli": {"no-cgroups": False},
    "nvidia-container-runtime": {"mode": "jit-cdi", "modes": {"cdi": {"default-kind": "nvidia.com/gpu"}}},
    "features": {"x-y": [1, "two", True]},
}
MANAGED_PATHS = (
    (ENVVAR,),
    ("nvidia-container-cli", "no-cgroups"),
    ("nvidia-container-runtime", "mode"),
    ("nvidia-container-runtime", "modes", "cdi", "default-kind"),
    ("features", "x-y"),
)
SCALARS = (
    *("1", "-0", "+17", "1_000", "0x_f"[0:2] + "Ff", "0o17", "0b1_0", "1e3", "-3.14_15E-2", "inf", "-nan", "99" * 30),
    *("true", "false", '"a # b"', '"\\u00e9\\n\\\\"', "'C:\\x'", '""', "''", '"ü=€"'),
    *('"""one\ntwo # no comment\n[no.table]\n"""', '"""a\\\n   b""\\"c"""', "'''x = 1\n'''", '""""q"" """'),
    *("1979-05-27T07:32:00Z", "1979-05-27 07:32:00.999", "1979-05-27", "07:32:00"),
)
BARE = ("debug", "a", "b-c", "d_e", "7", "user", "path", "ldconfig")


class Writer:
    """Writes a file as people might: everything legal, nothing tidy."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.newline = self.random.choice(["\n", "\n", "\r\n"])

    def pick(self, *things):
        return self.random.choice(things)

    def gap(self):
        return self.pick("", " ", " ", "  ", "\t")

    def key(self, name):
        return self.pick(name, name, '"%s"' % name, "'%s'" % name)

    def value(self, depth=0):
        kind = self.random.random()
        if depth < 2 and kind < 0.15:
            items = [self.value(depth + 1) for _nth in range(self.random.randrange(4))]
            comment = self.pick("", "", " # it's, ]")
            between = self.pick(", ", ",", ",%s\n  " % comment, "\n,\n")
            tail = self.pick("", ",\n" if items else "")
            return "[" + self.gap() + between.join(items) + tail + self.gap() + "]"
        if depth < 2 and kind < 0.25:
            names = self.random.sample(BARE, self.random.randrange(3))
            inline = ["%s%s=%s%s" % (self.key(n), self.gap(), self.gap(), self.one_line(depth + 1)) for n in names]
            return "{" + self.gap() + ", ".join(inline) + self.gap() + "}"
        return self.random.choice(SCALARS)

    def one_line(self, depth):
        while True:
            value = self.value(depth)
            if "\n" not in value:
                return value

    def comment(self):
        shown = self.pick(*[path[-1] for path in MANAGED_PATHS])
        return self.pick("# note", "#%s = true" % shown, "# %s= 1" % shown, "#[features]", "#", '# "quote')

    def line(self, name, value):
        tail = self.pick("", "", "  ", " # why", "\t#")
        return self.pick("", "", "  ") + self.key(name) + self.gap() + "=" + self.gap() + value + tail

    def text(self):
        blocks = {}
        for path in MANAGED_PATHS:
            if self.random.random() < 0.6:
                blocks.setdefault(path[:-1], []).append(path[-1])
        tables = [(), *{*blocks, *self.random.sample([("z",), ("features",), ("nvidia-ctk", "x")], 2)} - {()}]
        head, rest = tables[0], tables[1:]
        self.random.shuffle(rest)
        lines = self.body(blocks.get(head, []), rest)
        for path in rest:
            lines += [
                self.pick("", " ") + "[%s]" % self.pick(".", " . ").join(map(self.key, path)) + self.pick("", " #")
            ]
            lines += self.body(blocks.get(path, []), [])
        if self.random.random() < 0.3:
            lines += ["[[list]]", "n = 1", "[[list]]", "[list.sub]"]
        text = self.newline.join(lines) + self.pick("", self.newline)
        return self.pick("", "", "\ufeff") + re.sub(r"\r?\n", self.newline, text)

    def body(self, managed, rest):
        names = self.random.sample(BARE, self.random.randrange(4))
        lines = [self.line(name, self.value()) for name in names]
        lines += [self.line(name, self.value()) for name in managed]
        lines += [self.comment() for _nth in range(self.random.randrange(3))] + [""] * self.random.randrange(2)
        self.random.shuffle(lines)
        if rest and self.random.random() < 0.3:  # a table by dotted keys, or in braces, in place of its header
            path = rest.pop()
            dots = ".".join(map(self.key, path))
            lines.append("%s.own = 1" % dots if self.random.random() < 0.5 else "%s = {own = 1}" % dots)
        return lines


TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'|#[^\r\n]*|\r?\n|[ \t]"
    r"|[^\s\"'#\[\]{},=\ufeff]+|[\[\]{},=]|\ufeff",
    re.DOTALL,
)


def tokens(text):
    found = TOKEN.findall(text)
    assert "".join(found) == text
    return found


def without(tree, paths):
    tree = copy.deepcopy(tree)
    for path in paths:
        place = tree
        for key in path[:-1]:
            place = place.get(key, {})
        place.pop(path[-1], None)
    return tree


def pruned(tree):
    """Without empty tables: one that holds our keys alone was not there before."""
    if not isinstance(tree, dict):
        return tree
    found = {key: pruned(value) for key, value in tree.items()}
    return {key: value for key, value in found.items() if value != {}}


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def is_subsequence(few, many):
    rest = iter(many)
    return all(any(one == other for other in rest) for one in few)


def spelled(value):
    """Plain data as text, in which nan equals nan and a date its spelling."""
    return repr(value)


def moments(tree, text):
    if isinstance(tree, Moment):
        return tomllib.loads("x = " + tree)["x"]
    if isinstance(tree, dict):
        return {key: moments(value, text) for key, value in tree.items()}
    return [moments(value, text) for value in tree] if isinstance(tree, list) else tree


def unless_refused(text):
    """None where a managed key, or a table around it, is of another type: that is for its owner to mend."""
    try:
        return merged(text, MANAGED)
    except TomlError as error:
        words = str(error)
    assert re.match(r"line \d+ column \d+: .* remove (it or the setting|the key)$", words), words
    return None


@pytest.mark.parametrize("block", range(30))
def test_no_token_that_is_not_managed_changes(block):
    """50 files in each of 30 blocks: values by Python's reader, bytes by a tokenizer of this test's own."""
    seen = 0
    for seed in range(block * 50, block * 50 + 50):
        text = Writer(seed).text()
        try:
            before = tomllib.loads(text.lstrip("\ufeff"))
        except tomllib.TOMLDecodeError:
            with pytest.raises(TomlError):
                toml_text.load(text.encode())
            continue
        assert spelled(moments(toml_text.load(text.encode()), text)) == spelled(before), text
        result = unless_refused(text)
        if result is None:
            continue
        seen += 1
        after = tomllib.loads(result.lstrip("\ufeff"))
        for path in MANAGED_PATHS:
            assert at(after, path) == at(MANAGED, path), text
        assert spelled(pruned(without(after, MANAGED_PATHS))) == spelled(pruned(without(before, MANAGED_PATHS))), text
        assert merged(result, MANAGED) == result, text
        assert is_subsequence(tokens(cut(text)), tokens(result)), text
    assert seen >= 20


def cut(text):
    """The text without the values of the managed keys."""
    document = toml_scan.scan(text)
    spans = []
    for path in MANAGED_PATHS:
        place = document.root
        for key in path:
            place = place.children.get(key) if isinstance(place, toml_scan.Table) else None
        if isinstance(place, toml_scan.Member):
            spans.append((place.value.start, place.value.end))
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


@pytest.mark.parametrize("block", range(10))
def test_broken_text_is_refused_where_pythons_reader_refuses_it(block):
    rnd = random.Random(block)
    refused = 0
    for seed in range(block * 100, block * 100 + 100):
        text = Writer(seed).text()
        cut = rnd.randrange(len(text) + 1)
        text = (
            text[:cut]
            + rnd.choice(["", '"', "'", "[", "]", "=", "\n", "{", "}", "\x00", ".", "a = ", "\r", "#"])
            + (text[cut + rnd.randrange(3) :])
        )
        text = text.lstrip("\ufeff")
        try:
            before = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, ValueError):
            refused += 1
            with pytest.raises(TomlError):
                toml_text.load(text.encode())
            continue
        try:
            assert spelled(moments(toml_text.load(text.encode()), text)) == spelled(before), text
        except TomlError as error:
            raise AssertionError("%s\n%s" % (error, text)) from error
    assert refused >= 30
