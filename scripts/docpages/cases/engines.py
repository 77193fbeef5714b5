# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes with other engines beside Docker that can give no GPU."""

from __future__ import annotations

import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils.model import ContainerEngine, Engines, Reading
from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, Node, node, with_
from ansible_collections.goldennode.gpu.tests.unit import healthy

SPEC = "/var/run/cdi/nvidia.yaml"
KUBELET = "/usr/bin/kubelet"
UNRESOLVABLE = ("Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",)


def beside(name: str, version: str, schema: str = "0.5.0", **fields: t.Any) -> t.Callable[[], Node]:
    """A healthy node that has this engine too."""
    there = {"kubelet": fields.pop("kubelet", ""), "hooks": fields.pop("hooks", ())}

    def made() -> Node:
        engine = ContainerEngine(name, "/usr/bin/" + name, version, **fields)
        specs = {SPEC: healthy.cdi_spec(schema=schema)}
        return with_(node(), engines=Engines((engine,), rootless=Reading({}), **there), cdi_specs=specs)

    return made


def containerd(version: str, **fields: t.Any) -> t.Callable[[], Node]:
    """One that Kubernetes asks."""
    return beside("containerd", version, kubelet=KUBELET, **fields)


CASES = (
    Case(
        "container_runtime.engines",
        "Podman cannot read the CDI specification, which is newer than it",
        beside("podman", "4.9.3", "0.7.0"),
        ("cdi_devices",),
        UNRESOLVABLE,
    ),
    Case(
        "container_runtime.engines",
        "a Podman from before CDI",
        beside("podman", "3.4.4"),
        ("cdi_devices",),
        ("Error: stat nvidia.com/gpu=all: no such file or directory",),
    ),
    Case(
        "container_runtime.engines",
        "the part of containerd that Kubernetes asks is switched off",
        containerd("1.7.24", cri=False),
        ("kubernetes",),
    ),
    Case(
        "container_runtime.engines",
        "Kubernetes' containerd knows neither NVIDIA's runtime nor CDI",
        containerd("1.7.24", cri=True),
        ("kubernetes", "no_gpu_inside"),
    ),
    Case(
        "container_runtime.engines",
        "NVIDIA's runtime stands where containerd does not read it",
        containerd("2.0.1", cri=True, cdi=False, misplaced=("io.containerd.grpc.v1.cri: nvidia",)),
        ("kubernetes", "no_gpu_inside"),
    ),
    Case(
        "container_runtime.engines",
        "a CRI-O from before CDI, without NVIDIA's runtime",
        beside("crio", "1.22.5", kubelet=KUBELET),
        ("kubernetes", "no_gpu_inside"),
    ),
    Case(
        "container_runtime.engines",
        "NVIDIA's old hook runs beside CDI",
        beside("podman", "5.7.0", hooks=("/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json",)),
        ("container_does_not_start",),
    ),
    Case(
        "container_runtime.engines",
        "an engine's settings cannot be read",
        containerd("2.0.1", error="/etc/containerd/config.toml: it is no TOML: line 12"),
    ),
)
