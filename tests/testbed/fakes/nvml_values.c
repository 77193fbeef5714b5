// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The fake libnvidia-ml: what is measured on a device. An idle, healthy GPU; faults show in nvml_usable().

#include "nvml.h"

#include <string.h>
#include <unistd.h>

enum { GRAPHICS_MHZ_IDLE = 210, MEMORY_MHZ_GDDR = 6251, MEMORY_MHZ_HBM = 2619 };

static unsigned memory_mhz(const struct gpu *gpu)
{
    return gpu->nvlinks ? MEMORY_MHZ_HBM : MEMORY_MHZ_GDDR;
}

static unsigned max_mhz(const struct gpu *gpu, unsigned clock)
{
    enum { MEMORY = 2 };

    return clock == MEMORY ? memory_mhz(gpu) : gpu->nvlinks ? 1980 : 1695;
}

static unsigned mhz(const struct gpu *gpu, unsigned clock)
{
    enum { GRAPHICS = 0, SM = 1 };

    return clock == GRAPHICS || clock == SM ? GRAPHICS_MHZ_IDLE : max_mhz(gpu, clock);
}

static unsigned limit_mw(const struct gpu *gpu)
{
    return gpu->power_limit_w * 1000;
}

static unsigned usage_mw(const struct gpu *gpu)
{
    return limit_mw(gpu) / 10;
}

// --- temperature, power, clocks ------------------------------------------------------------------------------------

NVML_NUMBER_OF(nvmlDeviceGetTemperature, unsigned, sensor, 31)
NVML_NUMBER(nvmlDeviceGetPerformanceState, unsigned, 0)
NVML_NUMBER(nvmlDeviceGetPowerState, unsigned, 0)
NVML_NUMBER(nvmlDeviceGetPowerManagementMode, unsigned, 1)
NVML_NUMBER(nvmlDeviceGetPowerUsage, unsigned, usage_mw(gpu))
NVML_NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned, limit_mw(gpu))
NVML_NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, limit_mw(gpu))
NVML_NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, limit_mw(gpu))
NVML_NUMBER_OF(nvmlDeviceGetClockInfo, unsigned, clock, mhz(gpu, clock))
NVML_NUMBER_OF(nvmlDeviceGetMaxClockInfo, unsigned, clock, max_mhz(gpu, clock))
NVML_NUMBER_OF(nvmlDeviceGetApplicationsClock, unsigned, clock, max_mhz(gpu, clock))
NVML_NUMBER_OF(nvmlDeviceGetDefaultApplicationsClock, unsigned, clock, max_mhz(gpu, clock))
NVML_NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, 1) // idle
NVML_NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, 1)
NVML_NUMBER(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long, 0x1ff)
NVML_NUMBER(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long, 0x1ff)
NVML_NUMBER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, usage_mw(gpu))

