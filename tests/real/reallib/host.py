# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host over SSH, whatever it runs on."""

from __future__ import annotations

import dataclasses
import subprocess
import time

from simnodes import key


@dataclasses.dataclass(frozen=True)
class Host:
    """root on a port of this machine."""

    name: str
    port: int

    def run(self, command: str, check: bool = True, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """A shell command; one that fails under ``check`` fails the test with its words."""
        argv = [*key.ssh_command(self.port), command]
        argv[1:1] = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=20"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise AssertionError(
                "%s on %s -> %d\n%s%s" % (command, self.name, done.returncode, done.stdout, done.stderr)
            )
        return done

    def output(self, command: str, timeout: float = 120) -> str:
        return self.run(command, timeout=timeout).stdout.strip()

    def wait(self, seconds: float) -> float:
        """Until it lets people in; how long that took.

        :raises AssertionError: when it has not within ``seconds``
        """
        started = time.monotonic()
        while time.monotonic() - started < seconds:
            try:
                if self.run("true", check=False, timeout=30).returncode == 0:
                    return time.monotonic() - started
            except subprocess.TimeoutExpired:
                pass
            time.sleep(2)
        raise AssertionError("%s does not let people in after %d s" % (self.name, seconds))
