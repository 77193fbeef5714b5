# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container with GPUs that does not start, in the words of many versions: one layer, a cause, and no bad advice."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks import image, start_errors
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Evidence
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import container, docker_info
from ansible_collections.goldennode.gpu.tests.unit import fixtures, healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)

RUNC_26 = (
    "docker: Error response from daemon: failed to create task for container: failed to create shim task: OCI runtime "
    "create failed: runc create failed: unable to start container process: error during container init: error running "
    "hook #0: error running hook: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\n%s: unknown."
)
RUNC_20 = (
    "docker: Error response from daemon: OCI runtime create failed: container_linux.go:380: starting container process "
    "caused: process_linux.go:545: container init caused: Running hook #0:: error running hook: exit status 1, stdout: "
    ", stderr: %s: unknown."
)
RUNC_19 = (
    "docker: Error response from daemon: OCI runtime create failed: container_linux.go:345: starting container process "
    'caused "process_linux.go:430: container init caused \\"process_linux.go:413: running prestart hook 1 caused '
    '\\\\\\"error running hook: exit status 1, stdout: , stderr: exec command: [/usr/bin/nvidia-container-cli '
    "--load-kmods configure --ldconfig=@/sbin/ldconfig.real --device=all --compute --utility --require=cuda>=10.1 "
    'brand=tesla,driver>=384,driver<385 --pid=3101 /var/lib/docker/overlay2/ee/merged]\\\\\\\\n%s\\\\\\\\n\\\\\\"\\"": '
    "unknown."
)
#: What the client says after the engine's words.
CLIENTS = (
    "\nSee 'docker run --help'.",
    "\n\nRun 'docker run --help' for more information",
    "\nERRO[0002] error waiting for container: context canceled ",
    '\ntime="2026-11-30T15:41:09Z" level=error msg="error waiting for container: context canceled"',
    "",
)
#: What no person should be told to do, whatever has failed.
NEVER = ("--privileged", "run privileged", "nvidia_disable_require", "setenforce", "aa-disable", "cgroupfs", "chmod")


def node(rootless: bool = False) -> Evidence:
    if not rootless:
        return NODE
    engine = NODE.docker.value
    assert engine is not None
    return healthy.known(NODE, docker=dataclasses.replace(engine, security_options=("name=seccomp", "name=rootless")))


def judged(stderr: str, rootless: bool = False) -> t.Tuple[t.Any, t.Any]:
    """(the one finding, the verdict) of a node whose container did not start with these words of docker run."""
    look = container.parse("", stderr, 125, "runtime", "x86_64").value
    assert look is not None
    found = verdict.run(WANTED, healthy.container(node(rootless), "runtime", started=False, error=look.error), 1)
    (finding,) = [f for f in found.findings if f.status in ("fail", "unknown")]
    return finding, found


