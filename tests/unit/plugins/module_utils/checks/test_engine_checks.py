# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engines beside Docker: which of them can give GPUs, and what is in their way. None of it takes gold away."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import compat, verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import ContainerEngine, Engines, Finding, Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import cdi
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)
SPEC = "/var/run/cdi/nvidia.yaml"
KUBELET = "/usr/bin/kubelet"


def engine(name: str, **fields: t.Any) -> ContainerEngine:
    return ContainerEngine(**{"name": name, "path": "/usr/bin/" + name, **fields})


def findings(*engines: ContainerEngine, schema: str = "0.7.0", **fields: t.Any) -> t.List[Finding]:
    there = Engines(engines, rootless=Reading({}), **fields)
    specs = {SPEC: healthy.cdi_spec(schema=schema)}
    judged = verdict.run(WANTED, healthy.known(NODE, engines=there, cdi_specs=specs), 1)
    assert judged.golden
    return [f for f in judged.findings if f.id == "container_runtime.engines"]


def only(*engines: ContainerEngine, **fields: t.Any) -> Finding:
    (finding,) = findings(*engines, **fields)
    assert finding.status != "fail" or all((finding.expected, finding.actual, finding.cause, finding.fix)), finding
    return finding


def test_case_024_a_specification_that_podman_cannot_read() -> None:
    """NVIDIA/nvidia-container-toolkit#1860: nvidia-ctk cdi list is content, and Podman 4.9.3 resolves nothing."""
    written = cdi.parse("---\ncdiVersion: 0.7.0\nkind: nvidia.com/gpu\ndevices:\n- name: all\n") or healthy.cdi_spec()
    finding = only(engine("podman", version="4.9.3"), schema=written.schema)
    assert (finding.status, finding.layer, finding.repair) == ("fail", "container_runtime", "manual")
    assert finding.entity == "podman " + SPEC
    assert finding.cause == (
        "Podman 4.9.3 cannot read /var/run/cdi/nvidia.yaml, which has CDI 0.7.0: it says that the CDI devices are "
        "unresolvable, although nvidia-ctk cdi list shows them."
    )
    assert "Install a newer Podman (5.7" in finding.fix
    assert "Writing the same file anew does not help." in finding.fix


@pytest.mark.parametrize(
    ("podman", "schema", "reads"),
    [
        ("4.9.3", "0.7.0", False),
        ("4.9.3", "0.6.0", True),
        ("4.2.0", "0.6.0", None),
        ("3.4.4", "0.5.0", False),
        ("5.7.0", "0.7.0", True),
        ("5.7.0", "1.0.0", None),
        ("5.4.2", "0.7.0", None),
        ("4.9.3", "", None),
        ("", "0.7.0", None),
    ],
)
def test_what_podman_reads(podman: str, schema: str, reads: t.Optional[bool]) -> None:
    """4.9.3: #1860. 5.7: #1940. Before 4.1 there is no CDI: #63. What nobody has told is None."""
    assert compat.podman_reads_cdi(podman, schema) is reads


def test_a_specification_where_podman_does_not_look_is_not_its_own() -> None:
    assert only(engine("podman", version="4.9.3", cdi_dirs=("/opt/cdi",))).status == "pass"


def test_a_podman_of_which_nobody_knows_is_not_blamed() -> None:
    assert only(engine("podman", version="5.4.2")).status == "pass"


def test_a_podman_before_cdi() -> None:
    """It knows no CDI device by any name, so it says something else than a Podman that cannot read the file."""
    finding = only(engine("podman", version="3.4.4"))
    assert finding.cause == (
        "Podman 3.4.4 is from before CDI: it takes nvidia.com/gpu=all for a path, and says that there is no such file."
    )
    assert finding.fix.endswith("Podman reads CDI from 4.1 on.")


@pytest.mark.parametrize("name", ["podman", "crio"])
def test_a_version_that_is_not_known(name: str) -> None:
    assert only(engine(name)).status == "unknown"


def test_an_old_hook_beside_cdi() -> None:
    path = "/usr/share/containers/oci/hooks.d/oci-nvidia-hook.json"
    finding = only(engine("podman", version="5.7.0"), hooks=(path,))
    assert (finding.status, finding.entity) == ("fail", path)
    assert finding.fix.startswith("Remove %s" % path)


def test_containerd_without_kubernetes_is_dockers() -> None:
    finding = only(engine("docker"), engine("containerd", cri=False))
    assert (finding.status, finding.actual) == ("pass", "docker, containerd")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"version": "1.7.24"}, "fail"),
        ({"version": "1.7.24", "cdi": True}, "pass"),
        ({"version": "1.7.24", "runtimes": ("nvidia",)}, "pass"),
        ({"version": "2.0.1"}, "pass"),
        ({"version": "2.0.1", "cdi": False}, "fail"),
        ({"version": ""}, "fail"),
    ],
)
def test_containerd_that_serves_kubernetes(fields: t.Dict[str, t.Any], status: str) -> None:
    finding = only(engine("containerd", cri=True, **fields), kubelet=KUBELET)
    assert finding.status == status
    if status == "fail":
        assert "nvidia-ctk runtime configure --runtime=containerd" in finding.fix


@pytest.mark.parametrize("other", ["crio", "cri-dockerd", "k3s"])
def test_containerd_that_kubernetes_need_not_ask_is_not_judged(other: str) -> None:
    idle = engine("containerd", cri=False, version="1.7.24")
    kubelet = "/usr/local/bin/k3s" if other == "k3s" else KUBELET
    others = [] if other == "k3s" else [engine(other, version="1.30.4")]
    assert only(idle, *others, kubelet=kubelet).status == "pass"


def test_a_runtime_where_containerd_does_not_read_it() -> None:
    wrong = ("io.containerd.grpc.v1.cri: nvidia",)
    finding = only(engine("containerd", cri=True, version="2.0.1", misplaced=wrong), kubelet=KUBELET)
    assert (finding.status, finding.actual) == ("fail", "io.containerd.grpc.v1.cri: nvidia")
    both = engine("containerd", cri=True, version="2.0.1", misplaced=wrong, runtimes=("nvidia",))
    assert only(both, kubelet=KUBELET).status == "pass"


def test_containerds_part_for_kubernetes_is_switched_off() -> None:
    finding = only(engine("containerd", cri=False, version="1.7.24"), kubelet=KUBELET)
    assert finding.actual == "it is in disabled_plugins"


@pytest.mark.parametrize(("version", "status"), [("1.22.5", "fail"), ("1.23.0", "pass"), ("1.30.4", "pass")])
def test_crio(version: str, status: str) -> None:
    finding = only(engine("crio", version=version))
    assert finding.status == status
    if status == "fail":
        assert finding.cause.startswith("CRI-O can give no GPU to a container")
        assert finding.fix == "Run nvidia-ctk runtime configure --runtime=crio, then systemctl restart crio."


def test_settings_that_cannot_be_read_are_said_and_the_others_are_judged() -> None:
    found = findings(
        engine("crio", version="1.30.4", error="/etc/crio/crio.conf: no TOML"), engine("podman", version="4.9.3")
    )
    assert [(finding.status, finding.entity) for finding in found] == [("unknown", "crio"), ("fail", "podman " + SPEC)]


def test_a_node_without_an_engine_says_so() -> None:
    assert only().actual == "no container engine is installed"


def test_what_there_is() -> None:
    there = only(engine("docker"), engine("podman", version="5.7.0"), kubelet="/usr/local/bin/k3s")
    assert there.actual == "docker, podman 5.7.0, Kubernetes (/usr/local/bin/k3s)"
