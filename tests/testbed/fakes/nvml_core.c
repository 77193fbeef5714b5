// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The fake libnvidia-ml: start and end, the system's versions, and how devices are found.

#include "nvml.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct nvml nvml;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

NVML_CALL nvmlInitWithFlags(unsigned flags);

// --- start and end -------------------------------------------------------------------------------------------------

static void sleep_while_hanging(void)
{
    enum { LIMIT_S = 600 };

    for (int second = 0; second < LIMIT_S && state_fault("smi-hang"); second++)
        sleep(1);
}

// A driver that hangs, and a grandchild in a session of its own that keeps stdout and stderr open: who waits for the
// end of the pipe, and not for the process, waits for ever.
static nvml_return hang(void)
{
    pid_t child = fork();

    if (child == 0) {
        if (fork() == 0) {
            setsid();
            sleep_while_hanging();
        }
        _exit(0);
    }
    sleep_while_hanging();
    return NVML_TIMEOUT;
}

static nvml_return code_of_open(int error)
{
    switch (error) {
    case 0:
        return NVML_SUCCESS;
    case ENOENT:
    case ENODEV:
        return NVML_DRIVER_NOT_LOADED;
    case EACCES:
        return NVML_NO_PERMISSION;
    default: // EPERM is the device cgroup
        return NVML_UNKNOWN;
    }
}

// A GPU without a node, or with a node that the device cgroup denies, does not exist for this process: so containers
// see only their own. One with a node that we may not open is counted, and has no handle.
static void find_visible(void)
{
    nvml.visible_count = 0;
    for (unsigned i = 0; i < nvml.state.gpu_count; i++) {
        int error = node_probe_gpu(&nvml.state.gpus[i]);

        if (error == 0 || error == EACCES)
            nvml.visible[nvml.visible_count++] = &nvml.state.gpus[i];
    }
}

static nvml_return start(void)
{
    char version[VERSION_SIZE];
    nvml_return code;

    if (state_fault("smi-hang"))
        return hang();
    state_load(&nvml.state);
    nodes_ensure(&nvml.state);
    if (!nvml.state.module_version[0])
        return NVML_DRIVER_NOT_LOADED;
    code = code_of_open(node_probe("nvidiactl"));
    if (code != NVML_SUCCESS)
        return code;
    library_version(&nvml, version, sizeof(version));
    if (strcmp(version, nvml.state.module_version) != 0)
        return NVML_LIB_RM_VERSION_MISMATCH;
    find_visible();
    nodes_hide_mig(&nvml.state);
    return NVML_SUCCESS;
}

NVML_CALL nvmlInitWithFlags(unsigned flags)
{
    nvml_return code = NVML_SUCCESS;

    (void)flags;
    pthread_mutex_lock(&lock);
    if (nvml.users == 0)
        code = start();
    if (code == NVML_SUCCESS)
        nvml.users++;
    pthread_mutex_unlock(&lock);
    return code;
}

NVML_CALL nvmlInit_v2(void)
{
    return nvmlInitWithFlags(0);
}

NVML_CALL nvmlInit(void)
{
    return nvmlInitWithFlags(0);
}

