# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad input gets one clear message that names the thing, its value and the fix, where it can before any change."""

from __future__ import annotations

import hashlib
import typing as t

import yaml
from poollib import Node, Pool, bed


def _bundle(pool: Pool, change: t.Callable[[t.Dict[str, t.Any]], None]) -> None:
    bundle = yaml.safe_load(pool.bundle.read_text())
    change(bundle)
    pool.bundle.write_text(yaml.safe_dump(bundle))


def _no_change(pool: Pool) -> None:
    for node in pool.nodes:
        assert node.ssh("test -e /var/lib/goldennode", check=False).returncode != 0


def test_no_bundle(bare_a10: Pool) -> None:
    run = bare_a10.site(bundle_file="nowhere.yml")
    assert run.rc != 0
    assert "nowhere.yml" in run.output
    assert "bundle_file" in run.output
    _no_change(bare_a10)


def test_a_misspelt_key(bare_a10: Pool) -> None:
    _bundle(bare_a10, lambda b: b.update(toolkitt=b.pop("toolkit")))
    run = bare_a10.site()
    assert run.rc != 0
    assert "toolkitt" in run.output
    assert "did you mean" in run.output.lower()
    _no_change(bare_a10)


def test_a_version_that_no_repository_has(bare_a10: Pool) -> None:
    _bundle(bare_a10, lambda b: b["toolkit"].update(version="1.21.7"))
    run = bare_a10.site()
    assert run.rc != 0
    assert "1.21.7" in run.output
    assert "1.20.1" in run.output, "the versions that are there must be said"
    _no_change(bare_a10)


def test_a_malformed_daemon_json_stays_as_it_is(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    text = '{"log-driver": "json-file",}\n'
    node.ssh("printf '%%s' '%s' > /etc/docker/daemon.json" % text)
    run = golden_a10.site()
    assert run.rc != 0
    assert "daemon.json" in run.output
    assert "line 1" in run.output
    assert (
        node.ssh("sha256sum < /etc/docker/daemon.json").stdout.split()[0] == hashlib.sha256(text.encode()).hexdigest()
    )


def test_a_host_without_a_gpu(bare_a10: Pool) -> None:
    (node,) = bare_a10.nodes
    node.ssh("sed -i '/^gpu /d' /etc/simgpu/profile && systemctl reboot", check=False)
    node.wait(
        "back without a GPU",
        lambda: "10de" not in node.ssh("cat /sys/bus/pci/devices/*/vendor 2>/dev/null; true").stdout,
    )
    run = bare_a10.site()
    assert run.rc != 0
    assert run.report[node.name]["layer"] == "hardware"
    assert "gpu_nodes" in run.output or "PCI" in run.output
    _no_change(bare_a10)


def test_an_unsupported_distribution(bare_a10: Pool) -> None:
    (node,) = bare_a10.nodes
    node.ssh("sed -i 's/^ID=.*/ID=slackware/; s/^VERSION_ID=.*/VERSION_ID=15/' /etc/os-release")
    run = bare_a10.site()
    assert run.rc != 0
    assert "slackware-15" in run.output
    assert "debian-13" in run.output, "what is supported must be said"
    _no_change(bare_a10)


def test_no_privileges(bare_a10: Pool) -> None:
    run = bare_a10.site(ansible_user="alice")
    assert run.rc != 0
    assert "alice" in run.output
    assert "sudo" in run.output
    assert "become" in run.output
    _no_change(bare_a10)


def test_a_reboot_that_is_due_but_not_allowed(bare_a10: Pool) -> None:
    (node,) = bare_a10.nodes
    boot = node.ssh("cat /proc/sys/kernel/random/boot_id").stdout
    run = bare_a10.site(golden_allow_reboot=False)
    assert run.rc != 0
    assert "golden_allow_reboot" in run.output
    assert "nouveau" in run.output
    assert node.ssh("cat /proc/sys/kernel/random/boot_id").stdout == boot


def test_no_python_on_the_node(bare_a10: Pool) -> None:
    (node,) = bare_a10.nodes
    node.ssh("mv /usr/bin/python3 /usr/bin/python3.away")
    run = bare_a10.site()
    assert run.rc != 0
    assert "python" in run.report[node.name]["reason"].lower()
    assert "apt" in run.report[node.name]["fix"].lower()


def test_a_table_although_every_host_is_unreachable(tmp_path: t.Any) -> None:
    pool = Pool(tmp_path, [Node("gone1", "a10", 22998), Node("gone2", "a10", 22999)])
    for arguments in ((), ("--limit", "gone2")):
        run = pool.run("site", *arguments)
        assert run.rc != 0
        assert run.report["gone2"]["verdict"] == "unreachable", run.output
        assert ("gone1" in run.report) == (arguments == ())


def test_a_table_although_the_only_node_is_lost_on_the_way(bare_a10: Pool) -> None:
    (node,) = bare_a10.nodes
    output = bare_a10.run_cut_off_at("Blacklist the drivers", lambda: bed("down", node.name))
    assert "unreachable" in output
    assert "was lost while the run was at work on it" in output
