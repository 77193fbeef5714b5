# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes with MIG devices that are not those which programs or containers are given."""

from __future__ import annotations

import dataclasses

from ansible_collections.goldennode.gpu.plugins.module_utils.model import CudaInit, Reading
from ansible_collections.goldennode.gpu.scripts.docpages.case import Case, Node, node, with_
from ansible_collections.goldennode.gpu.tests.unit import healthy, mig_node


def parts(count: int = 2) -> Node:
    of = node()
    return dataclasses.replace(of, evidence=mig_node.evidence(of.evidence, {0: count}))


def old_specification() -> Node:
    return with_(parts(), cdi_specs=node().evidence.cdi_specs.value)


def one_is_missing() -> Node:
    of = parts()
    return dataclasses.replace(of, evidence=healthy.container(of.evidence, "cdi", mig=Reading((mig_node.uuid(0, 0),))))


CASES = (
    Case(
        "host_driver.cuda",
        "CUDA sees a device that is none of the node's MIG devices",
        lambda: with_(parts(), cuda=CudaInit(0, devices=1, uuids=(healthy.uuid(7),))),
        ("wrong_gpu",),
    ),
    Case(
        "container_runtime.cdi_spec",
        "MIG was switched on after the specification was written",
        old_specification,
        ("cdi_devices", "wrong_gpu"),
    ),
    Case("image.gpus", "the container lacks one of the MIG devices", one_is_missing, ("wrong_gpu",)),
)
