# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt, dpkg and DKMS say when they fail, and what is made of it. Texts of apt 3.0 and 2.6 and of field cases."""

from __future__ import annotations

import random

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.parse import apt_errors, apt_rules, dkms_log, dkms_output


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
    assert apt_errors.reason(text) == said


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
            "signed with another key than the bundle has: key DC1433 of repository http://vendor.testbed/nvidia (apt "
            "says: OpenPGP signature verification failed: http://vendor",
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
    said = apt_errors.explain(text, "apt-get update")
    assert cause in said.cause
    assert fix in said.fix


def test_a_rejected_sha1_key_is_not_taken_for_a_missing_one():
    """The same key again would be rejected again."""
    said = apt_errors.explain("NO_PUBKEY x\nsqv: key is not bound: SHA1 is not considered secure since 2026")
    assert said.kind == apt_rules.KEY
    assert "SHA1" in said.cause
    assert "the same key again is no answer" in said.fix


# --- installing ---------------------------------------------------------------------------------------------------

DKMS = """\
Setting up nvidia-kernel-open-dkms (595.71.05-1) ...
Building initial module nvidia/595.71.05 for 6.12.57+deb13-amd64
Error! Bad return status for module build on kernel: 6.12.57+deb13-amd64 (x86_64)
Consult /var/lib/dkms/nvidia/595.71.05/build/make.log for more information.
dpkg: error processing package nvidia-kernel-open-dkms (--configure):
 installed nvidia-kernel-open-dkms package post-installation script subprocess returned error exit status 10
Errors were encountered while processing:
 nvidia-kernel-open-dkms
E: Sub-process /usr/bin/dpkg returned an error code (1)
"""

POSTINST = """\
Reading package lists...
0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.
After this operation, 0 B of additional disk space will be used.
Setting up whole (1.0) ...
this is another's
Setting up broken (1.0) ...
adduser: no such group
chown: invalid user: 'nobody2'
dpkg: error processing package broken (--configure):
 installed broken package post-installation script subprocess failed with exit status 7
E: Sub-process /usr/bin/dpkg returned an error code (1)
"""

BRANCHES = """\
Some packages could not be installed.
The following packages have unmet dependencies:
 nvidia-headless-460-server : Conflicts: libnvidia-compute-450-server
E: Unable to correct problems, you have held broken packages.
"""


