# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who denies a container its GPUs: modes, SELinux, AppArmor and device rules look alike from within.

Enforcing stays enforcing: no fix switches a security module off, or takes a label away.
"""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks import start_errors
from ansible_collections.goldennode.gpu.plugins.module_utils.model import (
    CudaInit,
    Evidence,
    Finding,
    Reading,
    SELinux,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import kernel_log
from ansible_collections.goldennode.gpu.plugins.module_utils.parse.container import NOT_STARTED
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)

LABEL = "system_u:system_r:container_t:s0:c12,c34"
REFUSED = "nvidia-smi ended with code 4: Failed to initialize NVML: Insufficient Permissions"
NARROW, WIDE = "container_use_xserver_devices", "container_use_devices"
AVC = (
    'audit: type=1400 audit(1796054890.1:7): avc:  denied  { read write } for  pid=9 comm="nvidia-smi" '
    'path="/dev/nvidiactl" dev="tmpfs" ino=3 scontext=system_u:system_r:container_t:s0:c12,c34 '
    "tcontext=system_u:object_r:%s:s0 tclass=chr_file permissive=0"
)
APPARMOR = (
    'audit: type=1400 audit(1796054890.1:7): apparmor="DENIED" operation="open" profile="%s" name="/dev/nvidiactl" '
    'pid=9 comm="nvidia-smi" requested_mask="wr" denied_mask="wr" fsuid=65534 ouid=0'
)


def options(node: Evidence, *more: str) -> Evidence:
    """The node with other security options of the engine."""
    assert node.docker.value is not None
    return healthy.known(node, docker=dataclasses.replace(node.docker.value, security_options=more))


def denied(node: Evidence, label: str, said: str = REFUSED) -> Evidence:
    """Both containers confined by ``label`` and refused."""
    for way in node.containers:
        fields = {"smi": Reading.unknown(said), "cuda": Reading(CudaInit(100, "CUDA_ERROR_NO_DEVICE"))}
        node = healthy.container(node, way, confinement=Reading(label), **fields)
    return node


def selinux(state: SELinux, wanted: t.Any = WANTED, *log: str) -> Evidence:
    node = options(healthy.evidence("a10", wanted), "name=selinux", "name=seccomp,profile=builtin")
    for way in node.containers:
        node = healthy.container(node, way, confinement=Reading(LABEL))
    return healthy.known(node, selinux=state, kernel_log=kernel_log.parse("\n".join(log)).value)


def judged(node: Evidence, wanted: t.Any = WANTED) -> verdict.Verdict:
    return verdict.run(wanted, node, 1)


def broken(node: Evidence, wanted: t.Any = WANTED) -> t.Tuple[t.Optional[str], t.List[Finding]]:
    found = judged(node, wanted)
    assert not found.golden
    for finding in found.broken:
        words = (finding.cause + finding.fix).lower()
        for never in ("setenforce 0", "label=disable", "selinux=0", "privileged", "apparmor=unconfined", "aa-disable"):
            assert never not in words
    return found.first_broken, list(found.broken)


def test_a_confined_container_that_sees_its_gpus_is_golden_under_enforcing() -> None:
    found = judged(selinux(SELinux("enforcing", "enforcing", NARROW, allowed=True)))
    assert (found.golden, found.not_proven) == (True, ())


@pytest.mark.parametrize("log", [(), (AVC % "xserver_misc_device_t",)])
@pytest.mark.parametrize("boolean", [NARROW, WIDE])
def test_selinux_denies_and_only_the_boolean_is_switched(log: t.Tuple[str, ...], boolean: str) -> None:
    node = denied(selinux(SELinux("enforcing", "enforcing", boolean), WANTED, *log), LABEL)
    layer, found = broken(node)
    assert layer == "policy"
    assert {f.id for f in found} == {"policy.selinux"}
    assert {f.repair for f in found} == {"roles"}
    for finding in found:
        assert "setsebool -P %s on; SELinux stays enforcing." % boolean in finding.fix
        assert ("/dev/nvidiactl" in finding.cause) is bool(log)
    of_image = [f for f in judged(node).findings if f.id in ("image.gpus", "image.cuda")]
    assert {(f.status, f.actual) for f in of_image} == {
        ("skip", "the container is denied its GPUs: see policy.selinux")
    }


def test_the_boolean_is_wanted_before_a_container_is_denied() -> None:
    """A permissive node, or one whose own policy module is taken out tomorrow."""
    layer, (finding,) = broken(selinux(SELinux("permissive", "permissive", NARROW)))
    assert (layer, finding.id, finding.entity, finding.repair) == ("policy", "policy.selinux", NARROW, "roles")


def test_a_policy_of_the_owners_own_does_where_the_boolean_is_not_wanted() -> None:
    wanted = healthy.desired(device_access_selinux_boolean=False)
    assert judged(selinux(SELinux("enforcing", "enforcing", NARROW), wanted), wanted).golden
    layer, found = broken(denied(selinux(SELinux("enforcing", "enforcing", NARROW), wanted), LABEL), wanted)
    assert (layer, {f.repair for f in found}) == ("policy", {"manual"})
    assert "device_access_selinux_boolean=true" in found[0].fix


@pytest.mark.parametrize("opt", ["engine", "wanted"])
def test_the_boolean_is_not_touched_where_docker_confines_nothing(opt: str) -> None:
    wanted = healthy.desired(docker_daemon_options={"selinux-enabled": True}) if opt == "wanted" else WANTED
    node = healthy.known(healthy.evidence("a10", wanted), selinux=SELinux("enforcing", "enforcing", NARROW))
    assert judged(node, wanted).golden is (opt == "engine")


def test_a_policy_without_the_boolean_is_updated() -> None:
    layer, found = broken(denied(selinux(SELinux("enforcing", "enforcing")), LABEL))
    assert (layer, found[0].repair) == ("policy", "manual")
    assert "Update container-selinux" in found[0].fix


def test_nodes_with_the_wrong_label_are_told_from_a_boolean_that_is_off() -> None:
    """NVIDIA/nvidia-docker#219: made as device_t, which no boolean for GPUs reaches."""
    state = SELinux("enforcing", "enforcing", NARROW, allowed=True)
    layer, found = broken(denied(selinux(state, WANTED, AVC % "device_t"), LABEL))
    assert (layer, found[0].repair) == ("policy", "manual")
    assert "restorecon" in found[0].fix


