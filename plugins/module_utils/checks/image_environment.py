# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer image: what the image itself sets that hides GPUs from its workloads, or keeps a refusal from being seen.

The container probe asks for its GPUs by words that come before the image's, so that it sees GPUs where a workload that
asks in another way sees none. What the probe cannot see is said here, and takes no gold away.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..model import ContainerLook, Desired, Evidence, Finding
from . import mig_devices, requirement, shadowed
from .outcome import all_passed, failed, skipped, unknown
from .wanted import setting

#: What the toolkit knows of NVIDIA_DRIVER_CAPABILITIES; with any other word it refuses to start a container.
_CAPABILITIES = ("all", "compute", "compat32", "graphics", "utility", "video", "display", "ngx")

_FIX = "Take the variable out of the image; who starts a container says which GPUs it gets."


def environment(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    reading = evidence.image_environment
    if not reading.known:
        cause = "What the image itself sets that hides GPUs from its workloads was not looked for."
        return [unknown(reading.error or "", cause=cause, required=False)]
    if reading.value is None:
        return [dataclasses.replace(skipped("the image is not on the node: see image.present"), required=False)]
    found = [
        *_cuda_visible(desired, evidence, expected_gpus),
        *_nvidia_visible(desired, reading.value),
        *_capabilities(reading.value),
        *_requirement(evidence, reading.value),
    ]
    return all_passed(found, "the image hides no GPU")


def hidden(evidence: Evidence, expected_gpus: t.Optional[int]) -> str:
    """Why CUDA sees fewer GPUs in this image than it is given, in words; "" where the image does not say so."""
    value = (evidence.image_environment.value or {}).get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return ""
    # With MIG on, the numbers are those of CUDA's own devices, which nothing here counts.
    mig = mig_devices.of(evidence) is not None
    there = _visible(value, _uuids(evidence), None if mig else expected_gpus)
    if mig and there != 0:
        return ""
    if there == 0:
        return "The image sets CUDA_VISIBLE_DEVICES=%s, by which CUDA sees no GPU at all." % (value or '""')
    if there is not None and expected_gpus is not None and there < expected_gpus:
        said = (
            "The image sets CUDA_VISIBLE_DEVICES=%s, by which CUDA sees %d of %d GPUs, whichever a container asks for."
        )
        return said % (value, there, expected_gpus)
    return ""


def own_fault(desired: Desired, evidence: Evidence, look: ContainerLook, gpus: t.Optional[int]) -> str:
    """Which finding says that the image itself is why CUDA fails in this container; "" where none does.

    :arg gpus: how many the container asked for
    """
    if "libcuda.so.1" in shadowed.harmful(desired, evidence, look):
        return "the image has a libcuda of its own: see image.shadowed"
    code = look.cuda.value.code if look.cuda.value else None
    if code in (0, 100, 101) and hidden(evidence, gpus):
        return "the image hides GPUs from CUDA: see image.environment"
    return ""


def _visible(value: str, uuids: t.Sequence[str], count: t.Optional[int]) -> t.Optional[int]:
    """How many GPUs are left. CUDA goes through the list up to the first entry that it does not know; None where the
    entries are of a kind that is not known here. A list that names one GPU twice gives none.
    """
    found: t.List[str] = []
    for word in value.split(","):
        word = word.strip()
        if re.match(r"^\d{1,9}$", word):
            if count is None:
                return None
            if int(word) >= count:
                break
            found.append(str(int(word)))
        elif word.startswith("GPU-"):
            matches = [uuid for uuid in uuids if uuid.lower().startswith(word.lower())]
            if not uuids:
                return None
            if len(matches) != 1:
                break
            found.append(matches[0])
        elif word.startswith("MIG-"):
            return None
        else:
            break
    return len(found) if len(set(found)) == len(found) else 0


def _uuids(evidence: Evidence) -> t.List[str]:
    host = evidence.nvml.value or evidence.smi.value
    return [gpu.uuid for gpu in host.gpus if gpu.uuid] if host else []


def _cuda_visible(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterator[Finding]:
    why = hidden(evidence, expected_gpus)
    value = (evidence.image_environment.value or {}).get("CUDA_VISIBLE_DEVICES")
    if why:
        yield failed(
            "CUDA_VISIBLE_DEVICES",
            expected="not set in the image",
            actual=value or '""',
            cause="%s nvidia-smi does not go by it, and shows them all." % why,
            fix=_FIX,
            repair="manual",
            required=desired.lock["image"].get("cuda_check", "required") == "required",
        )
    elif value is not None:
        yield failed(
            "CUDA_VISIBLE_DEVICES",
            expected="not set in the image",
            actual=value,
            cause="The image sets CUDA_VISIBLE_DEVICES: on a node with other or more GPUs its workloads see the "
            "wrong ones.",
            fix=_FIX,
            repair="manual",
            required=False,
        )


def _nvidia_visible(desired: Desired, image: t.Mapping[str, str]) -> t.Iterator[Finding]:
    value = image.get("NVIDIA_VISIBLE_DEVICES")
    if value is None or setting(desired, "toolkit_multi_tenant"):
        return  # the variable counts for nothing there
    if value in ("", "void", "none"):
        yield failed(
            "NVIDIA_VISIBLE_DEVICES",
            expected="all, or not set in the image",
            actual=value or '""',
            cause="The image asks for no GPU: a container of it that is started by the nvidia runtime alone gets none, "
            "and that looks like a node without GPUs.",
            fix="Start it with --gpus all, --device nvidia.com/gpu=all or --env NVIDIA_VISIBLE_DEVICES=all.",
            repair="manual",
            required=False,
        )


def _capabilities(image: t.Mapping[str, str]) -> t.Iterator[Finding]:
    value = image.get("NVIDIA_DRIVER_CAPABILITIES")
    words = [word.strip() for word in (value or "").split(",") if word.strip()]
    if not words or "all" in words:
        return  # not set: the toolkit gives compute and utility
    strange = [word for word in words if word not in _CAPABILITIES]
    lacking = [word for word in ("compute", "utility") if word not in words]
    if not strange and not lacking:
        return
    if strange:
        cause = "The toolkit knows no capability %s, and refuses to start a container of the image by the nvidia "
        cause = cause % ", ".join(strange) + "runtime where nobody overrides the variable."
    else:
        what = {"compute": "libcuda (so no CUDA)", "utility": "nvidia-smi and NVML"}
        cause = (
            "By the nvidia runtime its containers are not given %s: the image does not ask for the capability %s."
            % (
                " nor ".join(what[word] for word in lacking),
                " and ".join(lacking),
            )
        )
    yield failed(
        "NVIDIA_DRIVER_CAPABILITIES",
        expected="compute,utility, or all",
        actual=str(value),
        cause=cause,
        fix="Set NVIDIA_DRIVER_CAPABILITIES=compute,utility in the image, or where a container of it is started.",
        repair="manual",
        required=False,
    )


def _requirement(evidence: Evidence, image: t.Mapping[str, str]) -> t.Iterator[Finding]:
    """By CDI nobody judges NVIDIA_REQUIRE_CUDA, and with NVIDIA_DISABLE_REQUIRE nobody at all: CUDA fails later."""
    host = next(
        (tool for tool in (evidence.nvml.value, evidence.smi.value) if tool and tool.cuda and tool.driver), None
    )
    asked = image.get("NVIDIA_REQUIRE_CUDA", "")
    off = image.get("NVIDIA_DISABLE_REQUIRE", "").lower() in ("1", "t", "true")
    if host is not None and requirement.met(asked, str(host.cuda), str(host.driver)) is False:
        yield failed(
            "NVIDIA_REQUIRE_CUDA",
            expected=asked,
            actual="CUDA %s, driver %s" % (host.cuda, host.driver),
            cause="The image asks for a newer CUDA than the host's driver offers%s."
            % (", and has the question switched off (NVIDIA_DISABLE_REQUIRE)" if off else "; by CDI nobody refuses it"),
            fix="Take a newer driver.version or an older image in the bundle. A CUDA toolkit on the host does not "
            "help.",
            repair="manual",
            required=False,
        )
    elif off:
        yield failed(
            "NVIDIA_DISABLE_REQUIRE",
            expected="not set in the image",
            actual=image["NVIDIA_DISABLE_REQUIRE"],
            cause="The image switches off the question whether the driver is new enough for it: on an older driver its "
            "containers start, and CUDA fails in them.",
            fix="Take the variable out of the image; who needs it for one container sets it there, and knows it then.",
            repair="manual",
            required=False,
        )
