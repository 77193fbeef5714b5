# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two locks of one platform: what changes between them, on which layer, and what that risks. Pure.

Every field of a lock is compared, also one that a later version of the collection has added: what risks of it are known
is in ``lock_risks``.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from . import lock_risks, openpgp
from .lock_risks import Risk
from .model import LAYERS, to_plain

Lock = t.Mapping[str, t.Any]

#: The axes in the order in which they are told, with the layer on which each is.
_LAYER_OF = {
    "package_manager": "packages",
    "sources": "packages",
    "kernel": "host_driver",
    "driver": "host_driver",
    "fabric_manager": "host_driver",
    "python": "host_driver",
    "toolkit": "container_runtime",
    "docker": "container_runtime",
    "image": "image",
}
_AXES = tuple(_LAYER_OF)
#: What says which lock it is, and not what a node gets.
_NAMES = ("schema", "id", "bundle", "bundle_digest", "platform")
#: What a bundle names beside these is of the images that shall run.
_OTHER_LAYER = "image"


@dataclasses.dataclass(frozen=True)
class Change:
    """One thing that is another: ``what`` is a field of the axis, a package or a source. None: it was or is not there.

    ``package`` tells a package from a field of the same name.
    """

    layer: str
    axis: str
    what: str
    before: t.Optional[str]
    after: t.Optional[str]
    risks: t.Tuple[Risk, ...] = ()
    package: bool = False


def changes(before: Lock, after: Lock) -> t.Tuple[Change, ...]:
    """Everything that differs, in the order of the layers; of an axis its fields come first, then its packages.

    :arg before: a whole lock, as ``lock_shape`` has found it; ``after``: another of the same platform
    """
    axes = [axis for axis in dict.fromkeys((*_AXES, *before, *after)) if axis not in _NAMES]
    axes.sort(key=lambda axis: LAYERS.index(_layer(axis)))
    return tuple(change for axis in axes for change in _axis(axis, before, after))


def effects(found: t.Iterable[Change]) -> t.Dict[str, t.List[str]]:
    """By each effect of ``lock_risks.EFFECTS`` the axes that have it, for whoever decides by it."""
    of: t.Dict[str, t.Dict[str, None]] = {effect: {} for effect in lock_risks.EFFECTS}
    for change in found:
        for risk in change.risks:
            of[risk.effect].setdefault(change.axis)
    return {effect: list(axes) for effect, axes in of.items()}


def plain(before: Lock, after: Lock, found: t.Sequence[Change]) -> t.Dict[str, t.Any]:
    """The comparison for machines."""
    return {
        "platform": after["platform"],
        "before": {key: before[key] for key in ("bundle", "id")},
        "after": {key: after[key] for key in ("bundle", "id")},
        "same": not found,
        "changes": [dict(to_plain(change), risks=[risk._asdict() for risk in change.risks]) for change in found],
        "effects": effects(found),
    }


def _layer(axis: str) -> str:
    return _LAYER_OF.get(axis, _OTHER_LAYER)


def _axis(axis: str, before: Lock, after: Lock) -> t.List[Change]:
    if axis == "sources":
        return _sources(before["sources"], after["sources"])
    old, new = _fields(before.get(axis)), _fields(after.get(axis))
    found = [
        Change(_layer(axis), axis, what, old.get(what), new.get(what))
        for what in dict.fromkeys((*old, *new))
        if old.get(what) != new.get(what)
    ]
    were, are = _packages(before.get(axis)), _packages(after.get(axis))
    found += [
        Change(_layer(axis), axis, name, were.get(name), are.get(name), package=True)
        for name in sorted({*were, *are})
        if were.get(name) != are.get(name)
    ]
    return _with_risks(axis, found, old, new)


def _with_risks(axis: str, found: t.Sequence[Change], old: lock_risks.Fields, new: lock_risks.Fields) -> t.List[Change]:
    """What the whole axis risks stands at the first of its changes, what one of them risks at that one."""
    told: t.List[Change] = []
    for change in found:
        if change.package:
            risks = lock_risks.of_package(axis, change.before, change.after, old, new)
        else:
            risks = lock_risks.of_field(axis, change.what, old, new)
        if not told:
            names = [one.what for one in found if one.package]
            risks = [*lock_risks.of_axis(axis, old, new, names), *risks]
        told.append(dataclasses.replace(change, risks=tuple(risks)))
    return told


def _fields(axis: t.Any) -> t.Dict[str, str]:
    """The fields of an axis as text, one inside another as ``waiver.until``; what is empty is left out."""
    if not isinstance(axis, t.Mapping):
        return {"": _text(axis)} if axis else {}
    found: t.Dict[str, str] = {}
    for name, value in axis.items():
        if isinstance(value, t.Mapping):
            if name != "packages":
                found.update(("%s.%s" % (name, inner), text) for inner, text in _fields(value).items())
        elif value not in (None, "", [], ()):
            found[name] = _text(value)
    return found


def _text(value: t.Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    return json.dumps(value, sort_keys=True)


def _packages(axis: t.Any) -> t.Mapping[str, str]:
    return axis.get("packages", {}) if isinstance(axis, t.Mapping) else {}


# --- sources ------------------------------------------------------------------------------------------------------


def _sources(before: t.Sequence[Lock], after: t.Sequence[Lock]) -> t.List[Change]:
    old, new = ({str(source["name"]): source for source in sources} for sources in (before, after))
    found: t.List[Change] = []
    for name in dict.fromkeys((*old, *new)):
        if name not in new or name not in old:
            place = {key: _place(sources[name]) for key, sources in (("old", old), ("new", new)) if name in sources}
            risks = lock_risks.of_source(place.get("old"), place.get("new"), _keys(new[name]) if name in new else "")
            found.append(Change("packages", "sources", name, place.get("old"), place.get("new"), tuple(risks)))
        else:
            found += _source(name, old[name], new[name])
    return found


def _source(name: str, old: Lock, new: Lock) -> t.Iterator[Change]:
    if _place(old) != _place(new):
        risks = lock_risks.of_place(old["uris"], new["uris"])
        yield Change("packages", "sources", name, _place(old), _place(new), tuple(risks))
    if (old.get("key"), old.get("keyring")) != (new.get("key"), new.get("keyring")):
        were, are = _keys(old), _keys(new)
        told = are if were != are else "%s, signed anew" % are
        risks = lock_risks.of_key(were, are)
        yield Change("packages", "sources", "%s.key" % name, were, told, tuple(risks))


def _place(source: Lock) -> str:
    words = [word for field in ("uris", "suites", "components") for word in source.get(field) or ()]
    return " ".join(words)


def _keys(source: Lock) -> str:
    """Whom packages of a source are trusted from: the fingerprints of its key, or the distribution's keyring."""
    if source.get("keyring"):
        return str(source["keyring"])
    try:
        return " ".join(openpgp.fingerprints(str(source.get("key") or "")))
    except ValueError:
        return "a key that cannot be read"