def test_another_denial_under_a_boolean_that_is_on_is_quoted() -> None:
    state = SELinux("enforcing", "enforcing", NARROW, allowed=True)
    layer, found = broken(denied(selinux(state, WANTED, AVC % "xserver_misc_device_t"), LABEL))
    assert layer == "policy"
    assert "denied  { read write }" in found[0].cause
    assert "ausearch" in found[0].fix


def test_permissive_until_the_next_boot_is_not_proven() -> None:
    found = judged(selinux(SELinux("permissive", "enforcing", NARROW, allowed=True)))
    assert found.golden
    assert [words.partition(":")[0] for words in found.not_proven] == ["policy.selinux"]


@pytest.mark.parametrize("label", ["system_u:system_r:spc_t:s0", "unconfined_u:unconfined_r:container_runtime_t:s0"])
def test_a_container_that_ran_free_proves_nothing_of_one_that_is_confined(label: str) -> None:
    node = selinux(SELinux("enforcing", "enforcing", NARROW, allowed=True))
    found = judged(healthy.container(node, "cdi", confinement=Reading(label)))
    assert found.golden
    assert "SELinux" in found.not_proven[0]


def test_selinux_that_cannot_be_read_never_passes() -> None:
    layer, (finding,) = broken(healthy.unreadable(NODE, "selinux"))
    assert (layer, finding.id, finding.status) == ("policy", "policy.selinux", "unknown")


def test_a_denial_of_apparmor_names_profile_and_line() -> None:
    node = healthy.known(NODE, kernel_log=kernel_log.parse(APPARMOR % "docker-default").value)
    layer, found = broken(denied(node, "docker-default (enforce)"))
    assert (layer, {f.id for f in found}) == ("policy", {"policy.apparmor"})
    assert 'name="/dev/nvidiactl"' in found[0].cause
    assert "AppArmor stays in force" in found[0].fix


def test_a_denial_of_another_profile_is_not_this_containers() -> None:
    node = healthy.known(NODE, kernel_log=kernel_log.parse(APPARMOR % "snap.firefox").value)
    layer, found = broken(denied(node, "docker-default (enforce)"))
    assert (layer, found[0].id) == ("image", "image.gpus")
    assert "device rule of its control group" in found[0].cause


@pytest.mark.parametrize("label", ["unconfined", "", "docker-default (complain)"])
def test_a_profile_that_docker_did_not_apply_is_not_proven(label: str) -> None:
    found = judged(healthy.container(NODE, "runtime", confinement=Reading(label)))
    assert found.golden
    assert "AppArmor" in found.not_proven[0]


def test_no_profile_is_missed_where_docker_has_none() -> None:
    node = options(NODE, "name=seccomp,profile=builtin")
    for way in node.containers:
        node = healthy.container(node, way, confinement=Reading(""))
    assert judged(node).not_proven == ()


@pytest.mark.parametrize(("mode", "gid"), [(0o660, 39), (0o600, 44), (0o640, 44)])
def test_modes_in_the_container_come_before_any_policy(mode: int, gid: int) -> None:
    """The specification may name the mode of yesterday; SELinux is in force and not at fault."""
    node = selinux(SELinux("enforcing", "enforcing", NARROW, allowed=True))
    inside = tuple(dataclasses.replace(n, mode=mode, gid=gid) for n in NODE.device_nodes.value or ())
    node = denied(node, LABEL)
    for way in node.containers:
        node = healthy.container(node, way, device_nodes=Reading(inside))
    layer, found = broken(node)
    assert (layer, {f.id for f in found}) == ("image", {"image.gpus"})
    assert "mode 0%o and group %d" % (mode, gid) in found[0].cause


