# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of apt, recorded from apt 3.0 (Debian 13) and 2.6 (Debian 12), and sources files as they are found."""

from __future__ import annotations

import random

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import apt_text
from ansible_collections.goldennode.gpu.plugins.module_utils.apt_text import Available

POLICY = """\
docker-ce:
  Installed: (none)
  Candidate: 5:26.1.4-1~debian.13~trixie
  Version table:
     5:26.1.5-1~debian.13~trixie 500
        500 http://vendor.testbed/docker-ce stable/main amd64 Packages
     5:26.1.4-1~debian.13~trixie 1001
        500 http://vendor.testbed/docker-ce stable/main amd64 Packages
linux-image-amd64:
  Installed: 6.12.117-1
  Candidate: 6.12.117-1
  Version table:
 *** 6.12.117-1 1001
        500 http://deb.debian.org/debian trixie/main amd64 Packages
        100 /var/lib/dpkg/status
     6.12.57-1 -1
        500 http://security.debian.org/debian-security trixie-security/main amd64 Packages
docker:
  Installed: (none)
  Candidate: (none)
  Version table:
"""

SIMULATION = """\
NOTE: This is only a simulation!
      apt-get needs root privileges for real execution.
Reading package lists...
Building dependency tree...
The following packages will be REMOVED:
  containerd docker.io runc
The following NEW packages will be installed:
  containerd.io docker-ce libcuda1
Remv docker.io [26.1.5+dfsg1-9+b9]
Remv runc [1.1.15+ds1-2+b4] [docker.io:amd64 ]
Inst containerd.io (1.7.24-1~debian.13~trixie Docker:stable [amd64])
Inst docker-ce (5:26.1.4-1~debian.13~trixie Docker:stable [amd64]) []
Inst libcuda1 [550.163.01-2] (580.159.03-1 NVIDIA:stable [amd64])
Inst libc6:i386 (2.41-12 Debian:13.2/stable [i386])
Conf containerd.io (1.7.24-1~debian.13~trixie Docker:stable [amd64])
"""


def test_policy_gives_candidate_and_versions():
    assert apt_text.policy(POLICY) == {
        "docker-ce": Available(
            "5:26.1.4-1~debian.13~trixie", ("5:26.1.5-1~debian.13~trixie", "5:26.1.4-1~debian.13~trixie")
        ),
        "linux-image-amd64": Available("6.12.117-1", ("6.12.117-1", "6.12.57-1")),
        "docker": Available(None, ()),
    }
    assert apt_text.policy("") == {}


def test_a_simulation_gives_what_comes_and_what_goes():
    installed, removed = apt_text.simulation(SIMULATION)
    assert installed == {
        "containerd.io": "1.7.24-1~debian.13~trixie",
        "docker-ce": "5:26.1.4-1~debian.13~trixie",
        "libcuda1": "580.159.03-1",
        "libc6": "2.41-12",
    }
    assert removed == ("docker.io", "runc")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Some packages could not be installed. This may mean that\n"
            "The following packages have unmet dependencies:\n"
            " nvidia-container-toolkit : Depends: libnvidia-container-tools (= 1.20.0-1) but 1.20.1-1 is to be used\n"
            "                            Depends: nvidia-container-toolkit-base (= 1.20.0-1) but 1.20.1-1 is used\n"
            "E: Unable to correct problems, you have held broken packages.\n",
            "nvidia-container-toolkit : Depends: libnvidia-container-tools (= 1.20.0-1) but 1.20.1-1 is to be used "
            "Depends: nvidia-container-toolkit-base (= 1.20.0-1) but 1.20.1-1 is used",
        ),
        (
            "E: Unmet dependencies. Try 'apt --fix-broken install'\n",
            "Unmet dependencies. Try 'apt --fix-broken install'",
        ),
        ("E: one\nE: two\n", "one; two"),
        ("Segmentation fault", "Segmentation fault"),
        ("", "it gave no reason"),
    ],
)
def test_the_reason_is_apts_own(text, said):
    assert apt_text.reason(text) == said


