#!/usr/bin/env python3
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The vendor's container: the repositories of /srv over HTTP on port 80, its registry on port 5000."""

from __future__ import annotations

import functools
import http.server
import signal
import subprocess
import sys
import threading
from pathlib import Path

CONTENT = "/srv"
REGISTRY = (
    """\
version: 0.1
log: {level: warn, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: %s/registry}
  maintenance: {readonly: {enabled: true}}
http: {addr: ":5000"}
"""
    % CONTENT
)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Says nothing about what it served, and everything about what it could not."""

    protocol_version = "HTTP/1.1"

    def log_request(self, code: object = "-", size: object = "-") -> None:
        if str(code)[:1] not in "23":
            super().log_request(code, size)  # type: ignore[arg-type]


def main() -> int:
    # As the container's first process this has no default handlers: `docker stop` would wait for its kill.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    configuration = Path("/tmp/registry.yml")
    configuration.write_text(REGISTRY, encoding="utf-8")
    server = http.server.ThreadingHTTPServer(("", 80), functools.partial(Quiet, directory=CONTENT))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    registry = subprocess.Popen(["docker-registry", "serve", str(configuration)])
    try:
        return registry.wait()
    finally:
        registry.terminate()


if __name__ == "__main__":
    sys.exit(main())
