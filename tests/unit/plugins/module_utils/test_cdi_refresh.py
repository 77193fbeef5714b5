# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One fresh CDI specification, on real files below another root: written once, and what is in its way set aside."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import cdi_refresh
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command
from ansible_collections.goldennode.gpu.tests.unit.rooted import Rooted

NEW, OLD = "580.159.03", "580.126.09"
UNIT = "nvidia-cdi-refresh.service"
RUN, ETC = "/var/run/cdi/nvidia.yaml", "/etc/cdi/nvidia.yaml"
ASIDE = ETC + ".goldennode-20270115T080000Z~"


def spec(driver=NEW, kind="nvidia.com/gpu", device="all", by="nvidia-ctk"):
    return "cdiVersion: 0.7.0\nkind: %s\ndevices:\n- name: %s\n# %s libcuda.so.%s\n" % (kind, device, by, driver)


class Node(Rooted):
    """``writes``: what its unit writes, to where its environment says; None: a condition of the unit does not hold."""

    def __init__(self, root, loaded=NEW, writes=None, rc=0, **files):
        self.root, self.writes, self.rc = root, writes, rc
        self.restarts = 0
        self.unit = UNIT
        self.target = RUN
        self.engine = {"ServerVersion": "26.1.4"}
        for folder in ("/etc/cdi", "/var/run/cdi"):
            pathlib.Path(self.real(folder)).mkdir(parents=True)
        if loaded:
            self.put("/sys/module/nvidia/version", loaded + "\n")

    def put(self, path, text):
        place = pathlib.Path(self.real(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def text(self, path):
        return pathlib.Path(self.real(path)).read_text()

    def names(self):
        return [sorted(os.listdir(self.real(folder))) for folder in ("/etc/cdi", "/var/run/cdi")]

    def now(self):
        return 1_800_000_000.0

    def realpath(self, path):
        """As on a node: /var/run is a link to /run."""
        return Reading(path.replace("/var/run/", "/run/", 1))

    def real(self, path):
        return super().real(path.replace("/var/run/", "/run/", 1))

    def rename(self, path, target):
        super().rename(self.real(path), self.real(target))

    def run(self, argv, timeout):
        assert timeout > 0
        if argv[:2] == ["systemctl", "restart"]:
            assert argv[2] == self.unit
            self.restarts += 1
            if self.writes is not None and self.rc == 0:
                self.put(self.target, self.writes)
            return Command("host", tuple(argv), self.rc, "", "Job failed." if self.rc else "")
        if argv[0] == "journalctl":
            return Command("host", tuple(argv), 0, "failed to initialize NVML: Unknown Error\n")
        if argv[0] == "docker":
            return Command("host", tuple(argv), 0, json.dumps(self.engine))
        assert argv == ["systemctl", "reset-failed", self.unit]
        return Command("host", tuple(argv), 0)


def applied(node, **options):
    return cdi_refresh.apply(node, cdi_refresh.Wanted(NEW, node.unit, **options))


def test_it_is_written_where_there_is_none_and_again_only_to_see_that_it_is_the_same(tmp_path):
    node = Node(tmp_path, writes=spec())
    first = applied(node)
    assert (first.changed, first.written, first.target, first.set_aside) == (True, True, RUN, {})
    again = applied(node)
    assert (again.changed, again.written, again.reason) == (False, False, "")
    assert node.names() == [[], ["nvidia.yaml"]]


def test_a_stale_one_of_nvidia_ctk_is_set_aside_and_not_lost(tmp_path):
    node = Node(tmp_path, writes=spec())
    node.put(ETC, spec(OLD))
    outcome = applied(node)
    assert outcome.set_aside == {ETC: ASIDE}
    assert node.names() == [[os.path.basename(ASIDE)], ["nvidia.yaml"]]
    assert node.text(ASIDE) == spec(OLD)
    assert not applied(node).changed


@pytest.mark.parametrize(
    "other", [spec(by="me"), spec(kind="nvidia.com/gds"), spec(device="half", by="me"), spec(kind="amd.com/gpu")]
)
def test_what_somebody_wrote_and_other_devices_stay(tmp_path, other):
    node = Node(tmp_path, writes=spec())
    node.put(ETC, other)
    assert applied(node).set_aside == {}
    assert node.text(ETC) == other


def test_the_units_own_place_is_kept_wherever_it_is(tmp_path):
    node = Node(tmp_path, writes=spec())
    node.put("/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env", "NVIDIA_CTK_CDI_OUTPUT_FILE_PATH=%s\n" % ETC)
    node.put(RUN, spec(OLD))
    node.target = ETC
    outcome = applied(node)
    assert (outcome.target, list(outcome.set_aside)) == (ETC, [RUN])
    assert node.text(ETC) == spec()


def environment(path):
    return "/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env", "NVIDIA_CTK_CDI_OUTPUT_FILE_PATH=%s\n" % path


def test_one_place_may_be_spelled_in_two_ways(tmp_path):
    node = Node(tmp_path, writes=spec())
    node.target = "/run/cdi/nvidia.yaml"
    node.put(*environment(node.target))
    assert applied(node).written
    assert not applied(node).changed


def test_a_place_that_no_engine_reads_is_named_with_the_way_out(tmp_path):
    node = Node(tmp_path, writes=spec())
    node.target = "/opt/nvidia.yaml"
    node.put(*environment(node.target))
    with pytest.raises(cdi_refresh.CdiRefreshError) as caught:
        applied(node)
    assert "/opt/nvidia.yaml has just been written, and no engine reads it there" in str(caught.value)
    assert "out of %s" % environment("")[0] in str(caught.value)


def test_our_own_unit_does_not_ask_the_environment_of_the_vendors(tmp_path):
    """It stays on the node when a newer toolkit is taken back, as other files of /etc do."""
    node = Node(tmp_path, writes=spec())
    node.unit = "goldennode-cdi-refresh.service"
    node.put(*environment(ETC))
    assert applied(node).target == "/run/cdi/nvidia.yaml"
    assert node.names() == [[], ["nvidia.yaml"]]


def test_what_is_in_the_way_in_a_directory_of_the_engines_own_choice_is_set_aside(tmp_path):
    node = Node(tmp_path, writes=spec())
    node.engine["CDISpecDirs"] = ["/etc/cdi", "/var/run/cdi", "/opt/cdi"]
    node.put("/opt/cdi/nvidia.yaml", spec(OLD))
    assert list(applied(node).set_aside) == ["/opt/cdi/nvidia.yaml"]
    assert not applied(node).changed


@pytest.mark.parametrize(
    ("loaded", "reason"),
    [
        (OLD, "driver %s is loaded, and not %s: the specification is written when it is" % (OLD, NEW)),
        (None, "no driver is loaded: the specification is written when it is"),
    ],
)
def test_nothing_is_done_while_another_driver_is_loaded(tmp_path, loaded, reason):
    node = Node(tmp_path, loaded=loaded, writes=spec())
    node.put(ETC, spec(OLD))
    outcome = applied(node)
    assert (outcome.changed, outcome.reason, node.restarts) == (False, reason, 0)
    assert node.names() == [["nvidia.yaml"], []]


@pytest.mark.parametrize(
    ("writes", "rc", "said"),
    [
        (None, 0, "%s ran and wrote no %s" % (UNIT, RUN)),
        (spec(OLD), 0, "has just been written and names driver %s, not %s. It is not written again" % (OLD, NEW)),
        (spec(kind="amd.com/gpu"), 0, "%s has just been written, and no engine reads it there" % RUN),
        (spec(), 1, "rc 1: Job failed.. The end of its journal:\nfailed to initialize NVML: Unknown Error"),
    ],
)
def test_one_that_is_not_right_is_an_error_after_one_try(tmp_path, writes, rc, said):
    node = Node(tmp_path, writes=writes, rc=rc)
    node.put(ETC, spec(OLD))
    with pytest.raises(cdi_refresh.CdiRefreshError) as caught:
        applied(node)
    assert said in str(caught.value)
    assert node.restarts == 1
    assert node.text(ETC) == spec(OLD), "nothing is set aside for a specification that is not there"


def test_check_mode_tells_and_does_nothing(tmp_path):
    node = Node(tmp_path, writes=spec())
    node.put(ETC, spec(OLD))
    node.put(RUN, spec())
    outcome = applied(node, check_mode=True)
    assert (outcome.changed, outcome.set_aside, node.restarts) == (True, {ETC: ASIDE}, 0)
    assert node.names() == [["nvidia.yaml"], ["nvidia.yaml"]]
    os.unlink(node.real(ETC))
    assert not applied(node, check_mode=True).changed