@pytest.mark.parametrize(
    ("text", "kind", "cause", "fix"),
    [
        (
            "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (unattended-upgr)\n"
            "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?",
            apt_rules.LOCKED,
            "another process is using the package manager: unattended-upgr, pid 4711 (apt says: Could not get lock",
            "never remove the lock file",
        ),
        (
            "dpkg: error: dpkg frontend lock was locked by another process with pid 99\n"
            "Note: removing the lock file is always wrong, can damage the locked area",
            apt_rules.LOCKED,
            "package manager: pid 99 (apt says: dpkg: error: dpkg frontend lock",
            "Wait",
        ),
        (
            "dpkg: error: dpkg database lock was locked by /usr/bin/dpkg process with pid 217\n"
            "Note: removing the lock file is always wrong, can damage the locked area",
            apt_rules.LOCKED,
            "package manager: pid 217 (apt says: dpkg: error: dpkg database lock",
            "Wait",
        ),
        (
            "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem. ",
            apt_rules.INTERRUPTED,
            "broken off",
            "dpkg --configure -a",
        ),
        (
            "E: You don't have enough free space in /var/cache/apt/archives/.",
            apt_rules.SPACE,
            "the disk is full (apt says: You don't have enough free space in /var/cache/apt/archives/.)",
            "apt-get clean",
        ),
        (
            "dpkg: error processing archive /var/cache/apt/archives/x.deb (--unpack):\n cannot copy extracted data for "
            "'./usr/lib/x' to '/usr/lib/x.dpkg-new': failed to write (No space left on device)\n",
            apt_rules.SPACE,
            "the disk is full (apt says: cannot copy extracted data for './usr/lib/x' to",
            "Make room",
        ),
        (
            "E: Failed to fetch http://vendor.testbed/nvidia/pool/x.deb  404  Not Found [IP: 172.18.0.5 80]",
            apt_rules.NETWORK,
            "or it has dropped a file that its index names (apt says: Failed to fetch http://vendor.testbed/nvidia",
            "resolve a new lock",
        ),
        (
            "E: Failed to fetch http://vendor.testbed/x.deb  Hash Sum mismatch\n   Hashes of expected file:\n",
            apt_rules.NETWORK,
            "not what its signed index says",
            "proxy",
        ),
        (
            "W: Failed to fetch http://vendor.testbed/x  Connection timed out [IP: 172.18.0.5 80]",
            apt_rules.NETWORK,
            "cannot be reached",
            "proxy",
        ),
        (
            POSTINST,
            apt_rules.SCRIPT,
            "the postinst script of broken ended with status 7 (its last words: adduser: no such group / "
            "chown: invalid user: 'nobody2')",
            "dpkg --configure -a",
        ),
        (
            DKMS,
            apt_rules.DKMS,
            "DKMS could not build the module for kernel 6.12.57+deb13-amd64 (its log: "
            "/var/lib/dkms/nvidia/595.71.05/build/make.log)",
            "another kernel",
        ),
        (
            BRANCHES,
            apt_rules.UNMET,
            "together: nvidia-headless-460-server : Conflicts: libnvidia-compute-450-server",
            "Nothing needs to be unheld and nothing forced",
        ),
        (
            "E: Unable to correct problems, you have held broken packages.",
            apt_rules.UNMET,
            "together: Unable to correct problems",
            "a set that is not whole",
        ),
        (
            "E: Version '580.1-1' for 'libcuda1' was not found",
            apt_rules.UNMET,
            "no repository of this node has libcuda1=580.1-1",
            "new lock",
        ),
        ("E: Unable to locate package nope", apt_rules.UNMET, "has nope", "new lock"),
    ],
)
def test_a_failed_installation_has_cause_and_fix(text, kind, cause, fix):
    said = apt_errors.explain(text)
    assert said.kind == kind
    assert cause in said.cause
    assert fix in said.fix
    assert "--force" not in said.fix


@pytest.mark.parametrize(
    ("text", "cause", "fix"),
    [
        (
            "You might want to run 'apt --fix-broken install' to correct these.\n"
            "The following packages have unmet dependencies:\n foo : Depends: bar but it is not installed\n"
            "E: Unmet dependencies. Try 'apt --fix-broken install' with no packages (or specify a solution).\n",
            "the node's own packages do not fit together, whatever is to be installed: foo : Depends: bar but "
            "it is not",
            "Run apt-get --fix-broken install on the node, and then site.yml again",
        ),
        (
            "Package nvidia-driver-570 is not available, but is referred to by another package.\n"
            "E: Package 'nvidia-driver-570' has no installation candidate\n",
            "no repository of this node has nvidia-driver-570",
            "resolve a new lock",
        ),
    ],
)
def test_what_apt_has_no_way_to_install(text, cause, fix):
    said = apt_errors.explain(text)
    assert said.kind == apt_rules.UNMET
    assert cause in said.cause
    assert fix in said.fix


def test_headers_that_a_postinst_lacks_are_named():
    said = apt_errors.explain(
        "Setting up nvidia-dkms-580 (580.159.03-0ubuntu1) ...\n"
        "Error! Your kernel headers for kernel 6.8.0-45-generic cannot be found at "
        "/lib/modules/6.8.0-45-generic/build or "
        "/lib/modules/6.8.0-45-generic/source.\n"
        "dpkg: error processing package nvidia-dkms-580 (--configure):\n"
        " installed nvidia-dkms-580 package post-installation script subprocess returned error exit status 21\n"
    )
    assert said == apt_errors.Trouble(
        apt_rules.DKMS,
        "DKMS could not build the module for kernel 6.8.0-45-generic: its headers are not installed",
        "Install linux-headers-6.8.0-45-generic, or remove that kernel if nothing needs it",
    )


