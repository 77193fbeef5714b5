# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""apt's sources are read as apt reads them, and one entry is switched off without a byte else changed."""

from __future__ import annotations

import random

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.desired import HEADER
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import apt_sources

LIST = "/etc/apt/sources.list.d/x.list"
SOURCES = "/etc/apt/sources.list.d/x.sources"
KEY = "/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg"


def parse(text, path=LIST):
    return apt_sources.parse(path, text, "amd64")


def only(text, path=LIST):
    (found,) = parse(text, path)
    return found


# --- one-line files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "uri", "suite", "components", "signed_by"),
    [
        ("deb http://a.example/debian trixie main", "http://a.example/debian", "trixie", "main", ""),
        (
            "  deb\thttp://a.example/debian\ttrixie\tmain contrib # mine",
            "http://a.example/debian",
            "trixie",
            "main contrib",
            "",
        ),
        ("deb http://a.example/debian trixie main#mine", "http://a.example/debian", "trixie", "main", ""),
        ("deb [signed-by=%s] https://n.example/$(ARCH) /" % KEY, "https://n.example/amd64", "/", "", KEY),
        ("deb [ arch=amd64\tsigned-by=%s ] https://n.example/x ./" % KEY, "https://n.example/x", "./", "", KEY),
        ("deb [Signed-By=/a.gpg,/b.gpg] http://x s m", "http://x", "s", "m", "/a.gpg,/b.gpg"),
        ("deb [arch+=arm64 lang=en] http://x s-$(ARCH) m", "http://x", "s-amd64", "m", ""),
        ("deb [trusted=yes] http://x s m\r", "http://x", "s", "m", ""),
        ('deb "http://x" s m', "http://x", "s", "m", ""),
    ],
)
def test_a_line(line, uri, suite, components, signed_by):
    found = only(line)
    assert (found.uris, found.suites, found.components) == ((uri,), (suite,), tuple(components.split()))
    assert (found.signed_by, found.types, found.enabled, found.broken) == (signed_by, ("deb",), True, "")


@pytest.mark.parametrize("line", ["", "# deb http://x s m", "   # comment", "\r"])
def test_what_is_no_entry(line):
    assert parse(line) == ()


def test_a_disc_is_an_entry_of_which_nothing_more_is_known():
    found = only("deb [arch=amd64] cdrom:[Debian 13 _Trixie_ - x]/ trixie main # disc")
    assert (found.uris, found.suites, found.broken) == (("cdrom:",), (), "")


def test_lines_are_counted_and_sources_of_source_code_are_entries_too():
    found = parse("# a\n\ndeb http://x s m\ndeb-src http://x s m\n")
    assert [(one.place, one.last, one.types) for one in found] == [
        (LIST + ":3", 3, ("deb",)),
        (LIST + ":4", 4, ("deb-src",)),
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("<!doctype html>", "its type '<!doctype' is not known"),
        ("rpm http://x s m", "its type 'rpm' is not known"),
        ("deb http://x", "it has no address and suite"),
        ("deb", "it has no address and suite"),
        ("deb [arch] http://x s m", "an option in its brackets has no value"),
        ("deb [ signed-by = /x ] http://x s m", "an option in its brackets has no value"),
        ("\ufeffdeb http://x s m", "it begins with a byte order mark"),
    ],
)
def test_what_apt_refuses_to_read_is_broken(line, why):
    """Each was given to apt 2.6.1 and 3.0.4: The list of sources could not be read."""
    assert only(line).broken == why


# --- stanzas ------------------------------------------------------------------------------------------------------

TWO = (
    """\
# of the distribution
Types: deb deb-src
URIs: http://deb.debian.org/debian
# between
Suites: trixie trixie-updates
Components: main
Signed-By: %s

enabled: no
types: deb
uris:
 https://n.example/$(ARCH)
 https://m.example/
suites: /
"""
    % KEY
)


def test_stanzas():
    first, second = parse(TWO, SOURCES)
    assert (first.line, first.last, first.types) == (2, 7, ("deb", "deb-src"))
    assert (first.suites, first.signed_by, first.enabled) == (("trixie", "trixie-updates"), KEY, True)
    assert (second.line, second.last, second.uris) == (9, 14, ("https://n.example/amd64", "https://m.example/"))
    assert (second.enabled, second.broken) == (False, "")


@pytest.mark.parametrize(
    ("value", "enabled"),
    [
        ("no", False),
        ("NO", False),
        ("0", False),
        ("off", False),
        ("false", False),
        ("without", False),
        ("yes", True),
        ("foo", True),
    ],
)
def test_what_apt_takes_for_disabled(value, enabled):
    assert only("Types: deb\nURIs: http://x\nSuites: /\nEnabled: %s\n" % value, SOURCES).enabled is enabled


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Types: deb\nSuites: /\n", "it has no uris"),
        ("URIs: http://x\n", "it has no types and no suites"),
        ("Types: rpm\nURIs: http://x\nSuites: /\n", "its type 'rpm' is not known"),
        ("<html>\n", "it has no types and no uris and no suites"),
    ],
)
def test_a_stanza_that_apt_refuses_to_read_is_broken(text, why):
    assert only(text, SOURCES).broken == why