NVML_CALL nvmlShutdown(void)
{
    nvml_return code = NVML_UNINITIALIZED;

    pthread_mutex_lock(&lock);
    if (nvml.users > 0) {
        nvml.users--;
        code = NVML_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(nvml_return code)
{
    static const struct {
        nvml_return code;
        const char *text;
    } table[] = {
        {NVML_SUCCESS, "Success"},
        {NVML_UNINITIALIZED, "Uninitialized"},
        {NVML_INVALID_ARGUMENT, "Invalid Argument"},
        {NVML_NOT_SUPPORTED, "Not Supported"},
        {NVML_NO_PERMISSION, "Insufficient Permissions"},
        {NVML_NOT_FOUND, "Not Found"},
        {NVML_INSUFFICIENT_SIZE, "Insufficient Size"},
        {NVML_DRIVER_NOT_LOADED, "Driver Not Loaded"},
        {NVML_TIMEOUT, "Timeout"},
        {NVML_GPU_IS_LOST, "GPU is lost"},
        {NVML_LIB_RM_VERSION_MISMATCH, "Driver/library version mismatch"},
    };

    for (size_t row = 0; row < sizeof(table) / sizeof(table[0]); row++) {
        if (table[row].code == code)
            return table[row].text;
    }
    return "Unknown Error";
}

// --- the system ----------------------------------------------------------------------------------------------------

nvml_return nvml_copy_text(char *answer, unsigned size, const char *text)
{
    if (!answer)
        return NVML_INVALID_ARGUMENT;
    if (strlen(text) >= size)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(answer, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

NVML_CALL nvmlSystemGetDriverVersion(char *answer, unsigned size)
{
    if (!nvml.users)
        return NVML_UNINITIALIZED;
    return nvml_copy_text(answer, size, nvml.state.module_version);
}

// The version of NVML is "<CUDA major>.<driver version>", and can be asked for before nvmlInit.
NVML_CALL nvmlSystemGetNVMLVersion(char *answer, unsigned size)
{
    char version[VERSION_SIZE], text[2 * VERSION_SIZE];

    library_version(&nvml, version, sizeof(version));
    snprintf(text, sizeof(text), "%d.%s", cuda_version_of(version) / 1000, version);
    return nvml_copy_text(answer, size, text);
}

NVML_CALL nvmlSystemGetCudaDriverVersion_v2(int *answer)
{
    char version[VERSION_SIZE];

    if (!answer)
        return NVML_INVALID_ARGUMENT;
    library_version(&nvml, version, sizeof(version));
    *answer = cuda_version_of(version);
    return NVML_SUCCESS;
}

NVML_CALL nvmlSystemGetCudaDriverVersion(int *answer)
{
    return nvmlSystemGetCudaDriverVersion_v2(answer);
}

// --- devices -------------------------------------------------------------------------------------------------------

nvml_return nvml_usable(const struct gpu *gpu, const void *answer)
{
    nvml_return code = nvml_reachable(gpu, answer);

    return code == NVML_SUCCESS && gpu->parent ? NVML_INVALID_ARGUMENT : code;
}

nvml_return nvml_reachable(const struct gpu *gpu, const void *answer)
{
    if (!nvml.users)
        return NVML_UNINITIALIZED;
    if (!gpu || !answer)
        return NVML_INVALID_ARGUMENT;
    return gpu->condition == GPU_LOST || gpu->condition == GPU_LOST_VALUES ? NVML_GPU_IS_LOST : NVML_SUCCESS;
}

static nvml_return open_handle(struct gpu *gpu, struct gpu **handle)
{
    switch (gpu->condition) {
    case GPU_LOST:
        return NVML_GPU_IS_LOST;
    case GPU_NOT_INITIALISED:
        return NVML_UNKNOWN;
    default:
        if (node_probe_gpu(gpu) == EACCES)
            return NVML_NO_PERMISSION;
        *handle = gpu;
        return NVML_SUCCESS;
    }
}

NVML_CALL nvmlDeviceGetCount_v2(unsigned *count)
{
    if (!nvml.users)
        return NVML_UNINITIALIZED;
    if (!count)
        return NVML_INVALID_ARGUMENT;
    *count = nvml.visible_count;
    return NVML_SUCCESS;
}

NVML_CALL nvmlDeviceGetHandleByIndex_v2(unsigned index, struct gpu **handle)
{
    if (!nvml.users)
        return NVML_UNINITIALIZED;
    if (!handle || index >= nvml.visible_count)
        return NVML_INVALID_ARGUMENT;
    return open_handle(nvml.visible[index], handle);
}

NVML_CALL nvmlDeviceGetHandleByUUID(const char *uuid, struct gpu **handle)
{
    if (!nvml.users)
        return NVML_UNINITIALIZED;
    if (!handle || !uuid)
        return NVML_INVALID_ARGUMENT;
    for (unsigned i = 0; i < nvml.visible_count; i++) {
        if (strcmp(nvml.visible[i]->uuid, uuid) == 0)
            return open_handle(nvml.visible[i], handle);
    }
    *handle = nvml_find_mig(uuid);
    return *handle ? NVML_SUCCESS : NVML_NOT_FOUND;
}

struct gpu *nvml_find_pci(const char *address)
{
    unsigned domain, bus, slot;

    if (sscanf(address, "%x:%x:%x", &domain, &bus, &slot) != 3)
        return NULL;
    for (unsigned i = 0; i < nvml.visible_count; i++) {
        struct gpu *gpu = nvml.visible[i];

        if (gpu->domain == domain && gpu->bus == bus && gpu->slot == slot)
            return gpu;
    }
    return NULL;
}

NVML_CALL nvmlDeviceGetHandleByPciBusId_v2(const char *address, struct gpu **handle)
{
    struct gpu *gpu;

    if (!nvml.users)
        return NVML_UNINITIALIZED;
    if (!handle || !address)
        return NVML_INVALID_ARGUMENT;
    gpu = nvml_find_pci(address);
    return gpu ? open_handle(gpu, handle) : NVML_NOT_FOUND;
}

NVML_CALL nvmlDeviceGetIndex(const struct gpu *gpu, unsigned *index)
{
    nvml_return code = nvml_reachable(gpu, index);

    if (code == NVML_SUCCESS && gpu->parent) {
        *index = nvml_mig_place(gpu);
        return NVML_SUCCESS;
    }
    for (unsigned i = 0; code == NVML_SUCCESS && i < nvml.visible_count; i++) {
        if (nvml.visible[i] == gpu) {
            *index = i;
            return NVML_SUCCESS;
        }
    }
    return code == NVML_SUCCESS ? NVML_INVALID_ARGUMENT : code;
}

// --- nothing of these ----------------------------------------------------------------------------------------------

NVML_CALL nvmlUnitGetCount(unsigned *count)
{
    if (!count)
        return NVML_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
}

NVML_CALL nvmlGetExcludedDeviceCount(unsigned *count)
{
    return nvmlUnitGetCount(count);
}

// nvidia-smi makes a set for its main table; no event ever comes.
NVML_CALL nvmlEventSetCreate(const void **set)
{
    if (!set)
        return NVML_INVALID_ARGUMENT;
    *set = &nvml;
    return NVML_SUCCESS;
}

NVML_CALL nvmlEventSetFree(const void *set)
{
    return set == &nvml ? NVML_SUCCESS : NVML_INVALID_ARGUMENT;
}
