/*
 * Copyright (c) 2026, the goldennode.gpu authors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the kernel of a simulated node answers where no file can be put over the machine's. Loaded through
 * /etc/ld.so.preload; statically linked programs still see the machine's.
 *
 * uname(2): the release is the one in /proc/sys/kernel/osrelease, over which the kernel player binds the kernel that the
 * node "booted", so that uname, kmod, lspci, dkms, update-initramfs and Python all see one and the same kernel.
 *
 * statfs(2): the directory of EFI variables says that it is one; mokutil and efibootmgr ask before they use it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#define EFIVARS "/sys/firmware/efi/efivars"
#define EFIVARFS_MAGIC 0xde5e81e4

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

int statfs(const char *path, struct statfs *answer)
{
    if (syscall(SYS_statfs, path, answer) != 0)
        return -1;
    if (strncmp(path, EFIVARS, strlen(EFIVARS)) == 0)
        answer->f_type = EFIVARFS_MAGIC;
    return 0;
}
