# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of what works together, as data: each row with its source. The rules are in ``compat``.

Pure. A row's ``source`` is a key of SOURCES. Marks: [V] read in the vendor's own source; [2] in a public source that
is not the vendor's, or worked out from one. State of the tables: November 2026. docs/compatibility.md is made from
them (make docs).
"""

from __future__ import annotations

import dataclasses
import typing as t

Numbers = t.Tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Source:
    title: str
    address: str


_NVIDIA = "https://docs.nvidia.com/"
_DRIVERS = _NVIDIA + "datacenter/tesla/"
_TOOLKIT = _NVIDIA + "datacenter/cloud-native/"

SOURCES: t.Dict[str, Source] = {
    "release-notes": Source("CUDA release notes", _NVIDIA + "cuda/cuda-toolkit-release-notes/"),
    "minor": Source(
        "Minor version compatibility", _NVIDIA + "deploy/cuda-compatibility/minor-version-compatibility.html"
    ),
    "forward": Source("Forward compatibility", _NVIDIA + "deploy/cuda-compatibility/forward-compatibility.html"),
    "drivers-615": Source(
        "Supported drivers, edition 615", _DRIVERS + "drivers/615/supported-drivers-and-cuda-toolkit-versions.html"
    ),
    "drivers-620": Source(
        "Supported drivers, edition 620", _DRIVERS + "drivers/620/supported-drivers-and-cuda-toolkit-versions.html"
    ),
    "architectures": Source(
        "CUDA, driver and architecture", _DRIVERS + "drivers/cuda-toolkit-driver-and-architecture-matrix.html"
    ),
    "flavours": Source("Kernel modules", _DRIVERS + "driver-installation-guide/kernel-modules.html"),
    "flavours-620": Source(
        "Kernel modules, edition 620", _DRIVERS + "driver-installation-guide/620/kernel-modules.html"
    ),
    "mig": Source("MIG guide", _DRIVERS + "mig-user-guide/620/deployment-considerations.html"),
    "manifests": Source(
        "Redistribution manifests", "https://developer.download.nvidia.com/compute/nvidia-driver/redist/"
    ),
    "open-modules": Source("Sources of the open modules", "https://github.com/NVIDIA/open-gpu-kernel-modules"),
    "operator": Source("Platforms of the GPU operator", _TOOLKIT + "gpu-operator/latest/platform-support.html"),
    "toolkit": Source("Release notes of the toolkit", _TOOLKIT + "container-toolkit/latest/release-notes.html"),
    "bulletin-5659": Source("Security bulletin 5659", "https://nvidia.custhelp.com/app/answers/detail/a_id/5659"),
    "bulletin-5850": Source("Security bulletin 5850", "https://nvidia.custhelp.com/app/answers/detail/a_id/5850"),
    "moby": Source("Sources of Docker", "https://github.com/moby/moby/blob/master/go.mod"),
    "podman-4": Source("Issue 1860", "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1860"),
    "podman-5": Source("Issue 1940", "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1940"),
    "legacy": Source("Legacy drivers", "https://www.nvidia.com/en-us/drivers/unix/legacy-gpu/"),
    "pytorch": Source("Versions of PyTorch", "https://pytorch.org/get-started/previous-versions/"),
}


# --- drivers ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Branch:
    """A driver branch. ``eol`` is its last supported month as (year, month); ``cuda`` the level that it reports.

    ``release``: one that is published, to name as an example. ``source`` is that of level and end of life.
    """

    cuda: t.Optional[Numbers]
    release: str
    source: str
    mark: str = "V"
    eol: t.Optional[Numbers] = None
    ended: bool = False  # unmaintained, with no date that is known
    open_modules: bool = True
    proprietary_modules: bool = True


#: The branches to name when another one is needed: long-term support, and known to these tables.
LONG_TERM = ("580.159.03", "620.70.06")

_RN = "release-notes"
#: CUDA levels are those of the toolkit that came with the branch; of 565 alone there was none.
BRANCHES: t.Dict[int, Branch] = {
    450: Branch((11, 0), "450.80.02", _RN, ended=True, open_modules=False),
    455: Branch((11, 1), "455.32", _RN, ended=True, open_modules=False),
    460: Branch((11, 2), "460.32.03", _RN, ended=True, open_modules=False),
    465: Branch((11, 3), "465.19.01", _RN, ended=True, open_modules=False),
    470: Branch((11, 4), "470.256.02", _RN, ended=True, open_modules=False),
    495: Branch((11, 5), "495.29.05", _RN, ended=True, open_modules=False),
    510: Branch((11, 6), "510.47.03", _RN, ended=True, open_modules=False),
    515: Branch((11, 7), "515.48.07", _RN, ended=True),
    520: Branch((11, 8), "520.61.05", _RN, ended=True),
    525: Branch((12, 0), "525.85.12", _RN, ended=True),
    530: Branch((12, 1), "530.30.02", _RN, ended=True),
    535: Branch((12, 2), "535.309.01", "drivers-615", eol=(2026, 6)),
    545: Branch((12, 3), "545.23.08", _RN, ended=True),
    550: Branch((12, 4), "550.163.01", _RN, ended=True),
    555: Branch((12, 5), "555.42.06", _RN, ended=True),
    560: Branch((12, 6), "560.35.05", _RN, ended=True),
    565: Branch((12, 7), "565.57.01", "open-modules", "2", ended=True),
    570: Branch((12, 8), "570.211.01", _RN, "2", eol=(2026, 2)),
    575: Branch((12, 9), "575.64.05", _RN, ended=True),
    580: Branch((13, 0), LONG_TERM[0], "drivers-620", eol=(2028, 6)),
    590: Branch((13, 1), "590.48.01", _RN),
    595: Branch((13, 2), "595.71.05", "drivers-620", eol=(2027, 3)),
    610: Branch((13, 3), "610.57.04", "drivers-615", eol=(2026, 8)),
    615: Branch((13, 4), "615.71.10", "manifests", "2", proprietary_modules=False),
    620: Branch((13, 5), LONG_TERM[1], "drivers-620", eol=(2029, 9), proprietary_modules=False),
}


@dataclasses.dataclass(frozen=True)
class CudaRelease:
    """``driver`` is the first one of this CUDA release."""

    cuda: Numbers
    driver: str
    mark: str = "V"
    source: str = _RN


#: From 13.4 on the driver comes apart from the toolkit, and the branch that reports the level stands here.
CUDA_RELEASES: t.Tuple[CudaRelease, ...] = (
    CudaRelease((11, 0), "450.36.06"),
    CudaRelease((11, 1), "455.23"),
    CudaRelease((11, 2), "460.27.03"),
    CudaRelease((11, 3), "465.19.01"),
    CudaRelease((11, 4), "470.42.01"),
    CudaRelease((11, 5), "495.29.05"),
    CudaRelease((11, 6), "510.39.01"),
    CudaRelease((11, 7), "515.43.04"),
    CudaRelease((11, 8), "520.61.05"),
    CudaRelease((12, 0), "525.60.13"),
    CudaRelease((12, 1), "530.30.02"),
    CudaRelease((12, 2), "535.54.03"),
    CudaRelease((12, 3), "545.23.06"),
    CudaRelease((12, 4), "550.54.14"),
    CudaRelease((12, 5), "555.42.02"),
    CudaRelease((12, 6), "560.28.03"),
    CudaRelease((12, 8), "570.26"),
    CudaRelease((12, 9), "575.51.03"),
    CudaRelease((13, 0), "580.65.06"),
    CudaRelease((13, 1), "590.44.01"),
    CudaRelease((13, 2), "595.45.04", "2"),
    CudaRelease((13, 3), "610.43.02", "2"),
    CudaRelease((13, 4), "615", "2", "manifests"),
    CudaRelease((13, 5), "620", "2", "manifests"),
)
CUDA_DRIVERS: t.Dict[Numbers, str] = {row.cuda: row.driver for row in CUDA_RELEASES}

#: Oldest driver that runs a later minor release of the same CUDA major ("minor version compatibility") [V].
MINOR_FLOORS: t.Dict[int, str] = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
MINOR_SOURCE, FORWARD_SOURCE = "minor", "forward"

#: Builds of a framework's release that its makers publish; another is somebody's own. Newer releases: not known here.
FRAMEWORK_BUILDS: t.Tuple[t.Tuple[str, Numbers, t.Tuple[Numbers, ...], str, str], ...] = (
    ("pytorch", (2, 5), ((11, 8), (12, 1), (12, 4)), "V", "pytorch"),
    ("pytorch", (2, 6), ((11, 8), (12, 4), (12, 6)), "V", "pytorch"),
    ("pytorch", (2, 7), ((11, 8), (12, 6), (12, 8)), "2", "pytorch"),
    ("pytorch", (2, 8), ((12, 6), (12, 8), (12, 9)), "2", "pytorch"),
    ("pytorch", (2, 9), ((12, 6), (12, 8), (13, 0)), "V", "pytorch"),
)


# --- toolkit and engines ------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Hole:
    """A hole of the toolkit by which a container can get out or do harm, and the first release without it."""

    name: str
    fixed: str
    source: str = "toolkit"
    mark: str = "V"


HOLES: t.Tuple[Hole, ...] = (
    Hole("CVE-2024-0132", "1.16.2"),
    Hole("CVE-2024-0134", "1.17.0"),
    Hole("CVE-2024-0135", "1.17.3"),
    Hole("CVE-2025-23359", "1.17.4"),
    Hole("CVE-2025-23266", "1.17.8", "bulletin-5659", "2"),
    Hole("CVE-2025-23267", "1.17.8", "bulletin-5659", "2"),
    Hole("CVE-2026-24260", "1.19.1", "bulletin-5850", "2"),
)
#: The newest hole makes the floor; and the release to name as an example.
TOOLKIT_FLOOR, TOOLKIT_RELEASE = "1.19.1", "1.20.1"
#: Longest time for which a toolkit with known holes may be waived, in days: a waiver is looked at again.
WAIVER_DAYS = 366

#: The newest CDI that an engine reads, from which release on: the reader that it was built with, [V] for 0.7.0, else
#: [2]. What is newer than the last row, nobody has told us; before Docker 25 there is no CDI.
CDI_READERS: t.Tuple[t.Tuple[str, str], ...] = (("25.0", "0.6.0"), ("26.1", "0.7.0"), ("27.4", "0.8.0"))
CDI_MARKS: t.Dict[str, str] = {"0.6.0": "2", "0.7.0": "V", "0.8.0": "2"}
#: A release of Docker for each schema, to name as an example.
DOCKER_RELEASES: t.Dict[str, str] = {"26.1": "26.1.4", "27.4": "27.4.0"}
#: Podman reads CDI from 4.1 on. 4.9.3 reads what is older than 0.7.0, and 5.7 reads 0.7.0 [V]. What those between read,
#: and how old a specification those before need, nobody has told us.
PODMAN_CDI, PODMAN_060, PODMAN_NOT_070, PODMAN_070 = "4.1", "4.9", "5.0", "5.7"
#: The newest CDI before groups of device nodes came into it.
CDI_BEFORE_GIDS = "0.6.0"
#: From this toolkit on, specifications have CDI 0.7.0, for the groups of device nodes [V]; without these, and before,
#: they have 0.6.0 at most, which every engine that reads CDI can read.
CDI_070_TOOLKIT = "1.19.1"


# --- kernels ------------------------------------------------------------------------------------------------------

#: First driver of a branch that builds on a kernel, computed from the published sources of the open modules [V]; None:
#: the branch never did. A newer kernel needs all rows up to it.
KERNEL_BUILDS: t.Tuple[t.Tuple[Numbers, t.Dict[int, t.Optional[str]]], ...] = (
    ((6, 13), {535: "535.247.01", 550: "550.163.01", 555: None, 560: None, 565: None, 570: "570.123.01"}),
    ((6, 15), {535: "535.261.03", 550: None, 570: "570.153.02", 575: "575.57.08", 580: "580.65.06"}),
    ((6, 17), {535: "535.274.02", 550: None, 570: "570.190", 575: None, 580: "580.82.07"}),
    ((6, 19), {590: None}),
)
KERNEL_SOURCE = "open-modules"
#: Newest kernel that the sources say anything about; beyond, nobody has shown us a build.
NEWEST_KERNEL = (7, 0)
#: First driver whose sources mention kernels after 6.17 at all: hints, and not proofs [V].
NEW_KERNEL_HINTS: t.Dict[int, str] = {580: "580.142", 595: "595.45.04"}
