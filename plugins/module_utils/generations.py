# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which drivers can drive which generation of GPUs, as tables with their sources.

Pure, and apart from ``compat``, whose rules are for bundles: this is part of every look. Marks: [V] read in the
vendor's own source; [2] in a public source that is not the vendor's. State of the tables: November 2026.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .compat_tables import BRANCHES, LONG_TERM


@dataclasses.dataclass(frozen=True)
class Generation:
    """What a generation of GPUs asks of the driver. Branches are first and last that know it, None where not known.

    ``first_cuda`` and ``last_cuda``: the CUDA toolkits that make code for it; the last is a major release.
    ``source`` and ``mark`` as in ``compat_tables``.
    """

    name: str
    min_branch: t.Optional[int] = None
    max_branch: t.Optional[int] = None
    needs_open: bool = False
    needs_proprietary: bool = False
    first_cuda: t.Optional[t.Tuple[int, int]] = None
    last_cuda: t.Optional[int] = None
    source: str = "architectures"
    mark: str = "V"


#: Last branch for Kepler: 470, as newer drivers say ("supported through the 470.xx Legacy drivers") [V]; for Fermi 390
#: and Tesla 340 [2]; for Maxwell, Pascal and Volta 580 [V]. Open modules need a GSP, so Turing or newer [V]. Open only:
#: Grace Hopper [V], Blackwell [2], and everything from branch 615 on. First branches: the floors of the MIG guide [V].
GENERATIONS: t.Dict[str, Generation] = {
    "tesla": Generation("Tesla (G80 to GT200)", max_branch=340, needs_proprietary=True, source="legacy", mark="2"),
    "fermi": Generation("Fermi", max_branch=390, needs_proprietary=True, last_cuda=8, source="legacy", mark="2"),
    "kepler": Generation("Kepler", max_branch=470, needs_proprietary=True, last_cuda=11),
    "maxwell": Generation("Maxwell", max_branch=580, needs_proprietary=True, last_cuda=12),
    "pascal": Generation("Pascal", max_branch=580, needs_proprietary=True, last_cuda=12),
    "volta": Generation("Volta", max_branch=580, needs_proprietary=True, last_cuda=12),
    "turing": Generation("Turing", first_cuda=(10, 0)),
    "ampere": Generation("Ampere", min_branch=450, first_cuda=(11, 0)),
    "ada": Generation("Ada", first_cuda=(11, 8)),
    "hopper": Generation("Hopper", min_branch=525, first_cuda=(11, 8)),
    "grace_hopper": Generation("Grace Hopper", min_branch=525, needs_open=True, first_cuda=(11, 8), source="operator"),
    "blackwell": Generation("Blackwell", min_branch=570, needs_open=True, first_cuda=(12, 8), mark="2"),
    "rubin": Generation("Rubin", min_branch=615, needs_open=True, source="flavours-620", mark="2"),
}

#: PCI device ids of vendor 10de, computed from the public list of PCI ids [V]. First match counts: the ranges of the
#: generations lie inside each other.
_DEVICES: t.Tuple[t.Tuple[int, int, t.Optional[str]], ...] = (
    (0x2F80, 0x2F80, None),  # audio
    (0x2F95, 0x2F98, None),  # Vera CPU
    (0x2342, 0x2342, "grace_hopper"),
    (0x2348, 0x2348, "grace_hopper"),  # with 144 GB [2]
    (0x0190, 0x019E, "tesla"),
    (0x0400, 0x042F, "tesla"),
    (0x05E0, 0x065F, "tesla"),
    (0x06E0, 0x06FF, "tesla"),
    (0x0A20, 0x0A7F, "tesla"),
    (0x0CA0, 0x0CBF, "tesla"),
    (0x10C0, 0x10D8, "tesla"),
    (0x06C0, 0x06DF, "fermi"),
    (0x0DC0, 0x0DFE, "fermi"),
    (0x0E22, 0x0E3B, "fermi"),
    (0x0F00, 0x0F06, "fermi"),
    (0x1040, 0x109B, "fermi"),
    (0x1140, 0x1140, "fermi"),
    (0x1200, 0x1251, "fermi"),
    (0x0FC0, 0x0FFF, "kepler"),
    (0x1001, 0x103F, "kepler"),
    (0x1180, 0x11FF, "kepler"),
    (0x1280, 0x12BA, "kepler"),
    (0x1340, 0x1436, "maxwell"),
    (0x1613, 0x1676, "maxwell"),
    (0x174D, 0x17FD, "maxwell"),
    (0x15C2, 0x15FF, "pascal"),
    (0x1725, 0x172F, "pascal"),
    (0x1B00, 0x1D56, "pascal"),
    (0x1D81, 0x1DF6, "volta"),
    (0x1E02, 0x1FF9, "turing"),
    (0x2182, 0x21D1, "turing"),
    (0x2080, 0x20FF, "ampere"),
    (0x2200, 0x223F, "ampere"),
    (0x2414, 0x25FB, "ampere"),
    (0x2302, 0x23F0, "hopper"),
    (0x2681, 0x28F8, "ada"),
    (0x2900, 0x297E, "blackwell"),
    (0x2980, 0x29F1, "blackwell"),
    (0x2B00, 0x2B00, "blackwell"),
    (0x2B85, 0x2F58, "blackwell"),
    (0x3180, 0x31FE, "blackwell"),
    (0x3200, 0x3340, "blackwell"),
    (0x3000, 0x30C0, "rubin"),
)