def inline(key):
    return "Types: deb\nURIs: http://x\nSuites: /\nSigned-By:\n" + "".join(" %s\n" % line for line in key)


BLOCK = ("-----BEGIN PGP PUBLIC KEY BLOCK-----", ".", "AAAA", "-----END PGP PUBLIC KEY BLOCK-----")


def test_a_key_inside_is_known_by_its_digest_and_blanks_are_no_part_of_it():
    found = only(inline(BLOCK), SOURCES).signed_by
    assert found.startswith("key sha256:")
    assert only(inline([" " + line for line in BLOCK]), SOURCES).signed_by == found
    assert only(inline(BLOCK).replace("\n", "\r\n"), SOURCES).signed_by == found
    assert only(inline(BLOCK).replace("AAAA", "AAAB"), SOURCES).signed_by != found


def test_our_own_files_are_known_by_their_head():
    assert only(HEADER + "Types: deb\nURIs: http://x\nSuites: /\n", SOURCES).managed
    assert not only("Types: deb\nURIs: http://x\nSuites: /\n" + HEADER, SOURCES).managed


# --- switching off ------------------------------------------------------------------------------------------------


def test_a_line_is_commented_out_and_nothing_else_changes():
    text = "# head\r\ndeb http://a s m\r\n  deb [arch=amd64] http://b s m # caf\udce9\r\ndeb http://c s m"
    off = apt_sources.switched_off(text, [parse(text)[1]])
    assert off.split("\n")[2] == "# set aside by goldennode.gpu:   deb [arch=amd64] http://b s m # caf\udce9\r"
    assert [line for at, line in enumerate(off.split("\n")) if at != 2] == [
        line for at, line in enumerate(text.split("\n")) if at != 2
    ]
    assert [one.uris[0] for one in parse(off)] == ["http://a", "http://c"]


def test_a_stanza_is_disabled_and_nothing_else_changes():
    first, second = parse(TWO.replace("enabled: no", "Enabled: yes"), SOURCES)
    text = TWO.replace("enabled: no", "Enabled: yes")
    off = apt_sources.switched_off(text, [second])
    assert off.startswith(
        text[: text.index("Enabled: yes")] + "# set aside by goldennode.gpu\nEnabled: no\ntypes: deb\n"
    )
    assert [one.enabled for one in parse(off, SOURCES)] == [True, False]
    assert [one.enabled for one in parse(apt_sources.switched_off(text, [first, second]), SOURCES)] == [False, False]


def test_what_is_broken_is_commented_out():
    for path, text in (
        (LIST, "deb http://a s m\n<html>\n"),
        (SOURCES, "<html>\nx\n\nTypes: deb\nURIs: http://a\nSuites: /\n"),
    ):
        (broken,) = [one for one in parse(text, path) if one.broken]
        after = parse(apt_sources.switched_off(text, [broken]), path)
        assert [(one.uris, one.broken) for one in after] == [(("http://a",), "")]


def test_an_entrys_own_text_is_for_packages_alone():
    first, _second = parse(TWO, SOURCES)
    assert apt_sources.for_packages(TWO, first).splitlines()[:2] == ["Types: deb", "URIs: http://deb.debian.org/debian"]
    assert "# between" not in apt_sources.for_packages(TWO, first)
    assert apt_sources.for_packages("\n  deb http://a s m # x \n", parse("\n  deb http://a s m # x \n")[0]) == (
        "deb http://a s m # x"
    )


def test_any_text_is_taken():
    source = random.Random(11)
    alphabet = "deb Types:URIsSuites-\n\n[]= #./$(ARCH)\r\t\ufeff\udce9é-01"
    for _round in range(400):
        text = "".join(source.choice(alphabet) for _character in range(source.randrange(160)))
        for path in (LIST, SOURCES):
            found = parse(text, path)
            off = apt_sources.switched_off(text, found)
            assert not [one for one in parse(off, path) if one.enabled], text
            for entry in found:
                apt_sources.for_packages(text, entry)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/apt/sources.list.d/x.list", "deb https://svc:S3@cret@m.example/x /\n"),
        (SOURCES, "Types: deb\nURIs: https://svc:S3cret@m.example/x\nSuites: /\n"),
    ],
)
def test_an_address_is_without_user_and_password(path, text):
    """An entry is shown in the table, and kept in reports and evidence."""
    (found,) = parse(text, path)
    assert found.uris == ("https://m.example/x",)
    assert apt_sources.switched_off(text, [found]).count("cret@") == 1  # of the file itself nothing is lost
    assert "cret@" in apt_sources.for_packages(text, found)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/apt/sources.list.d/x.list", "https://svc:a-very-long-password-of-more-than-40-letters@m.example/x /\n"),
        (SOURCES, "Types: https://svc:a-very-long-password-of-40@m.example/x\nURIs: https://m.example/\nSuites: /\n"),
    ],
)
def test_what_is_broken_shows_no_password(path, text):
    (found,) = parse(text, path)
    assert found.broken == "its type 'https://m.example/x' is not known"
