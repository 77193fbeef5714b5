# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Driver libraries of the image's own that the linker takes, and the host's that it does not find.

The paths are those of NVIDIA's images, of conda's cuda-compat and of images with packages of the driver in them.
"""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    CudaInit,
    Desired,
    DriverFile,
    Evidence,
    Finding,
    Gpu,
    GpuTool,
    Library,
    Reading,
)
from ansible_collections.goldennode.gpu.tests.unit import healthy

NODE = healthy.evidence()
WANTED = healthy.desired()
FORWARD = healthy.desired(of_lock=healthy.lock(image={"cuda_compat": "forward"}))
HOST_FILES = tuple(file for file in (NODE.containers["runtime"].value.driver_files.value or ()))  # type: ignore[union-attr]
USR = "/usr/lib/x86_64-linux-gnu/"
COMPAT = "/usr/local/cuda/compat/"


def with_own(
    path: str,
    target: str,
    code: t.Optional[int] = None,
    environment: t.Optional[t.Dict[str, str]] = None,
    evidence: Evidence = NODE,
    **fields: t.Any,
) -> Evidence:
    """The image has a library of its own, and the linker takes it."""
    name = path.rpartition("/")[2]
    look = evidence.containers["runtime"].value
    assert look is not None
    there = {**(look.libraries.value or {}), name: Library(name, path, target)}
    files = (*HOST_FILES, DriverFile(path, target, False))
    if code is not None:
        fields["cuda"] = Reading(CudaInit(code, "CUDA_ERROR", 1 if code == 0 else None, target))
    fields = {"driver_files": Reading(files), **fields}
    evidence = healthy.container(evidence, "runtime", libraries=Reading(there), **fields)
    return healthy.known(evidence, image_environment=environment or {})


def findings(evidence: Evidence, check: str, wanted: Desired = WANTED) -> t.List[Finding]:
    return [f for f in verdict.run(wanted, evidence, 1).findings if f.id == check and f.entity.startswith("runtime")]


def only(evidence: Evidence, check: str = "image.shadowed", wanted: Desired = WANTED) -> Finding:
    [found] = findings(evidence, check, wanted)
    return found


def test_case_023_cuda_compat_on_a_card_that_does_not_allow_it() -> None:
    """mistralai/mistral-inference#144: nvidia-smi is green, and CUDA says 804."""
    tool = GpuTool("580.159.03", "13.0", (Gpu(0, healthy.uuid(0), "NVIDIA GeForce RTX 3090", healthy.address(0)),))
    evidence = with_own(
        COMPAT + "libcuda.so.1",
        COMPAT + "libcuda.so.595.45.04",
        code=804,
        environment={"LD_LIBRARY_PATH": "/usr/local/cuda/compat:/usr/local/nvidia/lib"},
        evidence=healthy.known(NODE, nvml=tool, smi=tool),
        smi=Reading(tool),
    )
    found = only(evidence)
    assert found.cause == (
        "The image's cuda-compat 595.45.04 shadows the host's libcuda.so.1 580.159.03 by LD_LIBRARY_PATH, which the "
        "image sets; only data-centre GPUs allow that, and NVIDIA GeForce RTX 3090 is none (CUDA errors 803 and 804)."
    )
    assert found.fix == (
        "Use an image for the CUDA of the host's driver, a newer driver, or take compat off the library path."
    )
    assert (found.status, found.required, found.repair) == ("fail", True, "manual")
    # Said once: what follows from it points there.
    assert only(evidence, "image.cuda").actual == "the image has a libcuda of its own: see image.shadowed"
    assert {f.status for f in findings(evidence, "image.libraries")} == {"skip"}
    judged = verdict.run(WANTED, evidence, 1)
    assert (judged.golden, judged.first_broken) == (False, "image")
    assert {f.id for f in judged.broken} == {"image.shadowed"}


def test_on_cards_that_may_allow_it_the_bundle_can_ask_for_it() -> None:
    evidence = with_own(COMPAT + "libcuda.so.1", COMPAT + "libcuda.so.595.45.04", code=0)
    assert only(evidence).fix.endswith("On data-centre GPUs image.cuda_compat: forward in the bundle allows it.")
    allowed = only(evidence, wanted=FORWARD)
    assert (allowed.status, allowed.actual) == ("pass", "the image's cuda-compat 595.45.04, as the bundle asks")
    asked_for = healthy.evidence(of_desired=FORWARD)
    assert verdict.run(
        FORWARD, with_own(COMPAT + "libcuda.so.1", COMPAT + "libcuda.so.595.45.04", 0, {}, asked_for), 1
    ).golden


