# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node without a bundle is held against itself: it works or names its first broken layer, and is never golden."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import inferred
from ansible_collections.goldennode.gpu.plugins.module_utils.inferred_verdict import NO_BUNDLE, NO_IMAGE, judge
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    DriverLoaded,
    Evidence,
    Finding,
    Initramfs,
    Package,
    Reading,
    Verdict,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy

NODE = healthy.evidence()
IMAGE = "registry.testbed/cuda:13.0.1-base"


def of(verdict: Verdict, name: str) -> t.List[Finding]:
    return [finding for finding in verdict.findings if finding.id == name]


def first(verdict: Verdict) -> t.Tuple[t.Optional[str], str, str]:
    found = next(iter(verdict.broken), Finding("", "", ""))
    return verdict.first_broken, found.id.partition(".")[2], found.cause or found.actual


@pytest.mark.parametrize("profile", healthy.PROFILES)
@pytest.mark.parametrize("expected", [True, False])
def test_a_healthy_node_works_and_is_not_golden(profile: str, expected: bool) -> None:
    found = judge(healthy.evidence(profile), healthy.PROFILES[profile] if expected else None, IMAGE)
    assert (found.golden, found.first_broken) == (False, None)
    assert {f.status for f in found.findings if f.required} == {"pass"}
    assert [f.status for f in of(found, "hardware.gpu_count")] == ["pass" if expected else "skip"]


def test_what_only_a_bundle_can_say_is_skipped_with_that_reason() -> None:
    found = judge(NODE, 1, IMAGE)
    left = {f.id for f in found.findings if (f.status, f.actual, f.required) == ("skip", NO_BUNDLE, False)}
    assert left == {
        *("packages.sources", "packages.files", "packages.versions", "packages.holds", "packages.kept"),
        *("host_driver.boot_default", "host_driver.kernel_arguments", "host_driver.files", "host_driver.units"),
        *("device_nodes.files", "container_runtime.files", "image.fits_gpus", "policy.files", "policy.units"),
        "container_runtime.cgroup_mode",
    }


def test_without_an_image_nothing_is_said_of_containers() -> None:
    found = judge(dataclasses.replace(NODE, containers={}), 1)
    assert first(found) == (
        "image",
        "present",
        "Whether a container gets the GPUs is not known: no image to try; pass goldennode_image=....",
    )
    assert of(found, "image.present")[0].actual == NO_IMAGE
    assert "goldennode_image=NAME:TAG" in of(found, "image.present")[0].fix


def test_an_image_that_is_not_there_is_named_and_one_without_a_digest_counts() -> None:
    absent = healthy.known(NODE, image_digests=())
    gone = dataclasses.replace(absent, containers={way: Reading.unknown("No such image") for way in NODE.containers})
    # The engine refuses to start it; why, the layer image says.
    assert of(judge(gone, 1, IMAGE), "container_runtime.injection")[0].status == "unknown"
    assert judge(absent, 1, IMAGE).first_broken is None


@pytest.mark.parametrize(
    ("harm", "layer", "check", "words"),
    [
        (
            {"packages": {}, "driver": None, "module_on_disk": None, "libraries": {}, "smi": None, "nvml": None},
            "host_driver",
            "module_on_disk",
            "No NVIDIA driver is installed.",
        ),
        (
            {"driver": DriverLoaded("580.126.09", "open")},
            "host_driver",
            "loaded",
            "A reboot is pending since the driver was upgraded: 580.126.09 is still loaded.",
        ),
        ({"module_on_disk": None}, "host_driver", "module_on_disk", "No nvidia module is built for the running kernel"),
        ({"docker": None}, "container_runtime", "engine", "Docker is not installed."),
        ({"pci": ()}, "hardware", "gpu_present", "This host has no NVIDIA GPU on its PCI bus."),
        (
            {"cdi_specs": {"/etc/cdi/nvidia.yaml": healthy.cdi_spec("550.1.1")}},
            "container_runtime",
            "cdi_spec",
            "The CDI specification was written for another driver.",
        ),
        (
            {"device_nodes": tuple(dataclasses.replace(n, mode=0o600) for n in NODE.device_nodes.value or ())},
            "device_nodes",
            "modes",
            "Only root may open /dev/nvidia0.",
        ),
        (
            {"initramfs": (Initramfs(healthy.KERNEL, "", "in", "", missing=True),)},
            "host_driver",
            "initramfs",
            "Kernel %s has no initramfs" % healthy.KERNEL,
        ),
    ],
)
def test_the_first_broken_link_is_named(harm: t.Dict[str, t.Any], layer: str, check: str, words: str) -> None:
    found = first(judge(healthy.known(NODE, **harm), 1, IMAGE))
    assert found[:2] == (layer, check)
    assert found[2].startswith(words)


def test_a_toolkit_without_a_package_counts_where_containers_get_their_gpus() -> None:
    packages = {name: one for name, one in (NODE.packages.value or {}).items() if "container" not in name}
    node = healthy.known(NODE, packages=packages)
    assert judge(node, 1, IMAGE).first_broken is None
    bare = dataclasses.replace(node, containers={})
    assert first(judge(bare, 1))[1:] == (
        "toolkit_config",
        "The NVIDIA Container Toolkit is not installed: no container gets a GPU.",
    )


def test_a_mixed_set_of_packages_is_found_by_the_most_of_them() -> None:
    packages = dict(NODE.packages.value or {}, libcuda1=Package("libcuda1", "580.126.09-1"))
    found = judge(healthy.known(NODE, packages=packages), 1, IMAGE)
    assert (found.first_broken, of(found, "packages.set")[0].entity) == ("packages", "libcuda1")


def test_a_daemon_that_has_not_read_its_file_is_found() -> None:
    config = {"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}, "default-runtime": "nvidia"}
    found = judge(healthy.known(NODE, docker_config=config), 1, IMAGE)
    assert first(found)[1:] == ("daemon_current", "The running daemon has not read its settings.")


def test_images_that_were_not_built_by_us_are_no_fault() -> None:
    images = (Initramfs(healthy.KERNEL, "/boot/initrd", "in", "image", nouveau=True, blacklisted=False),)
    assert judge(healthy.known(NODE, initramfs=images), 1, IMAGE).first_broken is None


@pytest.mark.parametrize("field", [name for name, value in vars(NODE).items() if isinstance(value, Reading)])
def test_no_evidence_makes_it_raise_and_what_is_unknown_never_works(field: str) -> None:
    judge(healthy.known(NODE, **{field: None}), 1, IMAGE)
    found = judge(healthy.unreadable(NODE, field), 1, IMAGE)
    assert not found.golden
    decisive = ("pci", "packages", "driver", "module_on_disk", "libraries", "device_nodes", "smi", "nvml", "cuda")
    if field in (*decisive, "docker", "docker_config", "toolkit_config", "cdi_specs", "platform", "boot", "units"):
        assert found.first_broken is not None


def test_nothing_at_all_is_not_known() -> None:
    found = judge(Evidence(), None)
    assert (found.golden, found.first_broken) == (False, "hardware")


def test_what_is_looked_for_before_anything_is_known() -> None:
    assert inferred.to_look("debian-13-x86_64").settings["golden"]["golden_container_injections"] == []
    wanted = inferred.to_look("debian-13-x86_64", "img:1@sha256:abc")
    assert wanted.settings["golden"]["golden_container_injections"] == ["runtime", "cdi"]
    assert (wanted.lock["image"]["reference"], wanted.lock["image"]["digest"]) == ("img:1", "sha256:abc")
