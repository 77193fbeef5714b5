# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change between two locks risks, in words for whoever reviews it, and as a word that machines can decide by.

Pure. Said is what a run does or asks consent for, and what the tables of the collection know; not what may be.
"""

from __future__ import annotations

import re
import typing as t

from . import compat, generations
from .version import version_numbers

#: A reboot is due; Docker is restarted; a person has to look, since something is weaker, older, or from elsewhere;
#: what is only to be known.
REBOOT, RESTART, REVIEW, NOTE = EFFECTS = ("reboot", "restart", "review", "note")

Fields = t.Mapping[str, str]


class Risk(t.NamedTuple):
    """``effect`` is one of EFFECTS."""

    effect: str
    text: str


_REBOOTS = "by golden_allow_reboot"
_DRIVER = Risk(
    REBOOT,
    "The driver in the kernel is replaced: a reboot is due (%s), or, where nothing uses the GPUs, driver_allow_reload"
    " does. Containers that run keep the old driver's files until they are restarted." % _REBOOTS,
)
_KERNEL = Risk(REBOOT, "Another kernel: a reboot is due (%s), and the driver must have modules for it." % _REBOOTS)
_DOCKER = Risk(
    RESTART,
    "Its packages restart Docker: while containers run that needs docker_allow_restart, and without live-restore they"
    " end.",
)
_COMES = Risk(NOTE, "It comes: it is installed and held with the others.")
_NEW_KEY = "Check with its owner that the key is %s: whoever has it can install anything on every node."


def of_axis(axis: str, old: Fields, new: Fields, packages: t.Sequence[str]) -> t.List[Risk]:
    """What the change of an axis as a whole brings with it.

    :arg packages: names of the packages that differ
    """
    differing = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    if axis == "kernel":
        if "release" in differing:
            return [_KERNEL]
        return [Risk(NOTE, "The same kernel, built anew: it runs from the next reboot on, and nothing asks for one.")]
    if axis == "driver":
        if differing & {"version", "flavour"}:
            return [_DRIVER]
        return [Risk(NOTE, "The same driver in other packages: the kernel has the old module until a reboot.")]
    if axis == "fabric_manager":
        words = "On nodes with NVSwitches it moves with the driver; while it does not run, no CUDA program starts."
        return [Risk(NOTE, words)]
    if axis == "toolkit" and (packages or "version" in differing):
        words = "Containers get their GPUs by it from their next start on; the CDI specification is written anew."
        return [Risk(NOTE, words)]
    if axis == "docker":
        return [_DOCKER]
    return []


def of_field(axis: str, field: str, old: Fields, new: Fields) -> t.List[Risk]:
    """What the change of one field risks; nothing is known of most."""
    rule = _RULES.get((axis, field))
    return rule(old, new) if rule else []


def of_package(axis: str, before: t.Optional[str], after: t.Optional[str], old: Fields, new: Fields) -> t.List[Risk]:
    """What the change of one package risks, beside what its axis does."""
    if before is None:
        return [_COMES]
    if after is None:
        if axis in ("driver", "fabric_manager"):
            words = "The lock names it no more: where it is a part of another driver it moves along or is removed."
        elif axis == "kernel":
            words = "The lock names it no more: it stays, is held no longer, and apt-get autoremove may take it."
        else:
            words = "The lock names it no more: it stays, and is held no longer."
        return [Risk(NOTE, words)]
    axis_goes_down = _is_older(new.get("version", ""), old.get("version", ""))
    if _is_older(after, before) and not axis_goes_down and axis != "kernel":
        return [Risk(REVIEW, "It goes down.")]
    return []


# --- sources ------------------------------------------------------------------------------------------------------


def of_source(before: t.Optional[str], after: t.Optional[str], keys: str) -> t.List[Risk]:
    """A source that comes or goes."""
    if before is None:
        return [Risk(REVIEW, "Packages are taken from a further place. %s" % (_NEW_KEY % keys))]
    return [Risk(NOTE, "It leaves the nodes: what was installed from it gets no more updates.")]


def of_place(before: t.Sequence[str], after: t.Sequence[str]) -> t.List[Risk]:
    if list(before) == list(after):
        return [Risk(NOTE, "Other suites or components of the same repository.")]
    plain = [uri for uri in after if uri.startswith("http:") and uri not in before]
    told = [Risk(REVIEW, "Packages are taken from another place.")]
    if plain and any(uri.startswith("https:") for uri in before):
        told.append(Risk(REVIEW, "%s is not encrypted, and what it replaces was." % ", ".join(plain)))
    return told


def of_key(before: str, after: str) -> t.List[Risk]:
    if before == after:
        return [Risk(NOTE, "The same key with other signatures, as one whose end was put off.")]
    return [Risk(REVIEW, "Packages are trusted by another key. %s" % (_NEW_KEY % after))]


# --- fields -------------------------------------------------------------------------------------------------------


def _driver_version(old: Fields, new: Fields) -> t.List[Risk]:
    told = _down(old, new, "The driver goes down.")
    was, is_ = (_branch(fields) for fields in (old, new))
    if was and is_ and was != is_:
        told.append(Risk(REVIEW, "Another branch of the driver: %d, it was %d.%s" % (is_, was, _lost(old, new))))
    return told


def _driver_flavour(old: Fields, new: Fields) -> t.List[Risk]:
    return [Risk(REVIEW, "Kernel modules of another make: %s.%s" % (new.get("flavour", "none"), _lost(old, new)))]


def _driver_build(old: Fields, new: Fields) -> t.List[Risk]:
    if new.get("build") == "dkms":
        words = "Modules are built on each node: it needs headers and a compiler, and where Secure Boot is on a key."
    else:
        words = "Modules come built, for one kernel alone: driver and kernel move together from now on."
    return [Risk(REVIEW, words)]


def _driver_source(old: Fields, new: Fields) -> t.List[Risk]:
    return [Risk(REVIEW, "Packages of another maker (%s), some with other names." % new.get("source", "none"))]


def _branch(fields: Fields) -> t.Optional[int]:
    numbers = version_numbers(fields.get("version", ""))
    return numbers[0] if numbers else None


def _lost(old: Fields, new: Fields) -> str:
    """The generations of GPUs that the driver drove, and the new one does not."""
    was, is_ = _branch(old), _branch(new)
    if was is None or is_ is None:
        return ""
    names = [
        generation.name
        for key, generation in generations.GENERATIONS.items()
        if not generations.misfit(key, old.get("flavour", ""), was)
        and generations.misfit(key, new.get("flavour", ""), is_)
    ]
    return " It no longer drives %s." % ", ".join(names) if names else ""


def _kernel_release(old: Fields, new: Fields) -> t.List[Risk]:
    return _down(old, new, "The kernel goes down.", "release")


def _toolkit_version(old: Fields, new: Fields) -> t.List[Risk]:
    told = _down(old, new, "The toolkit goes down.")
    closed = set(compat.toolkit_holes(old.get("version", "")))
    opened = [hole for hole in compat.toolkit_holes(new.get("version", "")) if hole not in closed]
    if opened:
        told.append(Risk(REVIEW, "Weaker: open again are %s (a container can get out)." % ", ".join(opened)))
    return told


def _waiver(old: Fields, new: Fields) -> t.List[Risk]:
    reason, until = new.get("waiver.reason"), new.get("waiver.until", "a day that is not said")
    if reason is None:
        return [Risk(NOTE, "The waiver of the toolkit's known holes is gone.")]
    holes = ", ".join(compat.toolkit_holes(new.get("version", ""))) or "no hole that is known"
    kind = "is new" if "waiver.reason" not in old else "has another reason"
    return [Risk(REVIEW, "Weaker: the waiver %s. It leaves open %s, until %s." % (kind, holes, until))]


def _waiver_until(old: Fields, new: Fields) -> t.List[Risk]:
    before, after = old.get("waiver.until"), new.get("waiver.until")
    if before and after and after > before:
        return [Risk(REVIEW, "Weaker: the waiver holds for longer.")]
    return []


def _docker_version(old: Fields, new: Fields) -> t.List[Risk]:
    told = _down(old, new, "Docker goes down: it does not promise to read data that a newer one has written.")
    was, is_ = (version_numbers(fields.get("version", "")) for fields in (old, new))
    if was < (29,) <= is_:
        words = "Docker 29 refuses clients before Docker 25 (API 1.44), and gives containers nofile 1024 by default."
        told.append(Risk(REVIEW, words))
    reads = [compat.newest_cdi(fields.get("version", "")) for fields in (old, new)]
    if reads[0] != reads[1]:
        before, after = ("CDI up to %s" % cdi if cdi else "no CDI" for cdi in reads)
        told.append(Risk(REVIEW if reads[1] is None else NOTE, "It reads %s, it was %s." % (after, before)))
    return told


def _docker_source(old: Fields, new: Fields) -> t.List[Risk]:
    words = "Packages of another maker: the old ones are removed, by packages_allow_remove. Data stays where it is."
    return [Risk(REVIEW, words)]


def _image_digest(old: Fields, new: Fields) -> t.List[Risk]:
    if old.get("reference") != new.get("reference"):
        return []
    words = "The same tag has other content: somebody has pushed it anew. Look at what is in it first."
    return [Risk(REVIEW, words)]


def _image_cuda(old: Fields, new: Fields) -> t.List[Risk]:
    was, is_ = (version_numbers(fields.get("cuda", "")) for fields in (old, new))
    told = _down(old, new, "CUDA of the image goes down.", "cuda")
    if was and is_ and was[0] != is_[0]:
        words = "Another major CUDA: what was built for CUDA %d does not find its libraries in an image of CUDA %d."
        told.append(Risk(REVIEW, words % (was[0], is_[0])))
    return told


def _cuda_check(old: Fields, new: Fields) -> t.List[Risk]:
    if new.get("cuda_check") == "required":
        return [Risk(NOTE, "Stricter: a node whose container has no CUDA is no longer golden.")]
    return [Risk(REVIEW, "Weaker: a node may be golden, and CUDA in the container not be proven.")]


def _cuda_command(old: Fields, new: Fields) -> t.List[Risk]:
    return [Risk(REVIEW, "Another command proves CUDA in the container: see that it fails where there is none.")]


def _cuda_compat(old: Fields, new: Fields) -> t.List[Risk]:
    by = {
        "minor": "within a major version, without PTX that is newer than the driver",
        "forward": "by the image's cuda-compat, on data-centre GPUs",
    }.get(new.get("cuda_compat", ""))
    if by is None:
        return []
    return [Risk(REVIEW, "Weaker: the image may be newer than the driver's CUDA (%s)." % by)]


def _python(old: Fields, new: Fields) -> t.List[Risk]:
    words = "The controller needs nvidia-ml-py %s, and the agent on each node is renewed."
    return [Risk(NOTE, words % new.get("nvidia_ml_py", "?"))]


def _package_manager(old: Fields, new: Fields) -> t.List[Risk]:
    return [Risk(REVIEW, "Another package manager: no node changes from one to the other.")]


_RULES: t.Dict[t.Tuple[str, str], t.Callable[[Fields, Fields], t.List[Risk]]] = {
    ("package_manager", ""): _package_manager,
    ("kernel", "release"): _kernel_release,
    ("driver", "version"): _driver_version,
    ("driver", "flavour"): _driver_flavour,
    ("driver", "build"): _driver_build,
    ("driver", "source"): _driver_source,
    ("toolkit", "version"): _toolkit_version,
    ("toolkit", "waiver.reason"): _waiver,
    ("toolkit", "waiver.until"): _waiver_until,
    ("docker", "version"): _docker_version,
    ("docker", "source"): _docker_source,
    ("image", "digest"): _image_digest,
    ("image", "cuda"): _image_cuda,
    ("image", "cuda_check"): _cuda_check,
    ("image", "cuda_command"): _cuda_command,
    ("image", "cuda_compat"): _cuda_compat,
    ("python", "nvidia_ml_py"): _python,
}


def _down(old: Fields, new: Fields, words: str, field: str = "version") -> t.List[Risk]:
    return [Risk(REVIEW, words)] if _is_older(new.get(field, ""), old.get(field, "")) else []


def _is_older(version: str, than: str) -> bool:
    """By epoch and the numbers at the front; where these are the same, or there are none, nothing is said."""
    one, other = _comparable(version), _comparable(than)
    return bool(one[1] and other[1]) and one < other


def _comparable(version: str) -> t.Tuple[int, t.Tuple[int, ...]]:
    epoch, rest = re.match(r"(?:(\d+):)?(.*)", version, re.DOTALL).groups("0")  # type: ignore[union-attr]
    return int(epoch), version_numbers(rest)
