# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What DKMS prints and what its make.log says, and what is made of it. Texts of field cases."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.parse import dkms_log, dkms_output
from ansible_collections.goldennode.gpu.plugins.module_utils.parse.dkms_output import Build


@pytest.mark.parametrize(
    ("log", "cause", "fix"),
    [
        (
            "Compiler version check failed:\nThe major and minor number of the compiler used to\ncompile the kernel:\n"
            "gcc version 9.1.1 20190809\ndoes not match the compiler used here:\ncc 9.2.1 20190813\n"
            "*** Failed CC version check. Bailing out! ***\n",
            "the compiler is not the one that built the kernel: the kernel was built by 9.1.1, here is 9.2.1",
            "IGNORE_CC_MISMATCH would only hide it",
        ),
        (
            "warning: the compiler differs from the one used to build the kernel\n"
            "  The kernel was built by: gcc 9.3.0\n  You are using:           gcc 11.2.0\n"
            "error: implicit declaration of function 'phys_to_dma'\n",
            "does not build on this kernel: error: implicit declaration of function 'phys_to_dma'",
            "Use a driver that supports this kernel",
        ),
        ("cc1: fatal error: write: No space left on device", "the disk is full", "Make room"),
        (
            "*** Unable to find the kernel headers\nmake: *** [Makefile:1] Error 2",
            "headers are not there or not whole",
            "Install the headers",
        ),
        ("cc: fatal error: Killed signal terminated program cc1", "the compiler was killed", "memory"),
        (
            "  The kernel was built by: x86_64-linux-gnu-gcc-12 (Ubuntu 12.3.0-1ubuntu1~22.04) 12.3.0\n"
            "  You are using:           cc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0\n"
            "cc: error: unrecognized command-line option '-ftrivial-auto-var-init=zero'\n"
            "make[3]: *** [scripts/Makefile.build:251: /var/lib/dkms/nvidia/535/build/nvidia.o] Error 1\n",
            "the compiler is older than the one that built the kernel: the kernel was built by 12.3.0, here is 11.4.0: "
            "cc: error: unrecognized command-line option '-ftrivial-auto-var-init=zero'",
            "Install the compiler that built that kernel (gcc-12)",
        ),
        (
            "/bin/sh: 1: x86_64-linux-gnu-gcc-13: not found\n"
            "make[3]: *** [scripts/Makefile.build:243: /var/lib/dkms/nvidia/550/build/nvidia/nv.o] Error 127\n",
            "the compiler for this kernel is not installed: /bin/sh: 1: x86_64-linux-gnu-gcc-13: not found",
            "Install gcc-13 on the node",
        ),
        ("/bin/sh: 1: gcc-13: not found\n", "is not installed: /bin/sh: 1: gcc-13: not found", "Install gcc-13"),
        ("sh: g++: command not found\n", "is not installed: sh: g++: command not found", "Install g++ on the node"),
        (
            "make[1]: x86_64-linux-gnu-gcc-13: No such file or directory\n"
            "make[1]: *** [Makefile:1925: /var/lib/dkms/nvidia/550/build] Error 2\n",
            "is not installed: make[1]: x86_64-linux-gnu-gcc-13: No such file or directory",
            "Install gcc-13 on the node",
        ),
        (
            "make: *** /lib/modules/6.1.0-9-amd64/build: No such file or directory.  Stop.\n",
            "the kernel's headers are not there or not whole: make: *** /lib/modules/6.1.0-9-amd64/build: No such",
            "Install the headers of exactly this kernel",
        ),
        ("make: *** No rule to make target 'modules'.  Stop.\n", "headers are not there or not whole", "headers"),
        (
            "  ERROR: Kernel configuration is invalid.\n"
            "         include/generated/autoconf.h or include/config/auto.conf are missing.\n"
            "make[1]: *** [Makefile:741: include/config/auto.conf] Error 1\n",
            "headers are not there or not whole: ERROR: Kernel configuration is invalid.",
            "Install the headers of exactly this kernel",
        ),
        (
            "ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol '__rcu_read_lock'\n"
            "make[3]: *** [/usr/src/linux-headers-6.12/scripts/Makefile.modpost:145: Module.symvers] Error 1\n",
            "the driver does not build on this kernel: ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only"
            " symbol '__rcu_read_lock'",
            "Use a driver that supports this kernel, or another kernel, in the bundle",
        ),
        (
            'ERROR: modpost: "drm_gem_object_free" [/var/lib/dkms/nvidia/build/nvidia-drm.ko] undefined!\n'
            "make[2]: *** [scripts/Makefile.modpost:133: Module.symvers] Error 1\n",
            'the driver does not build on this kernel: ERROR: modpost: "drm_gem_object_free" [',
            "Use a driver that supports this kernel",
        ),
        (
            "The CC version check failed:\n\nThe kernel was built with gcc version 11.3.0 (Ubuntu 11.3.0), but the "
            "current compiler version is cc (Ubuntu 9.5.0) 9.5.0.\n",
            "the compiler is not the one that built the kernel: the kernel was built by 11.3.0, here is 9.5.0",
            "(gcc-11)",
        ),
        (
            "The C compiler 'cc' does not appear to be able to create executables.  Please make sure you have\n",
            "the compiler on this node builds no programs: The C compiler 'cc'",
            "Install gcc and libc6-dev",
        ),
        ("ERROR: gcc-version-check failed:\n", "the compiler is not the one that built the kernel", "compiler"),
        (
            "cc1: error: incompatible gcc/plugin versions\n",
            "the compiler is not the one that built the kernel: cc1: error: incompatible gcc/plugin versions",
            "Install the compiler that built that kernel",
        ),
        (
            "/usr/src/linux-headers-6.1/tools/objtool/objtool: error while loading shared libraries: "
            "libelf.so.1: cannot",
            "a tool of the kernel's headers does not run: /usr/src/linux-headers-6.1/tools/objtool/objtool",
            "Install the library",
        ),
        ("", "the log does not say", "Read the log"),
    ],
)
def test_why_a_module_does_not_build(log, cause, fix):
    said = dkms_log.reason(log)
    assert cause in said.cause
    assert fix in said.fix


