# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the next boot starts is judged by what the boot loader will read, and the words by the running kernel too."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.tests.unit import healthy

OLD = "6.12.48+deb13-amd64"
NODE = healthy.evidence()


def with_boot(evidence=NODE, **fields):
    return healthy.known(evidence, boot_default=dataclasses.replace(evidence.boot_default.value, **fields))


def judged(evidence, **variables):
    return verdict.run(healthy.desired(**variables), evidence, 1)


def of(check, evidence, **variables):
    """The findings of one check that did not pass."""
    return [f for f in judged(evidence, **variables).findings if f.id == check and f.status != "pass"]


def test_another_kernel_boots_next():
    (finding,) = of("host_driver.boot_default", with_boot(kernel=OLD, entry="Debian, with Linux " + OLD))
    assert (finding.status, finding.repair, finding.expected, finding.actual) == ("fail", "roles", healthy.KERNEL, OLD)
    assert "the default of /boot/grub/grub.cfg is the entry 'Debian, with Linux %s'" % OLD in finding.cause
    assert not judged(with_boot(kernel=OLD)).golden


def test_an_entry_that_tells_no_kernel_is_no_proof():
    (finding,) = of("host_driver.boot_default", with_boot(kernel=None, entry="mine"))
    assert (finding.repair, finding.actual) == ("roles", "an entry whose kernel is not known")


def test_a_boot_loader_that_is_not_known_is_said_and_does_not_keep_a_node_from_golden():
    found = judged(healthy.known(NODE, boot_default=None))
    assert found.golden
    assert found.not_proven == (
        "host_driver.boot_default: The boot loader of this node is not known, so it is not proven that %s boots next."
        % healthy.KERNEL,
    )


def test_somebodys_choice_for_the_next_boot_is_told():
    found = judged(with_boot(once=OLD))
    assert found.golden
    assert found.not_proven == (
        "host_driver.boot_default: The next boot alone starts %s: it was chosen with grub-reboot." % OLD,
    )
    (finding,) = of("host_driver.boot_default", with_boot(once=OLD))
    assert "grub-editenv /boot/grub/grubenv unset next_entry" in finding.fix


@pytest.mark.parametrize(("pinned", "repairs"), [(True, ["roles"]), (False, [])])
def test_without_a_pin_only_our_own_default_is_too_much(pinned, repairs):
    node = healthy.evidence("a10", healthy.desired(kernel_pin=False))
    evidence = with_boot(node, kernel=OLD, pinned=pinned)
    assert [f.repair for f in of("host_driver.boot_default", evidence, kernel_pin=False)] == repairs


WORDS = ["iommu=pt", "rd.driver.blacklist=nouveau"]


@pytest.mark.parametrize(
    ("in_file", "in_entry", "running", "repair", "words"),
    [
        ([], [], [], "roles", "iommu=pt rd.driver.blacklist=nouveau"),
        (WORDS, WORDS[:1], WORDS, "roles", "rd.driver.blacklist=nouveau"),
        (WORDS, WORDS, WORDS[:1], "reboot", "rd.driver.blacklist=nouveau"),
        ([*WORDS, "old=1"], [*WORDS, "old=1"], WORDS, "roles", "old=1"),
        (WORDS, WORDS, WORDS, None, ""),
    ],
)
def test_the_words_of_the_command_line(in_file, in_entry, running, repair, words):
    evidence = with_boot(added=tuple(in_file), arguments=("ro", *in_entry))
    evidence = healthy.known(evidence, command_line="BOOT_IMAGE=/x ro " + " ".join(running))
    found = of("host_driver.kernel_arguments", evidence, kernel_arguments=WORDS)
    assert [(f.repair, f.entity) for f in found] == ([(repair, words)] if repair else [])


def test_a_word_is_not_found_inside_another():
    evidence = with_boot(added=("iommu=pt",), arguments=("iommu=pt",))
    evidence = healthy.known(evidence, command_line="amd_iommu=pt")
    assert of("host_driver.kernel_arguments", evidence, kernel_arguments=["iommu=pt"])[0].repair == "reboot"


@pytest.mark.parametrize(("running", "repairs"), [("ro", ["manual"]), ("ro iommu=pt", [])])
def test_words_where_the_boot_loader_is_not_known(running, repairs):
    evidence = healthy.known(NODE, boot_default=None, command_line=running)
    found = of("host_driver.kernel_arguments", evidence, kernel_arguments=["iommu=pt"])
    assert [f.repair for f in found] == repairs