#: (the words of nvidia-container-cli, id of the check, words of the cause, repair), each in three versions of runc.
HOOK = [
    ("ldcache error: open failed: /sbin/ldconfig.real: no such file or directory", "injection", "run ldconfig",
     "manual"),
    ("ldcache error: process /sbin/ldconfig.real failed with error code: 1", "injection", "run ldconfig", "manual"),
    ("ldcache error: process /sbin/ldconfig.real terminated with signal 31", "injection", "run ldconfig", "manual"),
    ("mount error: file creation failed: /var/lib/docker/overlay2/40c7/merged/usr/lib/x86_64-linux-gnu/"
     "libnvidia-ml.so.1: file exists", "image.requirement", "files of a driver of its own", "manual"),
    ("mount error: file creation failed: /data/docker/overlay2/a/merged/usr/bin/nvidia-smi: file exists",
     "image.requirement", "files of a driver of its own", "manual"),
    ("mount error: file creation failed: /var/lib/docker/overlay2/a/merged/run/nvidia-persistenced/socket: no such "
     "device or address", "injection", "nvidia-persistenced", "manual"),
    ("container error: cgroup subsystem devices not found", "injection", "too old for control groups of version 2",
     "manual"),
    ("mount error: open failed: /sys/fs/cgroup/devices/system.slice/docker-1.scope/devices.allow: no such file or "
     "directory", "injection", "too old for control groups of version 2", "manual"),
    ("mount error: failed to add device rules: unable to generate new device filter program from existing programs: "
     "unable to create new device filters program: load program: invalid argument: last insn is not an exit or jmp",
     "injection", "does not fit this kernel", "manual"),
    ("initialization error: nvml error: driver not loaded", "injection", "reaches no driver", "manual"),
    ("initialization error: nvml error: gpu is lost", "injection", "or no GPU", "manual"),
    ("initialization error: nvml error: driver/library version mismatch", "injection", "of two versions", "manual"),
    ("initialization error: nvml error: insufficient permissions", "injection", "as an ordinary user", "manual"),
    ("initialization error: driver rpc error: timed out", "injection", "in time", "manual"),
    ("initialization error: driver rpc error: failed to process request", "injection", "in time", "manual"),
    ("initialization error: driver error: failed to process request", "injection", "in time", "manual"),
    ("initialization error: cuda error: unknown error", "injection", "could not ask the driver", "manual"),
    ("initialization error: change root failed: no such file or directory", "injection", "another root", "manual"),
    ("initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or "
     "directory", "injection", "does not find the driver's libraries", "manual"),
    ("initialization error: cannot open shared object file: no such file or directory", "injection",
     "does not find the driver's libraries", "manual"),
    ("mount error: stat failed: /dev/nvidia-uvm-tools: no such file or directory", "injection", "device node", "roles"),
    ("device error: GPU-7a28f504: unknown device", "injection", "does not find on this node", "manual"),
    ("device error: unknown device id: 7", "injection", "does not find on this node", "manual"),
    ("mount error: mount operation failed: /home/a/docker/vfs/dir/41/proc/driver/nvidia: permission denied",
     "injection", "refused a permission", "manual"),
    ("requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a newer version, or use an "
     "earlier cuda container", "image.requirement", "newer CUDA", "manual"),
    ("requirement error: unsatisfied condition: brand = tesla", "image.requirement", "for other cards", "manual"),
    ("requirement error: unsatisfied condition: driver>=570", "image.requirement", "a newer driver", "manual"),
]  # fmt: skip


@pytest.mark.parametrize("runc", [RUNC_26, RUNC_20, RUNC_19])
@pytest.mark.parametrize(("words", "check", "cause", "repair"), HOOK)
def test_the_hook(words: str, check: str, cause: str, repair: str, runc: str) -> None:
    check = check if "." in check else "container_runtime." + check
    for program in ("nvidia-container-cli", "nvidia-container-cli.real"):
        for client in CLIENTS:
            finding, found = judged(runc % ("%s: %s" % (program, words)) + client)
            assert (finding.id, finding.repair) == (check, repair)
            assert cause in finding.cause
            assert words.split(":")[0] in finding.actual
            assert found.first_broken == check.partition(".")[0]
            assert not any(bad in (finding.cause + finding.fix).lower() for bad in NEVER)


