# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container probe: how it is started, that it is removed, and what its script does in a real shell."""

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import DeviceNode, Framework, Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import container as container_text
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import container, docker
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import host as host_module
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.budget import Budget
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.container_script import SCRIPT
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command, LocalHost
from ansible_collections.goldennode.gpu.tests.unit import recorded

IMAGE = recorded.desired().lock["image"]


class Engine(recorded.Node):
    """An engine whose client hangs in ``run``, and that lets go of the container after some tries to remove it."""

    def __init__(self, tries: int) -> None:
        super().__init__()
        self.tries = tries
        self.removed: t.List[str] = []

    def run(self, argv, timeout, unprivileged=False, groups=(), where="host"):
        words = list(argv[len(docker.DOCKER) :])
        argv = tuple(argv)
        if words[0] == "run":
            return Command(where, argv, timed_out=True, pid=7, error="docker was killed (pid 7)")
        if words[:2] == ["rm", "--force"]:
            self.removed.append(words[2])
        if words[0] == "ps":
            return Command(where, argv, rc=0, stdout="" if len(self.removed) >= self.tries else "0123abcd\n")
        return Command(where, argv, rc=0)


def test_the_image_is_named_by_its_digest_alone():
    for reference, name in (
        ("r.example:5000/cuda:13.0.1-base", "r.example:5000/cuda"),
        ("r.example:5000/cuda", "r.example:5000/cuda"),
        ("nvidia/cuda:13", "nvidia/cuda"),
        ("nvidia/cuda:13@sha256:00", "nvidia/cuda"),
    ):
        assert docker.pinned({"reference": reference, "digest": "sha256:ab"}) == name + "@sha256:ab"


@pytest.mark.parametrize(("way", "asked"), [("runtime", True), ("cdi", False)])
def test_where_tenants_do_not_trust_each_other_the_runtime_is_asked_by_a_mount(way, asked):
    """No variable says it: it would count for nothing, and a probe that asks by it would see no GPU."""
    node = recorded.Node()
    container.container(Budget(node, 60), IMAGE, way, container.Manner(by_mount=True))
    words = " ".join(node.ran[0][0].argv)
    assert ("--runtime nvidia --volume /dev/null:/var/run/nvidia-container-devices/all" in words) is asked
    assert "NVIDIA_VISIBLE_DEVICES" not in words
    assert ("--device nvidia.com/gpu=all" in words) is not asked


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("runtime", ["--runtime", "nvidia", "--env", "NVIDIA_VISIBLE_DEVICES=all"]),
        ("cdi", ["--runtime", "runc", "--device", "nvidia.com/gpu=all"]),
    ],
)
def test_how_it_is_started(way, words):
    node = recorded.Node()
    container.container(Budget(node, 60), dict(IMAGE, cuda_command=["/check", "-v"]), way)
    [(command, unprivileged, _groups)] = node.ran
    argv = list(command.argv)
    assert argv[:3] == ["docker", "--host", "unix:///var/run/docker.sock"]
    assert {"--rm", "--pull=never"} <= set(argv)
    assert " ".join(words) in " ".join(argv)
    image = argv.index(docker.pinned(IMAGE))
    assert argv[image + 1 : image + 4] == ["-c", SCRIPT, "goldennode"]
    assert argv[-2:] == ["/check", "-v"]
    assert not unprivileged


def started(nodes: t.Sequence[DeviceNode] = (), **arguments: t.Any) -> t.List[str]:
    """The words of the docker client, those of the container's own program left out."""
    node = recorded.Node()
    how = container.manner(None, Reading(tuple(nodes)))
    container.container(Budget(node, 60), IMAGE, "runtime", how, **arguments)
    [(command, _unprivileged, _groups)] = node.ran
    return list(command.argv[: command.argv.index(docker.pinned(IMAGE))])


def test_it_has_no_more_rights_than_a_hardened_workload():
    argv = started()
    for option, value in (
        ("--network", "none"),
        ("--cap-drop", "ALL"),
        ("--security-opt", "no-new-privileges"),
        ("--user", "65534:65534"),
        ("--pids-limit", "256"),
        ("--tmpfs", "/tmp"),
        ("--workdir", "/"),
        ("--log-driver", "none"),
    ):
        assert argv[argv.index(option) + 1] == value
    assert "--read-only" in argv
    assert "--pull=never" in argv
    given = " ".join(argv)
    for never in (
        "--privileged",
        "--cap-add",
        "--volume",
        "-v ",
        "--mount",
        "unconfined",
        "label=",
        "--pid ",
        "--pid=",
        "--ipc",
    ):
        assert never not in given
    assert argv.count("--security-opt") == 1
    assert "--group-add" not in argv


