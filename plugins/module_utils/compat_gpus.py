# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a bundle's image cannot work with a GPU, which only a node can tell. Pure; the driver is ``generations``'."""

from __future__ import annotations

import dataclasses
import typing as t

from .compat_tables import BRANCHES, CUDA_DRIVERS, LONG_TERM
from .generations import GENERATIONS, Generation, forward_compatible, gpu_generation, misfit, newest_cuda
from .version import version_numbers


@dataclasses.dataclass(frozen=True)
class ImageMisfit:
    """``message`` continues "The image is CUDA X"; ``pair``: what ``fix`` proposes, the new value by its path.

    ``refused``: no CUDA program of the image can run; else some may, and None where that is not known.
    """

    message: str
    fix: str
    pair: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    refused: t.Optional[bool] = False


def image_misfits(
    device: str, driver: t.Mapping[str, t.Any], image: t.Mapping[str, t.Any]
) -> t.Tuple[ImageMisfit, ...]:
    """Why the bundle's image does not work with this GPU, as a PCI device id; nothing where nothing is known.

    :arg driver: ``version`` and ``flavour`` of the bundle
    :arg image: ``cuda`` and ``cuda_compat`` of the bundle
    """
    cuda = version_numbers(str(image.get("cuda") or ""))
    if not cuda:
        return ()
    generation = gpu_generation(device)
    known = GENERATIONS[generation] if generation else None
    level = _level(str(driver["version"]))
    found = []
    if image.get("cuda_compat") == "forward":
        found += list(_forward(device, generation, str(driver["version"]), str(driver["flavour"]), cuda))
    if known is not None:
        found += list(_code(known, level, cuda))
    return tuple(found)


def _forward(
    device: str, generation: t.Optional[str], version: str, flavour: str, cuda: t.Tuple[int, ...]
) -> t.Iterator[ImageMisfit]:
    """CUDA gives error 804 on a board that is not of those for which the compatibility is."""
    first = CUDA_DRIVERS.get(cuda)
    if first is None or version_numbers(version) >= version_numbers(first):
        return
    fits = forward_compatible(device)
    if fits:
        return
    leans = "newer than driver %s, so it leans on CUDA's forward compatibility, which is for data-center boards; "
    if fits is None:
        message = leans + "whether this board is one is not known here, and what CUDA says in a container decides"
        yield ImageMisfit(message % version, "Look at image.cuda: error 804 means that it is none", refused=None)
        return
    message = leans + "this one is a GeForce or TITAN board, on which CUDA ends with error 804"
    pair = _own_driver(generation, flavour, first, cuda)
    if pair is not None:
        fix = "Use driver %s with this image, without image.cuda_compat: forward" % pair["driver.version"]
    else:
        older = newest_cuda(GENERATIONS.get(generation or ""), _level(version))
        pair = {"image.cuda": older}
        fix = "Use an image of CUDA %s or older, without image.cuda_compat: forward" % older
    yield ImageMisfit(message % version, fix, dict(pair, **{"image.cuda_compat": "none"}), refused=True)


def _level(driver: str) -> t.Optional[t.Tuple[int, ...]]:
    branch = BRANCHES.get(next(iter(version_numbers(driver)), 0))
    return branch.cuda if branch else None


def _own_driver(
    generation: t.Optional[str], flavour: str, first: str, cuda: t.Tuple[int, ...]
) -> t.Optional[t.Dict[str, str]]:
    """A driver that runs this CUDA by itself and drives the GPU, where there is one."""
    for version in (*LONG_TERM, *(branch.release for branch in BRANCHES.values())):
        branch = version_numbers(version)[0]
        modules = BRANCHES[branch]
        exists = modules.open_modules if flavour == "open" else modules.proprietary_modules
        if exists and version_numbers(version) >= version_numbers(first) and not misfit(generation, flavour, branch):
            return {"driver.version": version}
    return None


def _code(known: Generation, level: t.Optional[t.Tuple[int, ...]], cuda: t.Tuple[int, ...]) -> t.Iterator[ImageMisfit]:
    """Which toolkits make code for a generation. An image may bring code of its own, so this is no refusal."""
    if known.last_cuda is not None and cuda[0] > known.last_cuda:
        newest = newest_cuda(known, level)
        message = (
            "and CUDA %d is the last whose compiler and libraries make code for %s GPUs: programs of it find no kernel"
            " image there" % (known.last_cuda, known.name)
        )
        pair = {"image.cuda": newest} if newest else {}
        yield ImageMisfit(message, "Use an image of CUDA %s or older" % (newest or known.last_cuda), pair)
    if known.first_cuda is not None and cuda < known.first_cuda:
        first = "%d.%d" % known.first_cuda
        message = (
            "and CUDA %s is the first that makes code for %s GPUs: programs of an older one run only where they bring"
            " PTX, which the driver then translates" % (first, known.name)
        )
        yield ImageMisfit(message, "Use an image of CUDA %s or newer" % first, {"image.cuda": first})
