# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One node in a few lines: the chain, the first broken link, the one next action, and the lines that say so."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import behind, diagnosis, diagnosis_text, verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.compare import Difference
from ansible_collections.goldennode.gpu.plugins.module_utils.diagnosis import Case
from ansible_collections.goldennode.gpu.plugins.module_utils.inferred_verdict import judge
from ansible_collections.goldennode.gpu.plugins.module_utils.model import LAYERS, DriverLoaded, Finding, Reading
from ansible_collections.goldennode.gpu.plugins.plugin_utils import captures
from ansible_collections.goldennode.gpu.tests.unit import broken, healthy

NODE, WANTED = healthy.evidence(), healthy.desired()


def plainly(text, _kind):
    return text


def case(evidence=NODE, **fields):
    return Case("gpu07", verdict.run(WANTED, evidence, 1), evidence, expected_gpus=1, **fields)


OLD = case(healthy.known(NODE, driver=DriverLoaded("580.126.09", "open")))


def shown(one, width=120):
    return diagnosis_text.render(one, width, plainly)


def test_a_broken_node_names_the_link_the_cause_and_one_action():
    text = shown(OLD)
    assert "gpu07   broken: host_driver   (1/1 GPUs, driver 580.126.09, " in text
    assert "  [ ok ] hardware           1 GPUs, as declared\n" in text
    assert "  [FAIL] host_driver        A reboot is pending since the driver was upgraded: 580.126.09 is still" in text
    assert "  [ -- ] device_nodes       not judged: host_driver is broken\n" in text
    assert "  CAUSE       A reboot is pending since the driver was upgraded" in text
    assert "  NEXT        Reboot the node, or load the driver anew" in text
    assert "  NOT JUDGED  device_nodes, container_runtime, image, policy, since host_driver is broken" in text
    assert text.count("  NEXT ") == 1
    assert diagnosis.action(OLD)[1:] == ("host_driver.loaded", "reload")


def test_with_two_faults_the_lower_one_is_named_and_the_other_is_not_judged():
    both = case(healthy.known(NODE, driver=DriverLoaded("580.126.09", "open"), docker=None))
    assert diagnosis.action(both).finding == "host_driver.loaded"
    assert "container_runtime" in diagnosis.not_judged(both)
    assert "Docker is not installed" not in shown(both)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("one", [OLD, case(), Case("x", error="Permission denied " * 9, fix="Look " * 40)])
def test_it_is_ascii_and_as_wide_as_the_terminal(one, width):
    text = shown(dataclasses.replace(one, node="gr\u00fcn"), width)
    assert text.isascii()
    body = [line for line in text.split("\n")[1:] if " " in line.strip()]
    assert max(len(line) for line in body) <= max(width, 40)


def test_colour_is_put_around_whole_words():
    text = diagnosis_text.render(OLD, 120, lambda text, kind: "<%s %s>" % (kind, text))
    assert "<bad broken: host_driver>" in text
    assert "<good [ ok ]> hardware" in text
    assert "<bad [FAIL]> host_driver" in text


@pytest.mark.parametrize(
    ("one", "said", "action"),
    [
        (case(golden=True), "golden", "Nothing is to be done."),
        (case(mark_objection="rebooted"), "works", "Run site.yml on this node. It writes the golden mark (rebooted)."),
        (Case("x", judge(NODE, 1, "i"), NODE, inferred=True), "works", "Nothing is broken. It needs a bundle"),
        (case(healthy.unreadable(NODE, "cuda")), "not proven", "Mend what keeps it from being read, and look again."),
        (Case("x", word="unreachable", error="no route", fix="Check the host"), "unreachable", "Check the host"),
        (Case("x", error="boom"), "not judged", "Look at the first error of the run."),
    ],
)
def test_each_kind_of_node_has_its_word_and_its_action(one, said, action):
    assert one.said == said
    assert diagnosis.action(one).text.startswith(action)
    assert said in shown(one)
    assert diagnosis.message(one).startswith("%s: %s" % (one.node, said))


def test_roles_need_a_bundle_where_there_is_none():
    bare = healthy.known(NODE, docker=None)
    one = Case("x", judge(bare, 1, "i"), bare, inferred=True)
    assert diagnosis.action(one).text == (
        "Run site.yml on this node. It needs a bundle: copy one of the collection's bundles/, and name it in "
        "bundle_file."
    )
    assert "the node itself, since no bundle was given" in shown(one)
    assert "LEFT OUT" not in shown(one)


def test_what_is_known_to_be_broken_comes_before_what_is_not_known():
    findings = tuple(
        Finding("image.x%d" % at, "image", status, actual="a%d" % at, cause=status)
        for at, status in enumerate(("unknown", "fail", "fail"))
    )
    one = Case("x", verdict.conclude(findings))
    assert one.first is findings[1]
    assert one.others == [findings[0], findings[2]]
    assert one.said == "broken"