def device(path: str, mode: int, gid: int) -> DeviceNode:
    return DeviceNode(path, mode, 0, gid, 195, 0)


@pytest.mark.parametrize(
    ("nodes", "groups"),
    [
        ([("/dev/nvidia0", 0o660, 44), ("/dev/nvidiactl", 0o660, 44), ("/dev/nvidia-uvm", 0o660, 44)], ["44"]),
        ([("/dev/nvidia0", 0o660, 44), ("/dev/nvidia-uvm", 0o660, 39)], ["39", "44"]),
        ([("/dev/nvidia0", 0o666, 44), ("/dev/nvidia-uvm", 0o666, 44)], []),  # no group that nobody needs
        ([("/dev/nvidia0", 0o660, 0)], []),  # never root's, which opens more
        ([("/dev/nvidia-caps/nvidia-cap1", 0o400, 44)], []),
        ([("/dev/nvidia-caps-imex-channels/channel0", 0o600, 44)], []),
    ],
)
def test_it_is_in_the_groups_that_open_the_nodes_and_in_no_other(nodes, groups):
    argv = started([device(*node) for node in nodes])
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "--group-add"] == groups


@pytest.mark.parametrize("name", ["0", "GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0"])
def test_a_single_gpu_is_asked_for_by_the_same_words(name):
    argv = started(device=name)
    assert [word.replace(name, "all") for word in argv if "goldennode-probe" not in word] == [
        word for word in started() if "goldennode-probe" not in word
    ]
    assert "NVIDIA_VISIBLE_DEVICES=" + name in argv


def test_each_look_has_a_name_of_its_own():
    node = recorded.Node()
    for _look in range(2):
        container.container(Budget(node, 60), IMAGE, "runtime")
    names = {command.argv[command.argv.index("--name") + 1] for command, _unprivileged, _groups in node.ran}
    assert len(names) == 2
    assert all(name.startswith("goldennode-probe-") for name in names)


@pytest.mark.parametrize("tries", [1, 3])
def test_a_container_that_hangs_is_removed(tries):
    engine = Engine(tries)
    reading = container.container(Budget(engine, 60), IMAGE, "runtime")
    assert reading.error == "docker was killed (pid 7); its container is removed"
    assert len(engine.removed) == tries
    assert len(set(engine.removed)) == 1


def test_a_container_that_cannot_be_removed_is_named(monkeypatch):
    monkeypatch.setattr(container, "CLEANUP_SECONDS", 0.0)
    engine = Engine(tries=1000)
    reading = container.container(Budget(engine, 60), IMAGE, "runtime")
    assert reading.error == (
        "docker was killed (pid 7); the engine has not let go of its container yet; docker rm --force %s removes it"
        % engine.removed[0]
    )


def test_an_injection_that_nobody_knows():
    reading = container.container(Budget(recorded.Node(), 60), IMAGE, "hook")
    assert reading.error == "no injection 'hook' is known; golden_container_injections takes cdi, runtime"


# The script in a real shell, with tools of our own in place of an image's