@pytest.mark.parametrize("code", [803, 804])
def test_what_the_bundle_asks_for_and_does_not_work_is_no_pass(code: int) -> None:
    evidence = with_own(COMPAT + "libcuda.so.1", COMPAT + "libcuda.so.595.45.04", code=code)
    assert only(evidence, wanted=FORWARD).status == "fail"


@pytest.mark.parametrize("wanted", [WANTED, FORWARD])
def test_cuda_compat_that_is_older_than_the_driver(wanted: Desired) -> None:
    """NVIDIA/nvidia-docker#1256: error 803, "unsupported display driver / cuda driver combination"."""
    folder = "/usr/local/cuda-12.2/compat/"
    evidence = with_own(folder + "libcuda.so.1", folder + "libcuda.so.535.54.03", code=803)
    found = only(evidence, wanted=wanted)
    assert "and is older: it works with drivers older than itself alone (CUDA error 803)." in found.cause
    assert "Take the folder compat off LD_LIBRARY_PATH" in found.fix


@pytest.mark.parametrize(
    ("path", "target", "words"),
    [
        (
            "/opt/conda/cuda-compat/libcuda.so.1",
            "/opt/conda/cuda-compat/libcuda.so.590.44.01",
            "The image's cuda-compat 590.44.01 shadows",
        ),
        (
            "/opt/conda/lib/libcuda.so.1",
            "/opt/conda/lib/libcuda.so.470.57.02",
            "The image has a libcuda.so.1 of its own, 470.57.02",
        ),
        (
            USR + "libcuda.so.1",
            USR + "libcuda.so.595.71.05",
            "in place of the host's 580.159.03, by the linker's cache.",
        ),
        ("/usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.1", "of a version that its name does not tell"),
        (
            "/usr/local/cuda/lib64/stubs/libcuda.so.1",
            "/usr/local/cuda-13.0/targets/x86_64-linux/lib/stubs/libcuda.so",
            "a stub is for building, and has no driver in it",
        ),
    ],
)
def test_copies_in_the_places_where_images_have_them(path: str, target: str, words: str) -> None:
    found = only(with_own(path, target, code=803))
    assert words in found.cause
    assert found.actual == "%s -> %s" % (path, target)
    assert found.fix
    assert found.repair == "manual"


def test_an_nvml_of_the_images_own() -> None:
    """nvidia-smi inside says what a host says whose module is not the libraries': the host must not be blamed."""
    words = "Failed to initialize NVML: Driver/library version mismatch"
    evidence = with_own(
        USR + "libnvidia-ml.so.1", USR + "libnvidia-ml.so.590.44.01", smi=Reading.unknown("nvidia-smi ended: " + words)
    )
    assert only(evidence).entity == "runtime: libnvidia-ml.so.1"
    assert "The host's driver and the toolkit are not at fault." in only(evidence).cause
    assert only(evidence, "image.gpus").actual == "the image has a libnvidia-ml of its own: see image.shadowed"


def test_a_copy_of_the_hosts_version_breaks_with_the_next_driver_and_takes_no_gold() -> None:
    evidence = with_own(USR + "libcuda.so.1", USR + "libcuda.so.580.159.03", code=0)
    found = only(evidence)
    assert (found.status, found.required) == ("fail", False)
    assert "of the host's version by chance" in found.cause
    assert verdict.run(WANTED, evidence, 1).golden


