# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What dockerd says before it ends, and the log of a build that failed."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import BuildFailure
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import build_failure, docker_journal


def test_errors_of_dockerd_come_last_first_and_once():
    said = (
        'time="2026-11-30T16:00:00Z" level=info msg="Starting up"\n'
        "failed to start daemon: a\n"
        "docker.service: Main process exited, code=exited, status=1/FAILURE\n"
        "Failed to start Docker Application Container Engine.\n"
        'time="2026-11-30T16:00:01Z" level=error msg="it says \\"b\\""\n'
        "failed to start daemon: a\n"
        "docker.service: Scheduled restart job, restart counter is at 2.\n"
    )
    assert docker_journal.parse(said).value == ("failed to start daemon: a", 'it says "b"')
    assert docker_journal.parse("").value == ()


def test_no_password_of_a_daemons_words_is_kept():
    said = 'level=error msg="proxy http://svc:S3cret@proxy.example:3128 refused"\n{"splunk-token": "S3cret"}\n'
    assert "S3cret" not in repr(docker_journal.parse(said))


HEADER = "DKMS make.log for nvidia-580.159.03 for kernel 6.12.57+deb13-amd64 (x86_64)\n"
NO_HEADERS = "the kernel's headers are not there or not whole"


@pytest.mark.parametrize(
    ("log", "kernel", "cause"),
    [
        (HEADER + "cc: command not found", "6.12.57+deb13-amd64", "the compiler for this kernel is not installed"),
        (HEADER.replace("DKMS ", "DKMS (dkms-3.1.8) ") + "x", "6.12.57+deb13-amd64", ""),
        ("No space left on device", "", "the disk is full"),
        ("fatal error: 'generated/autoconf.h' file not found", "", NO_HEADERS),
        ("fatal error: generated/autoconf.h: No such file or directory", "", NO_HEADERS),
        ("x.c:1:1: error: 'struct file' has no member named 'f_x'", "", "the driver does not build on this kernel: "),
        ("", "", ""),
    ],
)
def test_a_build_log_says_for_which_kernel_and_why(log, kernel, cause):
    found = build_failure.parse(log, "/var/lib/dkms/nvidia/1/build/make.log")
    assert isinstance(found, BuildFailure)
    assert found.kernel == kernel
    assert found.cause.startswith(cause)
    assert bool(found.cause) == bool(cause)


def test_the_kernel_that_runs_tells_its_compiler():
    version = "Linux version 6.12.57+deb13-amd64 (x@y) (x86_64-linux-gnu-gcc-14 (Debian 14.2.0-19) 14.2.0)"
    log = HEADER + "*** Failed CC version check. Bailing out! ***"
    assert "(gcc-14)" in build_failure.parse(log, "make.log", version).fix
    assert "gcc-14" not in build_failure.parse(log, "make.log", version.replace("6.12.57", "6.12.60")).fix