@pytest.fixture
def image(tmp_path) -> pathlib.Path:
    """A folder of programs that is all that the script finds, beside sh."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("readlink", "stat"):
        (programs / name).symlink_to(next(p for p in ("/usr/bin/" + name, "/bin/" + name) if os.path.exists(p)))
    library = tmp_path / "lib" / "libcuda.so.580.159.03"
    library.parent.mkdir()
    library.write_text("", encoding="utf-8")
    (tmp_path / "lib" / "libcuda.so.1").symlink_to(library.name)
    add(
        programs,
        "nvidia-smi",
        "echo '0, GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0, NVIDIA A10, 00000000:17:00.0, 580.159.03'",
    )
    add(programs, "ldconfig", "printf '\\tlibcuda.so.1 (libc6,x86-64) => %s\\n'" % (tmp_path / "lib" / "libcuda.so.1"))
    return programs


def add(programs: pathlib.Path, name: str, script: str) -> None:
    (programs / name).write_text("#!/bin/sh\n%s\n" % script, encoding="utf-8")
    (programs / name).chmod(0o755)


def run(programs: pathlib.Path, *arguments: str, library_path: str = "", script: str = SCRIPT):
    """The script as the engine would run it, and what the parser makes of its words."""
    start = ["env", "-i", "PATH=%s" % programs, "LD_LIBRARY_PATH=%s" % library_path, "/bin/sh", "-c", script]
    done = LocalHost().run([*start, "goldennode", "CUDA", *arguments], 30)
    assert done.rc == 0, done
    return container_text.parse(done.stdout, done.stderr, done.rc, "runtime", "x86_64").value


def test_the_script_in_an_image_with_python(image):
    add(image, "python3", 'test "$*" = "-I -c CUDA" && printf \'{"code": 0, "devices": 1, "library": null}\'')
    inside = run(image)
    assert inside.smi.value.gpus[0].uuid == "GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0"
    assert inside.libraries.value["libcuda.so.1"].version == "580.159.03"
    assert (inside.cuda.value.code, inside.cuda.value.devices) == (0, 1)
    assert inside.device_nodes.known


def test_the_script_asks_for_mig_devices_where_a_container_has_their_nodes(image, tmp_path):
    listed = "GPU 0: NVIDIA A30 (UUID: GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0)\n"
    listed += "  MIG 1g.6gb      Device  0: (UUID: MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f)"
    rows = "0, GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0, NVIDIA A30, 00000000:17:00.0, 580.159.03"
    add(image, "nvidia-smi", "[ \"$1\" = -L ] && echo '%s' || echo '%s'" % (listed, rows))
    script = SCRIPT.replace("/dev/nvidia-caps/nvidia-cap*", str(tmp_path / "caps" / "nvidia-cap*"))
    assert script != SCRIPT
    assert run(image, script=script).mig == Reading(())
    (tmp_path / "caps").mkdir()
    for name in ("nvidia-cap66", "nvidia-cap67"):
        (tmp_path / "caps" / name).touch()
    assert run(image, script=script).mig == Reading(("MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f",))
    add(image, "nvidia-smi", "[ \"$1\" = -L ] && exit 9 || echo '%s'" % rows)
    assert run(image, script=script).mig.error == "nvidia-smi -L ended with code 9: it said nothing"
    (image / "nvidia-smi").unlink()
    assert run(image, script=script).mig == Reading(None)


def test_an_nvidia_smi_that_does_not_start_is_told_from_one_that_is_not_there(image):
    """Alpine: the file is given into the image, and its linker is not in there."""
    add(image, "nvidia-smi", "")
    (image / "nvidia-smi").write_text("#!/lib64/ld-none.so\n", encoding="utf-8")
    inside = run(image)
    assert inside.smi.error.startswith(container_text.NOT_STARTED)
    (image / "nvidia-smi").unlink()
    assert run(image).smi == Reading(None)


def test_the_script_tells_what_confines_it(image):
    """Whatever that is here: the file of the kernel's, without its end of line or zero byte."""
    try:
        with open("/proc/self/attr/current", encoding="ascii") as file:
            own = file.read().rstrip("\n\0")
    except OSError:
        own = ""
    assert run(image).confinement == Reading(own)


def test_the_script_in_an_image_with_a_command_for_cuda(image):
    add(image, "check", 'echo "$*" >&2; exit 4')
    inside = run(image, "check", "two words", "x")
    assert (inside.cuda.value.code, inside.cuda.value.error) == (
        4,
        "image.cuda_command ended with code 4: two words x",
    )


def test_the_script_in_an_image_that_can_nothing(image):
    (image / "nvidia-smi").unlink()
    add(image, "ldconfig", "echo no cache >&2; exit 1")
    inside = run(image)
    assert inside.started
    assert (inside.smi.value, inside.smi.error) == (None, None)
    assert inside.libraries.error == "the libraries in the container could not be listed: no cache"
    assert "no python3" in inside.cuda.error