#: Device ids whose boards may have switches of NVLink 5, those of the dies GB100 (B200 2901, GB200 2941), GB102 and
#: GB110 (B300 3182, GB300 31c2) [V], and of Rubin, of which it is not known that none has [2].
_NVLINK5 = ((0x2900, 0x297E), (0x2980, 0x29F1), (0x3180, 0x31FE), (0x3000, 0x30C0))


def may_have_nvlink5(device_id: str) -> bool:
    """Whether such a GPU may stand on a board whose NVSwitches are no PCI functions of NVIDIA's."""
    try:
        device = int(device_id, 16)
    except ValueError:
        return False
    return any(first <= device <= last for first, last in _NVLINK5)


def gpu_generation(device_id: str) -> t.Optional[str]:
    """Key of GENERATIONS for a PCI device id (``2330``, with or without 0x); None when it is not known."""
    try:
        device = int(device_id, 16)
    except ValueError:
        return None
    return next((generation for first, last, generation in _DEVICES if first <= device <= last), None)


@dataclasses.dataclass(frozen=True)
class Misfit:
    """A driver that cannot drive a GPU: ``message`` continues "driver X", ``path`` is what to change in the bundle.

    ``pair``: what ``fix`` proposes, the new value by its path in the bundle; {} where no driver of these tables does.
    """

    path: str
    message: str
    fix: str
    pair: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


def misfit(generation: t.Optional[str], flavour: str, branch: int) -> t.Optional[Misfit]:
    """Why this driver cannot drive this generation of GPUs; None when it can, or when the generation is not known."""
    known = GENERATIONS.get(generation) if generation else None
    if known is None:
        return None
    if known.max_branch is not None and branch > known.max_branch:
        message = "has no support for %s GPUs: %d is the last branch that has" % (known.name, known.max_branch)
        return Misfit("driver.version", message, *_last_branch(known, known.max_branch))
    if known.min_branch is not None and branch < known.min_branch:
        message = "has no support for %s GPUs: %d is the first branch that has" % (known.name, known.min_branch)
        newer = next(version for version in LONG_TERM if int(version.partition(".")[0]) >= known.min_branch)
        fix, pair = "Use driver %s" % newer, {"driver.version": newer}
        if known.needs_open and flavour != "open":
            fix, pair = fix + ", flavour open", dict(pair, **{"driver.flavour": "open"})
        return Misfit("driver.version", message, fix, pair)
    if known.needs_proprietary and flavour == "open":
        message = (
            "does not drive %s GPUs: the open kernel modules need a GPU System Processor (Turing and newer)"
            % known.name
        )
        fix = "Use proprietary, in the same branch (%d)" % branch
        return Misfit("driver.flavour", message, fix, {"driver.flavour": "proprietary"})
    if known.needs_open and flavour == "proprietary":
        message = "does not drive %s GPUs: they need the open kernel modules" % known.name
        fix = "Use open, in the same branch (%d)" % branch
        return Misfit("driver.flavour", message, fix, {"driver.flavour": "open"})
    return None


