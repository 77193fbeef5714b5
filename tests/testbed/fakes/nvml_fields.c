// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The fake libnvidia-ml: values that are asked for by number. They say the same as the functions do.

#include "nvml.h"

#include <stdlib.h>

enum field_id {
    ECC_CURRENT = 1, ECC_PENDING = 2, ECC_COUNTERS_FIRST = 3, ECC_COUNTERS_LAST = 28, RETIRED_SBE = 29,
    RETIRED_DBE = 30, RETIRED_PENDING = 31, NVLINK_COUNT = 91, PCIE_REPLAYS = 94, REMAPPED_CORRECTABLE = 142,
    REMAPPED_UNCORRECTABLE = 143, REMAPPED_PENDING = 144, REMAPPED_FAILURE = 145, POWER_AVERAGE = 185,
    POWER_INSTANT = 186, POWER_LEAST = 187, POWER_MOST = 188, POWER_DEFAULT = 189, POWER_CURRENT = 190,
    POWER_REQUESTED = 192, RESET_REQUIRED = 226, DRAIN_RECOMMENDED = 227, RECOVERY_ACTION = 230,
};

struct field {
    unsigned id, scope;
    long long timestamp, latency_us;
    unsigned type;
    nvml_return code;
    union {
        unsigned number;
        unsigned long long wide;
    } value;
};

static nvml_return read_power(const struct gpu *gpu, struct field *field)
{
    switch (field->id) {
    case POWER_AVERAGE:
    case POWER_INSTANT:
        field->value.number = nvml_usage_mw(gpu);
        return NVML_SUCCESS;
    case POWER_LEAST:
        field->value.number = 100000;
        return NVML_SUCCESS;
    default:
        field->value.number = nvml_limit_mw(gpu);
        return NVML_SUCCESS;
    }
}

static nvml_return read_ecc(const struct gpu *gpu, struct field *field)
{
    enum { VOLATILE_TOTAL = 4, AGGREGATE_TOTAL = 6, VOLATILE_MEMORY = 12, AGGREGATE_MEMORY = 23 };
    unsigned id = field->id;

    if (!gpu->ecc)
        return NVML_NOT_SUPPORTED;
    if (id == ECC_CURRENT || id == ECC_PENDING) {
        field->value.number = 1;
        return NVML_SUCCESS;
    }
    field->type = 3; // an unsigned long long
    if (id == VOLATILE_TOTAL || id == AGGREGATE_TOTAL || id == VOLATILE_MEMORY || id == AGGREGATE_MEMORY)
        field->value.wide = nvml_ecc_errors(gpu, true);
    return NVML_SUCCESS;
}

static nvml_return read_retired(const struct gpu *gpu, struct field *field)
{
    if (!nvml_retires_pages(gpu))
        return NVML_NOT_SUPPORTED;
    field->value.number = field->id != RETIRED_SBE && gpu->remap_pending;
    return NVML_SUCCESS;
}

static nvml_return read_remapped(const struct gpu *gpu, struct field *field)
{
    struct nvml_remapped rows;
    nvml_return code = nvml_remapped_rows(gpu, &rows);

    if (code != NVML_SUCCESS)
        return code;
    field->value.number = field->id == REMAPPED_CORRECTABLE     ? rows.correctable
                          : field->id == REMAPPED_UNCORRECTABLE ? rows.uncorrectable
                          : field->id == REMAPPED_PENDING       ? rows.pending
                                                                : rows.failed;
    return NVML_SUCCESS;
}

// What the driver wants done with the GPU; it says so since branch 570.
static nvml_return read_recovery_action(const struct gpu *gpu, struct field *field)
{
    enum { NONE = 0, RESET = 1, FIRST_BRANCH = 570 };

    if (atoi(nvml.state.module_version) < FIRST_BRANCH)
        return NVML_NOT_SUPPORTED;
    field->value.number = gpu->reset_required ? RESET : NONE;
    return NVML_SUCCESS;
}

static nvml_return read_field(const struct gpu *gpu, struct field *field)
{
    field->type = 1; // an unsigned int
    field->value.wide = 0;
    switch (field->id) {
    case ECC_CURRENT ... ECC_COUNTERS_LAST:
        return read_ecc(gpu, field);
    case RETIRED_SBE ... RETIRED_PENDING:
        return read_retired(gpu, field);
    case REMAPPED_CORRECTABLE ... REMAPPED_FAILURE:
        return read_remapped(gpu, field);
    case POWER_AVERAGE ... POWER_CURRENT:
    case POWER_REQUESTED:
        return read_power(gpu, field);
    case NVLINK_COUNT:
        field->value.number = gpu->nvlinks;
        return NVML_SUCCESS;
    case RESET_REQUIRED:
        field->value.number = gpu->reset_required;
        return NVML_SUCCESS;
    case PCIE_REPLAYS:
    case DRAIN_RECOMMENDED:
        return NVML_SUCCESS;
    case RECOVERY_ACTION:
        return read_recovery_action(gpu, field);
    default:
        return NVML_NOT_SUPPORTED;
    }
}

NVML_CALL nvmlDeviceGetFieldValues(struct gpu *gpu, int count, struct field *fields)
{
    nvml_return code = nvml_usable(gpu, fields);

    if (code != NVML_SUCCESS)
        return code;
    for (int i = 0; i < count; i++) {
        fields[i].timestamp = fields[i].latency_us = 0;
        fields[i].code = read_field(gpu, &fields[i]);
    }
    return NVML_SUCCESS;
}
