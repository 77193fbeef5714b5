# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The vendor's repositories, packages and images, used by nodes as an administrator would use them by hand."""

from __future__ import annotations

import json
import sys
import typing as t
from pathlib import Path

import pytest

TESTBED = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTBED), str(TESTBED / "vendor/files/toolkit")]

from nvct import config, daemon_json, runtime, spec  # noqa: E402
from nvct.log import ToolkitError  # noqa: E402
from simnodes import engine, faults, image, nodes, snapshots, vendor  # noqa: E402
from simnodes.pool import Node  # noqa: E402
from simnodes.shell import STATE, TestbedError, run  # noqa: E402

REPOSITORIES = ("nvidia", "nvidia-container-toolkit", "docker-ce")
OLD, NEW, BROKEN = "580.159.03-1", "580.178.04-1", "595.71.05-1"
DRIVER = (
    "nvidia-driver-cuda",
    "libcuda1",
    "libnvidia-ml1",
    "libnvidia-cfg1",
    "libnvidia-ptxjitcompiler1",
    "nvidia-kernel-support",
    "firmware-nvidia-gsp",
    "nvidia-persistenced",
    "nvidia-modprobe",
)
OPEN, PROPRIETARY = "nvidia-kernel-open-dkms", "nvidia-kernel-dkms"
TOOLKIT = [
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
]
TOOLKIT_VERSION, FORGETFUL_TOOLKIT = "1.20.0-1", "1.99.0-1"
IMAGE = "vendor.testbed:5000/cuda:13.0.1-base"

#: Prints what a server answers within 2 s, or why there is no answer.
FETCH = """\
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=2).status)
except Exception as error:
    print(error)
"""
#: Prints what cuInit answers, or why the library could not be loaded.
CALL_CUDA = """\
import ctypes
try:
    print("cuInit", ctypes.CDLL("libcuda.so.1").cuInit(0))
except OSError as error:
    print("no libcuda:", error)
"""


class Answer(t.NamedTuple):
    rc: int
    text: str


class Machine:
    """A node, at the end of a shell."""

    def __init__(self, name: str) -> None:
        self.name = name

    def ask(self, script: str) -> Answer:
        """Run it; its words from both streams, whatever its end."""
        wrapped = "export DEBIAN_FRONTEND=noninteractive; exec 2>&1; %s" % script
        done = run("docker", "exec", nodes.container(self.name), "bash", "-ec", wrapped, check=False, timeout=300)
        return Answer(done.returncode, done.stdout)

    def do(self, script: str) -> str:
        """Run it; it must succeed."""
        answer = self.ask(script)
        assert answer.rc == 0, "%s\nended with %d:\n%s" % (script, answer.rc, answer.text[-3000:])
        return answer.text

    def install(self, *packages: str) -> Answer:
        return self.ask("apt-get install --yes --allow-downgrades %s" % " ".join(packages))

    def add_repositories(self) -> None:
        key = (STATE / "vendor.asc").read_text()
        for name in REPOSITORIES:
            self.write("/etc/apt/sources.list.d/%s.sources" % name, source(name, key))
        self.update()

    def update(self) -> None:
        """Only the vendor's lists: Debian's are in the image."""
        self.do("apt-get update -o Dir::Etc::sourcelist=/dev/null -o APT::Get::List-Cleanup=0")

    def write(self, path: str, text: str) -> None:
        nodes.execute(self.name, "sh", "-ec", 'mkdir -p "$(dirname "$0")"; printf %s "$1" > "$0"', path, text)

    def container(self, options: str, *words: str) -> Answer:
        quoted = " ".join("'%s'" % word.replace("'", "'\\''") for word in words)
        return self.ask("docker run --rm --network none %s %s" % (options, quoted))


def source(name: str, key: str) -> str:
    lines = "".join(" %s\n" % (line or ".") for line in key.strip().splitlines())
    return "Types: deb\nURIs: http://vendor.testbed/%s\nSuites: stable\nComponents: main\nSigned-By:\n%s" % (
        name,
        lines,
    )


def at(version: str, *names: str) -> t.List[str]:
    return ["%s=%s" % (name, version) for name in names]


def start(name: str, profile: str, snapshot: t.Optional[str] = None) -> Machine:
    engine.ensure()
    nodes.ensure_network()
    vendor.start(nodes.NETWORK)
    nodes.down([name])
    nodes.up([Node(name, profile)], snapshots.image_name(snapshot) if snapshot else image.ensure(), snapshot)
    return Machine(name)


