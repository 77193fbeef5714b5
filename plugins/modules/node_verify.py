#!/usr/bin/python
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look at a GPU node and judge it: arguments in, verdict out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_verify
short_description: Judge whether a GPU node is what it is wanted to be, up to a CUDA call inside a container
version_added: 0.1.0
author:
  - goldennode.gpu authors (@goldennode)
description:
  - Looks at a node once, as M(goldennode.gpu.node_info) does, and judges what it read against what the node is wanted
    to be. The verdict is golden only if every required check passes; what could not be read never passes.
  - The chain is judged layer by layer. The first broken layer is named with what was expected, what was found, why, and
    what mends it. What depends on a broken layer is not judged.
  - Changes nothing, and repairs nothing. The golden mark is read; M(goldennode.gpu.golden_mark) writes it.
  - With O(daemon_reload) it has systemd read its units anew, as an upgrade of any package does too, and looks whether a
    container still has its GPUs.
extends_documentation_fragment:
  - goldennode.gpu.attributes.looks
notes:
  - Needs root, since an ordinary user cannot read all that decides.
options:
  desired:
    description:
      - What nodes are wanted to be, by platform, as the action C(goldennode.gpu.desired) returns it. The node is judged
        by the entry for its own platform.
    type: dict
    required: true
  infer:
    description:
      - Whether a node of whose platform O(desired) has nothing is held against itself. Packages, disk, kernel and
        engine of a node that works agree with each other. What only a bundle can say is skipped.
      - Such a node is never golden; that RV(verdict) names no broken layer says that it works.
    type: bool
    default: false
  image:
    description:
      - With O(infer), an image that is on the node, to start the containers from. Without it no container is started,
        and whether one gets the GPUs is not known. None is pulled.
    type: str
    default: ""
  bundles:
    description:
      - What the bundle says for each platform, as the same action returns it. Tells a platform whose lock is only
        missing from one that is not supported, and names the driver that a node without a lock would get.
    type: dict
    default: {}
  expected_gpus:
    description: How many GPUs the node has when it is whole. Never taken from the node. Needed without O(infer).
    type: int
  scope:
    description:
      - How much to look at.
      - V(full) looks at everything. Only with it a node can be found golden.
      - V(host) starts no container.
      - V(fact) reads files and the list of packages only, and judges what can be judged by these.
    type: str
    choices: [full, host, fact]
    default: full
  single_gpus:
    description:
      - Whether containers also ask for one GPU by its index and one by its UUID, by each way, which the check
        C(image.requests) judges. A container more for each; M(goldennode.gpu.golden_mark) gives a mark only to a look
        that has asked.
      - The frameworks of the image, where it has any, are then imported in one container more, for C(image.framework).
      - Without it that check is skipped, which is no pass and needs none.
    type: bool
    default: false
  timeout:
    description: Seconds that the look may take. What is not reached in time is not known, and does not pass.
    type: int
    default: 60
  daemon_reload:
    description:
      - Whether a container is looked at before and after a real C(systemctl daemon-reload), once all else is golden.
        It takes some seconds more.
      - A reload takes the GPUs from running containers that were given them behind systemd's back. With V(when_idle)
        none is made while a container runs that has GPUs and whose devices systemd judges. It is then said that this is
        not proven, which golden does not need.
      - V(never) leaves the question out.
    type: str
    choices: [never, when_idle, always]
    default: never
  evidence:
    description:
      - Whether everything that was read is returned as well.
      - V(when_not_golden) spares the controller the evidence of nodes with which nothing is to be done. It is large.
    type: str
    choices: [never, when_not_golden, always]
    default: never
  capture:
    description:
      - Return everything that the commands printed and the files held as well, so that the node can be judged elsewhere
        and later. Secrets and personal data are masked on the node, see RV(capture).
    type: bool
    default: false
  mask_uuids:
    description: Whether the UUIDs of GPUs are masked in the capture too. They name a card, and are compared.
    type: bool
    default: false
  name:
    description: The name of the node in the inventory, which is masked in the capture as its host name is.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Read the bundle, its locks and every role variable
  goldennode.gpu.desired:
  register: bundle