#: (the engine's own words, words of the cause, repair)
ENGINE = [
    ("Unknown runtime specified nvidia.", "does not know the nvidia runtime", "roles"),
    ("unknown or invalid runtime name: nvidia", "does not know the nvidia runtime", "roles"),
    ('could not select device driver "" with capabilities: [[gpu]].', "no driver for GPUs", "roles"),
    ('could not select device driver "nvidia" with capabilities: [[gpu]].', "no driver for GPUs", "roles"),
    ('could not select device driver "cdi" with capabilities: [].', "does not read CDI", "roles"),
    ('error gathering device information while adding custom device "nvidia.com/gpu=all": no such file or directory',
     "does not read CDI", "roles"),
    ("failed to discover GPU vendor from CDI: no known GPU vendor found", "no CDI specification", "roles"),
    ("CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all", "cannot resolve the CDI", "roles"),
    ("could not apply required modification to OCI specification: error modifying OCI spec: failed to inject CDI "
     "devices: unresolvable CDI devices management.nvidia.com/gpu=all: unknown", "cannot resolve the CDI", "roles"),
    ("could not apply required modification to OCI specification: error modifying OCI spec: failed to inject CDI "
     "devices: unresolvable CDI devices runtime.nvidia.com/gpu=all: unknown", "of its own for each container",
     "manual"),
    ('CDI device injection failed: failed to inject devices: failed to stat CDI host device "/dev/nvidia-modeset": no '
     "such file or directory", "of another driver or of other device nodes", "roles"),
    ('failed to inject CDI devices: failed to fill device info from host ("/dev/nvidia3"): no such file or directory',
     "of another driver or of other device nodes", "roles"),
    ('error mounting "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14" to rootfs at "/usr/lib/x86_64-linux-gnu/libcuda.'
     'so.550.54.14": mount src=/x, dst=/y, flags=0x1000: no such file or directory: unknown',
     "of another driver or of other device nodes", "roles"),
    ('error mounting \\"/usr/lib/firmware/nvidia/550.54.14/gsp_ga10x.bin\\" to rootfs: stat: no such file or directory',
     "of another driver or of other device nodes", "roles"),
    ("error running createContainer hook #0: fork/exec /usr/bin/nvidia-cdi-hook: no such file or directory: unknown",
     "A program of the container toolkit is missing", "roles"),
    ("error running createContainer hook #1: fork/exec /usr/bin/nvidia-ctk: no such file or directory: unknown",
     "A program of the container toolkit is missing", "roles"),
    ("unable to retrieve OCI runtime error (open /run/x/log.json: no such file or directory): fork/exec "
     "/usr/bin/nvidia-container-runtime: no such file or directory: unknown", "toolkit is missing", "roles"),
    ('exec: "nvidia-container-runtime-hook": executable file not found in $PATH: unknown', "is missing", "roles"),
    ("unable to retrieve OCI runtime error (open /run/x/log.json: no such file or directory): nvidia-container-runtime "
     "did not terminate successfully: exit status 2: unknown.", "itself failed", "manual"),
    ("unable to retrieve OCI runtime error (open /run/x/log.json: no such file or directory): nvidia-container-runtime "
     "did not terminate successfully: exit status 1: failed to load config: (5, 2): unexpected token\n: unknown.",
     "cannot read its config.toml", "roles"),
    ("error running hook: exit status 127: nvidia-container-cli: error while loading shared libraries: "
     "libnvidia-container.so.1: cannot open shared object file: No such file or directory", "four packages", "roles"),
    ("error constructing OCI modifier: failed to initialize NVML: Driver/library version mismatch: unknown",
     "of two versions", "manual"),
    ("failed to construct CDI spec modifier: failed to generate CDI spec: failed to create device CDI specs: unknown",
     "of its own for each container", "manual"),
    ("failed to create OCI spec modifier: failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND: unknown",
     "does not find the driver's libraries", "manual"),
    ("failed to create OCI spec modifier: failed to initialize NVML: Unknown Error: unknown",
     "could not ask the driver", "manual"),
    ('error running createContainer hook #1: exit status 1, stdout: , stderr: time="2026-01-01T00:00:00Z" level=error '
     'msg="failed to update ldcache: error running ldconfig: exit status 1": unknown', "run ldconfig", "manual"),
    ("nvidia-container-runtime did not terminate successfully: exit status 1: error: toml: line 12: expected '='",
     "cannot read its config.toml", "roles"),
    ('failed to start shim: start failed: containerd-shim-runc-v2: exec: "containerd-shim-runc-v2": executable file '
     "not found in $PATH: exit status 1: unknown", "of containerd or runc", "roles"),
    ("fork/exec /usr/bin/runc: no such file or directory: unknown", "of containerd or runc", "roles"),
    ("mkdir /var/lib/docker/overlay2/abc: no space left on device.", "is full", "manual"),
    ("Using requested mode 'cdi'\ninvoking the NVIDIA Container Runtime Hook directly (e.g. specifying the docker "
     "--gpus flag) is not supported.", "mode = cdi", "manual"),
    ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
     "does not run", "roles"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "cause", "repair"), ENGINE)
@pytest.mark.parametrize("client", CLIENTS)
def test_the_engine_and_the_runtime(words: str, cause: str, repair: str, client: str) -> None:
    finding, _found = judged("docker: Error response from daemon: %s%s" % (words, client))
    assert (finding.id, finding.repair) == ("container_runtime.injection", repair)
    assert cause in finding.cause
    assert not any(bad in (finding.cause + finding.fix).lower() for bad in NEVER)


BPF_019 = (
    "nvidia-container-cli: mount error: failed to add device rules: unable to find any existing device filters "
    "attached to the cgroup: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted: unknown."
)
ALLOW = (
    "nvidia-container-cli: mount error: open failed: /sys/fs/cgroup/devices/user.slice/devices.allow: permission denied"
)


