# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Broken nodes of the layer packages."""

from __future__ import annotations

import dataclasses

from ansible_collections.goldennode.gpu.plugins.module_utils.model import KeptPackages, Package, Platform
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import apt_sources
from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, Node, items, known, node, with_

NVIDIA = "/etc/apt/sources.list.d/nvidia.list"


def package(name: str, version: str, **fields: object) -> Node:
    of = node()
    found = dataclasses.replace(Package(name, version, held=True), **fields)
    return with_(of, packages=items(of.evidence.packages, {name: found}))


def without(name: str) -> Node:
    of = node()
    return with_(of, packages=items(of.evidence.packages, {name: None}))


def conflicting_source() -> Node:
    of = node()
    line = "deb [signed-by=/usr/share/keyrings/nvidia.gpg] http://vendor.testbed/nvidia/debian13 stable main\n"
    other = apt_sources.parse(NVIDIA, line, "amd64")
    return with_(of, sources=(*(of.evidence.sources.value or ()), *other))


def edited_pin() -> Node:
    of = node()
    path = "/etc/apt/preferences.d/00goldennode"
    there = (of.evidence.files.value or {})[path]
    return with_(of, files=items(of.evidence.files, {path: dataclasses.replace(there, sha256="e" * 64)}))


CASES = (
    Case(
        "packages.platform",
        "the node is of another release than its lock",
        known(platform=Platform("debian", "12", "x86_64")),
        ("after_upgrade",),
    ),
    Case(
        "packages.sources",
        "another file names the same repository with another key",
        conflicting_source,
        ("apt_signed_by",),
    ),
    Case("packages.files", "the pin of the packages was edited", edited_pin, ("after_upgrade",)),
    Case(
        "packages.versions",
        "an upgrade moved the driver's libraries alone",
        lambda: package("libcuda1", "580.178.04-1"),
        ("nvml_mismatch", "after_upgrade", "cuda_unavailable"),
    ),
    Case(
        "packages.versions",
        "nvidia-smi is not installed",
        lambda: without("nvidia-smi"),
        ("smi_not_found",),
    ),
    Case(
        "packages.versions",
        "an installation was not finished",
        lambda: package("nvidia-kernel-open-dkms", "580.159.03-1", status="half-configured"),
        ("after_upgrade", "no_driver"),
    ),
    Case(
        "packages.versions",
        "the container toolkit is not installed",
        lambda: without("nvidia-container-toolkit"),
        ("select_driver",),
    ),
    Case(
        "packages.set",
        "a package of another driver was left behind",
        lambda: package("libnvidia-compute-550", "550.163.01-1"),
        ("nvml_mismatch", "after_upgrade"),
    ),
    Case(
        "packages.set",
        "NVIDIA's pinning package pins another driver",
        lambda: package("nvidia-driver-pinning-595", "595-1"),
    ),
    Case(
        "packages.holds",
        "nothing keeps an upgrade from moving a package",
        lambda: package("libcuda1", "580.159.03-1", held=False),
        ("after_upgrade",),
    ),
    Case("packages.kept", "the package files for going back are not kept", known(kept_packages=KeptPackages((), {}))),
)
