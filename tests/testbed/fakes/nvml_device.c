// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The fake libnvidia-ml: what a device is (names, PCI, memory) and how it is joined to others (topology, fabric).

#include "nvml.h"

#include <stdio.h>
#include <string.h>

// --- names ---------------------------------------------------------------------------------------------------------

static const char *text_of(const char *format, unsigned number)
{
    static _Thread_local char text[64];

    snprintf(text, sizeof(text), format, number);
    return text;
}

NVML_TEXT(nvmlDeviceGetName, gpu->name)
NVML_TEXT(nvmlDeviceGetUUID, gpu->uuid)
NVML_TEXT(nvmlDeviceGetSerial, text_of("16540230%05u", gpu->index + 1))
NVML_TEXT(nvmlDeviceGetVbiosVersion, gpu->architecture >= 9 ? "96.00.89.00.01" : "94.02.75.00.01")
NVML_TEXT(nvmlDeviceGetBoardPartNumber, text_of("900-2%04X-0000-000", gpu->device_id))
NVML_TEXT(nvmlDeviceGetInforomImageVersion, "G520.0200.00.05")

NVML_NUMBER(nvmlDeviceGetMinorNumber, unsigned, gpu->minor)
NVML_NUMBER(nvmlDeviceGetModuleId, unsigned, gpu->index)
NVML_NUMBER(nvmlDeviceGetBoardId, unsigned, gpu->bus << 8)
NVML_NUMBER(nvmlDeviceGetMultiGpuBoard, unsigned, 0)
NVML_NUMBER(nvmlDeviceGetArchitecture, unsigned, gpu->architecture)
NVML_NUMBER(nvmlDeviceGetBrand, unsigned, 14) // NVIDIA

NVML_CALL nvmlDeviceGetInforomVersion(struct gpu *gpu, unsigned object, char *answer, unsigned size)
{
    static const char *const versions[] = {"2.1", "7.16", "1.1"}; // OEM, ECC, power
    nvml_return code = nvml_usable(gpu, answer);

    if (code != NVML_SUCCESS)
        return code;
    return object < 3 ? nvml_copy_text(answer, size, versions[object]) : NVML_NOT_SUPPORTED;
}

NVML_CALL nvmlDeviceGetCudaComputeCapability(struct gpu *gpu, int *major, int *minor)
{
    nvml_return code = nvml_usable(gpu, major);

    if (code != NVML_SUCCESS || !minor)
        return code == NVML_SUCCESS ? NVML_INVALID_ARGUMENT : code;
    *major = (int)gpu->cc_major;
    *minor = (int)gpu->cc_minor;
    return NVML_SUCCESS;
}

// The caller's buffer has 64 bytes, by NVML's contract.
NVML_CALL nvmlDeviceGetGspFirmwareVersion(struct gpu *gpu, char *answer)
{
    nvml_return code = nvml_usable(gpu, answer);

    return code == NVML_SUCCESS ? nvml_copy_text(answer, 64, nvml.state.module_version) : code;
}

// The GSP firmware runs on every GPU that the open module drives: enabled, and by default.
NVML_CALL nvmlDeviceGetGspFirmwareMode(struct gpu *gpu, unsigned *enabled, unsigned *by_default)
{
    nvml_return code = nvml_usable(gpu, enabled);

    if (code != NVML_SUCCESS || !by_default)
        return code == NVML_SUCCESS ? NVML_INVALID_ARGUMENT : code;
    *enabled = *by_default = 1;
    return NVML_SUCCESS;
}

// --- PCI -----------------------------------------------------------------------------------------------------------

struct pci_info_ext {
    unsigned version;
    unsigned domain, bus, device;
    unsigned device_id, subsystem_id;
    unsigned base_class, sub_class;
    char bus_id[32];
};

static unsigned pci_id(const struct gpu *gpu)
{
    return gpu->device_id << 16 | 0x10de;
}

void nvml_fill_pci_info(const struct gpu *gpu, struct pci_info *answer)
{
    memset(answer, 0, sizeof(*answer));
    answer->domain = gpu->domain;
    answer->bus = gpu->bus;
    answer->device = gpu->slot;
    answer->device_id = pci_id(gpu);
    answer->subsystem_id = pci_id(gpu);
    snprintf(answer->bus_id_legacy, sizeof(answer->bus_id_legacy), "%04X:%02X:%02X.0", gpu->domain & 0xffff,
             gpu->bus & 0xff, gpu->slot & 0xff);
    snprintf(answer->bus_id, sizeof(answer->bus_id), "%08X:%02X:%02X.0", gpu->domain, gpu->bus, gpu->slot);
}