- name: Judge the node
  goldennode.gpu.node_verify:
    desired: "{{ bundle.desired }}"
    bundles: "{{ bundle.bundles }}"
    expected_gpus: 8
  register: look
  become: true

- name: Judge a node of which no bundle is known, and take what was read along
  goldennode.gpu.node_verify:
    desired: {}
    infer: true
    image: nvidia/cuda:13.0.1-base-ubuntu24.04
    capture: true
  register: look
  become: true

- name: Say what is broken first
  ansible.builtin.debug:
    msg: "{{ look.verdict.first_broken }}"
  when: not look.golden
"""

RETURN = r"""
golden:
  description: The verdict is golden, and the golden mark holds for what is wanted, on this boot, kernel and driver.
  returned: always
  type: bool
  sample: true
verified:
  description: The verdict is golden, whatever the mark says. Never true with another O(scope) than V(full).
  returned: always
  type: bool
  sample: true
verdict:
  description: The judgement of this look.
  returned: always
  type: dict
  contains:
    golden:
      description: Every required check passed.
      type: bool
      sample: false
    first_broken:
      description: The first layer that is broken, null when none is.
      type: str
      sample: host_driver
    findings:
      description: What each check says, in the order of the layers.
      type: list
      elements: dict
      contains:
        id:
          description: Layer and name of the check.
          type: str
          sample: host_driver.loaded
        layer:
          description: The link of the chain.
          type: str
          sample: host_driver
        status:
          description: One of C(pass), C(fail), C(unknown) and C(skip).
          type: str
          sample: fail
        entity:
          description: What it is about, a package, a path or a GPU; empty for the node.
          type: str
          sample: ""
        expected:
          description: What is wanted.
          type: str
          sample: 580.159.03
        actual:
          description: What was found, or why it could not be found out or was not judged.
          type: str
          sample: 580.126.09 loaded, 580.159.03 on disk
        cause:
          description: Why, in a sentence.
          type: str
          sample: "A reboot is pending since the driver was upgraded: 580.126.09 is still loaded."
        fix:
          description: What to do, with the variable where consent is needed.
          type: str
          sample: Reboot the node; site.yml does it with golden_allow_reboot=true.
        required:
          description: Whether golden needs it.
          type: bool
          sample: true
        repair:
          description: Who mends a failure, one of C(roles), C(reboot), C(reload), C(agent) and C(manual).
          type: str
          sample: reboot
        waived:
          description: >-
            Until when the finding does not keep the node from being golden, and why, by the variable C(golden_waivers);
            empty where it does, or never would.
          type: str
          sample: ""
    not_proven:
      description: What golden does not need and was not proven.
      type: list
      elements: str
      sample: ["image.cuda: CUDA in the container is not proven."]
refusals:
  description:
    - Findings, of whatever layer, that only a person can mend and that must be mended before a role changes anything.
      No GPU, a GPU missing or lost, a platform that is not the bundle's, WSL, a C(daemon.json) that cannot be read.
    - Also those of the same checks that are not known, since a run must not guess whether a host is a GPU node.
  returned: always
  type: list
  elements: dict
  sample: []
mark:
  description: The golden mark as it is on the node, null when there is none that can be understood.
  returned: always
  type: dict
mark_objection:
  description: Why the mark does not say golden for what is wanted; empty when it does.
  returned: always
  type: str
  sample: "rebooted: not verified since"
platform:
  description: The platform of the node, as bundles name it. Empty when it is not known.
  returned: always
  type: str
  sample: debian-13-x86_64
collected_at:
  description: When the look began.
  returned: always
  type: str
  sample: '2026-12-01T09:30:00+00:00'
table:
  description: What a table for people shows of the node. What is not known is null.
  returned: always
  type: dict
  contains:
    gpus:
      description: How many GPUs answer, or are on the PCI bus where nothing can ask them.
      type: int
      sample: 8
    driver:
      description: Version of the driver that is loaded.
      type: str
      sample: 580.159.03
    toolkit:
      description: Version of the container toolkit.
      type: str
      sample: 1.20.0
    docker:
      description: Version of the Docker engine that runs.
      type: str
      sample: 26.1.4
    kernel:
      description: The kernel that runs.
      type: str
      sample: 6.12.57+deb13-amd64