@pytest.fixture(scope="module")
def bare() -> t.Iterator[Machine]:
    """A node that knows the vendor and has nothing from it."""
    machine = start("vendor-bare", "a10")
    machine.add_repositories()
    yield machine
    nodes.down([machine.name])


@pytest.fixture(scope="module")
def gpu() -> t.Iterator[Machine]:
    """A node with driver, engine and toolkit, set up by hand."""
    machine = start("vendor-gpu", "a10")
    machine.add_repositories()
    answer = machine.install(*at(OLD, *DRIVER, OPEN))
    assert answer.rc == 0, answer.text
    machine.write("/etc/modprobe.d/blacklist.conf", "blacklist nouveau\n")
    machine.do('update-initramfs -u -k "$(uname -r)"')
    nodes.reboot(machine.name)
    machine.write("/etc/docker/daemon.json", json.dumps({"insecure-registries": ["vendor.testbed:5000"]}))
    answer = machine.install(
        "docker-ce=5:26.1.4*", "docker-ce-cli=5:26.1.4*", "containerd.io", *at(TOOLKIT_VERSION, *TOOLKIT)
    )
    assert answer.rc == 0, answer.text
    machine.do("nvidia-ctk runtime configure --cdi.enabled; systemctl restart docker; docker pull --quiet %s" % IMAGE)
    yield machine
    nodes.down([machine.name])


# --- repositories ---------------------------------------------------------------------------------------------------


def test_all_versions_are_offered(bare: Machine) -> None:
    offered = bare.do("apt-cache madison nvidia-driver-cuda nvidia-container-toolkit docker-ce")
    for version in (OLD, NEW, BROKEN, "1.19.1-1", "1.20.0-1", "1.20.1-1", "5:26.1.4-1~debian.13~trixie"):
        assert " %s " % version in offered


def test_another_key_is_refused(bare: Machine) -> None:
    impostor = (STATE / "impostor.asc").read_text()
    bare.write("/tmp/impostor.sources", source("nvidia", impostor))
    answer = bare.ask(
        "mkdir -p /tmp/lists; apt-get update -o Dir::Etc::sourceparts=/dev/null "
        "-o Dir::Etc::sourcelist=/tmp/impostor.sources -o Dir::State::lists=/tmp/lists -o APT::Update::Error-Mode=any"
    )
    assert answer.rc != 0
    assert "is not signed" in answer.text


def test_the_driver_is_a_set_of_one_version(bare: Machine) -> None:
    alone = bare.ask("apt-get install --simulate nvidia-driver-cuda=%s" % OLD)
    assert alone.rc != 0
    assert "libcuda1 (= %s)" % OLD in alone.text
    assert bare.ask("apt-get install --simulate %s" % " ".join(at(OLD, *DRIVER, OPEN))).rc == 0


def test_the_metapackage_drifts_to_the_newest_driver(bare: Machine) -> None:
    simulated = bare.do("apt-get install --simulate nvidia-open=%s" % OLD)
    assert "Inst nvidia-driver-cuda (%s " % BROKEN in simulated


def test_a_pinning_package_holds_the_branch(bare: Machine) -> None:
    bare.do("apt-get install --yes nvidia-driver-pinning-580")
    try:
        assert "Inst nvidia-driver-cuda (%s " % NEW in bare.do("apt-get install --simulate nvidia-driver-cuda")
    finally:
        bare.do("apt-get purge --yes nvidia-driver-pinning-580")


def test_the_flavours_exclude_each_other(bare: Machine) -> None:
    both = bare.ask("apt-get install --simulate %s" % " ".join(at(OLD, *DRIVER, OPEN, PROPRIETARY)))
    assert both.rc != 0
    assert "Conflicts" in both.text


def test_the_toolkit_is_four_packages_of_one_version(bare: Machine) -> None:
    alone = bare.ask("apt-get install --simulate nvidia-container-toolkit=%s" % TOOLKIT_VERSION)
    assert alone.rc != 0
    assert "nvidia-container-toolkit-base (= %s)" % TOOLKIT_VERSION in alone.text
    assert bare.ask("apt-get install --simulate %s" % " ".join(at(TOOLKIT_VERSION, *TOOLKIT))).rc == 0


