// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The fake libcuda: starts, counts and names devices, and fails with CUDA's own codes. It computes nothing.

#include "nodes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
    CUDA_SUCCESS = 0,
    CUDA_INVALID_VALUE = 1,
    CUDA_NOT_INITIALIZED = 3,
    CUDA_NO_DEVICE = 100,
    CUDA_INVALID_DEVICE = 101,
    CUDA_SYSTEM_NOT_READY = 802,
    CUDA_SYSTEM_DRIVER_MISMATCH = 803,
    CUDA_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
    CUDA_UNKNOWN = 999,
} cuda_result;

#define CUDA_CALL __attribute__((visibility("default"))) cuda_result

struct cuda_uuid {
    unsigned char bytes[16];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool started;
static struct state state;
static struct gpu *devices[MAX_GPUS + MAX_MIG_DEVICES];
static int device_count;

// --- start ---------------------------------------------------------------------------------------------------------

// A GPU that the module could not start, or that fell off the bus, is no device for CUDA: the others go on working, and
// the count is smaller than the machine's. So it is in life, where opening such a node fails.
static bool works(const struct gpu *gpu)
{
    return gpu->condition == GPU_WELL && node_probe_gpu(gpu) == 0;
}

// A GPU in MIG mode is never a device itself. Since branch 570 its MIG devices are, one of each GPU instance, beside the
// whole GPUs; before, one MIG device hides everything else.
static void find_devices(int branch)
{
    enum { SINCE = 570, MOST = 64 };
    unsigned most = branch >= SINCE ? MOST : 1, found = 0;

    device_count = 0;
    for (unsigned i = 0; i < state.mig_count && found < most; i++) {
        if (works(state.mig_devices[i].parent)) {
            devices[device_count++] = &state.mig_devices[i];
            found++;
        }
    }
    for (unsigned i = 0; i < state.gpu_count && (found == 0 || branch >= SINCE); i++) {
        if (works(&state.gpus[i]) && !state.gpus[i].mig_enabled)
            devices[device_count++] = &state.gpus[i];
    }
}

static bool waits_for_fabric(void)
{
    for (int i = 0; i < device_count; i++) {
        if (devices[i]->nvlinks && state.nvswitch_count && state.fabric != FABRIC_COMPLETED)
            return true;
    }
    return false;
}

static cuda_result start(void)
{
    char version[VERSION_SIZE];

    state_load(&state);
    nodes_ensure(&state);
    if (!state.module_version[0] || node_probe("nvidiactl") != 0)
        return CUDA_NO_DEVICE;
    library_version(&state, version, sizeof(version));
    if (strcmp(version, state.module_version) != 0)
        return CUDA_SYSTEM_DRIVER_MISMATCH;
    nodes_hide_mig(&state);
    find_devices(atoi(version));
    if (device_count == 0)
        return CUDA_NO_DEVICE;
    nodes_ensure_uvm(&state);
    if (node_probe("nvidia-uvm") != 0)
        return CUDA_UNKNOWN;
    return waits_for_fabric() ? CUDA_SYSTEM_NOT_READY : CUDA_SUCCESS;
}

CUDA_CALL cuInit(unsigned flags)
{
    cuda_result code = CUDA_SUCCESS;

    if (flags != 0)
        return CUDA_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    if (!started) {
        code = start();
        started = code == CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

CUDA_CALL cuDriverGetVersion(int *version)
{
    char driver[VERSION_SIZE];

    if (!version)
        return CUDA_INVALID_VALUE;
    library_version(&state, driver, sizeof(driver));
    *version = cuda_version_of(driver);
    return CUDA_SUCCESS;
}

// --- devices -------------------------------------------------------------------------------------------------------

static cuda_result usable(int device, const void *answer)
{
    if (!started)
        return CUDA_NOT_INITIALIZED;
    if (!answer)
        return CUDA_INVALID_VALUE;
    return device >= 0 && device < device_count ? CUDA_SUCCESS : CUDA_INVALID_DEVICE;
}

CUDA_CALL cuDeviceGetCount(int *count)
{
    if (!started)
        return CUDA_NOT_INITIALIZED;
    if (!count)
        return CUDA_INVALID_VALUE;
    *count = device_count;
    return CUDA_SUCCESS;
}

CUDA_CALL cuDeviceGet(int *device, int ordinal)
{
    cuda_result code = usable(ordinal, device);

    if (code == CUDA_SUCCESS)
        *device = ordinal;
    return code;
}

CUDA_CALL cuDeviceGetName(char *name, int size, int device)
{
    cuda_result code = usable(device, name);

    if (code != CUDA_SUCCESS || size <= 0)
        return code == CUDA_SUCCESS ? CUDA_INVALID_VALUE : code;
    snprintf(name, (size_t)size, "%s", devices[device]->name);
    return CUDA_SUCCESS;
}

CUDA_CALL cuDeviceGetUuid_v2(struct cuda_uuid *answer, int device)
{
    cuda_result code = usable(device, answer);
    unsigned byte;
    size_t found = 0;

    if (code != CUDA_SUCCESS)
        return code;
    memset(answer, 0, sizeof(*answer));
    for (const char *at = devices[device]->uuid + strlen("GPU-"); *at && found < sizeof(answer->bytes);) {
        if (*at == '-') {
            at++;
            continue;
        }
        if (sscanf(at, "%2x", &byte) != 1)
            return CUDA_UNKNOWN;
        answer->bytes[found++] = (unsigned char)byte;
        at += 2;
    }
    return CUDA_SUCCESS;
}

CUDA_CALL cuDeviceGetUuid(struct cuda_uuid *answer, int device)
{
    return cuDeviceGetUuid_v2(answer, device);
}

// --- errors --------------------------------------------------------------------------------------------------------

static const struct error {
    cuda_result code;
    const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {CUDA_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {CUDA_COMPAT_NOT_SUPPORTED_ON_DEVICE, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "forward compatibility was attempted on non supported HW"},
    {CUDA_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static const struct error *find_error(cuda_result code)
{
    for (size_t row = 0; row < sizeof(errors) / sizeof(errors[0]); row++) {
        if (errors[row].code == code)
            return &errors[row];
    }
    return NULL;
}

CUDA_CALL cuGetErrorName(cuda_result code, const char **name)
{
    const struct error *error = find_error(code);

    *name = error ? error->name : NULL;
    return error ? CUDA_SUCCESS : CUDA_INVALID_VALUE;
}

CUDA_CALL cuGetErrorString(cuda_result code, const char **text)
{
    const struct error *error = find_error(code);

    *text = error ? error->text : NULL;
    return error ? CUDA_SUCCESS : CUDA_INVALID_VALUE;
}