@pytest.mark.parametrize(
    "words",
    [
        BPF_019,
        BPF_019.replace("bpf_prog_query", "bpf_prog_attach"),
        BPF_019.replace("unable to find any existing device filters attached to the cgroup: ", ""),
        ALLOW,
        RUNC_20 % ALLOW,
        "nvidia-container-cli: container error: cgroup subsystem devices not found: unknown",
    ],
)
def test_case_019_a_rootless_engine_has_no_rights_over_control_groups(words: str) -> None:
    finding, found = judged(words, rootless=True)
    assert (finding.id, found.first_broken) == ("policy.container_devices", "policy")
    assert "rootless" in finding.cause
    assert "by CDI" in finding.fix
    assert "no-cgroups=true in the user's own" in finding.fix
    for bad in (*NEVER, "toolkit.version", "1.8.1", "sudo"):
        assert bad not in (finding.cause + finding.fix).lower()
    rootful, of_rootful = judged(words)
    assert of_rootful.first_broken == "container_runtime"
    assert "rootless" not in rootful.cause


@pytest.mark.parametrize("words", [ENGINE[4][0], ENGINE[5][0], ENGINE[7][0], ENGINE[8][0]])
def test_case_019_the_file_of_a_rootless_daemon_is_its_users(words: str) -> None:
    finding, _found = judged("docker: Error response from daemon: " + words, rootless=True)
    assert finding.repair == "manual"
    assert "~/.config/docker/daemon.json" in finding.fix


def test_case_020_the_snaps_words_and_root_and_no_driver_is_reinstalled() -> None:
    """The whole way: docker info of the snap, and what docker run says there."""
    info = {**json.loads(fixtures.text("docker_info-26.1.5-debian13.json"))}
    info["DockerRootDir"] = "/var/snap/docker/common/var-lib-docker"
    evidence = healthy.known(NODE, docker=docker_info.parse(json.dumps(info), "", 0).value)
    for words in (
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object "
        "file: no such file or directory: unknown.",
    ):
        found = verdict.run(WANTED, healthy.container(evidence, "runtime", started=False, error=words), 1)
        assert found.first_broken == "container_runtime"
        (daemon,) = [f for f in found.findings if f.id == "container_runtime.daemon"]
        assert "The driver is not at fault." in daemon.fix
        said = " ".join(f.cause + f.fix for f in found.findings if f.status == "fail").lower()
        assert "reinstall" not in said
        assert [f for f in found.findings if f.status == "fail" and f.layer == "host_driver"] == []


def test_case_021_the_requirement_is_compared_with_the_driver_and_not_as_text() -> None:
    """12.10 is newer than 12.8, and the driver's own CUDA counts: no nvcc is ever asked."""
    nvml, smi = NODE.nvml.value, NODE.smi.value
    assert nvml is not None
    assert smi is not None
    old = {"driver": "550.144.03", "cuda": "12.4"}
    evidence = healthy.known(NODE, nvml=dataclasses.replace(nvml, **old), smi=dataclasses.replace(smi, **old))
    words = (
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a "
        "newer version, or use an earlier cuda container: unknown"
    )
    (finding,) = image.requirement(WANTED, healthy.container(evidence, "runtime", started=False, error=words), 1)
    assert "It wants CUDA 12.8 or newer, and driver 550.144.03 has 12.4." in finding.cause
    assert "A CUDA toolkit on the host does not help" in finding.fix


@pytest.mark.parametrize(
    "words",
    [
        "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",
        'CDI device injection failed: failed to parse CDI Spec "/etc/cdi/nvidia.yaml": failed to unmarshal CDI Spec: '
        'error unmarshaling JSON: while decoding JSON: json: unknown field "additionalGids"',
        "failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=0",
    ],
)
def test_case_024_the_engine_reads_the_specification_and_not_nvidia_ctk(words: str) -> None:
    error = start_errors.explain(words, rootless=False)
    assert error.layer == "container_runtime"
    assert "cannot read its schema" in error.cause
    assert "toolkits from 1.19.1 write CDI 0.7.0" in error.fix
    assert "nvidia-ctk cdi list proves nothing" in error.fix


def test_every_row_is_reached_by_some_words() -> None:
    """A row that a broader one before it hides would never be said."""
    texts = [text for text, *_rest in HOOK + ENGINE] + [BPF_019, ALLOW, "stat x: operation not permitted"]
    hidden = [
        row.pattern
        for row in start_errors.START_ERRORS
        if not any(start_errors.explain("nvidia-container-cli: " + text, rootless) is row for text in texts
                   for rootless in (True, False))
        and row.layer == "container_runtime"
    ]  # fmt: skip
    assert hidden == ["insufficient privileges to read device list"]  # in test_denials.py