@pytest.fixture
def vendor_fault() -> t.Iterator[t.Callable[..., None]]:
    """Switches a fault on; whatever is on at the end is switched off."""
    yield lambda fault, *words: vendor.switch(fault, "on", words)
    for fault in vendor.active():
        vendor.switch(fault, "off", [])


def test_an_archive_drops_a_superseded_version(bare: Machine, vendor_fault: t.Callable[..., None]) -> None:
    known = bare.do("apt-get download --print-uris libcuda1=%s" % OLD).split()[0].strip("'")
    vendor_fault("withdrawn", "lib*", OLD)
    assert "404" in bare.do("python3 -c '%s' %s" % (FETCH, known)), "the lists of a node are older than the archive"
    bare.update()
    assert OLD not in bare.do("apt-cache madison libcuda1")
    assert OLD in bare.do("apt-cache madison nvidia-modprobe")
    vendor.switch("withdrawn", "off", [])
    bare.update()
    assert OLD in bare.do("apt-cache madison libcuda1")
    with pytest.raises(TestbedError, match="no repository has such a package: libcuda1 1-1"):
        vendor_fault("withdrawn", "libcuda1", "1-1")


def test_a_postinst_fails_the_first_time(bare: Machine, vendor_fault: t.Callable[..., None]) -> None:
    vendor_fault("failing-postinst", "nvidia-modprobe", OLD, "once")
    bare.update()
    answer = bare.install(*at(OLD, "nvidia-modprobe"))
    assert answer.rc != 0
    assert "nvidia-modprobe: the installation fails here" in answer.text
    assert "nvidia-modprobe" in bare.do("dpkg --audit")
    bare.do("dpkg --configure -a; dpkg --purge nvidia-modprobe")
    vendor.switch("failing-postinst", "off", [])
    bare.update()


@pytest.mark.parametrize(
    ("fault", "words", "answer"),
    [
        ("slow", ["/nvidia/", "1"], "200"),
        ("slow", ["/nvidia/", "3"], "timed out"),
        ("dead", [], "timed out"),
        ("refused", ["/nvidia/dists"], "HTTP Error 503: Service Unavailable"),
        ("refused", ["/docker-ce"], "200"),
    ],
)
def test_the_vendor_hesitates(
    bare: Machine, vendor_fault: t.Callable[..., None], fault: str, words: t.List[str], answer: str
) -> None:
    vendor_fault(fault, *words)
    release = "http://vendor.testbed/nvidia/dists/stable/InRelease"
    assert bare.do("python3 -c '%s' %s" % (FETCH, release)).strip() == answer


def test_a_driver_that_does_not_build_leaves_dpkg_unfinished(bare: Machine) -> None:
    answer = bare.install(*at(BROKEN, *DRIVER, OPEN))
    assert answer.rc != 0
    assert "nvidia-kernel-open-dkms" in bare.do("dpkg --audit")
    assert "do_gettimeofday" in bare.do("cat /var/lib/dkms/nvidia/595.71.05/build/make.log")


# --- driver ---------------------------------------------------------------------------------------------------------


def test_dkms_builds_for_every_kernel(gpu: Machine) -> None:
    kernels = gpu.do("ls /lib/modules").split()
    assert len(kernels) == 2
    status = gpu.do("dkms status")
    for kernel in kernels:
        assert "nvidia/580.159.03, %s, x86_64: installed" % kernel in status
        for module in ("nvidia", "nvidia-uvm", "nvidia-modeset"):
            assert gpu.do("modinfo -k %s -F version %s" % (kernel, module)).strip() == "580.159.03"
    assert gpu.do("modinfo -F license nvidia").strip() == "Dual MIT/GPL"


def test_the_real_nvidia_smi_sees_the_gpu(gpu: Machine) -> None:
    assert gpu.do("nvidia-smi --query-gpu=driver_version --format=csv,noheader").strip() == "580.159.03"
    # dpkg says nothing about files that are as packaged.
    assert gpu.do("dpkg --verify nvidia-driver-cuda nvidia-modprobe libcuda1 libnvidia-ml1") == ""
    assert gpu.do("stat --format=%A /usr/bin/nvidia-modprobe").strip() == "-rwsr-xr-x"
    assert gpu.do("systemctl is-active nvidia-persistenced").strip() == "active"


