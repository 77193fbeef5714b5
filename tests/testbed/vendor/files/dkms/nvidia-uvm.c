// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Stand-in for nvidia-uvm.ko; see nvidia.c.

#include <linux/init.h>
#include <linux/module.h>

static int __init nvidia_uvm_init(void)
{
	return -ENODEV;
}

static void __exit nvidia_uvm_exit(void)
{
}

module_init(nvidia_uvm_init);
module_exit(nvidia_uvm_exit);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Stand-in for the NVIDIA uvm kernel module");
MODULE_VERSION(NV_VERSION);
MODULE_SOFTDEP("pre: nvidia");
