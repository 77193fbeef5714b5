# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One look at a node: everything that the checks judge, read within a given time.

The device nodes are listed before anything of NVIDIA's runs. After that, what takes time runs side by side.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import datetime
import typing as t

from .. import docker_record
from ..model import Boot, Desired, DkmsModule, Evidence, ModuleOnDisk, Platform, Reading
from . import (
    boot_default,
    build_log,
    cgroups,
    container,
    container_limits,
    docker,
    docker_journal,
    driver,
    engines,
    files,
    frameworks,
    image_environment,
    initramfs,
    kernel,
    kernel_log,
    nodes,
    packages,
    pci_link,
    pressure,
    requests,
    running,
    runtime_program,
    secure_boot,
    security,
    services,
    sources,
    toolkit,
)
from .budget import Budget
from .host import Host

#: full: everything. host: without containers. fact: files and the package list, no code of NVIDIA's.
SCOPES = ("full", "host", "fact")

DEFAULT_SECONDS = 60.0

DKMS_NOT_ASKED = "not asked: the driver that is wanted is built and loaded"

Job = t.Callable[[], t.Any]


def choose(host: Host, wanted: t.Mapping[str, Desired]) -> t.Tuple[Reading[Platform], t.Optional[Desired]]:
    """The wanted state of the platform that the host is; None when none is known."""
    platform = kernel.platform(host)
    return platform, wanted.get(platform.value.key) if platform.value else None


def look(
    host: Host,
    desired: t.Optional[Desired] = None,
    scope: str = "full",
    budget_seconds: float = DEFAULT_SECONDS,
    single_gpus: bool = False,
    meanwhile: t.Optional[t.Callable[[], t.Any]] = None,
    short: bool = False,
) -> Evidence:
    """Read what ``scope`` names. What was not reached in time is unknown, with that reason.

    :arg single_gpus: whether containers ask for single GPUs too, and the frameworks of the image are imported, where
        ``scope`` has containers at all
    :arg meanwhile: called once the commands run, before they are waited for
    :arg short: whether DKMS is only asked where it could explain something
    """
    if scope not in SCOPES:
        raise ValueError("scope %r is none of %s" % (scope, ", ".join(SCOPES)))
    limited = Budget(host, budget_seconds)
    started = datetime.datetime.fromtimestamp(host.now(), datetime.timezone.utc)
    read: t.Dict[str, t.Any] = {"device_nodes": nodes.device_nodes(limited)}
    read.update({name: job() for name, job in _first(limited).items()})
    slow = _slow(limited, desired, scope, read)
    # A thread for each: they wait for other processes, and cost no processor.
    with concurrent.futures.ThreadPoolExecutor(len(slow) + 1) as pool:
        running = {name: pool.submit(job) for name, job in slow.items()}
        if scope != "fact":
            modules = [running[name] for name in ("module_on_disk", "module_to_boot") if name in running]
            running["dkms"] = pool.submit(_dkms, limited, desired, modules if short else None)
        read.update({name: job() for name, job in _files(limited, desired, scope, read).items()})
        if meanwhile is not None:
            meanwhile()
        read.update({name: future.result() for name, future in running.items()})
    if "module_on_disk" in read:
        read.setdefault("module_to_boot", read["module_on_disk"])
    engine = read["docker"].value if "docker" in read else None
    if "dkms" in read:
        read["build_failure"] = build_log.failure(limited, read["dkms"], desired)
    if "docker" in read:
        read["docker_journal"] = docker_journal.journal(limited, read["docker"])
        read["docker_root"] = docker.root(limited, read["docker"], read["docker_config"], desired)
    if "running_containers" in read:
        read["limits"] = container_limits.limits(limited, read["running_containers"])
    evidence = Evidence(
        collected_at=started.isoformat(timespec="seconds"),
        host=host.hostname(),
        scope=scope,
        cdi_specs=toolkit.cdi_specs(limited, engine.cdi_spec_dirs if engine else ()),
        containers={i: read.pop(_container(i)) for i in _injections(desired, scope)},
        **read,
    )
    ways = _injections(desired, scope)
    if not single_gpus or desired is None or not ways or not desired.lock.get("image"):
        return evidence
    how = container.manner(desired, evidence.device_nodes)
    image = desired.lock["image"]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        imported = pool.submit(frameworks.frameworks, limited, image, ways, evidence, how)
        asked = requests.requests(limited, image, ways, evidence, how)
        return dataclasses.replace(evidence, requests=asked, frameworks=imported.result())


def _first(host: Host) -> t.Dict[str, Job]:
    """Cheap, and needed by others."""
    return {
        "platform": lambda: kernel.platform(host),
        "boot": lambda: kernel.boot(host),
        "pci": lambda: kernel.pci(host),
    }