def test_the_engine_states_its_version(gpu: Machine) -> None:
    assert gpu.do("docker version --format '{{.Client.Version}} {{.Server.Version}}'").split() == ["26.1.4+dfsg1"] * 2


# --- toolkit --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", ["--runtime=nvidia", "--device nvidia.com/gpu=all", "--gpus all"])
def test_a_container_sees_the_gpus(gpu: Machine, options: str) -> None:
    on_the_node = gpu.do("nvidia-smi -L")
    assert "UUID: GPU-" in on_the_node
    assert gpu.container("%s %s" % (options, IMAGE), "nvidia-smi", "-L") == Answer(0, on_the_node)
    assert gpu.container("%s %s" % (options, IMAGE), "python3", "-c", CALL_CUDA) == Answer(0, "cuInit 0\n")


def test_a_container_that_does_not_ask_gets_nothing(gpu: Machine) -> None:
    assert gpu.container(IMAGE, "sh", "-c", "ls /dev/nvidia* /usr/bin/nvidia-smi").rc != 0
    assert (
        gpu.container("--runtime=nvidia --env NVIDIA_VISIBLE_DEVICES=void " + IMAGE, "sh", "-c", "ls /dev/nvidia*").rc
        != 0
    )


def test_one_gpu_by_its_name(gpu: Machine) -> None:
    uuid = gpu.do("nvidia-smi --query-gpu=uuid --format=csv,noheader").strip()
    for options in ("--runtime=nvidia --env NVIDIA_VISIBLE_DEVICES=" + uuid, "--device nvidia.com/gpu=" + uuid):
        assert uuid in gpu.container("%s %s" % (options, IMAGE), "nvidia-smi", "-L").text
    unknown = gpu.container("--runtime=nvidia --env NVIDIA_VISIBLE_DEVICES=7 " + IMAGE, "true")
    assert unknown.rc != 0
    assert "unresolvable devices 7" in unknown.text


def test_an_image_without_python(gpu: Machine) -> None:
    other = IMAGE.replace("base", "nopython")
    assert gpu.container(other, "sh", "-c", "command -v python3").rc != 0
    assert "UUID: GPU-" in gpu.container("--runtime=nvidia " + other, "nvidia-smi", "-L").text


def test_without_cgroup_rules_the_device_cannot_be_opened(gpu: Machine) -> None:
    gpu.do("nvidia-ctk config --in-place --set nvidia-container-cli.no-cgroups=true")
    try:
        answer = gpu.container("--gpus all " + IMAGE, "nvidia-smi", "-L")
        assert (answer.rc, "Unknown Error" in answer.text) == (255, True)
    finally:
        gpu.do("nvidia-ctk config --in-place --set nvidia-container-cli.no-cgroups=false")


def test_a_forgetful_toolkit_leaves_cuda_out(gpu: Machine) -> None:
    assert gpu.install(*at(FORGETFUL_TOOLKIT, *TOOLKIT)).rc == 0
    try:
        for options in ("--runtime=nvidia", "--device nvidia.com/gpu=all"):
            assert "UUID: GPU-" in gpu.container("%s %s" % (options, IMAGE), "nvidia-smi", "-L").text
            assert "no libcuda" in gpu.container("%s %s" % (options, IMAGE), "python3", "-c", CALL_CUDA).text
    finally:
        assert gpu.install(*at(TOOLKIT_VERSION, *TOOLKIT)).rc == 0
    assert gpu.container("--runtime=nvidia " + IMAGE, "python3", "-c", CALL_CUDA).text == "cuInit 0\n"


def test_the_specification_is_docker_s_and_lists_every_name(gpu: Machine) -> None:
    uuid = gpu.do("nvidia-smi --query-gpu=uuid --format=csv,noheader").strip()
    names = gpu.do("nvidia-ctk cdi list 2>/dev/null").split()
    assert names == sorted("nvidia.com/gpu=" + name for name in ("0", uuid, "all"))
    assert "libcuda.so.580.159.03" in gpu.do("cat /var/run/cdi/nvidia.yaml")


# --- fabric manager -------------------------------------------------------------------------------------------------


