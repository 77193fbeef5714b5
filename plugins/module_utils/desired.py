# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one platform's nodes are wanted to be, from lock and role variables: files, daemon settings and units.

Pure, and the only place where these are rendered: the roles copy what stands here and the checks compare the node with
the same object, so nothing that a role manages can lack a check.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import typing as t

from . import access_settings, compat, daemon_keys, docker_settings, toolkit_wanted, trees
from .bundle import MISSING, Problem, digest_of
from .lock import packages_of
from .model import Desired, ManagedFile
from .node_sources import FOLDER, architecture
from .package_names import DRIVER_GLOBS, KERNEL_GLOBS, driver_version_in

AGENT_PATH = "/usr/local/lib/goldennode/agent.pyz"
BLACKLIST_PATH = "/etc/modprobe.d/goldennode-blacklist.conf"
PERSISTENCED_PATH = "/etc/systemd/system/nvidia-persistenced.service.d/goldennode.conf"
DOCKER_PATH = "/etc/systemd/system/docker.service.d/goldennode.conf"
HEADER = "# Managed by goldennode.gpu: a change by hand takes the golden mark away, and is undone by the next run.\n"

#: Variables that steer a run and say nothing about the node. Consent (``<role>_allow_…``) is left out by its name.
RUN_VARIABLES = ("bundle_file", "golden_reboot_timeout")

#: Roles all of whose variables do.
RUN_ROLES = ("rollout",)

#: Numbers of the groups that every system of a family has under the same number (base-passwd; setup).
_GROUP_IDS: t.Dict[str, t.Dict[str, int]] = {
    "debian": {"root": 0, "video": 44},
    "ubuntu": {"root": 0, "video": 44},
    "rhel": {"root": 0, "video": 39},
    "rocky": {"root": 0, "video": 39},
    "almalinux": {"root": 0, "video": 39},
}

_NVIDIA_RUNTIME = {"args": [], "path": "nvidia-container-runtime"}

Settings = t.Mapping[str, t.Mapping[str, t.Any]]


