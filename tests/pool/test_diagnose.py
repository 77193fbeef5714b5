# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""diagnose.yml names each fault of the test bed first and correctly, on the node and from a capture alike.

What is done to a node is in the kind of a fault that is switched off again, so that many are seen on one golden node;
what a role must mend has a node of its own from a snapshot.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest
from poollib import Node, Pool, bed

pytestmark = pytest.mark.diagnosis

Plain = t.Dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Wanted:
    """``check`` is the finding that the next action is for, in whose words is ``word``. Without a ``layer`` the node
    is as golden as before, and the finding is told all the same.
    """

    layer: str
    check: str
    word: str


#: Faults of a node with eight GPUs of the data centre; one of the log lasts until the node boots again.
FAULTS = {
    "gpu-missing": Wanted("hardware", "hardware.gpu_count", "7"),
    "gpu-lost": Wanted("hardware", "hardware.gpu_healthy", "lost"),
    "gpu-not-initialised": Wanted("hardware", "hardware.gpu_healthy", "initialis"),
    "ecc-uncorrected": Wanted("hardware", "hardware.memory", "could not"),
    "remap-failed": Wanted("hardware", "hardware.memory", "row"),
    "remap-pending": Wanted("", "hardware.memory", "reset"),
    "throttled": Wanted("", "hardware.throttle", "slow"),
    "link-narrow": Wanted("", "hardware.pcie_link", "8 lanes"),
    "fabric-not-ready": Wanted("host_driver", "host_driver.fabric", "fabric"),
    "fabric-unhealthy": Wanted("host_driver", "host_driver.fabric", "fabric"),
    "smi-hang": Wanted("host_driver", "host_driver.nvidia_smi", "nvidia-smi"),
    "xid-48": Wanted("hardware", "hardware.xid", "48"),
    "xid-95": Wanted("hardware", "hardware.recovery", "eset"),
}
OF_THE_LOG = ("gpu-lost", "gpu-not-initialised", "xid-48", "xid-95")

DAMAGES = {
    "cdi-stale": Wanted("container_runtime", "container_runtime.cdi_spec", "CDI"),
    "no-cgroups-on": Wanted("container_runtime", "container_runtime.toolkit_config", "no-cgroups"),
    "device-mode-0600": Wanted("device_nodes", "device_nodes.files", "modprobe.d"),
    "toolkit-not-wired": Wanted("container_runtime", "container_runtime.daemon_config", "nvidia"),
    "uvm-missing": Wanted("device_nodes", "device_nodes.uvm", "nvidia-uvm"),
}


def diagnosed(pool: Pool, node: Node, **variables: t.Any) -> t.Tuple[int, Plain, str]:
    """Exit status, what the result file says of the node, and what was printed."""
    result = pool.directory / "result.json"
    result.unlink(missing_ok=True)
    limit = () if "goldennode_capture" in variables else ("-l", node.name)
    run = pool.run("diagnose", *limit, variables={"goldennode_result": str(result), **variables})
    assert result.exists(), run.output
    (found,) = json.loads(result.read_text())["nodes"].values()
    return run.rc, found, run.output


def told(found: Plain, check: str) -> str:
    """Everything that the findings of a check say, of whatever is not well."""
    mine = [one for one in found["findings"] if one["id"] == check and one["status"] in ("fail", "unknown")]
    return json.dumps(mine)


def holds(found: Plain, rc: int, wanted: Wanted) -> None:
    assert wanted.word in told(found, wanted.check)
    if not wanted.layer:
        assert (rc, found["first_broken"], found["works"]) == (0, None, True)
        return
    assert (rc != 0, found["first_broken"], found["action"]["id"]) == (True, wanted.layer, wanted.check), found
    assert found["action"]["text"]
    behind = list(found["layers"])[list(found["layers"]).index(wanted.layer) + 1 :]
    assert {found["layers"][layer] for layer in behind} <= {"skip"}


