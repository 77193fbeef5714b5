// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The fake libnvidia-ml: errors of the memory, and what the GPU does about them. A GPU without ECC counts none.

#include "nvml.h"

#include <string.h>

enum { AMPERE = 7 };

// --- ECC -----------------------------------------------------------------------------------------------------------

unsigned long long nvml_ecc_errors(const struct gpu *gpu, bool uncorrected)
{
    return uncorrected && gpu->uncorrected_error ? 1 : 0;
}

// nvidia-smi asks MIG devices too.
static nvml_return ecc_usable(const struct gpu *gpu, const void *answer)
{
    nvml_return code = nvml_reachable(gpu, answer);

    return code == NVML_SUCCESS && !gpu->ecc ? NVML_NOT_SUPPORTED : code;
}

NVML_CALL nvmlDeviceGetEccMode(struct gpu *gpu, unsigned *current, unsigned *pending)
{
    nvml_return code = ecc_usable(gpu, current);

    if (code != NVML_SUCCESS || !pending)
        return code == NVML_SUCCESS ? NVML_INVALID_ARGUMENT : code;
    *current = *pending = 1;
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetDefaultEccMode(struct gpu *gpu, unsigned *mode)
{
    nvml_return code = ecc_usable(gpu, mode);

    if (code == NVML_SUCCESS)
        *mode = 1;
    return code;
}

NVML_CALL nvmlDeviceGetTotalEccErrors(struct gpu *gpu, unsigned kind, unsigned since, unsigned long long *answer)
{
    enum { UNCORRECTED = 1 };
    nvml_return code = ecc_usable(gpu, answer);

    (void)since;
    if (code == NVML_SUCCESS)
        *answer = nvml_ecc_errors(gpu, kind == UNCORRECTED);
    return code;
}

// The errors of our faults are those of the device's memory.
NVML_CALL nvmlDeviceGetMemoryErrorCounter(struct gpu *gpu, unsigned kind, unsigned since, unsigned place,
                                          unsigned long long *answer)
{
    enum { DEVICE_MEMORY = 2 };
    nvml_return code = nvmlDeviceGetTotalEccErrors(gpu, kind, since, answer);

    if (code == NVML_SUCCESS && place != DEVICE_MEMORY)
        *answer = 0;
    return code;
}

struct sram_errors {
    unsigned version;
    unsigned long long counters[12];
    unsigned threshold_exceeded;
};

NVML_CALL nvmlDeviceGetSramEccErrorStatus(struct gpu *gpu, struct sram_errors *answer)
{
    nvml_return code = ecc_usable(gpu, answer);

    if (code != NVML_SUCCESS)
        return code;
    memset(answer->counters, 0, sizeof(answer->counters));
    answer->threshold_exceeded = 0;
    return NVML_SUCCESS;
}

// --- rows that stand in for others, from Ampere on -----------------------------------------------------------------

nvml_return nvml_remapped_rows(const struct gpu *gpu, struct nvml_remapped *answer)
{
    enum { ROWS_OF_A_BANK = 8 };

    if (!gpu->ecc || gpu->architecture < AMPERE || nvml_mig_devices(gpu, NULL, 0) > 0)
        return NVML_NOT_SUPPORTED;
    *answer = (struct nvml_remapped){
        .uncorrectable = gpu->remap_failed ? ROWS_OF_A_BANK : gpu->remap_pending,
        .pending = gpu->remap_pending,
        .failed = gpu->remap_failed,
    };
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetRemappedRows(struct gpu *gpu, unsigned *correctable, unsigned *uncorrectable, unsigned *pending,
                                    unsigned *failed)
{
    nvml_return code = nvml_usable(gpu, correctable);
    struct nvml_remapped rows;

    if (code != NVML_SUCCESS)
        return code;
    if (!uncorrectable || !pending || !failed)
        return NVML_INVALID_ARGUMENT;
    code = nvml_remapped_rows(gpu, &rows);
    if (code != NVML_SUCCESS)
        return code;
    *correctable = rows.correctable;
    *uncorrectable = rows.uncorrectable;
    *pending = rows.pending;
    *failed = rows.failed;
    return NVML_SUCCESS;
}

struct remapper_histogram { // banks by how many of their spare rows are left
    unsigned max, high, partial, low, none;
};

NVML_CALL nvmlDeviceGetRowRemapperHistogram(struct gpu *gpu, struct remapper_histogram *answer)
{
    nvml_return code = nvml_usable(gpu, answer);
    unsigned banks;
    struct nvml_remapped rows;

    if (code == NVML_SUCCESS)
        code = nvml_remapped_rows(gpu, &rows);
    if (code != NVML_SUCCESS)
        return code;
    banks = gpu->nvlinks ? 2560 : 192;
    *answer = (struct remapper_histogram){
        .max = banks - (rows.pending || rows.failed), .high = rows.pending && !rows.failed, .none = rows.failed};
    return NVML_SUCCESS;
}

// --- pages that are not used any more, before Ampere ---------------------------------------------------------------

bool nvml_retires_pages(const struct gpu *gpu)
{
    return gpu->ecc && gpu->architecture < AMPERE;
}

NVML_CALL nvmlDeviceGetRetiredPagesPendingStatus(struct gpu *gpu, unsigned *pending)
{
    nvml_return code = nvml_usable(gpu, pending);

    if (code != NVML_SUCCESS)
        return code;
    if (!nvml_retires_pages(gpu))
        return NVML_NOT_SUPPORTED;
    *pending = gpu->remap_pending;
    return NVML_SUCCESS;
}

// One page, for errors that could not be corrected, waits where the fault is on.
static nvml_return retired_pages(struct gpu *gpu, unsigned cause, unsigned *count, unsigned long long *addresses,
                                 unsigned long long *times)
{
    enum { DOUBLE_BIT_ERROR = 1, ADDRESS = 0x2f4a };
    nvml_return code = nvml_usable(gpu, count);
    unsigned room;

    if (code != NVML_SUCCESS)
        return code;
    if (!nvml_retires_pages(gpu))
        return NVML_NOT_SUPPORTED;
    room = *count;
    *count = cause == DOUBLE_BIT_ERROR && gpu->remap_pending;
    if (*count == 0)
        return NVML_SUCCESS;
    if (room == 0 || !addresses)
        return NVML_INSUFFICIENT_SIZE;
    addresses[0] = ADDRESS;
    if (times)
        times[0] = 0;
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetRetiredPages(struct gpu *gpu, unsigned cause, unsigned *count, unsigned long long *addresses)
{
    return retired_pages(gpu, cause, count, addresses, NULL);
}

NVML_CALL nvmlDeviceGetRetiredPages_v2(struct gpu *gpu, unsigned cause, unsigned *count, unsigned long long *addresses,
                                       unsigned long long *times)
{
    return retired_pages(gpu, cause, count, addresses, times);
}
