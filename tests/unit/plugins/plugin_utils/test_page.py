# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page without a browser: what stands in it, that all of it is escaped, and that it is the same each time.

What a browser makes of it, tests/browser says.
"""

from __future__ import annotations

import base64
import hashlib
import html.parser
import random
import re
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.plugin_utils import page, page_view, results
from ansible_collections.goldennode.gpu.tests.unit import reports


class Document(html.parser.HTMLParser):
    """Every element, every attribute and the text of a page."""

    def __init__(self, found: t.Dict[str, t.Any]) -> None:
        super().__init__()
        self.tags: t.List[str] = []
        self.attributes: t.Set[str] = set()
        self.links: t.List[str] = []
        self.raw: t.Dict[str, str] = {}
        self.text: t.List[str] = []
        self._open = ""
        self.feed(page.render(found).decode("utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: t.List[t.Tuple[str, t.Optional[str]]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _value in attrs)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        self._open = tag

    def handle_data(self, data: str) -> None:
        if self._open in ("script", "style"):
            self.raw[self._open] = self.raw.get(self._open, "") + data
            self._open = ""
        self.text.append(data)


@pytest.mark.parametrize("found", [reports.every_kind, reports.hostile, lambda: reports.of({})])
def test_nothing_is_loaded_and_nothing_runs_but_by_hash(found: t.Callable[[], t.Dict[str, t.Any]]) -> None:
    document, text = Document(found()), page.render(found()).decode("utf-8")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    hashes = {
        tag: "&#39;sha256-%s&#39;" % base64.b64encode(hashlib.sha256(raw.encode("utf-8")).digest()).decode("ascii")
        for tag, raw in document.raw.items()
    }
    assert policy == (
        "default-src &#39;none&#39;; style-src %(style)s; script-src %(script)s; img-src data:; "
        "base-uri &#39;none&#39;; form-action &#39;none&#39;" % hashes
    )
    assert text.index("Content-Security-Policy") < text.index("<style>")
    assert (document.tags.count("script"), document.tags.count("style"), document.tags.count("link")) == (1, 1, 1)
    assert not {"img", "iframe", "object", "embed", "base"} & set(document.tags)
    assert [link for link in document.links if not link.startswith(("#", "data:image/svg+xml,"))] == []
    assert [name for name in document.attributes if name.startswith("on") or name == "style"] == []
    assert "url(" not in document.raw["style"]
    assert "@import" not in document.raw["style"]


_PIECES = (
    *"<>\"'&;/={}%-!`\\\0\x1b\u202e\u2066\ud800\uffff\U0001f600 ab",
    "script",
    "-->",
    "]]>",
    "&#",
    "{{",
    "{%",
    "on=",
)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_a_node_says_is_text(seed: int) -> None:
    """The elements of the page are those of the same results with harmless text."""
    chance = random.Random(seed)
    text = "".join(chance.choice(_PIECES) for _count in range(chance.randint(1, 60))) + "."

    def tags(said: str) -> t.List[str]:
        one = reports.kinds()["driver"]
        one["findings"] = [{**f, **dict.fromkeys(("entity", "cause", "fix", "actual"), said)} for f in one["findings"]]
        one["not_proven"], one["verdict"] = [said], said
        one["table"]["driver"] = one["action"]["text"] = said
        document = Document(reports.of({said: one}))
        assert "".join(document.text).count(page.shown(said)) > 10
        return document.tags

    assert tags(text) == tags("harmless.")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (None, ""),
        (8, "8"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("a\x00b\x1b[1m\x7f", "a[U+0000]b[U+001B][1m[U+007F]"),
        ("\u202eexe.\u2069\u200b\u00ad", "[U+202E]exe.[U+2069][U+200B][U+00AD]"),
        ("half \ud83d \udc00", "half [U+D83D] [U+DC00]"),
        ("\U0001f600 \u05e9\u05dc\u05d5\u05dd \u00e9", "\U0001f600 \u05e9\u05dc\u05d5\u05dd \u00e9"),
        ("x" * 2001, "x" * 2000 + " … (1 more characters)"),
    ],
)
def test_what_would_not_be_seen_is_named(text: t.Any, wanted: str) -> None:
    assert page.shown(text) == wanted


def test_the_same_results_are_the_same_page_in_whatever_order() -> None:
    found = reports.every_kind()
    turned = {**found, "nodes": dict(reversed(found["nodes"].items()))}
    assert page.render(found) == page.render(turned) == page.render(reports.every_kind())


def test_cause_fix_versions_and_what_is_not_proven_are_there() -> None:
    text = " ".join(" ".join(Document(reports.every_kind()).text).split())
    for words in (
        "The nvidia module is on disk and not loaded.",
        "Run site.yml on this node. It loads the module.",
        "ssh: connect to host 10.0.0.3 port 22: timed out",
        "6.12.57+deb13-amd64",
        "packages.kept: kept_packages: kept_packages was unreadable",
        "Written 2026-12-01T09:30:00+00:00",
    ):
        assert words in text


def test_who_needs_somebody_comes_first_and_numbers_count() -> None:
    nodes = {
        name: reports.kinds()[kind] for name, kind in (("a", "golden"), ("n10", "nvml"), ("n9", "nvml"), ("b", "none"))
    }
    view = page_view.view(reports.of(nodes))
    assert [node["name"] for node in view["nodes"]] == ["n9", "n10", "b", "a"]
    assert [node["name"] for node in view["wall"]] == ["a", "b", "n9", "n10"]
    assert [(group["what"], len(group["nodes"])) for group in view["groups"]] == [
        ("host_driver.nvml", 2),
        ("not looked at", 1),
    ]


def test_a_node_that_works_without_a_mark_is_not_called_broken() -> None:
    """Such as one that was diagnosed without a bundle: nothing is to be mended there."""
    marked, alone = reports.kinds()["unmarked"], {**reports.kinds()["unmarked"], "action": None, "verdict": "works"}
    view = page_view.view(reports.of({"alone": alone, "gold": reports.kinds()["golden"], "marked": marked}))
    assert [(node["name"], node["kind"]) for node in view["nodes"]] == [
        ("alone", "works"),
        ("marked", "works"),
        ("gold", "golden"),
    ]
    assert [[node["name"] for node in group["nodes"]] for group in view["groups"]] == [["marked"]]


@pytest.mark.parametrize("name", ["", "1" * 5000, "٣", "node²", "a01b1"])
def test_any_name_has_its_place(name: str) -> None:
    assert sorted([name, "node1"], key=page_view.natural)


def test_a_layer_that_nobody_can_speak_for_is_unknown() -> None:
    (node,) = page_view.view(reports.of({"a": reports.kinds()["unreachable"]}))["nodes"]
    assert {cell["status"] for cell in node["cells"]} == {"unknown"}


def test_one_node_of_thousands_is_seen_in_the_bar() -> None:
    found = reports.of({"n%d" % i: reports.kinds()["golden" if i else "nvml"] for i in range(300)})
    kinds = {kind["kind"]: kind for kind in page_view.view(found)["kinds"]}
    assert (kinds["golden"]["count"], kinds["broken"]["count"], kinds["lost"]["width"]) == (299, 1, 0)
    assert kinds["broken"]["width"] >= 6
    assert sum(kind["width"] for kind in kinds.values()) == 1000


def test_only_an_all_green_node_is_folded_on_a_phone() -> None:
    odd = {**reports.kinds()["golden"], "layers": {**reports.kinds()["golden"]["layers"], "image": "fail"}}
    view = page_view.view(reports.of({"a": odd, "b": reports.kinds()["golden"]}))
    assert [node["well"] for node in view["nodes"]] == [False, True]
    assert results.layers(reports.of({"a": odd}))[-1] == "policy"