def seen_live_and_from_a_capture(pool: Pool, node: Node, wanted: Wanted) -> Plain:
    captures = pool.directory / "captures"
    rc, live, output = diagnosed(pool, node, goldennode_capture_to=str(captures))
    holds(live, rc, wanted)
    if wanted.layer:
        assert wanted.layer in output
    (capture,) = captures.glob("*.json")
    for word in (node.name, "172."):
        assert word not in capture.read_text(), "the capture is masked"
    rc, later, _output = diagnosed(pool, node, goldennode_capture=str(capture))
    holds(later, rc, wanted)
    for key in ("works", "verdict", "first_broken", "layers", "platform", "desired_digest"):
        assert later[key] == live[key], key
    capture.unlink()
    return live


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_first_live_and_from_a_capture(golden_pair: Pool, fault: str) -> None:
    node = golden_pair.nodes[0]
    bed("fault", node.name, fault, "on")
    try:
        seen_live_and_from_a_capture(golden_pair, node, FAULTS[fault])
    finally:
        bed("fault", node.name, fault, "off")
        if fault in OF_THE_LOG:
            bed("reboot", node.name)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damage_is_named_first_live_and_from_a_capture(golden_a10: Pool, damage: str) -> None:
    (node,) = golden_a10.nodes
    bed("damage", node.name, damage)
    seen_live_and_from_a_capture(golden_a10, node, DAMAGES[damage])


def test_of_two_faults_the_lower_one_is_named_and_the_other_is_not_judged(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    bed("damage", node.name, "no-cgroups-on")
    bed("damage", node.name, "uvm-missing")
    found = seen_live_and_from_a_capture(golden_a10, node, DAMAGES["uvm-missing"])
    (other,) = [one for one in found["findings"] if one["id"] == "container_runtime.toolkit_config"]
    assert (other["status"], other["actual"]) == ("skip", "not judged: device_nodes is broken")


def test_a_good_node_and_one_that_is_compared_with_it(golden_pair: Pool) -> None:
    broken, good = golden_pair.nodes
    rc, found, output = diagnosed(golden_pair, good)
    assert (rc, found["golden"], found["verdict"], found["action"]) == (0, True, "golden", None), output
    bed("fault", broken.name, "smi-hang", "on")
    try:
        captures = golden_pair.directory / "captures"
        diagnosed(golden_pair, good, goldennode_capture_to=str(captures))
        (capture,) = captures.glob("*.json")
        _rc, found, output = diagnosed(golden_pair, broken, goldennode_compare=str(capture))
    finally:
        bed("fault", broken.name, "smi-hang", "off")
    assert any("nvidia-smi" in json.dumps(one) for one in found["differences"]), found["differences"]
    assert "WHAT DIFFERS (%s | %s)" % (broken.name, capture) in " ".join(output.split())


def test_a_node_of_which_nobody_has_said_what_it_shall_be(golden_a10: Pool) -> None:
    """As somebody else's node: it works, or it says why not; it is never golden."""
    (node,) = golden_a10.nodes
    image = node.image()
    text = golden_a10.inventory.read_text()
    golden_a10.inventory.write_text("\n".join(line for line in text.splitlines() if "bundle_file" not in line))
    rc, found, output = diagnosed(golden_a10, node, goldennode_image=image)
    assert (rc, found["golden"], found["works"], found["verdict"]) == (0, False, True, "works"), output
    bed("damage", node.name, "uvm-missing")
    rc, found, output = diagnosed(golden_a10, node, goldennode_image=image)
    assert (rc != 0, found["first_broken"], found["action"]["id"]) == (True, "device_nodes", "device_nodes.uvm"), output


def test_a_pool_goes_onto_one_page_whatever_its_nodes_are(golden_pair: Pool) -> None:
    broken, good = golden_pair.nodes
    text = golden_pair.inventory.read_text()
    lost = "\n    lost:\n      ansible_port: 1\n      golden_expected_gpus: 1"
    golden_pair.inventory.write_text(text.replace("\n  hosts:", "\n  hosts:" + lost))
    folder = golden_pair.directory
    files = {kind: str(folder / ("pool." + kind)) for kind in ("html", "json", "junit")}
    bed("fault", broken.name, "smi-hang", "on")
    try:
        run = golden_pair.run("report", variables={"goldennode_report_" + kind: path for kind, path in files.items()})
    finally:
        bed("fault", broken.name, "smi-hang", "off")
    assert run.rc == 0, run.output
    nodes = json.loads((folder / "pool.json").read_text())["nodes"]
    assert (nodes[good.name]["golden"], nodes[broken.name]["first_broken"]) == (True, "host_driver")
    assert nodes["lost"]["error"]
    page = (folder / "pool.html").read_text()
    for word in (good.name, broken.name, "lost", "nvidia-smi"):
        assert word in page
    assert "<testsuite" in (folder / "pool.junit").read_text()
