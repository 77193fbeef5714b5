# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which drivers can drive which generation of GPUs, as tables with their sources.

Pure, and apart from ``compat``, which a node never needs: this is part of every look. Marks as there: [V] read in the
vendor's own source; [2] in a public source that is not the vendor's. State of the tables: November 2026.
"""

from __future__ import annotations

import dataclasses
import typing as t

#: The branch to name when another one is needed: long-term support, and known to this table.
LONG_TERM = ("580.159.03", "620.70.06")


@dataclasses.dataclass(frozen=True)
class Generation:
    """What a generation of GPUs asks of the driver. Branches are first and last that know it, None where not known."""

    name: str
    min_branch: t.Optional[int] = None
    max_branch: t.Optional[int] = None
    needs_open: bool = False
    needs_proprietary: bool = False


#: Last branch for Kepler: 470, as newer drivers say ("supported through the 470.xx Legacy drivers") [V]; for Fermi 390
#: and Tesla 340 [2]; for Maxwell, Pascal and Volta 580 [V]. Open modules need a GSP, so Turing or newer [V]. Open only:
#: Grace Hopper [V], Blackwell [2], and everything from branch 615 on. First branches: the floors of the MIG guide [V].
GENERATIONS: t.Dict[str, Generation] = {
    "tesla": Generation("Tesla (G80 to GT200)", max_branch=340, needs_proprietary=True),
    "fermi": Generation("Fermi", max_branch=390, needs_proprietary=True),
    "kepler": Generation("Kepler", max_branch=470, needs_proprietary=True),
    "maxwell": Generation("Maxwell", max_branch=580, needs_proprietary=True),
    "pascal": Generation("Pascal", max_branch=580, needs_proprietary=True),
    "volta": Generation("Volta", max_branch=580, needs_proprietary=True),
    "turing": Generation("Turing"),
    "ampere": Generation("Ampere", min_branch=450),
    "ada": Generation("Ada"),
    "hopper": Generation("Hopper", min_branch=525),
    "grace_hopper": Generation("Grace Hopper", min_branch=525, needs_open=True),
    "blackwell": Generation("Blackwell", min_branch=570, needs_open=True),
    "rubin": Generation("Rubin", min_branch=615, needs_open=True),  # [2]
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
    """A driver that cannot drive a GPU: ``message`` continues "driver X", ``path`` is what to change in the bundle."""

    path: str
    message: str
    fix: str


def misfit(generation: t.Optional[str], flavour: str, branch: int) -> t.Optional[Misfit]:
    """Why this driver cannot drive this generation of GPUs; None when it can, or when the generation is not known."""
    known = GENERATIONS.get(generation) if generation else None
    if known is None:
        return None
    if known.max_branch is not None and branch > known.max_branch:
        message = "has no support for %s GPUs: %d is the last branch that has" % (known.name, known.max_branch)
        return Misfit("driver.version", message, "Use branch %d, flavour proprietary" % known.max_branch)
    if known.min_branch is not None and branch < known.min_branch:
        message = "has no support for %s GPUs: %d is the first branch that has" % (known.name, known.min_branch)
        newer = next(version for version in LONG_TERM if int(version.partition(".")[0]) >= known.min_branch)
        return Misfit("driver.version", message, "Use driver %s" % newer)
    if known.needs_proprietary and flavour == "open":
        message = (
            "does not drive %s GPUs: the open kernel modules need a GPU System Processor (Turing and newer)"
            % known.name
        )
        return Misfit("driver.flavour", message, "Use proprietary, in the same branch (%d)" % branch)
    if known.needs_open and flavour == "proprietary":
        message = "does not drive %s GPUs: they need the open kernel modules" % known.name
        return Misfit("driver.flavour", message, "Use open, in the same branch (%d)" % branch)
    return None
