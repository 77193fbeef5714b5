# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node is, and what cannot work on it, is said before anything is changed: by site.yml and by a role alone."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import typing as t

import pytest
from poollib import ROOT, Pool, bed, node_of_this_worker

pytestmark = pytest.mark.boot

P40 = node_of_this_worker(3, "p40")

ENROL = """
set -e
dkms generate_mok > /dev/null
mokutil --generate-hash=once > /root/hash
mokutil --import /var/lib/dkms/mok.pub --hash-file /root/hash
"""


@pytest.fixture
def switched(bare_a10: Pool) -> t.Iterator[t.Callable[..., Pool]]:
    """The bare node after a reboot with a fault of the test bed; it is switched off again afterwards."""
    (node,) = bare_a10.nodes
    faults: t.List[str] = []

    def switch(fault: str, *words: str) -> Pool:
        faults.append(fault)
        bed("fault", node.name, fault, "on", *words)
        bed("reboot", node.name)
        return bare_a10

    yield switch
    for fault in faults:
        bed("fault", node.name, fault, "off")


def refused(pool: Pool, *words: str) -> None:
    """By site.yml, and by a role that is used alone."""
    (node,) = pool.nodes
    run = pool.site()
    assert run.rc != 0
    assert run.recap(node.name)["changed"] == 0, run.output
    alone = _role_alone(pool, "driver")
    assert alone.returncode != 0
    for output in (run.output, alone.stdout):
        said = " ".join(output.split())
        for word in words:
            assert word in said, output
    assert node.ssh("test -e /var/lib/goldennode", check=False).returncode != 0
    assert node.ssh("test -e /etc/apt/sources.list.d/goldennode-nvidia.sources", check=False).returncode != 0
    assert node.ssh("dpkg-query -W nvidia-smi", check=False).returncode != 0


def _role_alone(pool: Pool, role: str) -> subprocess.CompletedProcess[str]:
    playbook = pool.directory / "alone.yml"
    play = {"hosts": "gpu_nodes", "become": True, "gather_facts": False, "roles": ["goldennode.gpu.%s" % role]}
    playbook.write_text(json.dumps([play]))
    ansible = pathlib.Path(sys.executable).with_name("ansible-playbook")
    return subprocess.run(
        [str(ansible), str(playbook), "-i", str(pool.inventory)],
        cwd=ROOT,
        env=pool.environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
    )


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("vgpu-guest", ("is a vGPU", "guest driver of the hypervisor's vGPU release")),
        ("vfio", ("set aside for virtual machines", "vfio-pci holds", "left alone")),
    ],
)
def test_gpus_of_a_hypervisor_are_left_alone(
    switched: t.Callable[..., Pool], fault: str, words: t.Tuple[str, ...]
) -> None:
    refused(switched(fault), *words)


def test_the_open_module_is_refused_on_a_gpu_before_turing(tmp_path: pathlib.Path) -> None:
    bed("up", "%s=%s:%d" % (P40.name, P40.profile, P40.port))
    bed("reset", P40.name, "bare")
    try:
        refused(Pool(tmp_path, [P40]), "does not drive Pascal GPUs", "Use proprietary, in the same branch (580)")
    finally:
        bed("down", P40.name)


def test_secure_boot_with_a_key_that_is_not_enrolled_and_golden_once_it_is(switched: t.Callable[..., Pool]) -> None:
    pool = switched("secure-boot")
    (node,) = pool.nodes
    refused(
        pool,
        "Secure Boot is on, and DKMS has no signing key yet",
        "mokutil --import /var/lib/dkms/mok.pub",
        "at the next boot somebody confirms it at the console",
        "driver: {source: distro, build: precompiled}",
    )
    node.ssh(ENROL)
    refused(pool, "waits for somebody at the console")
    bed("enrol", node.name)
    bed("reboot", node.name)
    run = pool.site()
    assert run.rc == 0, run.output
    assert node.fact()["golden"]
    assert node.ssh("mokutil --sb-state").stdout.strip() == "SecureBoot enabled"
    assert node.ssh("modinfo -F signer nvidia").stdout.strip() == "DKMS module signing key"
    assert pool.site().recap(node.name)["changed"] == 0
