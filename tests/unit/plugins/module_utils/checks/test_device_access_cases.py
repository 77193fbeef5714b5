# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Device nodes: what NVreg_ sets, who else sets it, and what it does not reach (cases 048 and 049)."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.checks.wanted import NVIDIA_OPTIONS
from ansible_collections.goldennode.gpu.plugins.module_utils.model import DeviceNode, Evidence, Finding
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import modprobe_d, proc_nvidia
from ansible_collections.goldennode.gpu.tests.unit import fixtures, healthy

WANTED = healthy.desired()  # video, 0660
NODE = healthy.evidence("a10", WANTED)
OPEN_WANTED = healthy.desired(device_access_mode="0666")
OPEN = healthy.evidence("a10", OPEN_WANTED)


def nodes(of: Evidence, **changes: t.Dict[str, t.Any]) -> Evidence:
    """The node with other modes: ``ctl={"mode": 0o600}`` for every node whose path ends so."""

    def changed(node: DeviceNode) -> DeviceNode:
        mine = (fields for end, fields in changes.items() if node.path.replace("-", "_").endswith(end))
        return dataclasses.replace(node, **next(mine, {}))

    return healthy.known(of, device_nodes=tuple(changed(node) for node in of.device_nodes.value or ()))


def params(of: Evidence, **values: str) -> Evidence:
    return healthy.known(of, driver_params={**(of.driver_params.value or {}), **values})


def lines(of: Evidence, path: str, text: str) -> Evidence:
    return healthy.known(of, modprobe=tuple(modprobe_d.parse(path, text)))


def found(of: Evidence, check: str, wanted: t.Any = WANTED) -> t.List[Finding]:
    judged = verdict.run(wanted, of, 1)
    return [f for f in judged.findings if f.id == "device_nodes." + check and f.status != "pass"]


