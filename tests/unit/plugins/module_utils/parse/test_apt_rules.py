# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose fault a failed apt is: the server's, the key's, the node's or another process's. Texts of field cases."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.parse import apt_errors, apt_rules


def assert_told(text, kind, cause, fix):
    said = apt_errors.explain(text)
    assert said.kind == kind
    assert cause in said.cause
    assert fix in said.fix


@pytest.mark.parametrize(
    ("text", "cause", "fix"),
    [
        (
            "Err:5 https://nvidia.github.io/libnvidia-container/stable/deb/amd64  InRelease\n"
            "  403  Forbidden [IP: 185.199.108.153 443]\n"
            "E: Failed to fetch https://nvidia.github.io/libnvidia-container/stable/deb/amd64/InRelease  403  "
            "Forbidden "
            "[IP: 185.199.108.153 443]\n"
            "E: The repository 'https://nvidia.github.io/libnvidia-container/stable/deb/amd64  InRelease' is not "
            "signed.\n",
            "refuses access (code 403) (apt says: Failed to fetch https://nvidia.github.io/libnvidia-container/stable",
            "Check the user and password in the address, apt's proxy on the node, and the address itself",
        ),
        (
            "E: Failed to fetch http://archive.ubuntu.com/ubuntu/dists/noble/InRelease  407  Proxy Authentication "
            "Required [IP: 10.0.0.1 3128]\nE: The repository 'http://archive.ubuntu.com/ubuntu noble InRelease' is no "
            "longer signed.\n",
            "the server or a proxy refuses access (code 407)",
            "proxy",
        ),
        ("E: Failed to fetch https://x/InRelease  401  Unauthorized [IP: 1.1.1.1 443]\n", "(code 401)", "password"),
        (
            "E: Failed to fetch https://x/InRelease  502  Bad Gateway [IP: 1.1.1.1 443]\n"
            "E: The repository 'https://x InRelease' is not signed.\n",
            "(code 502)",
            "proxy",
        ),
        (
            "E: Failed to fetch https://x/InRelease  Invalid response from proxy: HTTP/1.1 407 Proxy Authentication",
            "(code 407)",
            "proxy",
        ),
        (
            "E: Failed to fetch http://x/InRelease  Clearsigned file isn't valid, got 'NOSPLIT' (does the network "
            "require authentication?)\nE: The repository 'http://x InRelease' is not signed.\n",
            "what answers at this address is no repository",
            "Log the node in where its network asks for it",
        ),
        (
            "W: GPG error: http://x Release: The following signatures were invalid: NODATA 1 NODATA 2\n",
            "what answers at this address is no repository",
            "proxy",
        ),
        (
            "E: The repository 'http://ppa.launchpad.net/graphics-drivers/ppa/ubuntu oracular Release' no longer has a "
            "Release file.\n",
            "no such repository at this address",
            "uris, suites",
        ),
    ],
)
def test_a_server_that_gives_no_repository_is_no_question_of_keys(text, cause, fix):
    """A key that is refused would end the run, although an older index or the kept files would do."""
    assert_told(text, apt_rules.NETWORK, cause, fix)


@pytest.mark.parametrize(
    "text",
    [
        "E: The repository 'http://x InRelease' is not signed.\n",
        "E: The repository 'http://x InRelease' is no longer signed.\n",
        "E: Failed to fetch http://xy/InRelease  403  Forbidden\nE: The repository 'http://x InRelease' is not signed.",
        "W: GPG error: http://x InRelease: At least one invalid signature was encountered.\n"
        "E: The repository 'http://x InRelease' is not signed.\n",
        "E: Failed to fetch http://x/InRelease  The following signatures couldn't be verified because the "
        "public key is "
        "not available: NO_PUBKEY A4B469963BF863CC\nE: The repository 'http://x InRelease' is not signed.\n",
        "E: There were unauthenticated packages and -y was used without --allow-unauthenticated\n",
    ],
)
def test_a_repository_that_came_and_is_not_signed_is_a_question_of_keys(text):
    assert apt_errors.explain(text).kind == apt_rules.KEY


