// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The fake libnvidia-ml: what is measured on a device. An idle GPU, unless a fault makes it hot or busy.

#include "nvml.h"

#include <stdio.h>
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

unsigned nvml_limit_mw(const struct gpu *gpu)
{
    return gpu->power_limit_w * 1000;
}

unsigned nvml_usage_mw(const struct gpu *gpu)
{
    return nvml_limit_mw(gpu) / 10;
}

// Why the clocks are not higher. Hardware that slows a hot GPU down says so twice: in general, and for which reason.
static unsigned long long clock_reasons(const struct gpu *gpu)
{
    enum { IDLE = 0x1, HW_SLOWDOWN = 0x8, HW_THERMAL_SLOWDOWN = 0x40 };

    return (gpu->process ? 0 : IDLE) | (gpu->throttled ? HW_SLOWDOWN | HW_THERMAL_SLOWDOWN : 0);
}

static const unsigned CELSIUS[] = {98, 95, 95, 88}; // thresholds: shutdown, slowdown, memory, GPU

// --- temperature, power, clocks ------------------------------------------------------------------------------------

NVML_NUMBER_OF(nvmlDeviceGetTemperature, unsigned, sensor, gpu->throttled ? CELSIUS[1] + 1 : 31)
NVML_NUMBER(nvmlDeviceGetPerformanceState, unsigned, 0)
NVML_NUMBER(nvmlDeviceGetPowerState, unsigned, 0)
NVML_NUMBER(nvmlDeviceGetPowerManagementMode, unsigned, 1)
NVML_NUMBER(nvmlDeviceGetPowerUsage, unsigned, nvml_usage_mw(gpu))
NVML_NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned, nvml_limit_mw(gpu))
NVML_NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, nvml_limit_mw(gpu))
NVML_NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, nvml_limit_mw(gpu))
NVML_NUMBER_OF(nvmlDeviceGetClockInfo, unsigned, clock, mhz(gpu, clock))
NVML_NUMBER_OF(nvmlDeviceGetMaxClockInfo, unsigned, clock, max_mhz(gpu, clock))
NVML_NUMBER_OF(nvmlDeviceGetApplicationsClock, unsigned, clock, max_mhz(gpu, clock))
NVML_NUMBER_OF(nvmlDeviceGetDefaultApplicationsClock, unsigned, clock, max_mhz(gpu, clock))
NVML_NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, clock_reasons(gpu))
NVML_NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, clock_reasons(gpu))
NVML_NUMBER(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long, 0x1ff)
NVML_NUMBER(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long, 0x1ff)
NVML_NUMBER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, nvml_usage_mw(gpu))

NVML_CALL nvmlDeviceGetTemperatureThreshold(struct gpu *gpu, unsigned threshold, unsigned *answer)
{
    nvml_return code = nvml_usable(gpu, answer);

    if (code != NVML_SUCCESS)
        return code;
    if (threshold >= sizeof(CELSIUS) / sizeof(CELSIUS[0]))
        return NVML_NOT_SUPPORTED;
    *answer = CELSIUS[threshold];
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetPowerManagementLimitConstraints(struct gpu *gpu, unsigned *least, unsigned *most)
{
    nvml_return code = nvml_usable(gpu, least);

    if (code != NVML_SUCCESS || !most)
        return code == NVML_SUCCESS ? NVML_INVALID_ARGUMENT : code;
    *least = 100000;
    *most = nvml_limit_mw(gpu);
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

// A GPU in MIG mode has no utilization of its own.
NVML_CALL nvmlDeviceGetUtilizationRates(struct gpu *gpu, struct utilization *answer)
{
    nvml_return code = nvml_usable(gpu, answer);

    if (code != NVML_SUCCESS)
        return code;
    if (gpu->mig_enabled)
        return NVML_NOT_SUPPORTED;
    *answer = (struct utilization){gpu->process ? 97 : 0, gpu->process ? 40 : 0};
    return NVML_SUCCESS;
}

static nvml_return engine_utilization(struct gpu *gpu, unsigned *percent, unsigned *period_us)
{
    nvml_return code = nvml_usable(gpu, percent);

    if (code != NVML_SUCCESS || !period_us)
        return code == NVML_SUCCESS ? NVML_INVALID_ARGUMENT : code;
    if (gpu->mig_enabled)
        return NVML_NOT_SUPPORTED;
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

// The first layout ends behind the memory.
struct process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

struct process_v1 {
    unsigned pid;
    unsigned long long memory;
};

// NULL asks for the number alone: too little room is then no mistake.
static nvml_return list_processes(struct gpu *gpu, unsigned *count, void *answer, bool first_layout)
{
    const struct process process = {
        gpu->process, (unsigned long long)NVML_PROCESS_MIB << 20, NVML_NO_INSTANCE, NVML_NO_INSTANCE};
    unsigned room = *count;

    *count = gpu->process ? 1 : 0;
    if (*count == 0)
        return NVML_SUCCESS;
    if (room == 0 || !answer)
        return NVML_INSUFFICIENT_SIZE;
    if (first_layout)
        *(struct process_v1 *)answer = (struct process_v1){process.pid, process.memory};
    else
        *(struct process *)answer = process;
    return NVML_SUCCESS;
}

static nvml_return no_processes(struct gpu *gpu, unsigned *count)
{
    nvml_return code = nvml_reachable(gpu, count);

    if (code == NVML_SUCCESS)
        *count = 0;
    return code;
}

#define COMPUTE_PROCESSES(function, first_layout)                                                                      \
    NVML_CALL function(struct gpu *gpu, unsigned *count, void *answer)                                                 \
    {                                                                                                                  \
        nvml_return code = nvml_reachable(gpu, count);                                                                 \
                                                                                                                       \
        return code == NVML_SUCCESS ? list_processes(gpu, count, answer, first_layout) : code;                         \
    }

#define NO_PROCESSES(function)                                                                                         \
    NVML_CALL function(struct gpu *gpu, unsigned *count, void *processes)                                              \
    {                                                                                                                  \
        (void)processes;                                                                                               \
        return no_processes(gpu, count);                                                                               \
    }

COMPUTE_PROCESSES(nvmlDeviceGetComputeRunningProcesses, true)
COMPUTE_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, false)
COMPUTE_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, false)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)

// As the program's file, where this process may see it.
NVML_CALL nvmlSystemGetProcessName(unsigned pid, char *answer, unsigned size)
{
    char link[64], program[PATH_MAX];
    ssize_t length;

    if (!nvml.users)
        return NVML_UNINITIALIZED;
    snprintf(link, sizeof(link), "/proc/%u/exe", pid);
    length = readlink(link, program, sizeof(program) - 1);
    if (length < 0)
        return NVML_NOT_FOUND;
    program[length] = '\0';
    return nvml_copy_text(answer, size, program);
}