def test_case_048_uvm_keeps_root_and_0666_and_alone_is_named() -> None:
    """One expectation for /dev/nvidia* would report drift for ever, or call the driver's own nodes wrong."""
    seen = nodes(NODE, uvm={"mode": 0o666, "gid": 0}, uvm_tools={"mode": 0o666, "gid": 0})
    assert [f.entity for f in found(seen, "modes")] == ["/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]
    assert {f.repair for f in found(seen, "modes")} == {"roles"}
    assert found(seen, "params") == []


@pytest.mark.parametrize("major", [237, 508, 511, 240])
def test_case_048_the_major_of_uvm_is_what_the_kernel_says(major: int) -> None:
    seen = nodes(NODE, uvm={"major": major}, uvm_tools={"major": major})
    assert found(healthy.known(seen, device_majors={"nvidia": 195, "nvidia-uvm": major}), "uvm") == []
    (first, _second) = found(healthy.known(seen, device_majors={"nvidia": 195, "nvidia-uvm": major + 1}), "uvm")
    assert first.actual == "%d,0" % major


def test_case_048_the_rule_and_the_unit_both_put_uvm_right_and_name_no_major() -> None:
    files = WANTED.files
    for path in ("/etc/udev/rules.d/70-goldennode-uvm.rules", "/etc/systemd/system/goldennode-uvm.service"):
        text = files[path].content or ""
        # After nvidia-modprobe has made them, or it would put them back.
        made, owned = text.index("nvidia-modprobe -u -c 0"), text.index("chgrp video /dev/nvidia-uvm")
        assert made < owned < text.index("chmod 0660 /dev/nvidia-uvm /dev/nvidia-uvm-tools")
        assert "mknod" not in text


def test_case_049_decimal_for_octal_is_said_and_the_nodes_wait_for_the_driver() -> None:
    wrong = {"mode": 0o1232}
    seen = params(nodes(OPEN, nvidia0=wrong, nvidiactl=wrong), DeviceFileMode="666")
    (finding,) = found(seen, "params", OPEN_WANTED)
    assert "without the leading 0: NVreg_DeviceFileMode=666 is taken as decimal, which is 01232" in finding.cause
    assert (finding.expected, finding.actual) == ("438 (0666)", "666 (01232)")
    for finding in found(seen, "modes", OPEN_WANTED):
        assert "chmod alone does not last" in finding.fix


def test_case_049_the_threads_own_listing_and_parameters() -> None:
    """As they were printed: the caps of MIG are no part of it, and stay closed."""
    text = fixtures.text("proc_nvidia_params-580.159.03-debian13.txt")
    assert "DeviceFileMode: 438\n" in text
    printed = proc_nvidia.params(text.replace("DeviceFileMode: 438", "DeviceFileMode: 666")).value or {}
    sticky = {"mode": 0o1232, "gid": 44}  # c-w--wx-wT 1 root video
    seen = params(nodes(OPEN, nvidia0=sticky, nvidiactl=sticky), DeviceFileMode=printed["DeviceFileMode"])
    seen = lines(seen, OTHER, "options nvidia NVreg_DeviceFileMode=666\n")
    (wrong,) = found(seen, "params", OPEN_WANTED)
    assert wrong.repair == "manual"
    assert "%s:1 says NVreg_DeviceFileMode=666 too." % OTHER in wrong.cause
    named = {f.entity for f in found(seen, "modes", OPEN_WANTED)}
    assert {"/dev/nvidia0", "/dev/nvidiactl"} <= named
    assert not any("nvidia-cap" in entity for entity in named)
    assert proc_nvidia.params(text).value["DeviceFileMode"] == "438"  # type: ignore[index]
    assert found(params(OPEN, DeviceFileMode="438"), "params", OPEN_WANTED) == []


@pytest.mark.parametrize("written", ["660", "666", "600", "777", "640", "755"])
@pytest.mark.parametrize("open_to_all", [True, False])
def test_case_049_any_mode_without_its_zero_is_known_by_its_size(written: str, open_to_all: bool) -> None:
    """660 where 0666 is wanted: another mode was meant, and still it is a decimal number that no node can have."""
    node, wanted = (OPEN, OPEN_WANTED) if open_to_all else (NODE, WANTED)
    (finding,) = found(params(node, DeviceFileMode=written), "params", wanted)
    assert "without the leading 0: NVreg_DeviceFileMode=%s is taken as decimal" % written in finding.cause


@pytest.mark.parametrize(
    ("printed", "written"),
    [
        ("282", "0432"),  # YAML has read 0660 as 432, and somebody has put the zero before it again
    ],
)
def test_case_049_decimal_behind_a_zero(printed: str, written: str) -> None:
    assert int(written, 8) == int(printed)
    (finding,) = found(params(NODE, DeviceFileMode=printed), "params")
    assert "NVreg_DeviceFileMode=%s is taken as octal; in octal it is 0660" % written in finding.cause


@pytest.mark.parametrize("printed", ["384", "288", "511", "0", "-1", "", "0x1b0", "²", "٤٣٢"])
def test_case_049_another_mode_on_purpose_is_not_explained_away(printed: str) -> None:
    (finding,) = found(params(NODE, DeviceFileMode=printed), "params")
    assert "leading 0" not in finding.cause


def test_case_048_the_line_and_the_listing_of_the_thread() -> None:
    """NVreg_DeviceFileUID=0, GID 44 and 0660: the driver's nodes follow, uvm's stay root's and open to all."""
    text = "options nvidia NVreg_DeviceFileUID=0 NVreg_DeviceFileGID=44 NVreg_DeviceFileMode=0660\n"
    seen = nodes(lines(NODE, OTHER, text), uvm={"mode": 0o666, "gid": 0, "major": 511},
                 uvm_tools={"mode": 0o666, "gid": 0, "major": 511})  # fmt: skip
    seen = healthy.known(seen, device_majors={"nvidia": 195, "nvidia-uvm": 511})
    assert found(seen, "params") == []
    assert found(seen, "uvm") == []
    assert {f.entity: f.actual for f in found(seen, "modes")} == {
        "/dev/nvidia-uvm": "mode 0666, owner 0:0",
        "/dev/nvidia-uvm-tools": "mode 0666, owner 0:0",
    }
    assert verdict.run(WANTED, seen, 1).first_broken == "device_nodes"


@pytest.mark.parametrize(("decimal", "right"), [("438", True), ("666", False), ("0666", False), ("0x1b6", False)])
def test_case_049_the_driver_prints_decimal(decimal: str, right: bool) -> None:
    assert (found(params(OPEN, DeviceFileMode=decimal), "params", OPEN_WANTED) == []) is right


def test_case_049_nvidia_cap1_stays_closed() -> None:
    """0400 is the driver's own default for the capability to configure MIG."""
    assert [node.mode for node in NODE.device_nodes.value or () if node.path.endswith("nvidia-cap1")] == [0o400]
    assert found(NODE, "modes") == []


OTHER = "/etc/modprobe.d/nvidia.conf"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("options nvidia NVreg_DeviceFileMode=666\n", "666"),
        ("options nvidia NVreg_EnableMSI=1 NVreg_DeviceFileMode=0666\n", "438"),
        ("# ours\noptions nvidia \\\n  NVreg_DeviceFileMode=0x1b6\n", "438"),
        ("options nvidia NVreg_DeviceFileMode=0888\n", "0"),
    ],
)
def test_another_file_that_sets_the_same_option_is_named_and_no_reload_is_tried(text: str, value: str) -> None:
    """After a reload the same lines count again, in the order of the files' names: nvidia.conf comes after ours."""
    seen = params(lines(NODE, OTHER, text), DeviceFileMode=value)
    (finding,) = found(seen, "params")
    line = 2 if text.startswith("#") else 1
    assert "%s:%d says NVreg_DeviceFileMode=" % (OTHER, line) in finding.cause
    assert finding.repair == "manual"
    assert NVIDIA_OPTIONS in finding.fix


def test_the_kernels_command_line_sets_options_too() -> None:
    words = "root=/dev/sda1 nvidia.NVreg_DeviceFileGID=0 quiet"
    (finding,) = found(params(healthy.known(NODE, command_line=words), DeviceFileGID="0"), "params")
    assert "The kernel was started with nvidia.NVreg_DeviceFileGID=0." in finding.cause
    assert finding.repair == "manual"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (OTHER, "options nvidia NVreg_DeviceFileMode=0660\n"),  # says what is wanted
        (OTHER, "options nvidia-drm modeset=1\noptions nvidia NVreg_OtherDeviceFileMode=666\n"),
        (OTHER, "# options nvidia NVreg_DeviceFileMode=666\n"),
        (OTHER, "options nvidia_uvm NVreg_DeviceFileMode=666\n"),
        (NVIDIA_OPTIONS, "options nvidia NVreg_DeviceFileMode=0666\n"),  # an older text of our own
    ],
)
def test_lines_that_are_not_the_cause(path: str, text: str) -> None:
    (finding,) = found(params(lines(NODE, path, text), DeviceFileMode="438"), "params")
    assert finding.repair == "reload"
    assert "says NVreg" not in finding.cause


def test_our_own_file_is_written_before_another_is_blamed() -> None:
    seen = params(lines(NODE, OTHER, "options nvidia NVreg_DeviceFileMode=666\n"), DeviceFileMode="666")
    files = {path: state for path, state in (seen.files.value or {}).items() if path != NVIDIA_OPTIONS}
    assert {f.repair for f in found(healthy.known(seen, files=files), "params")} == {"roles"}
