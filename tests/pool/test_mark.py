# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After golden: what takes the mark away with no run in between, what does not, and how it comes back by itself."""

from __future__ import annotations

import json

from poollib import Node, Pool, bed

DAEMON_JSON = "/etc/docker/daemon.json"


def _edit_daemon_json(node: Node, **changes: object) -> None:
    """Edit daemon.json by hand as a user would; a value of None takes the key out."""
    config = json.loads(node.ssh("cat " + DAEMON_JSON).stdout)
    for key, value in changes.items():
        key = key.replace("_", "-")
        if value is None:
            del config[key]
        else:
            config[key] = value
    node.ssh("cat > %s <<'END'\n%s\nEND" % (DAEMON_JSON, json.dumps(config, indent=2)))


def test_a_package_upgraded_by_hand_takes_the_mark_away(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    node.ssh(
        "cd /tmp && apt-get -qq update && apt-get -qq download libcuda1=580.178.04-1 "
        "&& dpkg --force-depends -i libcuda1_*.deb",
        timeout=120,
    )
    fact = node.fact()
    assert not fact["golden"]
    assert fact["layer"] == "packages"
    assert "libcuda1" in fact["reason"]


def test_the_runtime_taken_out_of_daemon_json_takes_the_mark_away(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    _edit_daemon_json(node, runtimes=None)
    fact = node.fact()
    assert not fact["golden"]
    assert fact["layer"] == "container_runtime"
    assert "runtimes" in fact["reason"]


def test_a_users_own_log_options_do_not(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    _edit_daemon_json(node, log_driver="json-file", log_opts={"max-size": "10m"})
    assert node.fact()["golden"]


def test_another_kernel_takes_the_mark_away_and_the_agent_does_not_give_it_back(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    other = next(k for k in node.ssh("ls /lib/modules").stdout.split() if "cloud" in k)
    bed("boot", node.name, "--kernel", other)
    node.wait("up on the other kernel", lambda: node.ssh("cat /proc/sys/kernel/osrelease").stdout.strip() == other)
    node.ssh("systemctl start multi-user.target; systemctl start goldennode-agent.service", check=False)
    fact = node.fact()
    assert not fact["golden"]
    assert other in fact["reason"]


def test_a_healthy_reboot_is_golden_again_by_itself_and_not_before(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    before = node.mark()
    assert before is not None
    node.ssh(
        "mkdir /etc/systemd/system/goldennode-agent.service.d && printf '[Service]\\nExecStartPre=/bin/sleep 20\\n' "
        "> /etc/systemd/system/goldennode-agent.service.d/late.conf"
    )
    bed("reboot", node.name)
    fact = node.fact()
    assert not fact["golden"]
    assert "reboot" in fact["reason"]
    node.wait("golden by the boot unit", lambda: bool(node.fact()["golden"]))
    after = node.mark()
    assert after is not None
    assert after["boot_id"] != before["boot_id"]
    assert after["desired_digest"] == before["desired_digest"]
