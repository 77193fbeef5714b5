# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results as one HTML page that needs nothing else: no network, no script to be read, no file beside it.

Controller only. Names and outputs of nodes are hostile: all text goes through ``shown`` and is then escaped by the
template, and the policy in the page's head lets nothing run or load but its own style and script, named by their hash.
"""

from __future__ import annotations

import base64
import hashlib
import pathlib
import re
import typing as t

import jinja2
from markupsafe import Markup

from ansible_collections.goldennode.gpu.plugins.plugin_utils import page_view
from ansible_collections.goldennode.gpu.plugins.plugin_utils.results import Plain

TEMPLATES = pathlib.Path(__file__).resolve().parents[2] / "playbooks" / "templates"

#: Characters of one text that are shown; the JSON has the rest.
LIMIT = 2000

#: What is not seen, or turns the text around it: controls, marks of direction, half characters, what fills no space.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def shown(value: t.Any) -> str:
    """Text of a node as a person may see it: what would be unseen is named, what is endless is cut."""
    text = "" if value is None else str(value)
    rest = len(text) - LIMIT
    text = _UNSEEN.sub(lambda found: "[U+%04X]" % ord(found.group()), text[:LIMIT])
    return text if rest <= 0 else "%s … (%d more characters)" % (text, rest)


def render(found: Plain) -> bytes:
    """The page: the same bytes for the same results."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(TEMPLATES)),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["shown"] = shown
    style, script = (_inline(name) for name in ("report.css", "report.js"))
    page = environment.get_template("report.html.j2").render(
        view=page_view.view(found),
        style=Markup(style),
        script=Markup(script),
        policy="default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action 'none'"
        % (_source(style), _source(script)),
    )
    return page.encode("utf-8")


def _inline(name: str) -> str:
    """A file for the page, without the comment at its head: that is for those who read the source."""
    text = (TEMPLATES / name).read_text(encoding="utf-8")
    return text.partition("*/\n")[2]


def _source(text: str) -> str:
    """How a policy names an inline text: the digest of exactly what stands between the tags."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "'sha256-%s'" % base64.b64encode(digest).decode("ascii")
