#!/usr/bin/env python3
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The vendor's container: the repositories of /srv over HTTP on port 80, its registry on port 5000, and the same images
on port 5001 for the one user who has a password.

The repositories have faults of their own, a file each in FAULTS that `testbed fault vendor` writes; changes.py makes
those of them that are another content, and what it has made goes before /srv.
"""

from __future__ import annotations

import functools
import http.server
import signal
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

CONTENT = "/srv"
FAULTS = Path("/run/vendor/faults")
CHANGED = Path("/run/vendor/changed")
REGISTRY = """\
version: 0.1
log: {level: warn, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: %s/registry}
  maintenance: {readonly: {enabled: true}}
http: {addr: ":%d"}
"""
PORT, PRIVATE_PORT = 5000, 5001
PASSWORDS = Path("/tmp/htpasswd")
PRIVATE = "auth: {htpasswd: {realm: vendor.testbed, path: %s}}\n" % PASSWORDS
#: User "reader", password "for-the-test-bed-only", with bcrypt: the registry takes nothing else.
READER = "reader:$2y$05$goldennodetestbedsaltuxYAFbDGvdySm0CIxMBm7vCAl.AXn6om\n"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Says nothing about what it served, and everything about what it could not."""

    protocol_version = "HTTP/1.1"

    def log_request(self, code: object = "-", size: object = "-") -> None:
        if str(code)[:1] not in "23":
            super().log_request(code, size)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        if not self._hindered():
            super().do_GET()

    def do_HEAD(self) -> None:
        if not self._hindered():
            super().do_HEAD()

    def _hindered(self) -> bool:
        """True when a fault has ended this request."""
        if CHANGED.exists():
            # A change that is taken back brings files that are older than those that a node has.
            del self.headers["If-Modified-Since"]
        if self._fault("dead") is not None:
            self._say_nothing()
            return True
        if self._fault("refused") is not None:
            self.send_error(503, "Service Unavailable")
            return True
        slow = self._fault("slow")
        if slow is not None:
            time.sleep(float(slow[0]) if slow else 30)
        return False

    def _say_nothing(self) -> None:
        """Keep the client waiting as long as the fault lasts, and then hang up."""
        while self._fault("dead") is not None:
            time.sleep(0.5)
        self.close_connection = True

    def _fault(self, name: str) -> t.Optional[t.List[str]]:
        """The words of a fault behind its path, when it is on for what is asked for."""
        try:
            words = (FAULTS / name).read_text().split()
        except FileNotFoundError:
            return None
        return words[1:] if self.path.startswith(words[0] if words else "/") else None

    def translate_path(self, path: str) -> str:
        original = super().translate_path(path)
        relative = Path(original).relative_to(CONTENT)
        changed = CHANGED / relative
        gone = CHANGED / relative.parts[0] / "gone" if relative.parts else CHANGED
        if gone.is_file() and str(relative) in gone.read_text().split():
            return str(CHANGED / "nothing")
        return str(changed) if changed.exists() else original


def main() -> int:
    # As the container's first process this has no default handlers: `docker stop` would wait for its kill.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = http.server.ThreadingHTTPServer(("", 80), functools.partial(Quiet, directory=CONTENT))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    PASSWORDS.write_text(READER, encoding="utf-8")
    private = registry(PRIVATE_PORT, PRIVATE)
    public = registry(PORT)
    try:
        return public.wait()
    finally:
        public.terminate()
        private.terminate()


def registry(port: int, more: str = "") -> subprocess.Popen[bytes]:
    """A registry of the images, with ``more`` lines of configuration."""
    configuration = Path("/tmp/registry-%d.yml" % port)
    configuration.write_text(REGISTRY % (CONTENT, port) + more, encoding="utf-8")
    return subprocess.Popen(["docker-registry", "serve", str(configuration)])


if __name__ == "__main__":
    sys.exit(main())