class DesiredError(ValueError):
    """Settings that cannot be brought together with each other or with the lock."""

    def __init__(self, problems: t.Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(" | ".join(str(problem) for problem in problems))


def build(lock: t.Mapping[str, t.Any], settings: Settings, agent_sha256: str, agent_source: t.Optional[str]) -> Desired:
    """Render what the nodes of the lock's platform are wanted to be.

    :arg settings: values by variable by role, as ``goldennode.gpu.desired`` returns them
    :arg agent_sha256: digest of the agent's zip, which is too big to be carried in here
    :arg agent_source: its path on the controller, for the role that copies it; does not count in the digest
    :raises DesiredError: when values contradict each other
    """
    problems = setting_problems(settings) + _platform_problems(lock, settings)
    if problems:
        raise DesiredError(problems)
    wanted = {
        role: {name: value for name, value in values.items() if affects_node(name)}
        for role, values in settings.items()
        if role not in RUN_ROLES
    }
    wanted.setdefault("golden", {})["golden_container_injections"] = list(injections(lock, settings))
    files = {file.path: file for file in _files(lock, settings, agent_sha256, agent_source)}
    daemon, units = _daemon(lock, settings), _units(lock, settings)
    toolkit = toolkit_wanted.config(lock, settings["toolkit"])
    desired = Desired(
        digest="",
        platform=lock["platform"],
        lock=dict(lock),
        settings=wanted,
        files=files,
        daemon=daemon,
        units=units,
        toolkit=toolkit,
    )
    return dataclasses.replace(desired, digest=_digest(desired))


def with_agent(desired: Desired, agent_sha256: str, agent_source: str) -> Desired:
    """What a node kept, with the agent of this controller: the digest is another only where the agent is."""
    agent = dataclasses.replace(desired.files[AGENT_PATH], sha256=agent_sha256, source=agent_source)
    changed = dataclasses.replace(desired, files={**desired.files, AGENT_PATH: agent})
    return dataclasses.replace(changed, digest=_digest(changed))


def _digest(desired: Desired) -> str:
    return digest_of(
        {
            "lock": desired.lock["id"],
            "settings": desired.settings,
            "files": {path: [file.sha256, file.mode] for path, file in desired.files.items()},
            "daemon": desired.daemon,
            "units": desired.units,
            "toolkit": desired.toolkit,
        }
    )


def affects_node(variable: str) -> bool:
    """Whether a variable says what the node should be; consent says only what a run may do to it."""
    steers = variable in RUN_VARIABLES or variable.startswith(tuple(role + "_" for role in RUN_ROLES))
    return "_allow_" not in variable and not steers and variable not in docker_settings.SECRET


def without_secrets(settings: Settings) -> t.Dict[str, t.Dict[str, t.Any]]:
    """The values that may be shown, kept and handed on."""
    return {
        role: {name: value for name, value in values.items() if name not in docker_settings.SECRET}
        for role, values in settings.items()
    }


def cdi_wanted(lock: t.Mapping[str, t.Any], settings: Settings) -> bool:
    """Whether Docker on these nodes is to give GPUs out by CDI: it is asked for, and the engine can read it."""
    return bool(settings["toolkit"]["toolkit_cdi"]) and _reads_cdi(lock)


def _reads_cdi(lock: t.Mapping[str, t.Any]) -> bool:
    return compat.newest_cdi(lock["docker"]["version"]) is not None


def spec_wanted(lock: t.Mapping[str, t.Any], settings: Settings) -> bool:
    """Whether the node is to have a CDI specification."""
    return toolkit_wanted.spec_wanted(cdi_wanted(lock, settings), settings["toolkit"])


def injections(lock: t.Mapping[str, t.Any], settings: Settings) -> t.Tuple[str, ...]:
    """The ways by which the container probe must see the GPUs; ``cdi`` only where CDI is in use."""
    asked = settings["golden"]["golden_container_injections"]
    return tuple(way for way in asked if way != "cdi" or cdi_wanted(lock, settings))


# --- what contradicts itself --------------------------------------------------------------------------------------


def setting_problems(settings: Settings) -> t.List[Problem]:
    """What is wrong with the values whatever the lock is. Types are judged before, against the argument specs."""
    problems = access_settings.problems(settings["device_access"])
    golden, docker = settings["golden"], settings["docker"]
    expected = golden.get("golden_expected_gpus")
    if expected is not None and expected < 1:
        fix = "Say how many GPUs this node has when it is whole; a host without any is no GPU node"
        problems.append(Problem("golden_expected_gpus", expected, "is less than 1", fix))
    if not golden["golden_container_injections"]:
        fix = "Name at least one of runtime and cdi: without, no container would be proven"
        problems.append(Problem("golden_container_injections", [], "is empty", fix))
    if golden["golden_look_timeout"] < 5:
        fix = "Give it 5 seconds or more, 60 is usual"
        problems.append(Problem("golden_look_timeout", golden["golden_look_timeout"], "is too short for any look", fix))
    for module in settings["kernel"]["kernel_blacklist"]:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", module):
            problems.append(
                Problem("kernel_blacklist", module, "is not the name of a kernel module", "Write it like nouveau")
            )
    for word in settings["kernel"]["kernel_arguments"]:
        if not re.fullmatch(r"[A-Za-z0-9._,:=/@+%~-]+", word):
            fix = "Write one word for each argument, like iommu=pt; it goes through a shell and through GRUB's own"
            problems.append(Problem("kernel_arguments", word, "is not one plain word of a kernel's command line", fix))
    return problems + _docker_problems(docker) + toolkit_wanted.problems(settings["toolkit"])


def _docker_problems(docker: t.Mapping[str, t.Any]) -> t.List[Problem]:
    problems = []
    owned = {
        "default-runtime": "Set docker_default_runtime instead",
        "runtimes.nvidia": "Take it out: the nvidia runtime is registered by this collection",
        "features.cdi": "Set toolkit_cdi instead",
        "data-root": "Set docker_data_root instead",
    }
    options = docker["docker_daemon_options"]
    for path, fix in owned.items():
        value = trees.at(options, path.split("."), MISSING)
        if value is not MISSING:
            problems.append(Problem("docker_daemon_options." + path, value, "is managed by a variable of its own", fix))
    problems += _engine_problems(options)
    default, runtimes = docker["docker_default_runtime"], options.get("runtimes", {})
    if default not in ("runc", "nvidia") and isinstance(runtimes, dict) and default not in runtimes:
        fix = "Use runc or nvidia, or register it in docker_daemon_options.runtimes"
        problems.append(Problem("docker_default_runtime", default, "is a runtime that Docker would not know", fix))
    return problems + docker_settings.problems(docker)


def _engine_problems(options: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    """Options with which dockerd would not start, or which it would not read."""
    for fault in daemon_keys.faults(options):
        name = "docker_daemon_options." + ".".join(fault.path)
        yield Problem(name, fault.value, fault.message, fault.fix[0].upper() + fault.fix[1:])
    runtimes = options.get("runtimes")
    for name, runtime in runtimes.items() if isinstance(runtimes, dict) else ():
        if isinstance(runtime, dict) and runtime.get("args"):
            path = "docker_daemon_options.runtimes.%s.args" % name
            yield Problem(path, runtime["args"], "is a key that no engine reads", "Call it runtimeArgs")


def _platform_problems(lock: t.Mapping[str, t.Any], settings: Settings) -> t.List[Problem]:
    problems = []
    if lock["package_manager"] not in _REPOSITORY_FILES:
        fix = "Use a platform of Debian or Ubuntu"
        problems.append(Problem("platform", lock["platform"], "is not supported yet: it takes packages by dnf", fix))
    problems += toolkit_wanted.lock_problems(lock, settings["toolkit"])
    group = settings["device_access"]["device_access_group"]
    if _gid(lock, settings) is None:
        fix = "Set device_access_gid to the number that the group has on all nodes: the driver takes a number only"
        message = "has no number that is known for %s" % lock["platform"]
        problems.append(Problem("device_access_group", group, message, fix))
    if not injections(lock, settings) and settings["golden"]["golden_container_injections"]:
        fix = (
            "Add runtime, or set toolkit_cdi to true with Docker 25 or newer (the lock has %s)"
            % lock["docker"]["version"]
        )
        asked = list(settings["golden"]["golden_container_injections"])
        problems.append(Problem("golden_container_injections", asked, "asks for CDI alone, which is not in use", fix))
    return problems


def _gid(lock: t.Mapping[str, t.Any], settings: Settings) -> t.Optional[int]:
    access = settings["device_access"]
    given = access.get("device_access_gid")
    if given is not None:
        return int(given)
    return _GROUP_IDS.get(lock["platform"].split("-")[0], {}).get(access["device_access_group"])


# --- daemon.json and units ----------------------------------------------------------------------------------------


def _daemon(lock: t.Mapping[str, t.Any], settings: Settings) -> t.Dict[str, t.Any]:
    """The settings wanted inside daemon.json.

    The default runtime is written also when it is runc, and CDI also when it is off: a node on which they were once
    something else must come back.
    """
    options = settings["docker"]["docker_daemon_options"]
    wanted = dict(options)
    wanted["default-runtime"] = settings["docker"]["docker_default_runtime"]
    wanted["runtimes"] = dict(options.get("runtimes", {}), nvidia=dict(_NVIDIA_RUNTIME))
    if _reads_cdi(lock):
        wanted["features"] = dict(options.get("features", {}), cdi=cdi_wanted(lock, settings))
    if "docker_data_root" in settings["docker"]:
        wanted["data-root"] = settings["docker"]["docker_data_root"]
    return wanted


def _units(lock: t.Mapping[str, t.Any], settings: Settings) -> t.Dict[str, str]:
    """Units that every node must have. nvidia-fabricmanager is for NVSwitches, of which only the look knows."""
    units = {
        "docker.service": "active+enabled",
        "containerd.service": "active+enabled",
        "goldennode-uvm.service": "enabled",
        "goldennode-agent.service": "enabled",
    }
    if settings["driver"]["driver_persistenced"]:
        units["nvidia-persistenced.service"] = "active+enabled"
    if spec_wanted(lock, settings):
        units.update(toolkit_wanted.units(lock))
    return units


# --- files --------------------------------------------------------------------------------------------------------


def _files(
    lock: t.Mapping[str, t.Any], settings: Settings, agent_sha256: str, agent_source: t.Optional[str]
) -> t.Iterator[ManagedFile]:
    access = settings["device_access"]
    group, mode = access["device_access_group"], access["device_access_mode"].zfill(4)
    yield _file(BLACKLIST_PATH, "kernel", _blacklist(settings["kernel"]["kernel_blacklist"]))
    yield _file("/etc/dracut.conf.d/goldennode.conf", "kernel", _dracut(settings["kernel"]["kernel_blacklist"]))
    yield from _REPOSITORY_FILES[lock["package_manager"]](lock, settings)
    yield _file("/etc/systemd/system/goldennode-uvm.service", "driver", _uvm_service(group, mode))
    if settings["driver"]["driver_persistenced"] and _lets_gpus_sleep(lock):
        yield _file(PERSISTENCED_PATH, "driver", HEADER + _PERSISTENCED)
    yield _file("/etc/modprobe.d/goldennode-nvidia.conf", "device_access", _nvidia_options(_gid(lock, settings), mode))
    yield _file("/etc/udev/rules.d/70-goldennode-uvm.rules", "device_access", _uvm_rules(group, mode))
    yield _file(DOCKER_PATH, "docker", HEADER + docker_settings.drop_in(settings["docker"].get("docker_data_root")))
    if spec_wanted(lock, settings):
        for path, content in toolkit_wanted.files(lock, settings["toolkit"]).items():
            yield _file(path, "toolkit", HEADER + content)
    yield ManagedFile(path=AGENT_PATH, role="golden", mode=0o644, sha256=agent_sha256, source=agent_source)
    timeout = settings["golden"]["golden_look_timeout"]
    yield _file("/etc/systemd/system/goldennode-agent.service", "golden", _agent_service(timeout))
    yield _file("/etc/ansible/facts.d/goldennode.fact", "golden", _FACT, mode=0o755)


def _file(path: str, role: str, content: str, mode: int = 0o644) -> ManagedFile:
    digest = hashlib.sha256(content.encode()).hexdigest()
    return ManagedFile(path=path, role=role, mode=mode, sha256=digest, content=content)


def _blacklist(modules: t.Sequence[str]) -> str:
    """``install … /bin/false`` stops those who load a module by name, which ``blacklist`` alone does not."""
    lines = [line for module in modules for line in ("blacklist %s" % module, "install %s /bin/false" % module)]
    if "nouveau" in modules:
        lines.append("options nouveau modeset=0")
    return HEADER + "".join(line + "\n" for line in lines)


def _dracut(modules: t.Sequence[str]) -> str:
    """For every image that dracut builds from now on, whoever calls it: the hook of a kernel's package does.

    An image for any machine leaves /etc/modprobe.d out, so the modules stay out as well. Written also where dracut is
    not installed: it may come. dracut goes by the name of the file, which may have a dash where the module has none.
    """
    both = (name for module in modules for name in (module.replace("-", "_"), module.replace("_", "-")))
    names = " ".join(dict.fromkeys(both))
    lines = ['omit_drivers+=" %s "\n' % names] if names else []
    return HEADER + "".join([*lines, 'install_optional_items+=" %s "\n' % BLACKLIST_PATH])


def _nvidia_options(gid: t.Optional[int], mode: str) -> str:
    """The driver's own tools put modes and groups back to these whenever they start; udev rules alone cannot hold."""
    options = "NVreg_ModifyDeviceFiles=1 NVreg_DeviceFileUID=0 NVreg_DeviceFileGID=%d NVreg_DeviceFileMode=%s"
    return HEADER + "options nvidia " + options % (gid, mode) + "\n"


def _uvm_rules(group: str, mode: str) -> str:
    return HEADER + _UVM_RULE % {"group": group, "mode": mode, "nodes": _UVM_NODES}


def _uvm_service(group: str, mode: str) -> str:
    return HEADER + _UVM_SERVICE % {"group": group, "mode": mode, "nodes": _UVM_NODES}


def _lets_gpus_sleep(lock: t.Mapping[str, t.Any]) -> bool:
    """Whether the daemon is of Ubuntu's archive, whose unit has it keep no GPU awake."""
    return bool(lock["platform"].startswith("ubuntu-") and lock["driver"]["source"] == "distro")


def _agent_service(look_timeout: int) -> str:
    """systemd's limit is the last resort: the look has limits of its own."""
    return HEADER + _AGENT_SERVICE % {"timeout": 2 * look_timeout + 180, "agent": AGENT_PATH}


_UVM_NODES = "/dev/nvidia-uvm /dev/nvidia-uvm-tools"

#: nvidia-uvm's nodes do not follow NVreg_*, and the kernel announces the module but never the nodes: MODE= is no use.
_UVM_RULE = (
    'ACTION=="add", SUBSYSTEM=="module", DEVPATH=="/module/nvidia_uvm", RUN+="/usr/bin/nvidia-modprobe -u -c 0", '
    'RUN+="/bin/chgrp %(group)s %(nodes)s", RUN+="/bin/chmod %(mode)s %(nodes)s"\n'
)

#: Nodes of the control device (255), of every GPU and of nvidia-uvm, before anything starts a container. Nothing
#: depends on it, only the order is fixed: a node whose module cannot be loaded yet must still boot, with this unit
#: failed for everybody to see. Last the links in /dev/char: nvidia-modprobe makes them from 470.182.03 on, for nodes
#: that it makes itself; udev never does, as the kernel announces no node of the driver's.
_UVM_SERVICE = """\
[Unit]
Description=Load the NVIDIA driver and make its device nodes, before containers
After=systemd-modules-load.service systemd-udevd.service
Before=docker.service nvidia-persistenced.service nvidia-fabricmanager.service nvidia-cdi-refresh.service

[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=120
ExecStart=/sbin/modprobe nvidia
ExecStart=/sbin/modprobe nvidia-uvm
ExecStart=/bin/sh -ec 'exec /usr/bin/nvidia-modprobe -c 255 \\
    $$(sed -n "s/^Device Minor:[[:space:]]*/-c /p" /proc/driver/nvidia/gpus/*/information)'
ExecStart=/usr/bin/nvidia-modprobe -u -c 0
ExecStart=/bin/chgrp %(group)s %(nodes)s
ExecStart=/bin/chmod %(mode)s %(nodes)s
ExecStart=/bin/sh -ec 'mkdir -p /dev/char; \\
    for node in /dev/nvidia* /dev/nvidia-caps*/*; do \\
        [ -c "$$node" ] || continue; \\
        set -- $$(stat -c "%%%%t %%%%T" "$$node"); \\
        link=/dev/char/$$((0x$$1)):$$((0x$$2)); \\
        [ "$$link" -ef "$$node" ] || ln -sfn "../$${node#/dev/}" "$$link"; \\
    done'

[Install]
WantedBy=multi-user.target
"""

#: Ubuntu's unit has --no-persistence-mode, and ends as soon as nothing wants it: whoever starts it by hand, or upgrades
#: the driver, is left without.
_PERSISTENCED = """\
[Unit]
StopWhenUnneeded=no

[Service]
ExecStart=
ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --persistence-mode --verbose
"""

#: Comes after all that it looks at.
_AGENT_SERVICE = """\
[Unit]
Description=Prove that the GPUs work, and renew the golden mark
After=docker.service goldennode-uvm.service nvidia-persistenced.service nvidia-fabricmanager.service
After=nvidia-cdi-refresh.service

[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=%(timeout)d
ExecStart=/usr/bin/python3 %(agent)s verify --boot

[Install]
WantedBy=multi-user.target
"""

_FACT = (
    "#!/usr/bin/python3\n"
    + HEADER
    + '''"""The local fact: whether this node is golden now. Compares files and versions; runs no NVIDIA code."""
import json
import sys

AGENT = "%s"
sys.dont_write_bytecode = True
sys.path.insert(0, AGENT)
try:
    from goldennode import agent
except Exception as error:
    print(json.dumps({"golden": False, "reason": "the agent %%s cannot be loaded: %%s" %% (AGENT, error)}))
else:
    sys.argv = [AGENT, "fact"]
    sys.exit(agent.main())
'''
    % AGENT_PATH
)


#: The first pin of a version counts, in the order of the files' names: another file's must not come before ours.
_PREFERENCES = "/etc/apt/preferences.d/00goldennode"


def _apt_files(lock: t.Mapping[str, t.Any], settings: Settings) -> t.Iterator[ManagedFile]:
    packages = sorted(packages_of(lock, kernel=settings["kernel"]["kernel_pin"]).items())
    for source in lock["sources"]:
        text = HEADER + deb822(source, architecture(lock["platform"]))
        yield _file(source_path(source["name"]), "packages", text)
    packages += _docker_extras(lock)
    pins = "\n".join(
        "Package: %s\nPin: version %s\nPin-Priority: 1001\n" % pair for pair in packages + _driver_pins(lock)
    )
    pins += _OTHER_REVISIONS % (" ".join(DRIVER_GLOBS), lock["driver"]["version"])
    if settings["kernel"]["kernel_pin"]:
        pins += _NO_OTHER_KERNEL
    yield _file(_PREFERENCES, "packages", HEADER + "\n" + pins)
    patterns = DRIVER_GLOBS + (KERNEL_GLOBS if settings["kernel"]["kernel_pin"] else ())
    names = [re.sub(r"([.+])", r"\\\1", name) for name, _version in packages]
    names += [re.sub(r"([.+])", r"\\\1", pattern).replace("*", ".*") for pattern in patterns]
    entries = "".join('    "%s$";\n' % name for name in names)
    yield _file(
        "/etc/apt/apt.conf.d/51goldennode",
        "packages",
        HEADER + "Unattended-Upgrade::Package-Blacklist {\n" + entries + "};\n",
    )


def _docker_extras(lock: t.Mapping[str, t.Any]) -> t.List[t.Tuple[str, str]]:
    """What runs a rootless engine is built with the engine, and nothing that a lock names asks for it: where somebody
    has installed it, it moves along.
    """
    packages = lock["docker"]["packages"]
    extras = "docker-ce-rootless-extras"
    return [(extras, packages["docker-ce"])] if "docker-ce" in packages and extras not in packages else []


def _driver_pins(lock: t.Mapping[str, t.Any]) -> t.List[t.Tuple[str, str]]:
    """Every other part of the driver at the driver's version, wherever it is installed: one that no lock names would
    be moved by an upgrade, and break the set. A package of another version is not touched by such a pin.
    """
    versions = lock["driver"]["packages"].values()
    driver = {full for full in versions if driver_version_in(full) == lock["driver"]["version"]}
    return [(" ".join(DRIVER_GLOBS), full) for full in sorted(driver)]


#: Parts of the driver that are packaged apart have its version in another revision (nvidia-imex 580.95.05-1 beside
#: nvidia-utils 580.95.05-1ubuntu1): whoever installs one gets that, and not the newest. Below the exact pins, for among
#: equals the newest revision would be taken.
_OTHER_REVISIONS = "\nPackage: %s\nPin: version %s-*\nPin-Priority: 1000\n"

#: The first pin of a version counts, so these, after the exact ones, are for every kernel but the lock's: what is
#: installed stays, and no other comes. A metapackage that no lock names (linux-generic, linux-image-amd64) would bring
#: the newest kernel, without the driver's module.
_NO_OTHER_KERNEL = "".join(
    "\nPackage: %s\nPin: release %s\nPin-Priority: %d\n" % (" ".join(KERNEL_GLOBS), release, priority)
    for release, priority in (("a=now", 100), ("*", -1))
)

_REPOSITORY_FILES: t.Dict[str, t.Callable[[t.Mapping[str, t.Any], Settings], t.Iterator[ManagedFile]]] = {
    "apt": _apt_files
}


def source_path(name: str) -> str:
    return "%s/goldennode-%s.sources" % (FOLDER, name)


def deb822(source: t.Mapping[str, t.Any], debian_architecture: str) -> str:
    """One repository as a .sources file, with the key inside: no second file that could be lost or be another's.

    A repository of the distribution itself names the distribution's keyring instead, as the distribution's own entries
    do: apt refuses all sources when two entries of one repository differ in Signed-By.
    """
    lines = ["Types: deb", "URIs: " + " ".join(source["uris"]), "Suites: " + " ".join(source["suites"])]
    if source["components"]:
        lines.append("Components: " + " ".join(source["components"]))
    lines.append("Architectures: " + debian_architecture)
    if source.get("keyring"):
        lines.append("Signed-By: " + source["keyring"])
    else:
        lines += ["Signed-By:"] + [" " + (line or ".") for line in source["key"].rstrip("\n").split("\n")]
    return "\n".join(lines) + "\n"
