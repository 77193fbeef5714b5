# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation that is made: a page for each check, symptoms, the sixteen steps, what fits what.

Cause and fix are the judge's own words about the broken nodes of ``cases``, so that they cannot drift from the checks.
"""

from __future__ import annotations

import functools
import inspect
import pathlib
import typing as t

import yaml

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict, waivers
from ansible_collections.goldennode.gpu.plugins.module_utils.checks.registry import CHECKS, Check
from ansible_collections.goldennode.gpu.plugins.module_utils.model import LAYERS, Finding
from ansible_collections.goldennode.gpu.plugins.modules.node_info import RETURN

from . import case, compatibility, tables
from .markdown import document, fence, plain, sentence, table, text
from .steps import STEPS
from .symptoms import SYMPTOMS

_NOTES = pathlib.Path(__file__).parent / "notes"
_BY_HAND = "```sh\n"

_REPAIRS = {
    "roles": "a run of site.yml mends it",
    "reboot": "a reboot mends it, which site.yml makes with golden_allow_reboot=true",
    "reload": "a reboot mends it, or loading the driver anew; each needs its consent",
    "agent": "nothing is to be done: the agent verifies",
    "manual": "a person mends it",
    "": "what keeps it from being known is to be mended first",
}


class NoteError(ValueError):
    """A check whose page cannot be made, and what is to be written where."""


def everything() -> t.Dict[str, str]:
    """Text by path, from the root of the collection, of all that is made."""
    made = {"docs/checks/%s.md" % check.id: page(check) for check in CHECKS}
    made["docs/compatibility.md"] = compatibility.page()
    return {**made, "docs/checks/README.md": index(), "docs/symptoms.md": symptoms(), "docs/sixteen-steps.md": steps()}


def note(check: str) -> t.Tuple[str, str]:
    """What a person wrote of a check: what it means, and what to type to see it.

    :raises NoteError: naming the file that is missing or lacks a part
    """
    path = _NOTES / ("%s.md" % check)
    wanted = "scripts/docpages/notes/%s.md: write what the check means, then a block of ```sh with what to type" % check
    if not path.exists():
        raise NoteError("%s has no page. Add %s" % (check, wanted))
    meaning, opened, rest = path.read_text(encoding="utf-8").partition(_BY_HAND)
    if not meaning.strip() or not opened or not rest.rstrip().endswith("```"):
        raise NoteError("The page of %s is not whole. Mend %s" % (check, wanted))
    return meaning.strip(), opened + rest.rstrip()


# --- a page for each check ----------------------------------------------------------------------------------------


def page(check: Check) -> str:
    meaning, by_hand = note(check.id)
    mine = cases_of(check.id)
    return document(
        "# %s" % check.id,
        meaning,
        _facts(check),
        _seen(mine),
        "## By hand\n\n" + by_hand,
        "## What is found\n\nAs it is said of example nodes; names, numbers and versions are theirs.",
        *(_cause(one) for one in mine),
        tables.of(check.id),
    )


def cases_of(check: str) -> t.List[case.Case]:
    found = [one for one in case.load() if one.check == check]
    if not found:
        raise NoteError(
            "%s fails in no example. Add a Case to a file of scripts/docpages/cases: a node on which it does" % check
        )
    return found


def _facts(check: Check) -> str:
    said = (inspect.getdoc(check.function) or "").strip()
    rows = [
        ("Layer", "`%s`, %d of %d" % (check.layer, LAYERS.index(check.layer) + 1, len(LAYERS))),
        ("For golden", "required" if check.required else "informational: it is told as not proven"),
        ("Reads", "; ".join("`%s` (%s)" % (field, _words_of(field)) for field in check.needs)),
        ("Asked", _asked(check)),
        ("Before a role changes anything", _before(check)),
        ("Waiver", _waiver(check)),
    ]
    facts = table(("", ""), rows)
    return facts + ("\n\n" + text(said) if said else "")


def _asked(check: Check) -> str:
    if check.on_request:
        return "by a run alone, before it marks the node; a look that was not asked says nothing of it"
    if check.cheap:
        return "in every look, by the agent and by the local fact"
    why = "an ordinary user is not shown all that it reads" if check.root_only else "it takes more than reading files"
    return "in every look and by the agent; not by the local fact (%s)" % why


def _before(check: Check) -> str:
    if check.id in verdict._PRECONDITIONS:
        return "refused where only a person can mend it, or where it is not known"
    return "not asked: a run may mend it"


def _waiver(check: Check) -> str:
    if not check.required:
        return "needs none"
    why = waivers.NEVER.get(check.id)
    return "not to be waived: %s" % text(why.partition(". ")[0]) if why else "`golden_waivers` may name it"


def _words_of(field: str) -> str:
    if field not in _evidence():
        raise NoteError("The evidence has %s. Say what it is in the RETURN of plugins/modules/node_info.py" % field)
    return _evidence()[field]


@functools.cache
def _evidence() -> t.Dict[str, str]:
    """Every field of the evidence in words: those of the module that returns it."""
    fields = yaml.safe_load(RETURN)["evidence"]["contains"]
    words = {name: field["description"] for name, field in fields.items()}
    return {name: text(plain(said if isinstance(said, str) else " ".join(said))) for name, said in words.items()}


def _seen(mine: t.Sequence[case.Case]) -> str:
    keys = [key for key in SYMPTOMS if any(key in one.symptoms for one in mine)]
    if not keys:
        return ""
    # Of a symptom the words that stand for it: the others may be of another cause than this check's.
    texts = [line for key in keys for line in SYMPTOMS[key].texts[:1]]
    texts = list(dict.fromkeys([*texts, *(line for one in mine for line in one.says)]))
    links = ", ".join("[%s](../symptoms.md#%s)" % (text(SYMPTOMS[key].title), key) for key in keys)
    return "## What you may see\n\n%s\n\n%s" % (fence(texts) if texts else "", links)


def _cause(one: case.Case) -> str:
    found = case.finding(one)
    return "### %s\n\n%s" % (text(one.what[:1].upper() + one.what[1:]), _told(found))


def _told(found: Finding) -> str:
    lines = [text(sentence(found.words))]
    if found.actual and found.actual not in found.words:
        lines.append(fence([found.actual]))
    if found.fix:
        lines.append("**Fix:** %s" % text(sentence(found.fix)))
    status = "unknown, which never passes" if found.status == "unknown" else _REPAIRS[found.repair]
    needed = "" if found.required else "; the node is golden all the same, and this is told"
    lines.append("(%s%s)" % (status, needed))
    return "\n\n".join(lines)


def index() -> str:
    parts = ["# The checks", "In the order in which a node is judged. A check that fails leads here by its id."]
    for layer in LAYERS:
        rows = [
            ("[%s](%s.md)" % (check.id, check.id), _first_sentence(note(check.id)[0]))
            for check in CHECKS
            if check.layer == layer
        ]
        parts.append("## %s\n\n%s" % (layer, table(("check", "about"), rows)))
    return document(*parts)


def _first_sentence(words: str) -> str:
    """Up to the first full stop that ends one, and not a name like daemon.json."""
    line = " ".join(words.split())
    end = line.find(". ")
    return (line if end < 0 else line[: end + 1]).replace("|", "\\|")


# --- from symptoms to checks --------------------------------------------------------------------------------------


def symptoms() -> str:
    shown = {key: [one for one in case.load() if key in one.symptoms] for key in SYMPTOMS}
    shown = {key: sorted(mine, key=_place) for key, mine in shown.items() if mine}
    contents = "\n".join("- [%s](#%s)" % (text(SYMPTOMS[key].title), key) for key in shown)
    return document(
        "# Symptoms, causes, fixes",
        "What you see, what it comes from, and what to do. Every row is what the checks say of a node that is broken "
        "in that way; rows stand in the order in which a node is judged, and the first that is true of a node is the "
        "one to mend. `ansible-playbook goldennode.gpu.verify` finds out which that is.",
        contents,
        *(_symptom(key, mine) for key, mine in shown.items()),
    )


def _place(one: case.Case) -> int:
    return next(at for at, check in enumerate(CHECKS) if check.id == one.check)


def _symptom(key: str, mine: t.Sequence[case.Case]) -> str:
    symptom = SYMPTOMS[key]
    rows = []
    for one in mine:
        found = case.finding(one)
        cause = sentence(found.cause or found.actual)
        link = "`%s` [%s](checks/%s.md)" % (found.layer, found.id, found.id)
        rows.append((text(one.what), link, text(cause), text(sentence(found.fix)) if found.fix else ""))
    parts = ['## <a id="%s"></a>%s' % (key, text(symptom.title))]
    if symptom.texts:
        parts.append(fence(symptom.texts))
    if symptom.note:
        parts.append(symptom.note)
    parts.append(table(("what is so", "layer and check", "cause", "fix"), rows))
    return "\n\n".join(parts)


# --- the sixteen steps --------------------------------------------------------------------------------------------


def steps() -> str:
    known = {check.id: check for check in CHECKS}
    rows = []
    for number, step in enumerate(STEPS, 1):
        fields = dict.fromkeys(field for one in step.checks for field in known[one].needs)
        rows.append(
            (
                str(number),
                step.title,
                "<br>".join("`%s`" % command.replace("|", "\\|") for command in step.commands),
                "<br>".join("[%s](checks/%s.md)" % (one, one) for one in step.checks),
                ", ".join("`%s`" % field for field in fields),
            )
        )
    return document(
        "# The sixteen steps",
        "What people type, one after the other, on a node without CUDA; and which checks answer it in one look. The "
        "last column has the fields of the evidence that they read (`ansible-doc goldennode.gpu.node_info`).",
        table(("", "question", "by hand", "checks", "evidence"), rows),
    )
