# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What dpkg says on the line below its error. Texts of field cases."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.parse import apt_errors


@pytest.mark.parametrize(
    ("why", "cause", "fix"),
    [
        (
            "dpkg: error processing archive /var/cache/apt/archives/nvidia-kernel-common-580_580.1_amd64.deb "
            "(--unpack):\n"
            " trying to overwrite '/lib/udev/rules.d/71-nvidia.rules', which is also in package nvidia-340 340.107-0\n",
            "has the file /lib/udev/rules.d/71-nvidia.rules, which is also in nvidia-340 340.107-0",
            "Remove nvidia-340 from the node if it is not needed",
        ),
        (
            "dpkg: error processing archive /tmp/apt-dpkg-install-VXedvH/07-libnvidia-glvkspirv_1_i386.deb "
            "(--unpack):\n"
            " trying to overwrite shared '/usr/share/doc/libnvidia-glvkspirv/changelog.Debian.gz', which is "
            "different from"
            " other instances of package libnvidia-glvkspirv:i386\n",
            "/usr/share/doc/libnvidia-glvkspirv/changelog.Debian.gz is not the same in the packages of two "
            "architectures",
            "Remove libnvidia-glvkspirv:i386 from the node",
        ),
        (
            "dpkg: error processing archive /var/cache/apt/archives/x.deb (--unpack):\n"
            " unable to create '/usr/lib/x.dpkg-new' (while processing './usr/lib/x'): Read-only file system\n",
            "a file system of the node is mounted to be read only",
            "dmesg",
        ),
        (
            "dpkg-deb (subprocess): decompressing archive '/a/x.deb' (size=1) member 'data.tar': lzma error: "
            "compressed "
            "data is corrupt\ndpkg: error processing archive /a/x.deb (--unpack):\n"
            " cannot copy extracted data for './usr/lib/y' to '/usr/lib/y.dpkg-new': unexpected end of file or "
            "stream\n",
            "the package file /a/x.deb is damaged",
            "Delete it (rm /a/x.deb; apt-get clean)",
        ),
        (
            "dpkg-deb: error: '/a/x.deb' is not a Debian format archive\n"
            "dpkg: error processing archive /a/x.deb (--unpack):\n"
            " dpkg-deb --control subprocess returned error exit status 2\n",
            "the package file /a/x.deb cannot be read",
            "rm /a/x.deb",
        ),
        (
            "dpkg: error processing package nvidia-dkms-580 (--configure):\n"
            " installed nvidia-dkms-580 package post-installation script subprocess was killed by signal (Killed)\n",
            "the postinst script of nvidia-dkms-580 was ended from outside (Killed)",
            "ran out of memory",
        ),
        (
            "dpkg: dependency problems prevent configuration of nvidia-driver-390:\n"
            " nvidia-driver-390 depends on nvidia-dkms-390 (>= 390.144); however:\n"
            "  Package nvidia-dkms-390 is not configured yet.\n\n"
            "dpkg: error processing package nvidia-driver-390 (--configure):\n"
            " dependency problems - leaving unconfigured\n",
            "nvidia-driver-390 cannot be configured before nvidia-dkms-390",
            "dpkg --configure nvidia-dkms-390",
        ),
        (
            "dpkg: error processing package a (--configure):\n dependency problems - leaving unconfigured\n"
            "dpkg: error processing package b (--configure):\n something new\n",
            "dpkg could not process b (dpkg says: something new)",
            "Mend what it names",
        ),
        (
            "dpkg: unrecoverable fatal error, aborting:\n"
            " files list file for package 'libnvidia-compute-580' is missing final newline\n"
            "E: Sub-process /usr/bin/dpkg returned an error code (2)\n",
            "dpkg cannot go on: files list file for package 'libnvidia-compute-580' is missing final newline",
            "/var/lib/dpkg",
        ),
        (
            "dpkg: error processing package nvidia-dkms-535 (--remove):\n"
            " package is in a very bad inconsistent state; you should\n reinstall it before attempting configuration\n",
            "nvidia-dkms-535 was left half installed",
            "dpkg --remove --force-remove-reinstreq nvidia-dkms-535",
        ),
    ],
)
def test_dpkgs_own_cause_is_on_the_line_below(why, cause, fix):
    said = apt_errors.explain(why + "E: Sub-process /usr/bin/dpkg returned an error code (1)\n")
    assert cause in said.cause
    assert fix in said.fix