NVML_CALL nvmlDeviceGetPciInfo_v3(struct gpu *gpu, struct pci_info *answer)
{
    nvml_return code = nvml_usable(gpu, answer);

    if (code == NVML_SUCCESS)
        nvml_fill_pci_info(gpu, answer);
    return code;
}

NVML_CALL nvmlDeviceGetPciInfoExt(struct gpu *gpu, struct pci_info_ext *answer)
{
    nvml_return code = nvml_usable(gpu, answer);

    if (code != NVML_SUCCESS)
        return code;
    answer->domain = gpu->domain;
    answer->bus = gpu->bus;
    answer->device = gpu->slot;
    answer->device_id = pci_id(gpu);
    answer->subsystem_id = pci_id(gpu);
    answer->base_class = 3; // display controller
    answer->sub_class = 2;  // 3D
    snprintf(answer->bus_id, sizeof(answer->bus_id), "%08X:%02X:%02X.0", gpu->domain, gpu->bus, gpu->slot);
    return NVML_SUCCESS;
}

NVML_NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, gpu->pcie_generation)
NVML_NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, gpu->pcie_generation)
NVML_NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned, gpu->pcie_generation)
NVML_NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, gpu->pcie_width_now)
NVML_NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned, gpu->pcie_width)
NVML_NUMBER(nvmlDeviceGetPcieReplayCounter, unsigned, 0)
NVML_NUMBER_OF(nvmlDeviceGetPcieThroughput, unsigned, direction, 0)

// --- memory --------------------------------------------------------------------------------------------------------

struct memory {
    unsigned long long total, free, used;
};

struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

enum { MIB = 1 << 20 };

static unsigned long long used_memory(const struct gpu *gpu)
{
    return gpu->process && !gpu->parent ? (unsigned long long)NVML_PROCESS_MIB * MIB : 0;
}

static unsigned long long reserved_memory(const struct gpu *gpu)
{
    return (unsigned long long)(gpu->memory_mib / 150) * MIB; // about what the driver keeps for itself
}