def _files(host: Host, desired: t.Optional[Desired], scope: str, read: t.Mapping[str, t.Any]) -> t.Dict[str, Job]:
    """Read directly while the commands run."""
    jobs: t.Dict[str, Job] = {
        "kept_packages": lambda: packages.kept(host),
        "own_holds": lambda: packages.own_holds(host),
        "modules_loaded": lambda: kernel.modules_loaded(host, _blacklisted(desired)),
        "driver": lambda: kernel.driver(host),
        "driver_params": lambda: kernel.driver_params(host),
        "device_majors": lambda: nodes.device_majors(host),
        "dev_char": lambda: nodes.dev_char(host, read["device_nodes"]),
        "groups": lambda: nodes.groups(host),
        "docker_config": lambda: docker.config(host),
        "docker_config_file": lambda: docker.config_file(host),
        "docker_record": lambda: files.record(host, docker_record.PATH),
        "mark": lambda: files.mark(host),
        "sources": lambda: sources.sources(host),
        "toolkit_config": lambda: toolkit.config(host),
        "cdi_target": lambda: toolkit.cdi_target(host),
        "runtime_program": lambda: runtime_program.program(host, desired),
        "cgroups": lambda: cgroups.cgroups(host),
    }
    if scope != "fact":
        jobs["boot_default"] = lambda: boot_default.boot_default(host)
        jobs["command_line"] = lambda: boot_default.command_line(host)
        jobs["modprobe"] = lambda: kernel.modprobe(host)
        jobs["pci_slots"] = lambda: pci_link.slots(host, read["pci"])
        jobs["numa_nodes"] = lambda: pci_link.numa_nodes(host)
        jobs["apparmor"] = lambda: kernel.apparmor(host)
        jobs["selinux"] = lambda: security.selinux(host)
        jobs["load"] = lambda: pressure.load(host)
    if desired is not None:
        wanted = desired
        jobs["files"] = lambda: files.files(host, wanted)
    return jobs


def _blacklisted(desired: t.Optional[Desired]) -> t.Sequence[str]:
    return tuple(desired.settings.get("kernel", {}).get("kernel_blacklist", ())) if desired else ()


def _slow(host: Budget, desired: t.Optional[Desired], scope: str, read: t.Mapping[str, t.Any]) -> t.Dict[str, Job]:
    """What starts a process, the longest first."""
    jobs: t.Dict[str, Job] = {}
    for injection in _injections(desired, scope):
        jobs[_container(injection)] = _container_job(host, desired, injection, read)
    boot = read["boot"]
    if scope != "fact":
        groups = driver.groups_of(read["device_nodes"])
        image = desired.lock.get("image") if desired else None
        jobs["nvml"] = lambda: driver.nvml(host, groups)
        jobs["cuda"] = lambda: driver.cuda(host, groups)
        jobs["smi"] = lambda: driver.smi(host, groups)
        jobs["docker"] = lambda: docker.engine(host)
        jobs["docker_socket"] = lambda: docker.listener(host)
        jobs["docker_clients"] = lambda: docker.clients(host, desired)
        jobs["running_containers"] = lambda: running.containers(host)
        jobs["engines"] = lambda: engines.engines(host)
        if image:
            jobs["image_digests"] = lambda: docker.image_digests(host, image)
            jobs["image_environment"] = lambda: image_environment.environment(host, image)
        jobs["units"] = lambda: services.units(host, desired)
        jobs["kernel_log"] = lambda: kernel_log.kernel_log(host)
        jobs["libraries"] = lambda: driver.libraries(host)
        jobs["module_on_disk"] = lambda: _module_on_disk(host, boot)
        jobs["secure_boot"] = lambda: secure_boot.secure_boot(host, read["platform"])
        jobs["fabric_mismatch"] = lambda: services.fabric_mismatch(host, read["pci"])
        release = _release_to_boot(desired)
        if release is not None and boot.value is not None and release != boot.value.kernel:
            to_boot = release
            jobs["module_to_boot"] = lambda: kernel.module_on_disk(host, to_boot)
    jobs["packages"] = lambda: packages.packages(host, desired)
    jobs["initramfs"] = lambda: initramfs.initramfs(host, read=scope != "fact")
    return jobs


def _dkms(
    host: Host, desired: t.Optional[Desired], modules: t.Optional[t.Sequence[concurrent.futures.Future[t.Any]]]
) -> Reading[t.Tuple[DkmsModule, ...]]:
    """What DKMS says. Where the driver and all ``modules`` are as wanted, half a second of shell tells no more."""
    version = (desired.lock.get("driver") or {}).get("version") if desired else None
    if version and modules is not None:
        there = [kernel.driver(host).value, *(module.result().value for module in modules)]
        if all(one is not None and one.version == version for one in there):
            return Reading.unknown(DKMS_NOT_ASKED)
    return kernel.dkms(host)


def _module_on_disk(host: Host, boot: Reading[Boot]) -> Reading[ModuleOnDisk]:
    if boot.value is None:
        return Reading.unknown(boot.error or "")
    return kernel.module_on_disk(host, boot.value.kernel)


def _release_to_boot(desired: t.Optional[Desired]) -> t.Optional[str]:
    """The kernel of the lock, where it is pinned: what the node shall come up with."""
    if desired is None or not desired.settings.get("kernel", {}).get("kernel_pin"):
        return None
    release = (desired.lock.get("kernel") or {}).get("release")
    return str(release) if release else None


def _injections(desired: t.Optional[Desired], scope: str) -> t.Tuple[str, ...]:
    """By which ways a container is to see the GPUs; none without a lock, which names the image."""
    if scope != "full" or desired is None:
        return ()
    return tuple(desired.settings.get("golden", {}).get("golden_container_injections", ()))


def _container(injection: str) -> str:
    return "container %s" % injection


def _container_job(host: Budget, desired: t.Optional[Desired], injection: str, read: t.Mapping[str, t.Any]) -> Job:
    image = desired.lock.get("image") if desired else None
    if not image:
        return lambda: Reading.unknown("the lock names no image")
    refused = container.would_create(read["device_nodes"], read["pci"])
    if refused is not None:
        why = "no container was started: %s" % refused
        return lambda: Reading.unknown(why)
    wanted, how = image, container.manner(desired, read["device_nodes"])
    return lambda: container.container(host, wanted, injection, how)
