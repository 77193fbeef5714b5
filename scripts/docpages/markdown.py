# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small pieces of Markdown."""

from __future__ import annotations

import re
import typing as t

HEADER = "<!-- Made by make docs from scripts/docpages; a change by hand is overwritten. -->\n"


def text(words: str) -> str:
    """Words as they are, on one line, with nothing in them that Markdown would read."""
    return re.sub(r"([*<\[\]|])", r"\\\1", " ".join(words.split()))


def sentence(words: str) -> str:
    """With a full stop."""
    return words if words.endswith((".", "!", "?")) else words + "."


def fence(lines: t.Iterable[str], language: str = "text") -> str:
    return "```%s\n%s\n```" % (language, "\n".join(lines))


def table(head: t.Sequence[str], rows: t.Iterable[t.Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| %s |" % " | ".join(cells) for cells in lines)


def document(*parts: str) -> str:
    return HEADER + "\n" + "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def plain(documentation: str) -> str:
    """The words of a module's documentation, with code for what its markup marks."""
    found = re.sub(r"\b(?:C|V|O|RV|M)\(([^)]*)\)", r"`\1`", documentation)
    return re.sub(r"^Readings? of ", "", found).rstrip(".")