@pytest.mark.parametrize(
    ("text", "cause", "fix"),
    [
        (
            "Get:1 http://vendor.testbed/nvidia stable InRelease [619 B]\n"
            "Err:1 http://vendor.testbed/nvidia stable InRelease\n"
            "  Sub-process /usr/bin/sqv returned an error code (1), error message is: Missing key DC1433, which is\n"
            "W: OpenPGP signature verification failed: http://vendor.testbed/nvidia stable InRelease: Sub-process "
            "/usr/bin/sqv returned an error code (1), error message is: Missing key DC1433, which is needed to verify "
            "signature.\n"
            "E: The repository 'http://vendor.testbed/nvidia stable InRelease' is not signed.\n",
            "signed with another key than the bundle has (apt says: OpenPGP signature verification failed: http://vendor",
            "current key",
        ),
        (
            "W: GPG error: http://x stable InRelease: The following signatures couldn't be verified because the "
            "public key is not available: NO_PUBKEY A4B469963BF863CC\n"
            "E: The repository 'http://x stable InRelease' is not signed.",
            "signed with another key",
            "current key",
        ),
        (
            "E: The repository 'https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64  InRelease' "
            "is not signed.\nW: OpenPGP signature verification failed: ...: Sub-process /usr/bin/sqv returned an error "
            "code (1), error message is: Signing key on EB693B3035CD5710E231E123A4B469963BF863CC is not bound: ... "
            "Policy rejected non-revocation signature (PositiveCertification) requiring second pre-image resistance "
            "because: SHA1 is not considered secure since 2026-02-01T00:00:00Z",
            "bound by a SHA1 signature",
            "this release of the distribution",
        ),
        (
            "E: Conflicting values set for option Signed-By regarding source https://nvidia.github.io/x/ /: "
            "/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg != \nE: The list of sources could not be read.",
            "stands twice in the sources, with different keys (apt says: Conflicting values",
            "Remove the older entry",
        ),
        (
            "Err:5 http://vendor.testbed/nvidia nope Release\n  404  File not found [IP: 172.18.0.5 80]\n"
            "E: The repository 'http://vendor.testbed/nvidia nope Release' does not have a Release file.",
            "no such repository at this address (apt says: The repository 'http://vendor.testbed/nvidia nope Release'",
            "uris, suites and components",
        ),
        (
            "E: Failed to fetch http://nope.testbed/x/dists/stable/InRelease  Could not resolve 'nope.testbed'",
            "cannot be resolved on this node (apt says: Failed to fetch http://nope.testbed",
            "DNS",
        ),
        ("W: Failed to fetch http://x  Temporary failure resolving 'x'", "cannot be resolved", "DNS"),
        (
            "E: Failed to fetch http://127.0.0.1:9/x/dists/stable/InRelease  Unable to connect to 127.0.0.1:9:",
            "cannot be reached from this node",
            "proxy",
        ),
        (
            "E: Failed to fetch https://x:5000/x  SSL connection failed: error:0A00010B:SSL routines::wrong version",
            "does not answer as https asks",
            "scheme and port",
        ),
        (
            "W: Failed to fetch https://x  Certificate verification failed: The certificate is NOT trusted.",
            "certificate is not trusted",
            "ca-certificates",
        ),
        (
            "W: GPG error: http://x: signatures were invalid: EXPKEYSIG 7EA0A9C3F273FCD8 Docker",
            "key has expired",
            "key",
        ),
        ("W: GPG error: http://x: The following signatures were invalid: BADSIG 7EA0", "cannot be verified", "proxy"),
        (
            "E: Release file for http://x is not valid yet (invalid for another 2h)",
            "not valid at this node's time",
            "clock",
        ),
        ("E: Release file for http://x is expired (invalid since 2d)", "not valid at this node's time", "clock"),
        ("E: Something new", "apt-get update fails (apt says: Something new)", "Mend"),
        ("", "apt-get update fails (apt says: nothing)", "Mend"),
    ],
)
def test_a_failed_update_has_cause_and_fix(text, cause, fix):
    said = apt_text.update_failure(text)
    assert cause in said[0]
    assert fix in said[1]


def test_a_rejected_sha1_key_is_not_taken_for_a_missing_one():
    """The same key again would be rejected again."""
    cause, fix = apt_text.update_failure("NO_PUBKEY x\nsqv: key is not bound: SHA1 is not considered secure since 2026")
    assert "SHA1" in cause
    assert "the same key again is no answer" in fix


def test_any_text_is_taken():
    source = random.Random(7)
    alphabet = "deb Types:\n[]= #./:~Inst(Remv)E:\t *é-0123"
    for _round in range(300):
        text = "".join(source.choice(alphabet) for _character in range(source.randrange(120)))
        apt_text.policy(text)
        apt_text.simulation(text)
        apt_text.reason(text)
        apt_text.update_failure(text)
