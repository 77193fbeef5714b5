/*
 * Copyright (c) 2026, the goldennode.gpu authors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * uname(2) of a simulated node: the release is the one in /proc/sys/kernel/osrelease, over which the kernel player
 * binds the kernel that the node "booted". Loaded through /etc/ld.so.preload, so that uname, kmod, lspci, dkms,
 * update-initramfs and Python all see one and the same kernel. Statically linked programs still see the machine's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

int uname(struct utsname *name)
{
    char release[sizeof name->release];
    int saved = errno, fd;
    ssize_t length;

    if (syscall(SYS_uname, name) != 0)
        return -1;
    fd = open("/proc/sys/kernel/osrelease", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, release, sizeof release - 1);
        close(fd);
        if (length > 1) {
            release[length] = '\0';
            release[strcspn(release, "\n")] = '\0';
            strcpy(name->release, release);
        }
    }
    errno = saved; /* a sandbox without /proc is no error: the machine's own release stands */
    return 0;
}
