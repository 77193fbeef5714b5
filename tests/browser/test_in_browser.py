# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of report.yml in a real browser: it is whole, asks for nothing, fits, filters, prints, and is for everybody.

Each page that is opened is also looked at when its test ends: no request, no error, nothing that the policy refused.
"""

from __future__ import annotations

import pathlib
import re
import typing as t
import zlib

import browserlib
import pytest
from browserlib import Browser, Page

Open = t.Callable[..., Page]

_ROWS = "[...document.querySelectorAll('table.m tbody tr')]"
_SHOWN = _ROWS + ".filter(row => row.checkVisibility()).map(row => row.querySelector('th').innerText.trim())"

#: Text whose contrast with what is behind it is too low for WCAG 2 AA: [contrast, text, colour, background].
_LOW_CONTRAST = """
(() => {
  const numbers = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = one => {
    for (; one; one = one.parentElement) {
      const colour = numbers(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) { return colour; }
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim(), parent = walker.currentNode.parentElement;
    if (!text || !parent.checkVisibility() || ['SCRIPT', 'OPTION'].includes(parent.tagName)) { continue; }
    const [a, b] = [light(numbers(getComputedStyle(parent).color)), light(behind(parent))].sort((x, y) => y - x);
    const contrast = (a + .05) / (b + .05);
    if (contrast < 4.5) { found.push([contrast.toFixed(2), text.slice(0, 40), parent.outerHTML.slice(0, 80)]); }
  }
  return found;
})()
"""


@pytest.mark.parametrize("name", ["kinds", "hostile", "thousand", "empty"])
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_page_is_wider_than_its_window(open_page: Open, name: str, width: int) -> None:
    page = open_page(name, width=width)
    page.js("document.querySelectorAll('details').forEach((one, i) => { one.open = i < 100; })")
    assert page.js("[document.documentElement.scrollWidth <= innerWidth, innerWidth]") == [True, width]


def test_the_policy_forbids_whatever_gets_into_the_page(browser: Browser, files: t.Dict[str, pathlib.Path]) -> None:
    """A hole in the escaping would not be the end; and what the other tests listen for is really told."""
    page = Page(browser)
    page.open(files["kinds"])
    page.js(
        "(() => { const add = (tag, field, value) => { const one = document.createElement(tag); one[field] = value;"
        " document.body.append(one); }; add('script', 'textContent', 'window.broken = 1');"
        " add('div', 'innerHTML', '<img src=x onerror=\"window.broken = 1\">');"
        " add('style', 'textContent', 'p{}'); })()"
    )
    assert page.js("window.broken === undefined")
    refused = [one["issue"]["code"] for one in page.told("Audits.issueAdded")]
    assert "ContentSecurityPolicyIssue" in refused
    assert [one["blockedReason"] for one in page.told("Network.loadingFailed")] == ["csp"]
    assert len(page.complaints()) >= 3
    page.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_hostile_node_is_text_and_nothing_else(open_page: Open, scripts: bool) -> None:
    page = open_page("hostile", scripts=scripts)
    assert page.js("window.broken === undefined")
    assert page.js("[document.scripts.length, document.styleSheets.length, document.images.length]") == [1, 1, 0]
    names = page.js(_ROWS + ".map(row => row.querySelector('th').textContent.trim())")
    assert len(names) == len(set(names)) == 14
    assert "</script><script>window.broken=1</script> 0" in names
    assert any("[U+202E]gnp.exe[U+2066]" in name for name in names)
    assert any("nul[U+0000] bell[U+0007]" in name and "half[U+D800]" in name for name in names)
    # Nothing that is not seen, and nothing that turns the text around, has come through.
    assert page.js("/[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u0007]/.test(document.body.textContent)") is False


def test_without_scripts_everything_can_be_read(open_page: Open) -> None:
    page = open_page("kinds", scripts=False)
    assert page.js("document.getElementById('filters').checkVisibility()") is False
    assert len(page.js(_SHOWN)) == 10
    assert page.js("document.querySelectorAll('details.n').length") == 10
    # A closed one opens by itself where a link leads into it: that is the browser's own doing.
    assert page.js("document.querySelector('details.n.golden').open") is False
    target = page.js("document.querySelector('details.n.golden .body').id")
    page.js("document.querySelector('table.m a[href=\"#%s\"]').click()" % target)
    page.call("Runtime.evaluate", expression="new Promise(done => requestAnimationFrame(done))")
    assert "580.159.03" in page.js("document.getElementById('%s').innerText" % target)


_FILTERS = [
    pytest.param({"status": "fail"}, ["driver", "pci"], id="a status"),
    pytest.param({"layer": "4"}, [], id="a layer in which no node breaks first"),
    pytest.param({"layer": "3"}, ["driver", "nvml"], id="a layer"),
    pytest.param({"layer": "3", "status": "unknown"}, ["nvml", "failed", "none", "unreachable"], id="both"),
    pytest.param({"text": "PASSWORD sudo"}, ["failed"], id="words of a finding, in any order and case"),
    pytest.param({"text": "gpu-driver"}, ["driver"], id="a name"),
    pytest.param({"verdict": "golden"}, ["golden", "unproven"], id="a verdict"),
    pytest.param({"text": "no such words"}, [], id="nothing fits"),
]


@pytest.mark.parametrize(("chosen", "names"), _FILTERS)
def test_filters_hide_the_other_nodes(open_page: Open, chosen: t.Dict[str, str], names: t.List[str]) -> None:
    page = open_page("kinds")
    for field, value in chosen.items():
        _choose(page, field, value)
    assert page.js(_SHOWN) == ["gpu-%s.example.com" % name for name in names]
    details = page.js("[...document.querySelectorAll('details.n')].filter(one => one.checkVisibility()).length")
    assert details == len(names)
    assert page.js("document.getElementById('count').textContent") == "%d of 10 nodes" % len(names)
    assert page.js("document.getElementById('none').checkVisibility()") is (not names)
    page.js("document.querySelector('button[type=reset]').click()")
    page.js("new Promise(done => setTimeout(done, 0))")
    assert len(page.js(_SHOWN)) == 10


def _choose(page: Page, field: str, value: str) -> None:
    """As a person does: by the words of the choice, or by its place among the layers."""
    page.js(
        "(() => { const one = document.querySelector('#filters [name=%s]');"
        " const choice = [...(one.options || [])].find(o => o.text === '%s');"
        " one.value = choice ? choice.value : '%s';"
        " one.dispatchEvent(new Event('input', {bubbles: true})); })()" % (field, value, value)
    )


def test_a_link_opens_the_details_of_its_node(open_page: Open) -> None:
    page = open_page("thousand")
    link = "document.querySelector('table.m tr.golden:last-child a')"
    target = page.js(link + ".hash.slice(1)")
    assert page.js("document.getElementById('%s').parentNode.open" % target) is False
    _choose(page, "status", "fail")
    page.js(link + ".click()")
    page.js("new Promise(done => setTimeout(done, 100))")
    assert page.js("document.getElementById('%s').parentNode.open" % target) is True
    assert page.js("document.activeElement.parentNode.querySelector('.body').id") == target
    top = page.js("document.getElementById('%s').getBoundingClientRect().top" % target)
    assert 0 < top < 800


def test_a_thousand_nodes_are_shown_and_filtered(open_page: Open) -> None:
    page = open_page("thousand")
    assert page.js("document.querySelector('h1').innerText").split() == ["900", "of", "1000", "nodes", "are", "golden"]
    assert len(page.js(_SHOWN)) == 1000
    assert page.js("document.querySelectorAll('.wall a').length") == 1000
    _choose(page, "text", "gpu0007")
    assert page.js(_SHOWN) == ["gpu0007.cluster-3.example.com"]


def test_a_pool_without_nodes_is_a_page_as_well(open_page: Open) -> None:
    page = open_page("empty")
    assert page.js("document.title") == "0 of 0 nodes are golden"
    assert page.js("document.getElementById('count').textContent") == "0 nodes"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1280])
def test_all_text_stands_out_from_its_ground(open_page: Open, dark: bool, width: int) -> None:
    page = open_page("kinds", width=width, dark=dark)
    page.js("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert page.js(_LOW_CONTRAST) == []
    paper = page.js("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(19, 19, 15)" if dark else "rgb(247, 245, 240)")


@pytest.mark.parametrize("width", [360, 1280])
def test_a_screen_reader_hears_a_table_with_heads(open_page: Open, width: int) -> None:
    """What the browser tells it; on a phone the rows are drawn as cards and must stay rows."""
    page = open_page("kinds", width=width)
    page.call("Accessibility.enable")
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    found = [(one["role"]["value"], one.get("name", {}).get("value", "")) for one in tree if not one["ignored"]]
    roles = [role for role, _name in found]
    assert roles.count("table") == 1
    heads = [name for role, name in found if role == "columnheader"]
    layers = ["hardware", "packages", "host driver", "device nodes", "container runtime", "image", "policy"]
    assert heads == ["Node", "Verdict", *layers]
    assert roles.count("rowheader") == 10
    assert {"main", "banner", "status", "searchbox"} <= set(roles)
    words = [name for role, name in found if role == "StaticText"]
    assert "fail" in words
    assert ", the first broken layer" in words
    # No control without a name.
    unnamed = [role for role, name in found if role in ("searchbox", "combobox", "button", "link") and not name]
    assert unnamed == []


def test_the_keyboard_reaches_filters_links_and_details(open_page: Open) -> None:
    page = open_page("kinds")
    reached = []
    for _press in range(40):
        for kind in ("keyDown", "keyUp"):
            page.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        reached.append(page.js("document.activeElement.className + ' ' + document.activeElement.tagName"))
        seen = page.js("getComputedStyle(document.activeElement).outlineStyle")
        assert seen != "none", reached[-1]
    assert reached[0] == "jump A"
    assert [one for one in reached if "INPUT" in one or "SELECT" in one or "BUTTON" in one]
    assert " SUMMARY" in reached
    # The wall is for the eye: the matrix has the same links.
    assert not page.js("document.querySelector('.wall').contains(document.activeElement)")


def test_a_status_has_a_shape_of_its_own(open_page: Open) -> None:
    page = open_page("kinds")
    shapes = page.js(
        "['pass', 'fail', 'unknown', 'skip'].map(one => {"
        " const s = getComputedStyle(document.querySelector('.s.' + one + ' i'));"
        " return [s.clipPath, s.borderRadius, s.height].join(); })"
    )
    assert len(set(shapes)) == 4


def test_it_prints_as_a_table_with_details_of_what_is_broken(open_page: Open) -> None:
    page = open_page("kinds", dark=True)
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.js("document.getElementById('filters').checkVisibility()") is False
    assert page.js("getComputedStyle(document.querySelector('table.m thead')).display") == "table-header-group"
    assert page.js("getComputedStyle(document.querySelector('table.m tbody tr')).display") == "table-row"
    assert page.js("getComputedStyle(document.body).color") == "rgb(29, 27, 22)"
    page.call("Emulation.setEmulatedMedia", media="")
    pdf = page.pdf()
    assert pdf.startswith(b"%PDF-")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", _unpacked(pdf))) <= 8


def test_what_is_broken_prints_unfolded_without_scripts_too(open_page: Open) -> None:
    page = open_page("thousand", scripts=False)
    page.call("Emulation.setEmulatedMedia", media="print")
    height = "document.querySelector('details.n.%s:not([open])').getBoundingClientRect().height"
    assert page.js(height % "broken") > 3 * page.js(height % "golden")


def _unpacked(pdf: bytes) -> bytes:
    """With the objects that stand in compressed streams."""
    found = [pdf]
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            found.append(zlib.decompress(stream))
        except zlib.error:
            continue
    return b"\n".join(found)


def test_without_a_browser_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(browserlib.BrowserError, match="Debian: apt-get install chromium-headless-shell"):
        browserlib.find()
    monkeypatch.setenv("BROWSER_PROGRAM", "my-browser")
    with pytest.raises(browserlib.BrowserError, match="there is no my-browser: install one"):
        browserlib.find()


def test_what_a_browser_refuses_is_told(browser: Browser) -> None:
    with pytest.raises(browserlib.BrowserError, match="'Page.noSuchMethod' wasn't found"):
        browser.call("Page.noSuchMethod")
