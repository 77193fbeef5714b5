# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``docker info`` says of the engine behind a socket."""

from __future__ import annotations

import typing as t

from ..model import DockerEngine, Reading
from ..version import version_numbers
from .json_lines import parse_object
from .text import failure

#: A client newer than the engine prints what it knows of and the engine did not say, as empty. So what came in later
#: is believed from these engines on.
_TELLS_CDI_SINCE = (25,)
_TELLS_PROXIES_SINCE = (23,)
_TELLS_ADDRESS_POOLS_SINCE = (20, 10)


def parse(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[DockerEngine]:
    """``docker info --format '{{json .}}'``: the client answers, with code 0 too, when no engine does."""
    if not stdout.strip():
        return Reading.unknown(failure("docker info", rc, stdout, stderr))
    info = parse_object(stdout, "the answer of docker info")
    if info.value is None:
        return Reading.unknown(info.error or "")
    fields = info.value
    if isinstance(fields.get("host"), dict) and isinstance(fields.get("store"), dict):
        return Reading(_podman(fields))
    errors = _texts(fields.get("ServerErrors"))
    version = _text(fields.get("ServerVersion"))
    if errors or not version:
        said = "; ".join(errors) or failure("docker info", rc, "it names no ServerVersion", stderr)
        return Reading.unknown("the Docker engine does not answer: %s" % said)
    return Reading(
        DockerEngine(
            version=version,
            root_dir=_text(fields.get("DockerRootDir")),
            cgroup_driver=_text(fields.get("CgroupDriver")),
            cgroup_version=_text(fields.get("CgroupVersion")),
            cdi_spec_dirs=_texts(fields.get("CDISpecDirs")),
            security_options=_texts(fields.get("SecurityOptions")),
            operating_system=_text(fields.get("OperatingSystem")),
            live_restore=fields.get("LiveRestoreEnabled") is True,
            containers_running=_count(fields.get("ContainersRunning")),
            told=_settings(fields, version_numbers(version)),
        )
    )


def _podman(fields: t.Mapping[str, t.Any]) -> DockerEngine:
    """The ``docker`` of podman-docker is Podman, which answers in a form of its own. Its root tells it."""
    version, distribution = fields.get("version"), fields["host"].get("distribution")
    return DockerEngine(
        version=_text(version.get("Version")) if isinstance(version, dict) else "",
        root_dir=_text(fields["store"].get("graphRoot")),
        operating_system=_text(distribution.get("distribution")) if isinstance(distribution, dict) else "",
    )


def repo_digests(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[t.Tuple[str, ...]]:
    """``docker image inspect --format '{{json .}}'``: ``NAME@sha256:...`` of an image; none when it is not there."""
    if rc != 0:
        if "No such image" in stderr or "No such object" in stderr:
            return Reading(())
        return Reading.unknown(failure("docker image inspect", rc, stdout, stderr))
    image = parse_object(stdout, "the answer of docker image inspect")
    if image.value is None:
        return Reading.unknown(image.error or "")
    return Reading(_texts(image.value.get("RepoDigests")))


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: t.Any) -> t.Tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


# Its settings


def _settings(info: t.Mapping[str, t.Any], version: t.Tuple[int, ...]) -> t.Dict[str, t.Any]:
    """The daemon's settings in the words of daemon.json. What it does not tell is not there."""
    driver, plugins = _text(info.get("CgroupDriver")), info.get("Plugins")
    told = {
        "authorization-plugins": _list(plugins.get("Authorization")) if isinstance(plugins, dict) else None,
        "data-root": _text(info.get("DockerRootDir")) or None,
        "debug": _switch(info.get("Debug")),
        "default-runtime": _text(info.get("DefaultRuntime")) or None,
        "exec-opts": ["native.cgroupdriver=" + driver] if driver else None,
        "experimental": _switch(info.get("ExperimentalBuild")),
        "firewall-backend": _firewall(info.get("FirewallBackend")),
        "labels": _list(info.get("Labels")),
        "live-restore": _switch(info.get("LiveRestoreEnabled")),
        "log-driver": _text(info.get("LoggingDriver")) or None,
        "runtimes": _runtimes(info.get("Runtimes")),
        **_storage(info),
        **_registries(info.get("RegistryConfig")),
        **_security(info.get("SecurityOptions")),
    }
    if version >= _TELLS_ADDRESS_POOLS_SINCE:
        told["default-address-pools"] = _address_pools(info.get("DefaultAddressPools"))
    if version >= _TELLS_PROXIES_SINCE:
        told["proxies"] = _proxies(info)
    directories = _list(info.get("CDISpecDirs"))
    if version >= _TELLS_CDI_SINCE:
        told.setdefault("features", {})["cdi"] = bool(directories)
        told["cdi-spec-dirs"] = directories or None  # with CDI off it tells none, whatever is set
    return {key: value for key, value in told.items() if value is not None}


def _switch(value: t.Any) -> t.Optional[bool]:
    return value if isinstance(value, bool) else None


def _list(value: t.Any) -> t.Optional[t.List[str]]:
    """Go prints a list that was never filled as null."""
    return list(_texts(value)) if value is None or isinstance(value, list) else None


def _runtimes(value: t.Any) -> t.Optional[t.Dict[str, t.Dict[str, t.Any]]]:
    """By name; newer engines add much about what the runtime can do, which is no setting."""
    if not isinstance(value, dict):
        return None
    return {
        name: {key: runtime[key] for key in ("path", "runtimeArgs") if key in runtime}
        for name, runtime in value.items()
        if isinstance(runtime, dict)
    }


def _storage(info: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """With containerd's image store the driver is called by containerd's name for it, which is no storage-driver."""
    status = info.get("DriverStatus")
    if ["driver-type", "io.containerd.snapshotter.v1"] in (status if isinstance(status, list) else []):
        return {"features": {"containerd-snapshotter": True}}
    return {"storage-driver": _text(info.get("Driver")) or None}


def _registries(config: t.Any) -> t.Dict[str, t.Any]:
    if not isinstance(config, dict):
        return {}
    indexes = config.get("IndexConfigs")
    hosts = [
        name
        for name, index in sorted(indexes.items() if isinstance(indexes, dict) else ())
        if isinstance(index, dict) and index.get("Secure") is False
    ]
    return {
        "registry-mirrors": _list(config.get("Mirrors")),
        "insecure-registries": [*_texts(config.get("InsecureRegistryCIDRs")), *hosts],
    }


def _security(value: t.Any) -> t.Dict[str, t.Any]:
    """Only what is on is told. SELinux may be off for want of it in the kernel, and older engines do not tell that
    no-new-privileges is on: that nothing is said of them says nothing. A remapped user is always told, but not which.
    """
    if not isinstance(value, list):
        return {}
    on = {option.partition(",")[0] for option in _texts(value)}
    return {
        "no-new-privileges": True if "name=no-new-privileges" in on else None,
        "selinux-enabled": True if "name=selinux" in on else None,
        "userns-remap": None if on & {"name=userns", "name=rootless"} else "",
    }


def _firewall(value: t.Any) -> t.Optional[str]:
    """``iptables+firewalld`` is the backend iptables; engines before 28 do not tell."""
    return _text(value.get("Driver")).partition("+")[0] or None if isinstance(value, dict) else None


def _proxies(info: t.Mapping[str, t.Any]) -> t.Dict[str, str]:
    """One that has a user in it is told with the user crossed out; none at all may also be one of the environment."""
    told = {
        "http-proxy": _text(info.get("HttpProxy")),
        "https-proxy": _text(info.get("HttpsProxy")),
        "no-proxy": _text(info.get("NoProxy")),
    }
    return {key: value for key, value in told.items() if value and "@" not in value}


def _address_pools(value: t.Any) -> t.Optional[t.List[t.Dict[str, t.Any]]]:
    if value is None:
        return []
    if not isinstance(value, list):
        return None
    return [{"base": pool.get("Base"), "size": pool.get("Size")} for pool in value if isinstance(pool, dict)]


def _count(value: t.Any) -> t.Optional[int]:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