def test_the_script_sees_what_ld_library_path_puts_first(image, tmp_path):
    compat = tmp_path / "compat dir"
    compat.mkdir()
    (compat / "libcuda.so.590.44.01").write_text("", encoding="utf-8")
    (compat / "libcuda.so.1").symlink_to("libcuda.so.590.44.01")
    inside = run(image, library_path="/nonexistent:%s" % compat)
    assert inside.libraries.value["libcuda.so.1"].version == "590.44.01"
    assert inside.libraries.value["libcuda.so.1"].path == str(compat / "libcuda.so.1")


def test_the_script_tells_the_images_own_libraries(image, tmp_path):
    """Nothing is mounted here, so all is the image's own. What the linker does not take is listed too."""
    (tmp_path / "lib" / "libcuda.so").symlink_to("libcuda.so.1")
    (tmp_path / "lib" / "libnvidia-ml.so.1").symlink_to("gone")
    inside = run(image, library_path="%s::/nonexistent" % (tmp_path / "lib"))
    files = [file for file in inside.driver_files.value if file.path.startswith(str(tmp_path))]
    folder = str(tmp_path / "lib") + "/"
    assert [(file.path, file.target, file.given) for file in files] == [
        (folder + "libcuda.so", folder + "libcuda.so.580.159.03", False),
        (folder + "libcuda.so.1", folder + "libcuda.so.580.159.03", False),
        (folder + "libcuda.so.580.159.03", folder + "libcuda.so.580.159.03", False),
        (folder + "libnvidia-ml.so.1", folder + "gone", False),
    ]


def test_the_script_finds_ldconfig_or_says_that_there_is_none(image):
    assert run(image).ldconfig == Reading(str(image / "ldconfig"))
    assert "command -v ldconfig" in SCRIPT


def test_the_script_finds_the_frameworks_of_the_python_that_it_finds(image, tmp_path):
    add(image, "python3", "echo nobody imports anything >&2; exit 3")
    packages = tmp_path / "lib" / "python3.12" / "site-packages"
    for name, text in (
        ("torch/version.py", "__version__ = '2.9.1+cu128'\ncuda: Optional[str] = '12.8'"),  # no end of line
        ("tensorflow/python/platform/build_info.py", 'build_info = {"is_cuda_build": False}\n'),
        ("jaxlib/version.py", "_version = '0.4.35'\n" + "x = 1\n" * 1000),
    ):
        (packages / name).parent.mkdir(parents=True)
        (packages / name).write_text(text, encoding="utf-8")
    (packages / "jax_cuda12_plugin").mkdir()
    (packages / "tensorflow_cpu-2.18.0.dist-info").mkdir()
    assert run(image).frameworks.value == (
        Framework("torch", str(packages), "2.9.1+cu128", "12.8", True),
        Framework("tensorflow", str(packages), "2.18.0", "", False),
        Framework("jax", str(packages), "0.4.35", "12", True),
    )


def test_the_python_of_a_virtual_environment_has_none_of_the_other(image, tmp_path):
    """And one that is a link has those of what it is a link to."""
    other = tmp_path / "other"
    packages = other / "lib" / "python3.12" / "site-packages"
    (packages / "torch").mkdir(parents=True)
    (packages / "torch" / "version.py").write_text("__version__ = '2.9.1'\ncuda = None\n", encoding="utf-8")
    (other / "bin").mkdir()
    add(other / "bin", "python3.12", "exit 3")
    (image / "python3").symlink_to(other / "bin" / "python3.12")
    assert run(image).frameworks.value == (Framework("torch", str(packages), "2.9.1", "", False),)
    (tmp_path / "pyvenv.cfg").write_text("", encoding="utf-8")
    (tmp_path / "lib" / "python3.12" / "site-packages").mkdir(parents=True)
    assert run(image).frameworks == Reading(())


def test_a_python_that_is_none_is_no_image_without_frameworks(image):
    add(image, "python3", "exit 3")
    assert run(image).frameworks.error == (
        "the frameworks in the image could not be looked for: %s has no packages beside it" % (image / "python3")
    )


def test_an_image_without_python_has_no_framework(image):
    assert run(image).frameworks == Reading(())


def test_no_time_for_a_container_when_it_could_not_be_removed_in_time():
    node = recorded.Node()
    reading = container.container(Budget(node, host_module.KILL_GRACE + container.CLEANUP_SECONDS), IMAGE, "cdi")
    assert reading.error == "docker: no time left in this look"
    assert node.ran == []
