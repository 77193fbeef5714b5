# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what is made of the documentation: docs/checks and, beside it, symptoms.md,
sixteen-steps.md and compatibility.md."""

from __future__ import annotations

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: The link to this tree as Python knows it, made by scripts/setup.sh.
sys.path.insert(0, str(ROOT / "collections"))


def main() -> int:
    from ansible_collections.goldennode.gpu.scripts.docpages import case, pages

    try:
        made = pages.everything()
    except (pages.NoteError, case.CaseError) as error:
        print("nothing was written: %s" % error, file=sys.stderr)
        return 1
    (ROOT / "docs" / "checks").mkdir(exist_ok=True)
    for path, content in made.items():
        (ROOT / path).write_text(content, encoding="utf-8")
    left = [path for path in (ROOT / "docs" / "checks").glob("*.md") if "docs/checks/%s" % path.name not in made]
    for path in left:
        path.unlink()
    print("%d pages written, %d removed" % (len(made), len(left)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