NVML_CALL nvmlDeviceGetMemoryInfo(struct gpu *gpu, struct memory *answer)
{
    nvml_return code = nvml_reachable(gpu, answer);

    if (code != NVML_SUCCESS)
        return code;
    answer->total = (unsigned long long)gpu->memory_mib * MIB;
    answer->used = reserved_memory(gpu) + used_memory(gpu);
    answer->free = answer->total - answer->used;
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetMemoryInfo_v2(struct gpu *gpu, struct memory_v2 *answer)
{
    nvml_return code = nvml_reachable(gpu, answer);

    if (code != NVML_SUCCESS)
        return code;
    answer->total = (unsigned long long)gpu->memory_mib * MIB;
    answer->reserved = reserved_memory(gpu);
    answer->used = used_memory(gpu);
    answer->free = answer->total - answer->reserved - answer->used;
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetBAR1MemoryInfo(struct gpu *gpu, struct memory *answer) // total, free, used as well
{
    nvml_return code = nvml_reachable(gpu, answer);

    if (code != NVML_SUCCESS)
        return code;
    answer->total = (unsigned long long)(gpu->memory_mib > 65536 ? 131072 : 32768) * MIB;
    answer->used = MIB;
    answer->free = answer->total - answer->used;
    return NVML_SUCCESS;
}

// --- topology and fabric -------------------------------------------------------------------------------------------

enum { SAME_NUMA_NODE = 40, ACROSS_THE_SYSTEM = 50 };

NVML_CALL nvmlDeviceGetTopologyCommonAncestor(struct gpu *gpu, struct gpu *other, unsigned *level)
{
    nvml_return code = nvml_usable(gpu, level);

    if (code != NVML_SUCCESS)
        return code;
    *level = gpu == other ? 0 : gpu->numa == other->numa ? SAME_NUMA_NODE : ACROSS_THE_SYSTEM;
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetTopologyNearestGpus(struct gpu *gpu, unsigned level, unsigned *count, struct gpu **answer)
{
    unsigned found = 0;
    nvml_return code = nvml_usable(gpu, count);

    if (code != NVML_SUCCESS)
        return code;
    for (unsigned i = 0; i < nvml.visible_count; i++) {
        struct gpu *other = nvml.visible[i];

        if (other == gpu || (other->numa == gpu->numa ? SAME_NUMA_NODE : ACROSS_THE_SYSTEM) != level)
            continue;
        if (answer && found < *count)
            answer[found] = other;
        found++;
    }
    *count = found;
    return NVML_SUCCESS;
}

// The profile knows NUMA nodes, not CPUs: the first word of the mask is the one node, as bits.
NVML_CALL nvmlDeviceGetMemoryAffinity(struct gpu *gpu, unsigned words, unsigned long *mask, unsigned scope)
{
    nvml_return code = nvml_usable(gpu, mask);

    (void)scope;
    if (code != NVML_SUCCESS || words == 0)
        return code == NVML_SUCCESS ? NVML_INVALID_ARGUMENT : code;
    memset(mask, 0, words * sizeof(*mask));
    mask[0] = 1UL << gpu->numa;
    return NVML_SUCCESS;
}

// NVLink's read, write and so on work between GPUs that hang on a switch.
NVML_CALL nvmlDeviceGetP2PStatus(struct gpu *gpu, struct gpu *other, unsigned capability, unsigned *status)
{
    enum { OK = 0, CHIPSET_NOT_SUPPORTED = 1 };
    nvml_return code = nvml_usable(gpu, status);

    (void)capability;
    if (code != NVML_SUCCESS)
        return code;
    *status = gpu->nvlinks && other && other->nvlinks ? OK : CHIPSET_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetNvLinkState(struct gpu *gpu, unsigned link, unsigned *active)
{
    nvml_return code = nvml_usable(gpu, active);

    if (code != NVML_SUCCESS)
        return code;
    if (link >= gpu->nvlinks)
        return gpu->nvlinks ? NVML_INVALID_ARGUMENT : NVML_NOT_SUPPORTED;
    *active = nvml.state.fabric == FABRIC_COMPLETED;
    return NVML_SUCCESS;
}

struct fabric_info {
    unsigned char cluster_uuid[16];
    nvml_return status;
    unsigned clique;
    unsigned char state;
};

struct fabric_info_v {
    unsigned version; // low 24 bits: the size the caller gave; 3 has a health summary at the end
    unsigned char cluster_uuid[16];
    nvml_return status;
    unsigned clique;
    unsigned char state;
    unsigned health_mask;
    unsigned char health_summary;
};

static unsigned char fabric_state(const struct gpu *gpu)
{
    return gpu->nvlinks && nvml.state.nvswitch_count ? (unsigned char)nvml.state.fabric : 0; // 0: not supported
}

NVML_CALL nvmlDeviceGetGpuFabricInfo(struct gpu *gpu, struct fabric_info *answer)
{
    nvml_return code = nvml_usable(gpu, answer);

    if (code != NVML_SUCCESS)
        return code;
    memset(answer, 0, sizeof(*answer));
    answer->state = fabric_state(gpu);
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetGpuFabricInfoV(struct gpu *gpu, struct fabric_info_v *answer)
{
    enum { HEALTHY = 1, UNHEALTHY = 2, NO_DEGRADED_BANDWIDTH = 2, ROUTE_UNHEALTHY = 1 << 4 };
    nvml_return code = nvml_usable(gpu, answer);
    unsigned version;

    if (code != NVML_SUCCESS)
        return code;
    version = answer->version;
    memset(answer, 0, version >> 24 >= 3 ? sizeof(*answer) : offsetof(struct fabric_info_v, health_summary));
    answer->version = version;
    answer->state = fabric_state(gpu);
    if (answer->state != FABRIC_COMPLETED)
        return NVML_SUCCESS;
    answer->health_mask = NO_DEGRADED_BANDWIDTH | (gpu->fabric_unhealthy ? ROUTE_UNHEALTHY : 0);
    if (version >> 24 >= 3)
        answer->health_summary = gpu->fabric_unhealthy ? UNHEALTHY : HEALTHY;
    return NVML_SUCCESS;
}