def test_the_kernels_compiler_is_known_from_the_kernel_where_the_log_does_not_name_it():
    log = "cc: error: unrecognized command-line option '-ftrivial-auto-var-init=zero'\n"
    running = (
        "Linux version 6.12.57+deb13-amd64 (debian-kernel@lists.debian.org) (x86_64-linux-gnu-gcc-14 (Debian "
        "14.2.0-19) "
        "14.2.0, GNU ld (GNU Binutils for Debian) 2.44) #1 SMP PREEMPT_DYNAMIC\n"
    )
    assert dkms_log.reason(log, running).fix == "Install the compiler that built that kernel (gcc-14)"
    assert dkms_log.reason(log).fix == "Install the compiler that built that kernel"


@pytest.mark.parametrize(("log", "whose"), [("No space left on device", "node"), ("x: error: y", "kernel")])
def test_a_node_that_cannot_build_anything_is_told_from_a_kernel(log, whose):
    assert dkms_log.reason(log).whose == whose


# --- what it prints -----------------------------------------------------------------------------------------------


def test_every_build_that_failed_is_known_with_module_version_and_kernel():
    text = (
        "Error! Bad return status for module build on kernel: 6.17.0-5-generic (x86_64)\n"
        "Consult /var/lib/dkms/nvidia/535.216.03/build/make.log for more information.\n"
        "dkms autoinstall on 6.17.0-5-generic/x86_64 failed for nvidia(10)\n"
        "Error! Bad return status for module build on kernel: 6.17.0-5-generic (x86_64)\n"
        "Consult /var/lib/dkms/virtualbox/7.0/build/make.log for more information.\n"
        "Error! Bad return status for module build on kernel: 6.8.0-45-generic (x86_64)\n"
    )
    assert dkms_output.failed_builds(text) == (
        Build("nvidia", "535.216.03", "6.17.0-5-generic", "/var/lib/dkms/nvidia/535.216.03/build/make.log"),
        Build("virtualbox", "7.0", "6.17.0-5-generic", "/var/lib/dkms/virtualbox/7.0/build/make.log"),
        Build(kernel="6.8.0-45-generic"),
    )


@pytest.mark.parametrize(
    ("module", "ours"),
    [
        ("nvidia", True),
        ("nvidia-current", True),
        ("nvidia-srv", True),
        ("nvidia-open", True),
        ("nvidia-fs", False),
        ("virtualbox", False),
        ("", False),
    ],
)
def test_which_modules_are_the_drivers(module, ours):
    assert Build(module).of_driver is ours
