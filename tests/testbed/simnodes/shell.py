# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where things are, and how the test bed runs other programs: one runner, one error type."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import typing as t
from pathlib import Path

TESTBED = Path(__file__).resolve().parents[1]
REPOSITORY = TESTBED.parents[1]
#: Generated, git-ignored: the ssh key, logs, the Debian base.
STATE = REPOSITORY / ".testbed"


class TestbedError(Exception):
    """What went wrong and what to do about it, for a person to read."""

    __test__ = False  # its name begins as pytest's classes do


def say(text: str) -> None:
    """Progress goes to stderr, so that stdout holds answers only."""
    print(text, file=sys.stderr, flush=True)


def run(
    *argv: str,
    check: bool = True,
    binary_input: t.Optional[bytes] = None,
    timeout: t.Optional[float] = None,
    extra_environment: t.Optional[t.Dict[str, str]] = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``argv``; a failure under ``check`` names the command, its exit status and its last words."""
    try:
        done = subprocess.run(
            argv,
            input=binary_input or b"",
            capture_output=True,
            timeout=timeout,
            check=False,
            env={**os.environ, **(extra_environment or {})},
        )
    except FileNotFoundError as error:
        raise TestbedError("%s is not installed (wanted for: %s)" % (argv[0], " ".join(argv))) from error
    except subprocess.TimeoutExpired as error:
        raise TestbedError("gave up after %s s: %s" % (timeout, " ".join(argv))) from error
    answer = subprocess.CompletedProcess(
        argv, done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )
    words = answer.stderr + answer.stdout
    if check and answer.returncode != 0:
        raise TestbedError("failed with status %d: %s\n%s" % (answer.returncode, " ".join(argv), words.strip()[-2000:]))
    return answer


@contextlib.contextmanager
def locked(what: str) -> t.Iterator[None]:
    """One test bed of this checkout at a time where two would make the same thing twice."""
    STATE.mkdir(exist_ok=True)
    with (STATE / (what + ".lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def docker(*argv: str, check: bool = True, timeout: t.Optional[float] = None) -> str:
    """The answer of one docker command."""
    return run("docker", *argv, check=check, timeout=timeout).stdout.strip()