def test_users_that_the_engine_maps_are_in_none_of_the_hosts_groups() -> None:
    inside = tuple(dataclasses.replace(n, uid=65534, gid=65534) for n in NODE.device_nodes.value or ())
    node = denied(options(NODE, "name=userns"), "unconfined")
    for way in node.containers:
        node = healthy.container(node, way, device_nodes=Reading(inside))
    layer, found = broken(node)
    assert (layer, found[0].repair) == ("image", "manual")
    assert "userns-remap" in found[0].cause


def test_a_device_rule_is_what_is_left() -> None:
    layer, found = broken(denied(NODE, "docker-default (enforce)"))
    assert (layer, {f.id for f in found}) == ("image", {"image.gpus"})
    assert "device rule" in found[0].cause
    assert found[0].actual == REFUSED


def test_selinux_that_lets_it_is_not_blamed_without_a_denial_in_the_log() -> None:
    node = denied(selinux(SELinux("enforcing", "enforcing", NARROW, allowed=True)), LABEL)
    layer, found = broken(node)
    assert (layer, found[0].id) == ("image", "image.gpus")
    assert "device rule" in found[0].cause


def test_an_nvidia_smi_that_nobody_may_run_is_no_denial_of_the_gpus() -> None:
    words = NOT_STARTED + ", as in an image without glibc: sh: 1: nvidia-smi: Permission denied"
    node = healthy.container(NODE, "cdi", smi=Reading.unknown(words), cuda=Reading(CudaInit(0)))
    layer, (finding,) = broken(node)
    assert (layer, finding.id, finding.status) == ("image", "image.gpus", "unknown")
    assert "says nothing of the GPUs" in finding.cause


def test_words_that_name_no_refusal_stay_what_they_are() -> None:
    layer, found = broken(denied(NODE, "docker-default (enforce)", "nvidia-smi ended with code 15: GPU is lost"))
    assert layer == "image"
    assert ("image.gpus", "unknown", "nvidia-smi ended with code 15: GPU is lost") in [
        (f.id, f.status, f.actual) for f in found
    ]


@pytest.mark.parametrize(
    ("words", "layer", "said"),
    [
        (
            "AppArmor enabled on system but the docker-default profile could not be loaded: "
            "running `/sbin/apparmor_parser apparmor_parser -Kr /var/lib/docker/tmp/x` failed with output: "
            "error: exit status 243",
            "policy",
            "Install the package apparmor",
        ),
        (
            "OCI runtime create failed: runc create failed: unable to start container process: error during container "
            "init: unable to apply apparmor profile: apparmor failed to apply profile: write /proc/thread-self/attr/"
            "apparmor/exec: no such file or directory: unknown.",
            "policy",
            "Restart Docker",
        ),
        (
            "OCI runtime create failed: failed to set /proc/self/attr/keycreate on procfs: write /proc/self/attr/"
            "keycreate: invalid argument: unknown",
            "policy",
            "container-selinux",
        ),
        (
            "error running hook #0: exit status 1, stderr: nvidia-container-cli: initialization error: nvml error: "
            "insufficient permissions: unknown",
            "container_runtime",
            'user: "root:GROUP"',
        ),
        (
            "nvidia-container-runtime-hook: insufficient privileges to read device list from NVIDIA_VISIBLE_DEVICES "
            "envvar: unknown",
            "container_runtime",
            "toolkit_multi_tenant=true",
        ),
        (
            'exec: "sh": executable file not found in $PATH: unknown.',
            "image",
            "an image with a shell",
        ),
        ('exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown', "image", "an image with a shell"),
        ("exec /bin/sh: no such file or directory", "image", "an image with a shell"),
        ('exec: "sh": permission denied: unknown', "image", "everybody may run"),
        ("exec /bin/sh: exec format error", "image", "for this platform"),
        ('exec: "nvidia-container-runtime": executable file not found in $PATH', "container_runtime", "Run site.yml"),
        ("stat /usr/bin/nvidia-container-runtime-hook: permission denied", "container_runtime", "journalctl -k"),
    ],
)
def test_a_container_that_does_not_start(words: str, layer: str, said: str) -> None:
    error = start_errors.explain(words, rootless=False)
    assert error.layer == layer
    assert said in error.fix
    found = judged(healthy.container(NODE, "runtime", started=False, error=words))
    assert found.first_broken == layer
    assert {f.status for f in found.findings if f.entity == "runtime" and f.layer == "image"} <= {"skip", "fail"}