@pytest.mark.parametrize(
    ("text", "cause", "fix"),
    [
        (
            "E: Could not open lock file /var/lib/apt/lists/lock - open (30: Read-only file system)\n"
            "E: Unable to lock directory /var/lib/apt/lists/\n",
            "a file system of the node is mounted to be read only (apt says: Could not open lock file",
            "dmesg",
        ),
        (
            "W: Not using locking for read only lock file /var/lib/dpkg/lock-frontend\n"
            "E: Unable to lock directory /var/cache/apt/archives/\n",
            "read only",
            "dmesg",
        ),
        (
            "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)\n"
            "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?\n",
            "the package manager was not run as root",
            "become: true",
        ),
        (
            "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?\n",
            "not run as root",
            "become: true",
        ),
        (
            "Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 "
            "(unattended-upgr)...\n"
            "dpkg: error processing archive /a.deb (--unpack):\n trying to overwrite '/x', which is also in "
            "package y 1\n",
            "/a.deb has the file /x, which is also in y 1",
            "Remove y",
        ),
        (
            "E: The package nvidia-dkms-580 needs to be reinstalled, but I can't find an archive for it.\n",
            "nvidia-dkms-580 was left half installed",
            "dpkg --remove --force-remove-reinstreq nvidia-dkms-580",
        ),
        (
            "W: GPG error: http://x InRelease: gpgv, gpgv2 or gpgv1 required for verification, but neither seems "
            "installed\nE: The repository 'http://x InRelease' is not signed.\n",
            "no program on this node to verify signatures",
            "Install gpgv",
        ),
        (
            "W: GPG error: http://x InRelease: Couldn't create temporary file /tmp/apt.conf.abc123 for passing "
            "config to "
            "apt-key\nE: The repository 'http://x InRelease' is not signed.\n",
            "apt cannot write /tmp/apt.conf.abc123",
            "mode 1777",
        ),
        (
            "E: Repository 'http://deb.debian.org/debian buster InRelease' changed its 'Suite' value from 'stable' to "
            "'oldstable'\n",
            "http://deb.debian.org/debian calls itself something else than before (Suite: stable, now oldstable)",
            "apt-get update --allow-releaseinfo-change",
        ),
        (
            "E: Encountered a section with no Package: header\n"
            "E: Problem with MergeList /var/lib/apt/lists/developer.download.nvidia.com_Packages\n"
            "E: The package lists or status file could not be parsed or opened.\n",
            "is damaged (apt says: Problem with MergeList /var/lib/apt/lists/developer.download.nvidia.com_Packages)",
            "rm -r /var/lib/apt/lists/*",
        ),
        (
            "E: Invalid record in the preferences file /etc/apt/preferences.d/cuda-repository-pin-600, no "
            "Package header",
            "apt cannot read the pins in /etc/apt/preferences.d/cuda-repository-pin-600 (apt says",
            "Mend that file",
        ),
        (
            "E: Held packages were changed and -y was used without --allow-change-held-packages.\n",
            "would move packages that are held on the node",
            "apt-mark showhold",
        ),
    ],
)
def test_a_fault_of_the_node_is_neither_waited_for_nor_the_repositorys(text, cause, fix):
    assert_told(text, apt_rules.OTHER, cause, fix)


@pytest.mark.parametrize(
    ("text", "cause", "fix"),
    [
        (
            "E: Type '<!doctype' is not known on line 1 in source list /etc/apt/sources.list.d/nvidia.list\n"
            "E: The list of sources could not be read.\n",
            "/etc/apt/sources.list.d/nvidia.list is no list of sources: its line 1 begins with <!doctype",
            "Remove that file",
        ),
        (
            "W: http://x InRelease: The key(s) in the keyring /etc/apt/keyrings/docker.asc are ignored as the "
            "file has an "
            "unsupported filetype.\nW: GPG error: http://x InRelease: NO_PUBKEY 7EA0A9C3F273FCD8\n",
            "the key file /etc/apt/keyrings/docker.asc is in no form that apt reads",
            ".gpg",
        ),
        (
            "W: http://x: The key(s) in the keyring /etc/apt/keyrings/docker.gpg are ignored as the file is "
            "not readable "
            "by user '_apt' executing apt-key.\nW: GPG error: http://x InRelease: NO_PUBKEY 7EA0A9C3F273FCD8\n",
            "apt cannot read the key file /etc/apt/keyrings/docker.gpg",
            "chmod 644 /etc/apt/keyrings/docker.gpg",
        ),
    ],
)
def test_a_file_of_the_sources_is_named(text, cause, fix):
    assert_told(text, apt_rules.SOURCES, cause, fix)


def test_another_process_that_has_debconf_is_waited_for():
    text = (
        'debconf: DbDriver "config": /var/cache/debconf/config.dat is locked by another process: Resource temporarily\n'
        "dpkg: error processing package nvidia-kernel-common (--configure):\n"
        " installed nvidia-kernel-common package post-installation script subprocess returned error exit status 1\n"
    )
    assert apt_errors.explain(text).kind == apt_rules.LOCKED


def test_a_size_is_not_taken_for_a_servers_answer():
    text = "Need to get 512 MB of archives.\nAfter this operation, 501 MB will be used.\nE: Something new\n"
    assert apt_errors.explain(text).cause == "apt-get fails (apt says: Something new)"
