// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The fake libnvidia-ml: the table of internal functions that nvidia-smi asks for. Without one it refuses to work with
// the library ("Mismatch in versions between nvidia-smi and NVML"). What the functions do was found by watching it.

#include "nvml.h"

#include <stdint.h>

NVML_CALL nvmlInternalGetExportTable(const void **table, const void *id);

typedef nvml_return (*internal_function)(void);

enum { FUNCTIONS = 400, COMMON_PATH = 23, PCI_INFO_OF_INDEX = 81 };

static nvml_return not_supported(void)
{
    return NVML_NOT_SUPPORTED;
}

// The cells of `topo -m`: 3 is NODE, 4 is SYS, and 4 + n is NVn.
static nvml_return common_path(const char *address, const char *other_address, unsigned *path)
{
    enum { NODE = 3, SYS = 4 };
    const struct gpu *gpu = nvml_find_pci(address), *other = nvml_find_pci(other_address);

    if (!gpu || !other)
        return NVML_NOT_FOUND;
    if (gpu->nvlinks && other->nvlinks)
        *path = SYS + gpu->nvlinks;
    else
        *path = gpu->numa == other->numa ? NODE : SYS;
    return NVML_SUCCESS;
}

// Names the GPU in "Unable to determine the device handle for GPU0000:17:00.0", for which no handle can be had.
static nvml_return pci_info_of_index(unsigned index, struct pci_info *answer)
{
    if (index >= nvml.visible_count)
        return NVML_INVALID_ARGUMENT;
    nvml_fill_pci_info(nvml.visible[index], answer);
    return NVML_SUCCESS;
}

NVML_CALL nvmlInternalGetExportTable(const void **table, const void *id)
{
    static union {
        uintptr_t size; // in bytes, of the whole table
        internal_function function;
    } entries[1 + FUNCTIONS];

    (void)id;
    if (!table)
        return NVML_INVALID_ARGUMENT;
    entries[0].size = sizeof(entries);
    for (int i = 1; i <= FUNCTIONS; i++)
        entries[i].function = not_supported;
    entries[COMMON_PATH].function = (internal_function)(void *)common_path;
    entries[PCI_INFO_OF_INDEX].function = (internal_function)(void *)pci_info_of_index;
    *table = entries;
    return NVML_SUCCESS;
}