NVML_CALL nvmlDeviceGetTemperatureThreshold(struct gpu *gpu, unsigned threshold, unsigned *answer)
{
    static const unsigned celsius[] = {98, 95, 95, 88}; // shutdown, slowdown, memory, GPU
    nvml_return code = nvml_usable(gpu, answer);

    if (code != NVML_SUCCESS)
        return code;
    if (threshold >= sizeof(celsius) / sizeof(celsius[0]))
        return NVML_NOT_SUPPORTED;
    *answer = celsius[threshold];
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetPowerManagementLimitConstraints(struct gpu *gpu, unsigned *least, unsigned *most)
{
    nvml_return code = nvml_usable(gpu, least);

    if (code != NVML_SUCCESS || !most)
        return code == NVML_SUCCESS ? NVML_INVALID_ARGUMENT : code;
    *least = 100000;
    *most = limit_mw(gpu);
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetClock(struct gpu *gpu, unsigned clock, unsigned kind, unsigned *answer)
{
    enum { CURRENT = 0 };
    nvml_return code = nvml_usable(gpu, answer);

    if (code == NVML_SUCCESS)
        *answer = kind == CURRENT ? mhz(gpu, clock) : max_mhz(gpu, clock);
    return code;
}

// --- modes ---------------------------------------------------------------------------------------------------------

// In life nvidia-persistenced tells the module; here it leaves a file as long as it runs.
static unsigned persistence_mode(void)
{
    char path[PATH_MAX];

    return access(state_path(path, PERSISTENCE_FILE), F_OK) == 0;
}

NVML_NUMBER(nvmlDeviceGetPersistenceMode, unsigned, persistence_mode())
NVML_NUMBER(nvmlDeviceGetComputeMode, unsigned, 0)
NVML_NUMBER(nvmlDeviceGetDisplayMode, unsigned, 0)
NVML_NUMBER(nvmlDeviceGetDisplayActive, unsigned, 0)
NVML_NUMBER(nvmlDeviceGetAccountingMode, unsigned, 0)
NVML_NUMBER(nvmlDeviceGetAccountingBufferSize, unsigned, 4000)
NVML_NUMBER(nvmlDeviceGetVirtualizationMode, unsigned, 0)

// --- use -----------------------------------------------------------------------------------------------------------

struct utilization {
    unsigned gpu, memory;
};

NVML_CALL nvmlDeviceGetUtilizationRates(struct gpu *gpu, struct utilization *answer)
{
    nvml_return code = nvml_usable(gpu, answer);

    if (code == NVML_SUCCESS)
        *answer = (struct utilization){0, 0};
    return code;
}

static nvml_return engine_utilization(struct gpu *gpu, unsigned *percent, unsigned *period_us)
{
    nvml_return code = nvml_usable(gpu, percent);

    if (code != NVML_SUCCESS || !period_us)
        return code == NVML_SUCCESS ? NVML_INVALID_ARGUMENT : code;
    *percent = 0;
    *period_us = 167000;
    return NVML_SUCCESS;
}

#define ENGINE(function)                                                                                               \
    NVML_CALL function(struct gpu *gpu, unsigned *percent, unsigned *period_us)                                        \
    {                                                                                                                  \
        return engine_utilization(gpu, percent, period_us);                                                            \
    }

ENGINE(nvmlDeviceGetEncoderUtilization)
ENGINE(nvmlDeviceGetDecoderUtilization)
ENGINE(nvmlDeviceGetJpgUtilization)
ENGINE(nvmlDeviceGetOfaUtilization)

static nvml_return three_zeros(struct gpu *gpu, unsigned *first, unsigned *second, unsigned *third)
{
    nvml_return code = nvml_usable(gpu, first);

    if (code == NVML_SUCCESS)
        *first = *second = *third = 0;
    return code;
}

NVML_CALL nvmlDeviceGetEncoderStats(struct gpu *gpu, unsigned *sessions, unsigned *fps, unsigned *latency)
{
    return three_zeros(gpu, sessions, fps, latency);
}

NVML_CALL nvmlDeviceGetFBCStats(struct gpu *gpu, unsigned stats[3])
{
    return three_zeros(gpu, &stats[0], &stats[1], &stats[2]);
}

// No process uses the GPU.
static nvml_return no_processes(struct gpu *gpu, unsigned *count)
{
    nvml_return code = nvml_usable(gpu, count);

    if (code == NVML_SUCCESS)
        *count = 0;
    return code;
}

#define PROCESSES(function)                                                                                            \
    NVML_CALL function(struct gpu *gpu, unsigned *count, void *processes)                                              \
    {                                                                                                                  \
        (void)processes;                                                                                               \
        return no_processes(gpu, count);                                                                               \
    }

PROCESSES(nvmlDeviceGetComputeRunningProcesses)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)

// --- errors --------------------------------------------------------------------------------------------------------

NVML_CALL nvmlDeviceGetEccMode(struct gpu *gpu, unsigned *current, unsigned *pending)
{
    nvml_return code = nvml_usable(gpu, current);

    if (code != NVML_SUCCESS || !pending)
        return code == NVML_SUCCESS ? NVML_INVALID_ARGUMENT : code;
    *current = *pending = 1;
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetTotalEccErrors(struct gpu *gpu, unsigned kind, unsigned since, unsigned long long *answer)
{
    nvml_return code = nvml_usable(gpu, answer);

    (void)kind;
    (void)since;
    if (code == NVML_SUCCESS)
        *answer = 0;
    return code;
}

NVML_CALL nvmlDeviceGetMemoryErrorCounter(struct gpu *gpu, unsigned kind, unsigned since, unsigned place,
                                          unsigned long long *answer)
{
    (void)place;
    return nvmlDeviceGetTotalEccErrors(gpu, kind, since, answer);
}

struct sram_errors {
    unsigned version;
    unsigned long long counters[12];
    unsigned threshold_exceeded;
};

NVML_CALL nvmlDeviceGetSramEccErrorStatus(struct gpu *gpu, struct sram_errors *answer)
{
    nvml_return code = nvml_usable(gpu, answer);

    if (code != NVML_SUCCESS)
        return code;
    memset(answer->counters, 0, sizeof(answer->counters));
    answer->threshold_exceeded = 0;
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetRemappedRows(struct gpu *gpu, unsigned *correctable, unsigned *uncorrectable, unsigned *pending,
                                    unsigned *failed)
{
    nvml_return code = nvml_usable(gpu, correctable);

    if (code == NVML_SUCCESS)
        *correctable = *uncorrectable = *pending = *failed = 0;
    return code;
}

struct remapper_histogram {
    unsigned max, high, partial, low, none;
};

NVML_CALL nvmlDeviceGetRowRemapperHistogram(struct gpu *gpu, struct remapper_histogram *answer)
{
    nvml_return code = nvml_usable(gpu, answer);

    if (code == NVML_SUCCESS)
        *answer = (struct remapper_histogram){.max = gpu->nvlinks ? 2560 : 192};
    return code;
}

// --- fields --------------------------------------------------------------------------------------------------------

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

// Fields that an idle, healthy GPU answers; any other is not supported.
static nvml_return read_field(const struct gpu *gpu, struct field *field)
{
    enum {
        ECC_CURRENT = 1, ECC_PENDING = 2, ECC_COUNTERS_FIRST = 3, ECC_COUNTERS_LAST = 28, NVLINK_COUNT = 91,
        PCIE_REPLAYS = 94, REMAPPED_FIRST = 142, REMAPPED_LAST = 145, POWER_AVERAGE = 185, POWER_INSTANT = 186,
        POWER_LEAST = 187, POWER_MOST = 188, POWER_DEFAULT = 189, POWER_CURRENT = 190, POWER_REQUESTED = 192,
        RECOVERY_ACTION = 230,
    };

    field->type = 1; // an unsigned int
    field->value.wide = 0;
    switch (field->id) {
    case ECC_CURRENT:
    case ECC_PENDING:
        field->value.number = 1;
        return NVML_SUCCESS;
    case NVLINK_COUNT:
        field->value.number = gpu->nvlinks;
        return NVML_SUCCESS;
    case POWER_AVERAGE:
    case POWER_INSTANT:
        field->value.number = usage_mw(gpu);
        return NVML_SUCCESS;
    case POWER_LEAST:
        field->value.number = 100000;
        return NVML_SUCCESS;
    case POWER_MOST:
    case POWER_DEFAULT:
    case POWER_CURRENT:
    case POWER_REQUESTED:
        field->value.number = limit_mw(gpu);
        return NVML_SUCCESS;
    case PCIE_REPLAYS:
    case RECOVERY_ACTION:
        return NVML_SUCCESS;
    default:
        if (field->id >= REMAPPED_FIRST && field->id <= REMAPPED_LAST)
            return NVML_SUCCESS;
        if (field->id >= ECC_COUNTERS_FIRST && field->id <= ECC_COUNTERS_LAST) {
            field->type = 3; // an unsigned long long
            return NVML_SUCCESS;
        }
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
