// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The fake libnvidia-ml: the table of internal functions that nvidia-smi asks for. Without one it refuses to work with
// the library ("Mismatch in versions between nvidia-smi and NVML").

#include "nvml.h"

#include <stdint.h>

NVML_CALL nvmlInternalGetExportTable(const void **table, const void *id);

static nvml_return not_supported(void)
{
    return NVML_NOT_SUPPORTED;
}

// nvidia-smi's `topo -m` asks this one for every pair of GPUs, and gives up unless it succeeds.
static nvml_return accepted(void)
{
    return NVML_SUCCESS;
}

NVML_CALL nvmlInternalGetExportTable(const void **table, const void *id)
{
    enum { FUNCTIONS = 400, ACCEPTED = 23 };
    static union {
        uintptr_t size; // in bytes, of the whole table
        nvml_return (*function)(void);
    } entries[1 + FUNCTIONS];

    (void)id;
    if (!table)
        return NVML_INVALID_ARGUMENT;
    entries[0].size = sizeof(entries);
    for (int i = 1; i <= FUNCTIONS; i++)
        entries[i].function = i == ACCEPTED ? accepted : not_supported;
    *table = entries;
    return NVML_SUCCESS;
}