def test_what_a_program_finds_by_a_path_of_its_own() -> None:
    own = DriverFile("/opt/conda/lib/libcuda.so.1", "/opt/conda/lib/libcuda.so.470.57.02", False)
    evidence = healthy.container(
        NODE,
        "runtime",
        driver_files=Reading((*HOST_FILES, own)),
        cuda=Reading(CudaInit(803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", None, own.target)),
    )
    assert "in place of the host's 580.159.03, by a library path of the program's own" in only(evidence).cause


def test_cuda_compat_that_the_toolkit_puts_first() -> None:
    """NVIDIA/nvidia-container-toolkit#1055, #906: mounted beside the host's, or by a file in /etc/ld.so.conf.d."""
    compat, file = "/usr/local/cuda-13.1/compat/libcuda.so.590.44.01", USR + "libcuda.so.590.44.01"
    evidence = with_own(USR + "libcuda.so.1", file, code=804)
    mounted = (*HOST_FILES, DriverFile(USR + "libcuda.so.1", file, False, compat))
    evidence = healthy.container(evidence, "runtime", driver_files=Reading(mounted))
    found = only(evidence)
    assert found.cause.startswith(
        "The image's cuda-compat 590.44.01 shadows the host's libcuda.so.1 580.159.03 because the toolkit has mounted "
        "/usr/local/cuda-13.1/compat/libcuda.so.590.44.01 there"
    )
    assert "cuda-compat-mode: disabled" in found.fix
    # Where the bundle asks for it, its place does not matter.
    works = healthy.evidence(of_desired=FORWARD)
    works = with_own(USR + "libcuda.so.1", file, 0, {}, works, driver_files=Reading(mounted))
    assert verdict.run(FORWARD, works, 1).golden
    cached = only(with_own(COMPAT + "libcuda.so.1", COMPAT + "libcuda.so.590.44.01", code=804))
    assert "580.159.03 by the linker's cache; only" in cached.cause
    assert "cuda-compat-mode: disabled" in cached.fix


def test_what_nothing_takes_does_no_harm() -> None:
    """NVIDIA's images have cuda-compat in them, and nothing takes it unless somebody says so."""
    own = DriverFile(COMPAT + "libcuda.so.1", COMPAT + "libcuda.so.595.45.04", False)
    evidence = healthy.container(NODE, "runtime", driver_files=Reading((*HOST_FILES, own)))
    found = only(evidence)
    assert (found.status, found.actual) == ("pass", "nothing takes the image's own %slibcuda.so.595.45.04" % COMPAT)
    assert verdict.run(WANTED, evidence, 1).golden


def test_a_file_of_the_hosts_of_another_version_is_the_specifications_fault_and_not_the_images() -> None:
    old = {
        name: Library(name, USR + name, USR + name[:-1] + "550.54.14") for name in ("libcuda.so.1", "libnvidia-ml.so.1")
    }
    files = tuple(DriverFile(one.path, one.target, True) for one in old.values())
    evidence = healthy.container(NODE, "runtime", libraries=Reading(old), driver_files=Reading(files))
    assert only(evidence).status == "pass"
    assert {f.status for f in findings(evidence, "image.libraries")} == {"fail"}


def test_an_older_look_did_not_ask_and_that_is_no_pass() -> None:
    evidence = healthy.container(NODE, "runtime", driver_files=Reading.unknown("it did not ask"))
    found = only(evidence)
    assert (found.status, found.required) == ("unknown", False)
    judged = verdict.run(WANTED, evidence, 1)
    assert judged.golden
    assert "image.shadowed: Driver libraries of the image's own were not looked for." in judged.not_proven


def test_the_linker_does_not_find_what_was_given() -> None:
    """The hook that runs ldconfig did not, or ran a program that is not the host's own."""
    given = tuple(
        DriverFile(file, file, True) for file in (USR + "libcuda.so.580.159.03", USR + "libnvidia-ml.so.580.159.03")
    )
    evidence = healthy.container(
        NODE, "runtime", libraries=Reading({}), driver_files=Reading(given), cuda=Reading(None), ldconfig=Reading(None)
    )
    found = findings(evidence, "image.libraries")
    assert [f.actual for f in found] == ["%s, which the linker does not find" % file.target for file in given]
    assert "the toolkit could not run ldconfig for the container, which makes the link libcuda.so.1" in found[0].cause
    assert "config.toml" in found[0].fix
    assert found[0].repair == "roles"
    assert findings(evidence, "image.shadowed")[0].status == "pass"


def test_what_was_not_given_at_all_is_another_fault() -> None:
    evidence = healthy.container(NODE, "runtime", libraries=Reading({}), driver_files=Reading(()))
    assert "was not given into the container" in findings(evidence, "image.libraries")[0].cause


@pytest.mark.parametrize(("path", "cause"), [(None, True), ("/sbin/ldconfig", False)])
def test_an_image_without_ldconfig(path: t.Optional[str], cause: bool) -> None:
    evidence = healthy.container(
        NODE, "runtime", libraries=Reading.unknown("sh: ldconfig: not found"), ldconfig=Reading(path)
    )
    found = only(evidence, "image.libraries")
    assert found.status == "unknown"
    assert ("The image has no ldconfig" in found.cause) is cause
