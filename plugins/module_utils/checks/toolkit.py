# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layer container_runtime: what the container toolkit is told, and what its CDI specification tells the engine."""

from __future__ import annotations

import re
import typing as t

from .. import compat_cdi, toolkit_wanted
from ..cdi_specs import of_gpus, same_devices, same_path
from ..model import CdiSpec, Desired, Evidence, Finding, Gpu
from ..trees import at, differing, obstacles
from . import mig_devices
from .outcome import all_passed, failed, passed, unknown
from .wanted import RUN_SITE, cdi_wanted, driver_version, setting

#: The reader names the place of what is not TOML; a file that could not be opened has none.
_MALFORMED = re.compile(r": (?:line \d+ column \d+|byte \d+|the file is UTF-16)")


def config(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    reading = evidence.toolkit_config
    if not reading.known:
        words = reading.error or ""
        if not _MALFORMED.search(words):
            return [unknown(words)]
        return [
            failed(
                toolkit_wanted.CONFIG,
                expected="TOML that the toolkit can read",
                actual=words,
                cause="The toolkit's configuration cannot be read, and no container with GPUs starts: %s." % words,
                fix="Mend the file at that place; nothing is written to a file that cannot be read.",
                repair="manual",
            )
        ]
    there = reading.value or {}
    stops = obstacles(there, desired.toolkit)
    if stops:
        return [_in_the_way(path, desired, there) for path in stops]
    paths = (leaf for path in differing(there, desired.toolkit) for leaf in _leaves(desired.toolkit, path))
    problems = (_differs(path, desired, there) for path in paths)
    return all_passed(problems, "%d wanted settings are in config.toml" % len(desired.toolkit))


def _in_the_way(path: t.Tuple[str, ...], desired: Desired, there: t.Mapping[str, t.Any]) -> Finding:
    wanted, name = at(desired.toolkit, path), ".".join(path)
    return failed(
        name,
        expected="a table" if isinstance(wanted, dict) else _shown(wanted),
        actual=_shown(at(there, path)),
        cause="In config.toml %s is %s table, and no run puts another in its place."
        % (name, "no" if isinstance(wanted, dict) else "a"),
        fix="Take the key out, and the next run writes it.",
        repair="manual",
    )


def _differs(path: t.Tuple[str, ...], desired: Desired, there: t.Mapping[str, t.Any]) -> Finding:
    name = ".".join(path)
    cause = "config.toml does not have %s as wanted: it was edited by hand or never written." % name
    if path == ("nvidia-container-cli", "no-cgroups") and at(there, path) is True:
        cause = (
            "no-cgroups leaves the system's engine without device rules for its containers. It is a setting for a "
            "rootless engine, in a file of its user's own."
        )
    fix = "%s Settings of your own belong in toolkit_config_options." % RUN_SITE
    if path == (toolkit_wanted.ENVVAR,) and at(there, path) is False:
        cause = "config.toml keeps images from asking for GPUs by themselves, and the settings of this pool do not."
        fix = "Set toolkit_multi_tenant=true to keep it so; else site.yml lets images ask again."
    return failed(
        name,
        expected=_shown(at(desired.toolkit, path)),
        actual=_shown(at(there, path)),
        cause=cause,
        fix=fix,
        repair="roles",
    )


def _leaves(wanted: t.Mapping[str, t.Any], path: t.Tuple[str, ...]) -> t.Iterator[t.Tuple[str, ...]]:
    """Of a table that is missing, each key is named."""
    value = at(wanted, path)
    if not isinstance(value, dict):
        yield path
        return
    for key in value:
        yield from _leaves(wanted, (*path, key))


def _shown(value: t.Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "not set" if value is None else repr(value)


# --- the CDI specification ----------------------------------------------------------------------------------------


def cdi_spec(desired: Desired, evidence: Evidence, expected_gpus: t.Optional[int]) -> t.Iterable[Finding]:
    if not spec_wanted(desired):
        return [passed("CDI is not wanted (toolkit_cdi, or an engine before Docker 25)")]
    specs = evidence.cdi_specs.value or {}
    target = toolkit_wanted.spec_target(_service(desired), evidence.cdi_target.value or "")
    if not specs:
        return [
            failed(
                expected="one CDI specification",
                actual="none in /etc/cdi and /var/run/cdi",
                cause="No CDI specification describes the GPUs.",
                fix="%s %s writes it." % (RUN_SITE, _service(desired)),
                repair="roles",
            )
        ]
    twice = same_devices(specs, target)
    problems = [_named_twice(path, other, specs[path]) for path, other in twice]
    # A specification that is in the way is judged no further.
    left = {path: spec for path, spec in specs.items() if path not in dict(twice)}
    # NVML tells of MIG, which nvidia-smi was not asked for.
    told = evidence.nvml.value or evidence.smi.value
    gpus = told.gpus if told else ()
    for path, spec in left.items():
        problems += _problems(path, spec, desired, evidence, gpus)
    if not problems and not any(same_path(path, target) for path in left):
        problems.append(_not_kept(sorted(left), target, desired))
    return all_passed(problems, ", ".join("%s for %s" % (path, spec.driver) for path, spec in left.items()))


def spec_wanted(desired: Desired) -> bool:
    return toolkit_wanted.spec_wanted(cdi_wanted(desired), desired.settings["toolkit"])


def _service(desired: Desired) -> str:
    return next((unit for unit in toolkit_wanted.units(desired.lock) if unit.endswith(".service")), "")


def _named_twice(path: str, other: str, spec: CdiSpec) -> Finding:
    cause = "%s and %s name the same devices, and the engine then refuses both." % (path, other)
    if spec.generated:
        fix, repair = "%s It sets %s aside, which nothing keeps fresh." % (RUN_SITE, path), "roles"
    else:
        fix = (
            "Rename the devices in %s, or take the file away: nvidia-ctk has not written it, so no run touches it."
            % path
        )
        repair = "manual"
    return failed(
        path,
        expected="one CDI specification for each device",
        actual="two for %s" % spec.kind,
        cause=cause,
        fix=fix,
        repair=repair,
    )


def _not_kept(paths: t.Sequence[str], target: str, desired: Desired) -> Finding:
    return failed(
        ", ".join(paths),
        expected="a specification in %s" % target,
        actual="none there",
        cause="The specification stands where %s does not write it, so nothing keeps it fresh." % _service(desired),
        fix=RUN_SITE,
        repair="roles",
    )


def _problems(
    path: str, spec: CdiSpec, desired: Desired, evidence: Evidence, gpus: t.Sequence[Gpu]
) -> t.Iterator[Finding]:
    if of_gpus(spec) and (spec.generated or spec.driver):  # one that somebody wrote may need none of its libraries
        want = driver_version(desired)
        if spec.driver != want:
            yield failed(
                path,
                expected=want,
                actual=spec.driver or "no version",
                cause="The CDI specification was written for another driver.",
                fix="%s %s writes it anew." % (RUN_SITE, _service(desired)),
                repair="roles",
            )
            return
    yield from _schema(path, spec, desired, evidence)
    if spec.kind == "nvidia.com/gpu" and spec.generated and gpus:
        yield from _other_gpus(path, spec, desired, gpus)


def _schema(path: str, spec: CdiSpec, desired: Desired, evidence: Evidence) -> t.Iterator[Finding]:
    """``nvidia-ctk cdi list`` is green where the engine cannot read the file: only the engine's version tells."""
    if not cdi_wanted(desired):
        return  # the nvidia runtime alone reads it, which is of the same toolkit
    docker = evidence.docker.value.version if evidence.docker.value else str(desired.lock["docker"]["version"])
    known = compat_cdi.reads_cdi(docker, spec.schema)
    if known is None:
        words = "whether Docker %s reads CDI %s is not known here" % (docker, spec.schema or "without a version")
        yield unknown(words, path, required=False)
    elif not known:
        toolkit = str(desired.lock["toolkit"]["version"])
        gids = bool(setting(desired, "toolkit_cdi_additional_gids"))
        written = compat_cdi.written_cdi(toolkit, gids)
        newer = compat_cdi.reads_cdi(docker, written) is not True
        pair = "toolkit %s with Docker %s or newer" % (
            toolkit,
            compat_cdi.first_docker_for(written) or "of a later release",
        )
        yield failed(
            path,
            expected="CDI %s or older, which Docker %s reads" % (compat_cdi.newest_cdi(docker), docker),
            actual="CDI %s" % spec.schema,
            cause="The engine cannot read the specification, and says of every device in it that it is unresolvable.",
            fix="Writing it anew does not help. Pair %s in the bundle, or set toolkit_cdi_additional_gids=false." % pair
            if newer
            else "%s %s writes it as CDI %s." % (RUN_SITE, _service(desired), written),
            repair="manual" if newer else "roles",
        )


def _other_gpus(path: str, spec: CdiSpec, desired: Desired, gpus: t.Sequence[Gpu]) -> t.Iterator[Finding]:
    """No unit notices that a card or MIG was changed: the devices then are others than those named."""
    uuids = {gpu.uuid for gpu in gpus if gpu.uuid}
    named = {name for name in spec.devices if name.startswith("GPU-")}
    missing = [name for gpu in gpus if gpu.uuid for name in _unnamed(gpu, spec)]
    gone = sorted(named - uuids) if len(uuids) == len(gpus) else []
    gone += _gone_parts(spec, gpus)
    if missing or gone:
        told = ["not named: %s" % ", ".join(missing)] if missing else []
        told += ["named and not there: %s" % ", ".join(gone)] if gone else []
        yield failed(
            path,
            expected="the %d GPUs of this node" % len(gpus),
            actual="; ".join(told),
            cause="The specification was written for other GPUs: no unit notices that a card was changed, or MIG.",
            fix="%s %s writes it anew." % (RUN_SITE, _service(desired)),
            repair="roles",
        )


def _unnamed(gpu: Gpu, spec: CdiSpec) -> t.List[str]:
    """What the specification lacks of a GPU: itself, or MIG devices, in whose place it is not given out."""
    there, devices = set(spec.devices), mig_devices.of_gpu(gpu)
    if mig_devices.mode(gpu) and devices is not None:
        names = [("%d:%d" % (gpu.index, one.place), one.uuid) for one in devices]
        return ["MIG device %s" % name for name, uuid in names if not {name, "mig" + name, uuid} & there]
    whole = {gpu.uuid, str(gpu.index), "gpu%d" % gpu.index} & there
    unsure = mig_devices.mode(gpu) is not False and any(name.startswith("%d:" % gpu.index) for name in there)
    return [] if whole or unsure else ["GPU %d" % gpu.index]


def _gone_parts(spec: CdiSpec, gpus: t.Sequence[Gpu]) -> t.List[str]:
    """MIG devices that are named and not there; none where it is not known of every GPU which it has."""
    there: t.Set[str] = set()
    for gpu in gpus:
        mode, devices = mig_devices.mode(gpu), mig_devices.of_gpu(gpu)
        if mode is None or (mode and devices is None):
            return []
        there |= {one.uuid for one in devices or ()} if mode else set()
    return sorted(name for name in spec.devices if name.startswith("MIG-") and name not in there)