inferred:
  description: Whether the node was held against itself, since nothing is known of what it is wanted to be.
  returned: always
  type: bool
  sample: false
capture:
  description:
    - The look with everything that was read for it, as RV(goldennode.gpu.node_info#module:capture), and what it was
      judged against. ansible-playbook goldennode.gpu.diagnose judges it with no host at all.
    - Passwords, tokens, e-mail addresses, MAC and IP addresses but loopback, the host's name, names and homes of users
      and serial numbers are masked. The same text has the same mask in one capture, so that it is judged as before.
  returned: when O(capture=true)
  type: dict
  contains:
    judged:
      description: What it was judged against.
      type: dict
      contains:
        name:
          description: The name in the inventory, masked.
          type: str
          sample: host-1
        collection:
          description: Version of this collection.
          type: str
          sample: 0.1.0
        desired:
          description: What the node is wanted to be, null where that was taken from the node itself.
          type: dict
        expected_gpus:
          description: How many GPUs it shall have, null where nobody has said.
          type: int
          sample: 8
        image:
          description: The image for the containers where no bundle names one.
          type: str
          sample: ""
        scope:
          description: How much was looked at.
          type: str
          sample: full
        single_gpus:
          description: Whether containers asked for single GPUs.
          type: bool
        mark_objection:
          description: As RV(mark_objection).
          type: str
evidence:
  description: Everything that was read, as RV(goldennode.gpu.node_info#module:evidence).
  returned: when O(evidence=always), or when O(evidence=when_not_golden) and the node is not golden
  type: dict
"""

from ansible_collections.goldennode.gpu.plugins.module_utils import zip_once

zip_once.install()  # before all others
# isort: split

import dataclasses
import os
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Desired, Evidence, Finding, Verdict, to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import desired_from_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Host, LocalHost
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.look import choose, look
from ansible_collections.goldennode.gpu.plugins.module_utils.summary import table
from ansible_collections.goldennode.gpu.plugins.module_utils.version import VERSION


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "desired": {"type": "dict", "required": True},
            "bundles": {"type": "dict", "default": {}},
            "infer": {"type": "bool", "default": False},
            "image": {"type": "str", "default": ""},
            "expected_gpus": {"type": "int"},
            "scope": {"type": "str", "choices": ["full", "host", "fact"], "default": "full"},
            "single_gpus": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": 60},
            "daemon_reload": {"type": "str", "choices": ["never", "when_idle", "always"], "default": "never"},
            "evidence": {"type": "str", "choices": ["never", "when_not_golden", "always"], "default": "never"},
            "capture": {"type": "bool", "default": False},
            "mask_uuids": {"type": "bool", "default": False},
            "name": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
        no_log=True,  # the arguments are long and would fill the journal of the node
    )
    given = module.params
    if os.geteuid() != 0:
        module.fail_json(
            msg="Judging a node needs root: an ordinary user cannot read all that decides. Set become: true for it."
        )
    if given["timeout"] < 1:
        module.fail_json(msg="timeout is %d; a look needs at least 1 second" % given["timeout"])
    if given["expected_gpus"] is None and not given["infer"]:
        module.fail_json(
            msg="expected_gpus is missing: say how many GPUs this node has when it is whole, which no node can tell"
        )
    try:
        wanted = {platform: desired_from_plain(plain) for platform, plain in given["desired"].items()}
    except ValueError as error:
        module.fail_json(msg="desired is not what the action goldennode.gpu.desired returns: %s" % error)

    recorder = _recorder() if given["capture"] else None
    host = recorder or LocalHost()
    platform, desired = choose(host, wanted)
    by_itself = desired is None and given["infer"]
    ahead = _to_look(platform.value.key if platform.value else "", given["image"]) if by_itself else desired
    whole = recorder is not None or given["evidence"] == "always"  # it may be compared with another node's
    seconds = float(given["timeout"])
    evidence = look(host, ahead, given["scope"], seconds, given["single_gpus"], meanwhile=_judges, short=not whole)
    verdict, refusals = _judge(desired, evidence, given)
    if desired is not None and verdict.golden and given["scope"] == "full" and given["daemon_reload"] != "never":
        evidence = _reloaded(host, desired, evidence, given["daemon_reload"] == "always")
        verdict, refusals = _judge(desired, evidence, given)
    marks = _judges()[0]
    state = marks.State()
    mark = state.mark()
    objection = "it is not known what the node is wanted to be"
    if desired is not None:
        objection = marks.objection(mark, state.stored(), desired, evidence)
    verified = verdict.golden and given["scope"] == "full"
    result = {
        "golden": verified and not objection,
        "verified": verified,
        "verdict": to_plain(verdict),
        "refusals": to_plain(refusals),
        "mark": to_plain(mark.value),
        "mark_objection": objection,
        "platform": evidence.platform.value.key if evidence.platform.value else "",
        "collected_at": evidence.collected_at,
        "table": table(evidence),
        "inferred": by_itself,
    }
    if recorder:
        from ansible_collections.goldennode.gpu.plugins.module_utils import masking

        result["capture"] = masking.mask(_taken_along(recorder, desired, given, objection), given["mask_uuids"])
    if given["evidence"] == "always" or (given["evidence"] == "when_not_golden" and not result["golden"]):
        result["evidence"] = to_plain(evidence)
    module.exit_json(changed=False, **result)


# Loaded where it is needed: a node has no compiled code of ours, and compiling what judges takes as long as a container
# does to start. A golden node needs no masks and nothing that is inferred.


def _judges() -> t.Tuple[t.Any, t.Any]:
    """The mark and the verdict with all checks. The look calls it when its commands run."""
    from ansible_collections.goldennode.gpu.plugins.module_utils import mark, verdict

    return mark, verdict


def _recorder() -> t.Any:
    from ansible_collections.goldennode.gpu.plugins.module_utils.probe.capture import Recorder

    return Recorder(LocalHost())


def _to_look(platform: str, image: str) -> Desired:
    from ansible_collections.goldennode.gpu.plugins.module_utils import inferred

    return inferred.to_look(platform, image)


def _taken_along(
    recorder: t.Any, desired: t.Optional[Desired], given: t.Mapping[str, t.Any], objection: str
) -> t.Dict[str, t.Any]:
    """The capture with what the node was judged against."""
    asked = {name: given[name] for name in ("name", "expected_gpus", "image", "scope", "single_gpus")}
    judged = {**asked, "collection": VERSION, "desired": to_plain(desired), "mark_objection": objection}
    return {**recorder.capture(), "judged": judged}


def _reloaded(host: Host, desired: Desired, evidence: Evidence, allowed: bool) -> Evidence:
    """With what a container may open before and after systemctl daemon-reload."""
    from ansible_collections.goldennode.gpu.plugins.module_utils.checks.wanted import injections
    from ansible_collections.goldennode.gpu.plugins.module_utils.probe import reload
    from ansible_collections.goldennode.gpu.plugins.module_utils.probe.container import manner

    ways, why = injections(desired), None if allowed else reload.would_disturb(evidence.running_containers)
    if why is None:
        how = manner(desired, evidence.device_nodes)
        return dataclasses.replace(evidence, reloads=reload.looks(host, desired.lock["image"], ways, how))
    found = reload.not_tried(ways, why)
    return dataclasses.replace(evidence, reloads=found)


def _judge(
    desired: t.Optional[Desired], evidence: Evidence, given: t.Mapping[str, t.Any]
) -> t.Tuple[Verdict, t.Tuple[Finding, ...]]:
    gpus = given["expected_gpus"]
    if desired is None and given["infer"]:
        from ansible_collections.goldennode.gpu.plugins.module_utils import inferred_verdict

        return inferred_verdict.judge(evidence, gpus, given["image"]), ()
    judge = _judges()[1]
    platform = evidence.platform.value.key if evidence.platform.value else ""
    refusals = judge.refusals(desired, evidence, gpus, given["bundles"].get(platform))
    if desired is not None:
        return judge.run(desired, evidence, gpus), refusals
    from ansible_collections.goldennode.gpu.plugins.module_utils.checks.packages import platform_unknown

    verdict = judge.without_desired(evidence, gpus, platform_unknown(evidence.platform.value, given["bundles"]))
    unsupported = tuple(f for f in verdict.findings if f.id == "packages.platform" and f.repair == "manual")
    return verdict, refusals + unsupported


if __name__ == "__main__":
    main()
