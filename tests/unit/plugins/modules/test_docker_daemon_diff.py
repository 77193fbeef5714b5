# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module shows of a change."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.docker_config import Outcome
from ansible_collections.goldennode.gpu.plugins.modules.docker_daemon import diff_of


def test_a_diff_shows_no_password():
    line = '{"proxies": {"http-proxy": "http://svc:S3cret@proxy.example:3128"}%s}'
    shown = diff_of("/etc/docker/daemon.json", Outcome(True, line % "", line % ', "debug": true', False))
    assert shown == {
        "before_header": "/etc/docker/daemon.json",
        "after_header": "/etc/docker/daemon.json",
        "before": '{"proxies": {"http-proxy": "http://proxy.example:3128"}}',
        "after": '{"proxies": {"http-proxy": "http://proxy.example:3128"}, "debug": true}',
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"log-opts": {"splunk-token": "S3cret", "splunk-url": "https://logs.example"}}',
         '{"log-opts": {"splunk-token": "...", "splunk-url": "https://logs.example"}}'),
        ('{"log-opts": {"logentries-token" :\n  "S3c\\"ret, \\\\", "tag": "a"}}',
         '{"log-opts": {"logentries-token" :\n  "...", "tag": "a"}}'),
        ('{"cluster-store-opts": {"kv.Password": "S3cret"}, "labels": ["token=shown"]}',
         '{"cluster-store-opts": {"kv.Password": "..."}, "labels": ["token=shown"]}'),
    ],
)  # fmt: skip
def test_a_diff_shows_no_token(text, shown):
    diff = diff_of("/etc/docker/daemon.json", Outcome(True, text, text, False))
    assert (diff["before"], diff["after"]) == (shown, shown)