def _last_branch(known: Generation, branch: int) -> t.Tuple[str, t.Dict[str, str]]:
    """With the newest image that such a driver and such a GPU take, since the bundle's may be newer."""
    fix = "Use branch %d, flavour proprietary" % branch
    if branch not in BRANCHES:
        return fix + ", of which nothing is known here, or take the host out of the group gpu_nodes", {}
    cuda = newest_cuda(known, BRANCHES[branch].cuda)
    pair = {"driver.version": BRANCHES[branch].release, "driver.flavour": "proprietary", "image.cuda": cuda}
    return "%s (%s), with an image of CUDA %s or older" % (fix, BRANCHES[branch].release, cuda), pair


def newest_cuda(known: t.Optional[Generation], level: t.Optional[t.Tuple[int, ...]] = None) -> str:
    """The newest CUDA of the tables that makes code for a generation and is no newer than what a driver runs; "" where
    there is none."""
    fitting = [
        branch.cuda
        for branch in BRANCHES.values()
        if branch.cuda
        and (level is None or branch.cuda <= level)
        and (known is None or known.last_cuda is None or branch.cuda[0] <= known.last_cuda)
    ]
    return "%d.%d" % max(fitting)[:2] if fitting else ""


#: Boards that are GeForce or TITAN by the public list of PCI ids, of Pascal and newer [V]; of Blackwell [2]. CUDA's
#: forward compatibility is for data-center boards and some RTX boards: of these it is known that they have none.
_GEFORCE = """
1617-161a 1667 174d-174e 179c 17c2 17c8 1b00-1b02 1b06 1b80-1b84 1ba0-1ba2 1bad 1be0-1be1 1c02-1c04 1c06 1c20-1c23
1c60-1c62 1c81-1c83 1c8c-1c8d 1c8f-1c92 1c94 1c96 1ccc-1ccd 1d01-1d02 1d10-1d13 1d16 1d52 1d56 1d81 1e02-1e04 1e07
1e2d-1e2e 1e81-1e82 1e84 1e87 1e89 1e90-1e91 1e93 1eae 1ec2 1ec7 1ed0-1ed1 1ed3 1f02-1f03 1f06-1f0a 1f10-1f12
1f14-1f15 1f42 1f47 1f50-1f51 1f54-1f55 1f82-1f83 1f91-1f92 1f94-1f98 1f9c-1f9d 1f9f-1fa0 1fd9 1fdd 2182 2184
2187-2188 2191-2192 21c4 21d1 2203-2208 220a 2216 222b 222f 2414 2420 2460 2482 2484 2486-2489 249c-249d 24ac-24ad
24af 24bf 24c7-24c9 24dc-24dd 2501 2503-2504 2508-2509 2520-2521 2523 252f 2544 2560-2561 2563 2582-2583 25a0 25a2
25a5-25a7 25a9-25ad 25af 25e0 25e2 25e5 25ec-25ed 2681 2684 2704 2717 2782 2786 27a0 27e0 2803 2820 2860 28a0-28a1
28e0-28e1 2b85 2b87 2b8c 2c02 2c05 2c18-2c19 2c58-2c59 2d04-2d05 2d18 2d58 2f04 2f18 2f58
"""
#: Data-center boards by the same list, and by the vendor's table of supported GPUs [V].
_DATA_CENTER = """
15f7-15f9 17fd 1b38-1b39 1bb3-1bb4 1db1-1db8 1df0 1df2 1df5-1df6 1e37-1e38 1eb4 1eb8 20b0-20b3 20b5 20b7-20b9
20be-20bf 20f0-20f3 20f5-20f6 2235-2238 2313 2321-2322 2324 2330-2331 2335-2336 2339 233b 2342 25b6 26b5 26b8-26b9
26f5 27b8 2901 2941 3182 31c2
"""


def forward_compatible(device_id: str) -> t.Optional[bool]:
    """Whether CUDA's forward compatibility is for such a board; None where the lists do not tell."""
    try:
        device = int(device_id, 16)
    except ValueError:
        return None
    if _listed(device, _DATA_CENTER):
        return True
    return False if _listed(device, _GEFORCE) else None


def _listed(device: int, ids: str) -> bool:
    ranges = (entry.partition("-") for entry in ids.split())
    return any(int(first, 16) <= device <= int(last or first, 16) for first, _dash, last in ranges)
