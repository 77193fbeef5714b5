// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Stand-in for nvidia.ko: what modinfo, depmod and modprobe.d see of the real one. It drives nothing: loaded into a
// kernel it says, as the real one does on such a machine, that there is no GPU.

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>
#ifdef NV_FOR_OLD_KERNELS
#include <linux/time.h>
#endif

static int NVreg_ModifyDeviceFiles = 1;
module_param(NVreg_ModifyDeviceFiles, int, 0444);
static int NVreg_DeviceFileUID;
module_param(NVreg_DeviceFileUID, int, 0444);
static int NVreg_DeviceFileGID;
module_param(NVreg_DeviceFileGID, int, 0444);
static int NVreg_DeviceFileMode = 0666;
module_param(NVreg_DeviceFileMode, int, 0444);

static int __init nvidia_init(void)
{
#ifdef NV_FOR_OLD_KERNELS
	// Gone since Linux 5.0: a driver of this source builds on no kernel that is in use.
	struct timeval now;

	do_gettimeofday(&now);
	pr_info("NVRM: loaded at %ld\n", now.tv_sec);
#endif
	pr_warn("NVRM: No NVIDIA GPU found.\n");
	return -ENODEV;
}

static void __exit nvidia_exit(void)
{
}

module_init(nvidia_init);
module_exit(nvidia_exit);

MODULE_LICENSE(NV_LICENSE);
MODULE_DESCRIPTION("Stand-in for the NVIDIA kernel module");
MODULE_VERSION(NV_VERSION);
MODULE_ALIAS("pci:v000010DEd*sv*sd*bc03sc00i00*");
MODULE_ALIAS("pci:v000010DEd*sv*sd*bc03sc02i00*");
MODULE_ALIAS("pci:v000010DEd*sv*sd*bc06sc80i00*");
MODULE_FIRMWARE("nvidia/" NV_VERSION "/gsp_ga10x.bin");
MODULE_FIRMWARE("nvidia/" NV_VERSION "/gsp_tu10x.bin");
