# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A framework in the image: built for GPUs, for this driver and these cards; and what it says once it is imported."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks import framework
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    NOT_READ,
    CudaInit,
    Evidence,
    Finding,
    Framework,
    FrameworkUse,
    Reading,
    to_plain,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import evidence_from_plain
from ansible_collections.goldennode.gpu.tests.unit import healthy

NODE, WANTED = healthy.evidence(), healthy.desired()
TORCH = Framework("torch", "/usr/lib/python3/dist-packages", "2.9.1+cu128", "12.8", True)
GOOD = FrameworkUse("torch", "2.9.1+cu128", "12.8", True, 1, ("sm_80", "sm_90", "compute_90"), ("8.6",))


def node(*built: Framework, use: t.Any = (GOOD,), **fields: t.Any) -> Evidence:
    evidence = healthy.container(NODE, "runtime", frameworks=Reading(built), **fields)
    reading = use if isinstance(use, Reading) else Reading(use)
    return dataclasses.replace(evidence, frameworks=reading)


def found(evidence: Evidence) -> t.Dict[str, Finding]:
    judged = verdict.run(WANTED, evidence, 1)
    assert judged.golden, "a framework of the image takes no gold away"
    findings = {f.entity: f for f in judged.findings if f.id == "image.framework"}
    assert findings
    assert not any(f.required for f in findings.values())
    return findings


def test_one_that_works() -> None:
    findings = found(node(TORCH))
    assert {name: (f.status, f.actual) for name, f in findings.items()} == {
        "torch: build": ("pass", "PyTorch 2.9.1+cu128 for CUDA 12.8"),
        "torch: use": ("pass", "PyTorch 2.9.1+cu128 sees 1 GPUs"),
    }


def test_an_image_without_one() -> None:
    assert found(node())[""].status == "pass"


def test_a_build_for_processors_alone() -> None:
    """torch.cuda.is_available() is False on every node, and torch.version.cuda None."""
    findings = found(node(Framework("torch", "/opt/venv", "2.9.1", "", False)))
    build = findings["torch: build"]
    assert build.cause == (
        "PyTorch in the image was built without CUDA, so it sees no GPU on any node: the default index, or one for "
        "processors alone, gave that build. Host, driver and toolkit are not at fault."
    )
    assert "PyTorch's own index" in build.fix
    assert findings["torch: use"].status == "skip"


@pytest.mark.parametrize(("name", "words"), [("tensorflow", "tensorflow[and-cuda]"), ("jax", "jax[cuda13]")])
def test_each_framework_has_a_way_of_its_own_to_a_build_for_gpus(name: str, words: str) -> None:
    assert words in found(node(Framework(name, "/p", "1", "", False)))["%s: build" % name].fix


def test_a_build_for_a_newer_cuda_than_the_drivers() -> None:
    build = found(node(dataclasses.replace(TORCH, cuda="14.0")))["torch: build"]
    assert build.cause == (
        "PyTorch in the image was built for CUDA 14.0, and driver 580.159.03 has CUDA 13.0: the driver is too old for "
        "it."
    )
    # A newer release of the same CUDA runs, by minor version compatibility.
    assert found(node(dataclasses.replace(TORCH, cuda="13.2")))["torch: build"].status == "pass"


def test_files_that_do_not_tell() -> None:
    assert found(node(dataclasses.replace(TORCH, for_gpus=None)))["torch: build"].status == "unknown"


def test_in_the_hourly_look_it_is_not_imported_and_that_is_no_pass() -> None:
    use = found(node(TORCH, use=NOT_READ))["torch: use"]
    assert use.status == "skip"
    assert "verify.yml" in use.actual


@pytest.mark.parametrize(
    ("architectures", "capability", "runs"),
    [
        (("sm_80", "sm_86"), "8.6", True),
        (("sm_80",), "8.9", True),
        (("sm_86",), "8.0", False),
        (("sm_50", "sm_90"), "12.0", False),  # a card that came after the build
        (("sm_50", "compute_90"), "12.0", True),  # the driver translates
        (("sm_75", "sm_80", "sm_90"), "7.0", False),  # a card that the build has left behind
        (("sm_90a",), "9.0", True),
        (("compute_90a",), "10.0", False),
        (("sm_100f",), "10.3", True),
        (("sm_100", "sm_120"), "12.1", True),
        ((), "8.0", None),
        (("gfx90a",), "8.0", None),
        (("sm_80",), "?", None),
    ],
)
def test_code_for_a_card(architectures: t.Tuple[str, ...], capability: str, runs: t.Optional[bool]) -> None:
    assert framework.runs_on(architectures, capability) is runs


@pytest.mark.parametrize(
    ("capability", "words"),
    [
        ("12.0", "since the build is older than the card: programs fail"),
        ("7.0", "since the build is too new for the card: programs fail"),
    ],
)
def test_no_code_for_this_card(capability: str, words: str) -> None:
    use = dataclasses.replace(GOOD, architectures=("sm_80", "sm_90"), capabilities=(capability,))
    finding = found(node(TORCH, use=(use,)))["torch: use"]
    assert '"no kernel image is available for execution on the device"' in finding.cause
    assert words in finding.cause
    assert "the driver is not at fault" in finding.fix


def test_one_that_sees_none_where_cuda_sees_them() -> None:
    use = dataclasses.replace(GOOD, available=False, devices=0, architectures=(), capabilities=())
    finding = found(node(TORCH, use=(use,)))["torch: use"]
    assert finding.actual == "0 GPUs, and says that none is available"
    assert "driver and toolkit are not at fault" in finding.cause


def test_where_cuda_itself_is_not_known_to_answer_nobody_is_blamed() -> None:
    use = dataclasses.replace(GOOD, available=False, devices=0)
    evidence = node(TORCH, use=(use,), cuda=Reading(CudaInit(100, "CUDA_ERROR_NO_DEVICE")))
    [finding] = [f for f in framework.framework(WANTED, evidence, 1) if f.entity == "torch: use"]
    assert "is not proven in this container: see image.cuda" in finding.cause


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory", "fail"),
        ("gave no answer within 30 s", "unknown"),
        ("was ended by signal 11", "unknown"),
        ("PermissionError: [Errno 13] Permission denied: '/root/x'", "unknown"),
    ],
)
def test_one_that_cannot_be_imported(error: str, status: str) -> None:
    finding = found(node(TORCH, use=(FrameworkUse("torch", error=error),)))["torch: use"]
    assert finding.status == status
    assert error in finding.actual


def test_it_comes_back_from_json_as_it_was() -> None:
    evidence = node(TORCH)
    assert evidence_from_plain(json.loads(json.dumps(to_plain(evidence)))) == evidence


def test_one_that_could_not_be_asked() -> None:
    assert found(node(TORCH, use=Reading.unknown("no time left")))["torch: use"].status == "unknown"
    assert found(node(TORCH, use=()))["torch: use"].status == "unknown"