def test_the_fabric_manager_serves_its_own_driver_only(gpu: Machine) -> None:
    snapshots.take(gpu.name, "vendor-test")
    switched = None
    try:
        switched = start("vendor-fabric", "h100x8", "vendor-test")
        assert switched.install(*at(NEW, "nvidia-fabricmanager")).rc == 0
        switched.do("systemctl start nvidia-fabricmanager")
        switched.do("until [ $(systemctl is-active nvidia-fabricmanager) != active ]; do sleep 0.1; done")
        assert (
            "fabric manager NVIDIA GPU driver interface version 580.178.04 don't match with driver version 580.159.03. "
            "Please update with matching NVIDIA driver package." in switched.do("journalctl -u nvidia-fabricmanager")
        )
        assert switched.install(*at(OLD, "nvidia-fabricmanager")).rc == 0
        switched.do("systemctl restart nvidia-fabricmanager; sleep 1")
        assert switched.do("systemctl is-active nvidia-fabricmanager").strip() == "active"
    finally:
        if switched is not None:
            nodes.down([switched.name])
        snapshots.remove(["vendor-test"])


# --- damage ---------------------------------------------------------------------------------------------------------


def test_an_interrupted_dpkg_lets_apt_do_nothing(gpu: Machine) -> None:
    gpu.do("apt-mark hold nvidia-persistenced libnvidia-ml1")
    faults.damage(gpu.name, "dpkg-interrupted")
    answer = gpu.install("hello")
    assert (answer.rc, "dpkg was interrupted, you must manually run 'dpkg --configure -a'" in answer.text) == (
        100,
        True,
    )
    gpu.do("dpkg --configure -a")
    assert gpu.do("dpkg --audit") == ""
    faults.damage(gpu.name, "hold-missing")
    assert gpu.do("apt-mark showhold").split() == ["nvidia-persistenced"]
    gpu.do("apt-mark unhold nvidia-persistenced")


def test_a_hole_in_the_set(gpu: Machine) -> None:
    faults.damage(gpu.name, "set-hole")
    assert gpu.do("dpkg-query --show --showformat '${Version}' libnvidia-cfg1").strip() == NEW
    assert gpu.install(*at(OLD, "libnvidia-cfg1")).rc == 0


def test_a_stale_module_in_the_initramfs_comes_back_with_every_boot(gpu: Machine) -> None:
    before = gpu.do("dkms status; modinfo nvidia; cat /etc/initramfs-tools/modules")
    faults.damage(gpu.name, "stale-module-in-initramfs")
    assert gpu.do("cat /sys/module/nvidia/version").strip() == "580.159.04"
    assert gpu.ask("nvidia-smi").rc == 18
    assert gpu.do("dkms status; modinfo nvidia; cat /etc/initramfs-tools/modules") == before
    gpu.do('update-initramfs -u -k "$(uname -r)"')
    nodes.reboot(gpu.name)
    assert gpu.do("cat /sys/module/nvidia/version").strip() == "580.159.03"


# --- upgrade: last, because it changes the node ---------------------------------------------------------------------


def test_an_upgrade_needs_a_reboot_and_a_new_specification(gpu: Machine) -> None:
    answer = gpu.install(*at(NEW, *DRIVER, PROPRIETARY))
    assert answer.rc == 0, answer.text
    assert "580.159.03" not in gpu.do("dkms status")
    assert gpu.do("modinfo -F license nvidia").strip() == "NVIDIA"
    mismatch = gpu.ask("nvidia-smi")
    assert (mismatch.rc, "Driver/library version mismatch" in mismatch.text) == (18, True)
    stale = gpu.container("--device nvidia.com/gpu=all " + IMAGE, "nvidia-smi", "-L")
    assert stale.rc != 0
    assert "libcuda.so.580.159.03" in stale.text
    nodes.reboot(gpu.name)
    gpu.do("systemctl is-system-running --wait || true")
    assert "UUID: GPU-" in gpu.container("--device nvidia.com/gpu=all " + IMAGE, "nvidia-smi", "-L").text
    assert "libcuda.so.580.178.04" in gpu.do("cat /var/run/cdi/nvidia.yaml")


# --- nvidia-ctk's habits, without a node ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}),
        (
            '{"runtimes": {"nvidia": {"args": ["--x"], "path": "/old"}, "crun": {"path": "crun"}}}',
            {"runtimes": {"crun": {"path": "crun"}, "nvidia": {"args": [], "path": "nvidia-container-runtime"}}},
        ),
        ('{"runtimes": {}} trailing words', {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}),
    ],
)
def test_configure_sets_the_runtime(before: str, after: t.Dict[str, t.Any]) -> None:
    changed = daemon_json.configure(daemon_json.parse(before), "nvidia", "nvidia-container-runtime", False, False)
    assert changed == after


