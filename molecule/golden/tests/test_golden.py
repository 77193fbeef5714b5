# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After the agent was put on a bare node: the node says not golden, and no agent can talk it into golden."""

from __future__ import annotations

import json

FACT = "/etc/ansible/facts.d/goldennode.fact"


def test_the_fact_says_revoked(host):
    fact = json.loads(host.check_output(FACT))
    assert not fact["golden"]
    assert fact["state"] == "revoked"
    assert "run" in fact["reason"]


def test_an_ordinary_user_gets_an_answer_too(host):
    fact = json.loads(host.check_output("su alice -c %s" % FACT))
    assert not fact["golden"]


def test_the_agent_does_not_clear_a_revocation(host):
    host.run("systemctl start goldennode-agent.service")
    assert json.loads(host.file("/var/lib/goldennode/mark.json").content_string)["state"] == "revoked"


def test_the_agent_starts_at_boot(host):
    assert host.service("goldennode-agent.service").is_enabled
