# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of apt, recorded from apt 3.0 (Debian 13) and 2.6 (Debian 12), and sources files as they are found."""

from __future__ import annotations

import random

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import apt_text
from ansible_collections.goldennode.gpu.plugins.module_utils.apt_text import Available
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Package

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


def test_what_a_transaction_does_with_names_of_foreign_architectures():
    text = (
        "Remv nvidia-headless-450-server [450.119.04-0ubuntu1]\n"
        "Remv libcuda1:i386 [580.159.03-1]\n"
        "Inst libcuda1 [580.159.03-1] (580.178.04-1 NVIDIA:stable [amd64]) []\n"
        "Inst nvidia-smi (580.178.04-1 local-deb [amd64])\n"
        "Inst docker-ce [5:26.1.4-1~debian.13~trixie] (5:26.1.5-1~debian.13~trixie Docker:stable [amd64])\n"
        "Conf libcuda1 (580.178.04-1 NVIDIA:stable [amd64])\n"
    )
    found = apt_text.transaction(text)
    assert found.removes == {
        "nvidia-headless-450-server": "450.119.04-0ubuntu1",
        "libcuda1:i386": "580.159.03-1",
    }
    assert found.installs == {
        "libcuda1": "580.178.04-1",
        "nvidia-smi": "580.178.04-1",
        "docker-ce": "5:26.1.5-1~debian.13~trixie",
    }


def test_a_version_that_is_only_installed_is_not_offered():
    text = (
        "libcuda1:\n  Installed: 580.159.03-1\n  Candidate: 580.159.03-1\n  Version table:\n"
        "     595.71.05-1 500\n        500 http://vendor.testbed/nvidia stable/main amd64 Packages\n"
        " *** 580.159.03-1 1001\n        100 /var/lib/dpkg/status\n"
    )
    assert apt_text.offered(text) == {"libcuda1": ("595.71.05-1",)}
    assert apt_text.offered(POLICY) == {
        "docker-ce": ("5:26.1.5-1~debian.13~trixie", "5:26.1.4-1~debian.13~trixie"),
        "linux-image-amd64": ("6.12.117-1", "6.12.57-1"),
        "docker": (),
    }


def test_a_version_that_comes_to_a_share_of_all_machines_first():
    """As apt-cache prints Ubuntu's phased updates; seen with apt 3.0.4 and Phased-Update-Percentage in an index."""
    text = (
        "libcuda1:\n  Installed: 580.159.03-1\n  Candidate: 580.178.04-1\n  Version table:\n"
        "     580.178.04-1 500 (phased 10%)\n        500 file:/repo ./ Packages\n"
        " *** 580.159.03-1 500\n        100 /var/lib/dpkg/status\n"
    )
    assert apt_text.offered(text) == {"libcuda1": ("580.178.04-1",)}
    assert apt_text.policy(text)["libcuda1"].versions == ("580.178.04-1", "580.159.03-1")


def test_relations_of_every_version():
    """As apt-cache show prints them: a stanza for each version, and all their fields."""
    text = (
        "Package: linux-modules-nvidia-580-server-open-6.8.0-79-generic\nVersion: 6.8.0-79.79+1\nPriority: optional\n"
        "Depends: nvidia-kernel-common-580-server (>= 580.178.04)\nDescription: x\n further\n\n"
        "Package: linux-modules-nvidia-580-server-open-6.8.0-79-generic\nVersion: 6.8.0-79.79\n\nVersion: 1\n"
    )
    name = "linux-modules-nvidia-580-server-open-6.8.0-79-generic"
    assert apt_text.depends(text) == {
        (name, "6.8.0-79.79+1"): "nvidia-kernel-common-580-server (>= 580.178.04)",
        (name, "6.8.0-79.79"): "",
    }


def test_what_dpkgs_status_says_is_installed():
    text = (
        "Package: bash\nStatus: install ok installed\nVersion: 5.2\n\n"
        "Package: libcuda1\nStatus: hold ok installed\nArchitecture: amd64\nVersion: 580.159.03-1\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\n"
        "Package: half\nStatus: install ok half-configured\nVersion: 1\n"
    )
    assert apt_text.status(text) == {
        "bash": Package("bash", "5.2"),
        "libcuda1": Package("libcuda1", "580.159.03-1", held=True),
    }


def test_files_of_a_repository():
    digest = "82130bb6a560cd2a7234d8018baf73f188f5dd56413d5aa0accc987b2197a6a1"
    text = (
        "'http://x/pool/docker-ce_26.1.4-1_amd64.deb' docker-ce_5%3a26.1.4-1~debian.13_amd64.deb 1490652 SHA256:"
        + digest
        + "\n'http://x/y_1_all.deb' y_1_all.deb 7 MD5Sum:0123\nW: something\n"
    )
    assert apt_text.downloads(text) == {
        "docker-ce=5:26.1.4-1~debian.13": apt_text.Download(
            "docker-ce_5%3a26.1.4-1~debian.13_amd64.deb", 1490652, digest
        ),
        "y=1": apt_text.Download("y_1_all.deb", 7, ""),
    }


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("After this operation, 1,306 MB of additional disk space will be used.", 1306000000),
        ("After this operation, 36.9 kB of additional disk space will be used.", 36900),
        ("After this operation, 512 B of additional disk space will be used.", 512),
        ("After this operation, 3 MB disk space will be freed.", 0),
        ("", 0),
    ],
)
def test_what_an_installation_takes(text, size):
    assert apt_text.disk_space(text) == size


def test_any_text_is_taken():
    source = random.Random(7)
    alphabet = "deb Types:\n[]= #./:~Inst(Remv)E:\t *é-0123"
    for _round in range(300):
        text = "".join(source.choice(alphabet) for _character in range(source.randrange(120)))
        apt_text.policy(text)
        apt_text.depends(text)
        apt_text.status(text)
        apt_text.simulation(text)
        apt_text.transaction(text)
        apt_text.offered(text)
        apt_text.downloads(text)
        apt_text.disk_space(text)