def test_configure_drops_other_features_for_cdi() -> None:
    changed = daemon_json.configure({"features": {"buildkit": False}}, "nvidia", "n", True, True)
    assert changed["features"] == {"cdi": True}
    assert changed["default-runtime"] == "nvidia"


def test_configure_panics_on_null_runtimes() -> None:
    with pytest.raises(daemon_json.Panic):
        daemon_json.configure(daemon_json.parse('{"runtimes": null}'), "nvidia", "n", False, False)


@pytest.mark.parametrize("text", ["", " \n", "// words\n{}", '{"a": 1,}', "[]", '"words"', "\ufeff{}", '{"a": NaN}'])
def test_configure_refuses(text: str) -> None:
    with pytest.raises(ToolkitError):
        daemon_json.parse(text)


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("1", "1"),
        ("1.0", "1"),
        ("0.5", "0.5"),
        ("-2", "-2"),
        ("12345678901234567890", "12345678901234567000"),
        ("1e21", "1e+21"),
        ("0.0000001", "1e-7"),
    ],
)
def test_numbers_pass_through_a_float(number: str, written: str) -> None:
    assert daemon_json.dump(daemon_json.parse('{"n": %s}' % number)) == '{\n    "n": %s\n}' % written


def test_text_is_escaped_as_go_does() -> None:
    assert daemon_json.dump({"b": "<&>", "a": ["ü"], "c": {}}) == (
        '{\n    "a": [\n        "ü"\n    ],\n    "b": "\\u003c\\u0026\\u003e",\n    "c": {}\n}'
    )


def test_yaml_of_a_specification() -> None:
    value = {
        "kind": "nvidia.com/gpu",
        "cdiVersion": "0.7.0",
        "devices": [{"name": "0", "containerEdits": {"args": ["--folder"]}}],
    }
    assert spec.dump(value) == (
        'cdiVersion: 0.7.0\ndevices:\n- containerEdits:\n    args:\n    - --folder\n  name: "0"\nkind: nvidia.com/gpu\n'
    )


@pytest.mark.parametrize(
    ("environment", "mount", "privileged", "wanted", "asked"),
    [
        ("all", None, False, {}, "all"),
        ("void", None, False, {}, ""),
        ("all", None, False, {"envvar-when-unprivileged": False}, ""),
        ("all", None, True, {"envvar-when-unprivileged": False}, "all"),
        ("nvidia.com/gpu=0", None, False, {"envvar-when-unprivileged": False}, ""),
        ("all", "0", False, {}, "all"),
        ("all", "0", False, {"as-volume-mounts": True}, "0"),
        ("all", "0", False, {"envvar-when-unprivileged": False, "as-volume-mounts": True}, "0"),
        ("void", "cdi/nvidia.com/gpu/0", False, {"as-volume-mounts": True}, "nvidia.com/gpu=0"),
    ],
)
def test_how_a_container_asks_for_gpus(
    environment: str, mount: t.Optional[str], privileged: bool, wanted: t.Dict[str, bool], asked: str
) -> None:
    container: t.Dict[str, t.Any] = {"process": {"env": ["NVIDIA_VISIBLE_DEVICES=%s" % environment]}}
    container["process"]["capabilities"] = {"bounding": ["CAP_SYS_ADMIN"] if privileged else ["CAP_KILL"]}
    if mount:
        place = "/var/run/nvidia-container-devices/" + mount
        container["mounts"] = [{"source": "/dev/null", "destination": place}]
    told = {"accept-nvidia-visible-devices-" + key: value for key, value in wanted.items()}
    assert runtime.asked_for(container, told) == asked


def test_config_is_edited_by_lines() -> None:
    text = 'a = 1\n\n[nvidia-container-cli]\n#no-cgroups = false\nldconfig = "x"\n'
    assert config.set_value(text, "nvidia-container-cli.no-cgroups", "true") == text.replace(
        "#no-cgroups = false", "no-cgroups = true"
    )
    assert config.set_value(text, "features.x", "true").endswith("\n[features]\nx = true\n")