def test_what_could_not_be_read_is_said_once():
    one = case(healthy.unreadable(NODE, "docker"))
    assert one.first.id == "container_runtime.engine"
    assert one.others == []


def test_informational_findings_and_reasons_are_told():
    one = case(healthy.known(NODE, kept_packages=dataclasses.replace(NODE.kept_packages.value, files=())))
    assert one.works
    assert "  NOT PROVEN  The files of" in shown(one)
    assert "(packages.kept)" in shown(one)


def test_the_plain_result_has_what_a_report_needs():
    found = diagnosis.plain(OLD)
    assert set(found) == {
        *("golden", "works", "verdict", "first_broken", "layers", "action", "findings", "not_proven", "table"),
        *("platform", "collected_at", "desired_digest", "error"),
    }
    assert list(found["layers"]) == list(LAYERS)
    assert (found["layers"]["host_driver"], found["layers"]["image"]) == ("fail", "skip")
    assert set(found["action"]) == {"text", "id", "repair"}
    assert found["table"]["expected_gpus"] == 1
    assert diagnosis.plain(Case("x", error="boom"))["layers"] == {}


def test_the_last_line_counts():
    assert diagnosis_text.total([OLD, case(golden=True)], plainly) == "2 nodes: 1 golden, 1 broken."
    assert diagnosis_text.total([case()], plainly) == "1 node: 1 works."


def test_what_differs_is_cut_where_nobody_reads_on():
    many = [Difference("package p%d" % n, "1", "2") for n in range(45)]
    text = diagnosis_text.compared("a", "b", many, 80)
    assert text.startswith("WHAT DIFFERS (a | b)\n  package p0: 1 | 2\n")
    assert text.endswith("and 5 more, which goldennode_result=FILE has")
    assert diagnosis_text.compared("a", "b", [], 80) == "a and b do not differ in anything that was read."


# --- the lines behind it ---------------------------------------------------------------------------------------------


def raw(how):
    one = captures.case("x", broken.capture(how))
    return diagnosis.raw(one)


def test_the_words_of_the_command_stand_behind_a_finding():
    assert raw("no docker")[0] == behind.Source(
        "$ docker --host unix:///var/run/docker.sock info --format {{json .}}   (rc 1)",
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",),
    )


def test_the_text_of_the_file_stands_behind_a_finding():
    found = {source.head: source.lines for source in raw("old module")}
    assert found["$ cat /sys/module/nvidia/version"] == ("580.126.09",)
    assert "580.126.09" in found["$ cat /proc/driver/nvidia/version"][0]


def test_without_a_capture_what_was_read_stands_there():
    finding = Finding("host_driver.cuda", "host_driver", "unknown", actual="cuda was unreadable")
    assert behind.sources(finding, healthy.unreadable(NODE, "cuda")) == [
        behind.Source("cuda", ("cuda was unreadable",))
    ]
    nodes = Finding("device_nodes.modes", "device_nodes", "fail", "/dev/nvidiactl", actual="mode 0600")
    (source,) = behind.sources(nodes, NODE)
    assert source.lines == ("path=/dev/nvidiactl mode=0660 uid=0 gid=44 major=195 minor=255",)


@pytest.mark.parametrize("how", broken.BREAKS)
def test_never_more_than_a_glance_and_never_a_control_character(how):
    for source in raw(how):
        assert len(source.lines) <= behind.LINES
        assert all(line.isprintable() and len(line) <= behind.WIDTH for line in source.lines)
    assert len(raw(how)) <= behind.SOURCES


def test_an_unknown_check_has_nothing_behind_it():
    assert behind.sources(Finding("image.none", "image", "fail"), dataclasses.replace(NODE, smi=Reading(None))) == []


def test_the_sentence_of_a_node_has_an_end_before_what_to_do():
    unread = case(dataclasses.replace(NODE, groups=Reading.unknown("/etc/group could not be read: Input/output error")))
    assert diagnosis.message(unread) == (
        "gpu07: not proven, device_nodes. groups: /etc/group could not be read: Input/output error. Mend what keeps it"
        " from being read, and look again."
    )


def test_of_two_informational_findings_alike_is_said_what_each_is_about():
    found = [
        Finding(id="image.shadowed", layer="image", status="unknown", entity=way, actual="not read", required=False)
        for way in ("runtime", "cdi")
    ]
    one = dataclasses.replace(OLD, verdict=dataclasses.replace(OLD.verdict, findings=(*OLD.verdict.findings, *found)))
    for way in ("runtime", "cdi"):
        assert "  NOT PROVEN  %s: not read (image.shadowed)\n" % way in shown(one) + "\n"
