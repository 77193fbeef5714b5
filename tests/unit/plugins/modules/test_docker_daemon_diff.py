# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module shows of a change."""

from __future__ import annotations

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