def test_words_in_a_scripts_output_are_not_taken_for_apts():
    text = POSTINST.replace("adduser: no such group", "curl: (7) Connection refused")
    assert apt_errors.explain(text).kind == apt_rules.SCRIPT
    text = POSTINST.replace("adduser: no such group", "cp: error writing 'x': No space left on device")
    assert apt_errors.explain(text).kind == apt_rules.SPACE


def test_the_key_and_the_repository_are_named():
    """Case 040: an old repository, whose key the new system does not take."""
    text = (
        "W: OpenPGP signature verification failed: https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/"
        "x86_64  InRelease: Sub-process /usr/bin/sqv returned an error code (1), error message is: Signing key on "
        "EB693B3035CD5710E231E123A4B469963BF863CC is not bound: SHA1 is not considered secure since 2026-02-01"
    )
    cause = apt_errors.explain(text).cause
    assert "key EB693B3035CD5710E231E123A4B469963BF863CC of repository https://developer.download.nvidia.com/" in cause


def test_the_key_is_named_with_the_repository_of_the_same_complaint():
    text = (
        "Err:1 http://vendor.testbed/nvidia stable InRelease\n  Could not connect to vendor.testbed:80\n"
        "Err:2 http://mine.example stable InRelease\n  The following signatures couldn't be verified because the public"
        " key is not available: NO_PUBKEY 1234567890ABCDEF\n"
        "W: Failed to fetch http://vendor.testbed/nvidia/dists/stable/InRelease  Could not connect to vendor.testbed\n"
    )
    assert apt_errors.explain(text) == apt_errors.Trouble(
        apt_rules.KEY,
        "the repository is signed with another key than the bundle has: key 1234567890ABCDEF of repository"
        " http://mine.example (apt says: The following signatures couldn't be verified because the public key is not"
        " available: NO_PUBKEY 1234567890ABCDEF)",
        "Take the vendor's current key into the bundle, and check its fingerprint with the vendor",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("E: The list of sources could not be read.\n", "E: The list of sources could not be read.\n"),
        ("", ""),
        ("Hit:1 http://vendor.testbed/nvidia x\nE: Failed to fetch http://mine.example/x  Unable to connect\n", None),
        (
            "Err:1 http://vendor.testbed/nvidia x\n  403  Forbidden\nErr:2 http://mine.example/x\n  404  Not Found\n",
            "Err:1 http://vendor.testbed/nvidia x\n  403  Forbidden",
        ),
    ],
)
def test_complaints_of_our_own_repositories_are_told_from_others(text, said):
    assert apt_errors.concerning(text, lambda name: "vendor.testbed" in name) == said


def test_which_repositories_apt_complains_of():
    text = (
        "Hit:1 http://deb.debian.org/debian trixie InRelease\n"
        "Err:2 http://vendor.testbed/nvidia stable InRelease\n"
        "E: Failed to fetch http://vendor.testbed/nvidia/dists/stable/InRelease  403\n"
    )
    assert apt_errors.repositories(text) == (
        "http://vendor.testbed/nvidia",
        "http://vendor.testbed/nvidia/dists/stable/InRelease",
    )


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        (
            "dkms: autoinstall for kernel 6.8.0-45-generic was skipped since the kernel headers for this kernel do not "
            "seem to be installed",
            "6.8.0-45-generic",
        ),
        (
            "Module build for kernel 6.8.0-45-generic was skipped since the\nkernel headers for this kernel do not",
            "6.8.0-45-generic",
        ),
        ("Error! Your kernel headers for kernel 6.1.0-9-amd64 cannot be found at /lib/modules", "6.1.0-9-amd64"),
        ("all is well", None),
    ],
)
def test_a_kernel_without_headers(text, kernel):
    assert dkms_output.skipped_for_headers(text) == kernel


def test_any_text_is_taken():
    source = random.Random(11)
    alphabet = "E: W:\n dpkgerror*** held broken http://x 404 NO_PUBKEY(')[]"
    for _round in range(300):
        text = "".join(source.choice(alphabet) for _character in range(source.randrange(160)))
        apt_errors.explain(text)
        apt_errors.repositories(text)
        dkms_output.skipped_for_headers(text)
        dkms_output.failed_builds(text)
        dkms_log.reason(text)
