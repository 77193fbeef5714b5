# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer container_runtime: which engines there are beside Docker, which this collection manages, and which give GPUs.

Informational: the node is golden by what Docker does. Kubernetes' own files are not judged here.
"""

from __future__ import annotations

import typing as t

from ..compat_cdi import podman_reads_cdi
from ..compat_tables import PODMAN_070, PODMAN_CDI
from ..model import CdiSpec, ContainerEngine, Desired, Engines, Evidence, Finding
from ..version import version_numbers
from .outcome import all_passed, failed, unknown

#: Where Podman looks for specifications, unless its settings say otherwise.
CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi", "/run/cdi")
#: The first containerd that reads CDI without being told to; 1.7 does where enable_cdi is true.
CONTAINERD_CDI = "2.0"
#: The first CRI-O that reads CDI; it always does.
CRIO_CDI = "1.23"

_NAMES = {"crio": "CRI-O", "podman": "Podman"}


def engines(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    there = evidence.engines.value or Engines()
    specs = evidence.cdi_specs.value or {}
    problems: t.List[Finding] = []
    for engine in there.engines:
        if engine.error:
            cause = "The settings of %s cannot be read, so whether it can give GPUs is not known." % (
                _NAMES.get(engine.name, engine.name)
            )
            problems.append(unknown(engine.error, engine.name, cause=cause, fix="Mend that file."))
        elif engine.name == "containerd" and _asks_containerd(there):
            problems += _containerd(engine)
        elif engine.name == "crio":
            problems += _crio(engine)
        elif engine.name == "podman":
            problems += _podman(engine, specs)
    problems += _hooks(there, specs)
    return all_passed(problems, _described(there))


def _described(there: Engines) -> str:
    words = [" ".join(part for part in (engine.name, engine.version) if part) for engine in there.engines]
    if there.kubelet:
        words.append("Kubernetes (%s)" % there.kubelet)
    if there.rootless.value:
        words.append("rootless engines of %d users" % len(there.rootless.value))
    return ", ".join(words) or "no container engine is installed"


def _asks_containerd(there: Engines) -> bool:
    """Whether Kubernetes can but ask this containerd. k3s and rke2 have their own; Docker gives its GPUs without it."""
    return there.kubelet.endswith("/kubelet") and not (there.get("crio") or there.get("cri-dockerd"))


def _containerd(engine: ContainerEngine) -> t.Iterator[Finding]:
    if engine.cri is False:
        yield _no_cri(engine)
    elif engine.misplaced and not engine.runtimes:
        yield failed(
            engine.name,
            expected="NVIDIA's runtime below the plugin that this version of the file reads",
            actual=", ".join(engine.misplaced),
            cause="containerd does not read NVIDIA's runtime: it stands below the plugin of another version of the "
            "file.",
            fix="Run nvidia-ctk runtime configure --runtime=containerd, or move the lines below the right plugin; then "
            "systemctl restart containerd.",
            repair="manual",
        )
    elif not engine.runtimes and not _containerd_cdi(engine):
        yield _gives_none(engine, "containerd --cdi.enabled")


def _containerd_cdi(engine: ContainerEngine) -> bool:
    default = version_numbers(engine.version) >= version_numbers(CONTAINERD_CDI)
    return default if engine.cdi is None else engine.cdi


def _no_cri(engine: ContainerEngine) -> Finding:
    return failed(
        engine.name,
        expected="the CRI plugin, which Kubernetes asks",
        actual="it is in disabled_plugins",
        cause="Kubernetes is on this node, and containerd's part for it is switched off, as Docker's package has it.",
        fix="Where Kubernetes shall use containerd, take cri out of disabled_plugins in /etc/containerd/config.toml "
        "and run systemctl restart containerd.",
        repair="manual",
    )


def _gives_none(engine: ContainerEngine, options: str) -> Finding:
    """``options``: a CRI-O of which this is said has no CDI that could be switched on."""
    name = _NAMES.get(engine.name, engine.name)
    return failed(
        engine.name,
        expected="NVIDIA's runtime, or CDI",
        actual="neither",
        cause="%s can give no GPU to a container: it knows neither NVIDIA's runtime nor CDI." % name,
        fix="Run nvidia-ctk runtime configure --runtime=%s, then systemctl restart %s." % (options, engine.name),
        repair="manual",
    )


def _crio(engine: ContainerEngine) -> t.Iterator[Finding]:
    if not version_numbers(engine.version):
        yield unknown("crio --version said no version", engine.name, cause="Whether CRI-O reads CDI is not known.")
    elif not engine.runtimes and version_numbers(engine.version) < version_numbers(CRIO_CDI):
        yield _gives_none(engine, "crio")


def _podman(engine: ContainerEngine, specs: t.Mapping[str, CdiSpec]) -> t.Iterator[Finding]:
    """Case 024: nvidia-ctk cdi list is content, and Podman cannot read the file."""
    if not version_numbers(engine.version):
        yield unknown("podman --version said no version", engine.name, cause="Whether Podman reads CDI is not known.")
        return
    folders = engine.cdi_dirs or CDI_FOLDERS
    for path, spec in sorted(specs.items()):
        if path.rpartition("/")[0] not in folders:
            continue
        if version_numbers(engine.version) < version_numbers(PODMAN_CDI):
            yield _before_cdi(engine, path)
        elif podman_reads_cdi(engine.version, spec.schema) is False:
            yield failed(
                "%s %s" % (engine.name, path),
                expected="a specification that Podman %s reads" % engine.version,
                actual="CDI %s" % spec.schema,
                cause="Podman %s cannot read %s, which has CDI %s: it says that the CDI devices are unresolvable, "
                "although nvidia-ctk cdi list shows them." % (engine.version, path, spec.schema),
                fix="Install a newer Podman (%s is known to read it); or set toolkit_cdi_additional_gids to false and "
                "run site.yml, which has an older CDI written. Writing the same file anew does not help." % PODMAN_070,
                repair="manual",
            )


def _before_cdi(engine: ContainerEngine, path: str) -> Finding:
    return failed(
        "%s %s" % (engine.name, path),
        expected="Podman %s or newer" % PODMAN_CDI,
        actual="Podman %s" % engine.version,
        cause="Podman %s is from before CDI: it takes nvidia.com/gpu=all for a path, and says that there is no such "
        "file." % engine.version,
        fix="Install a newer Podman (%s is known to read the specification); Podman reads CDI from %s on."
        % (PODMAN_070, PODMAN_CDI),
        repair="manual",
    )


def _hooks(there: Engines, specs: t.Mapping[str, CdiSpec]) -> t.Iterator[Finding]:
    """A leftover of the toolkit before CDI. It runs in every container that asks by the variable, CDI or not."""
    for path in there.hooks if specs else ():
        yield failed(
            path,
            expected="no hook beside CDI",
            actual="it starts NVIDIA's hook",
            cause="Podman and CRI-O still start NVIDIA's old hook beside CDI: a container is given its GPUs twice, or "
            "fails to start.",
            fix="Remove %s, once nothing asks for GPUs by NVIDIA_VISIBLE_DEVICES with these engines." % path,
            repair="manual",
        )
