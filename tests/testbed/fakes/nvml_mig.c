// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The fake libnvidia-ml: a GPU in MIG mode, its GPU instances, and the MIG devices that programs see. Here each GPU
// instance has one compute instance, and all are of one size; one record is device, instance and compute instance.

#include "nvml.h"

#include <stdio.h>
#include <string.h>

// The smallest part of a GPU with 80 GB, as A100 and H100 have it: NVML's place of the profile, and its own number.
enum {
    PROFILE_PLACE = 0,
    PROFILE_ID = 19,
    COMPUTE_PROFILE_PLACE = 0,
    COMPUTE_PROFILE_ID = 0,
    SLICES = 1,
    COPY_ENGINES = 1,
    MEMORY_MIB = 9728,
};

static unsigned multiprocessors(const struct gpu *gpu)
{
    return gpu->architecture >= 9 ? 16 : 14;
}

static bool has_the_profile(const struct gpu *gpu)
{
    return gpu->mig_enabled && gpu->mig_max == 7 && gpu->memory_mib >= 80000;
}

unsigned nvml_mig_devices(const struct gpu *gpu, struct gpu **answer, unsigned room)
{
    unsigned count = 0;

    for (unsigned i = 0; i < nvml.state.mig_count; i++) {
        struct gpu *mig = &nvml.state.mig_devices[i];

        if (mig->parent != gpu)
            continue;
        if (answer && count < room)
            answer[count] = mig;
        count++;
    }
    return count;
}

// --- mode ----------------------------------------------------------------------------------------------------------

NVML_CALL nvmlDeviceGetMigMode(struct gpu *gpu, unsigned *current, unsigned *pending)
{
    nvml_return code = nvml_usable(gpu, current);

    if (code != NVML_SUCCESS || !pending)
        return code == NVML_SUCCESS ? NVML_INVALID_ARGUMENT : code;
    if (!gpu->mig_max)
        return NVML_NOT_SUPPORTED;
    *current = gpu->mig_enabled;
    *pending = gpu->mig_pending;
    return NVML_SUCCESS;
}

NVML_NUMBER(nvmlDeviceGetMaxMigDeviceCount, unsigned, gpu->mig_max)

// --- MIG devices ---------------------------------------------------------------------------------------------------

struct gpu *nvml_find_mig(const char *uuid)
{
    for (unsigned i = 0; i < nvml.state.mig_count; i++) {
        if (strcmp(nvml.state.mig_devices[i].uuid, uuid) == 0)
            return &nvml.state.mig_devices[i];
    }
    return NULL;
}

unsigned nvml_mig_place(const struct gpu *mig)
{
    struct gpu *instances[MAX_MIG_DEVICES];
    unsigned count = nvml_mig_devices(mig->parent, instances, MAX_MIG_DEVICES), place = 0;

    while (place < count && instances[place] != mig)
        place++;
    return place;
}

NVML_CALL nvmlDeviceIsMigDeviceHandle(struct gpu *gpu, unsigned *answer)
{
    nvml_return code = nvml_reachable(gpu, answer);

    if (code == NVML_SUCCESS)
        *answer = gpu->parent != NULL;
    return code;
}

NVML_CALL nvmlDeviceGetMigDeviceHandleByIndex(struct gpu *gpu, unsigned index, struct gpu **answer)
{
    struct gpu *instances[MAX_MIG_DEVICES];
    nvml_return code = nvml_usable(gpu, answer);

    if (code != NVML_SUCCESS)
        return code;
    if (!gpu->mig_max)
        return NVML_NOT_SUPPORTED;
    if (index >= nvml_mig_devices(gpu, instances, MAX_MIG_DEVICES))
        return NVML_NOT_FOUND;
    *answer = instances[index];
    return NVML_SUCCESS;
}

// Defines a query of one value that only a MIG device has.
#define OF_MIG_DEVICE(function, type, expression)                                                                      \
    NVML_CALL function(struct gpu *gpu, type *answer)                                                                  \
    {                                                                                                                  \
        nvml_return code = nvml_reachable(gpu, answer);                                                                \
                                                                                                                       \
        if (code != NVML_SUCCESS)                                                                                      \
            return code;                                                                                               \
        if (!gpu->parent)                                                                                              \
            return NVML_NOT_SUPPORTED;                                                                                 \
        *answer = expression;                                                                                          \
        return NVML_SUCCESS;                                                                                           \
    }

OF_MIG_DEVICE(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, struct gpu *, gpu->parent)
OF_MIG_DEVICE(nvmlDeviceGetGpuInstanceId, unsigned, gpu->gpu_instance)
OF_MIG_DEVICE(nvmlDeviceGetComputeInstanceId, unsigned, gpu->compute_instance)

struct attributes {
    unsigned multiprocessors, copy_engines, decoders, encoders, jpegs, ofas, gpu_slices, compute_slices;
    unsigned long long memory_mib;
};

#define ATTRIBUTES(gpu)                                                                                                \
    ((struct attributes){.multiprocessors = multiprocessors(gpu),                                                      \
                         .copy_engines = COPY_ENGINES,                                                                 \
                         .gpu_slices = SLICES,                                                                         \
                         .compute_slices = SLICES,                                                                     \
                         .memory_mib = (gpu)->memory_mib})

OF_MIG_DEVICE(nvmlDeviceGetAttributes_v2, struct attributes, ATTRIBUTES(gpu))
OF_MIG_DEVICE(nvmlDeviceGetAttributes, struct attributes, ATTRIBUTES(gpu))

// --- GPU instances -------------------------------------------------------------------------------------------------

struct gpu_profile {
    unsigned id, p2p, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
    unsigned long long memory_mib;
};

struct gpu_profile_v2 {
    unsigned version;
    unsigned id, p2p, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
    unsigned long long memory_mib;
    char name[96];
};

static nvml_return profile_usable(const struct gpu *gpu, bool known, const void *answer)
{
    nvml_return code = nvml_usable(gpu, answer);

    return code == NVML_SUCCESS && !(known && has_the_profile(gpu)) ? NVML_NOT_SUPPORTED : code;
}

NVML_CALL nvmlDeviceGetGpuInstanceProfileInfo(struct gpu *gpu, unsigned place, struct gpu_profile *answer)
{
    nvml_return code = profile_usable(gpu, place == PROFILE_PLACE, answer);

    if (code == NVML_SUCCESS)
        *answer = (struct gpu_profile){.id = PROFILE_ID,
                                       .slices = SLICES,
                                       .instances = gpu->mig_max,
                                       .multiprocessors = multiprocessors(gpu),
                                       .copy_engines = COPY_ENGINES,
                                       .memory_mib = MEMORY_MIB};
    return code;
}

NVML_CALL nvmlDeviceGetGpuInstanceProfileInfoV(struct gpu *gpu, unsigned place, struct gpu_profile_v2 *answer)
{
    nvml_return code = profile_usable(gpu, place == PROFILE_PLACE, answer);

    if (code == NVML_SUCCESS)
        *answer = (struct gpu_profile_v2){.version = answer->version,
                                          .id = PROFILE_ID,
                                          .slices = SLICES,
                                          .instances = gpu->mig_max,
                                          .multiprocessors = multiprocessors(gpu),
                                          .copy_engines = COPY_ENGINES,
                                          .memory_mib = MEMORY_MIB,
                                          .name = "MIG 1g.10gb"};
    return code;
}

NVML_CALL nvmlDeviceGetGpuInstanceRemainingCapacity(struct gpu *gpu, unsigned profile, unsigned *count)
{
    nvml_return code = profile_usable(gpu, profile == PROFILE_ID, count);

    if (code == NVML_SUCCESS)
        *count = gpu->mig_max - nvml_mig_devices(gpu, NULL, 0);
    return code;
}

NVML_CALL nvmlDeviceGetGpuInstances(struct gpu *gpu, unsigned profile, struct gpu **answer, unsigned *count)
{
    nvml_return code = profile_usable(gpu, profile == PROFILE_ID, count);

    if (code == NVML_SUCCESS)
        *count = nvml_mig_devices(gpu, answer, MAX_MIG_DEVICES);
    return code;
}

NVML_CALL nvmlDeviceGetGpuInstanceById(struct gpu *gpu, unsigned id, struct gpu **answer)
{
    struct gpu *instances[MAX_MIG_DEVICES];
    nvml_return code = nvml_usable(gpu, answer);
    unsigned count;

    if (code != NVML_SUCCESS)
        return code;
    count = nvml_mig_devices(gpu, instances, MAX_MIG_DEVICES);
    for (unsigned i = 0; i < count; i++) {
        if (instances[i]->gpu_instance == id) {
            *answer = instances[i];
            return NVML_SUCCESS;
        }
    }
    return NVML_NOT_FOUND;
}

struct placement {
    unsigned start, size;
};

struct instance_info {
    struct gpu *device;
    unsigned id, profile;
    struct placement placement;
};

OF_MIG_DEVICE(nvmlGpuInstanceGetInfo, struct instance_info,
              ((struct instance_info){gpu->parent, gpu->gpu_instance, PROFILE_ID, {gpu->start, SLICES}}))

// --- compute instances ---------------------------------------------------------------------------------------------

struct compute_profile_v2 {
    unsigned version;
    unsigned id, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
    char name[96];
};

struct compute_info {
    struct gpu *device, *gpu_instance;
    unsigned id, profile;
    struct placement placement;
};

static nvml_return instance_usable(const struct gpu *instance, bool known, const void *answer)
{
    nvml_return code = nvml_reachable(instance, answer);

    if (code != NVML_SUCCESS)
        return code;
    return instance->parent && known ? NVML_SUCCESS : NVML_NOT_SUPPORTED;
}

NVML_CALL nvmlGpuInstanceGetComputeInstanceProfileInfoV(struct gpu *instance, unsigned place, unsigned engines,
                                                        struct compute_profile_v2 *answer)
{
    nvml_return code = instance_usable(instance, place == COMPUTE_PROFILE_PLACE && engines == 0, answer);

    if (code == NVML_SUCCESS)
        *answer = (struct compute_profile_v2){.version = answer->version,
                                              .id = COMPUTE_PROFILE_ID,
                                              .slices = SLICES,
                                              .instances = 1,
                                              .multiprocessors = multiprocessors(instance),
                                              .copy_engines = COPY_ENGINES,
                                              .name = "MIG 1g.10gb"};
    return code;
}

NVML_CALL nvmlGpuInstanceGetComputeInstanceRemainingCapacity(struct gpu *instance, unsigned profile, unsigned *count)
{
    nvml_return code = instance_usable(instance, profile == COMPUTE_PROFILE_ID, count);

    if (code == NVML_SUCCESS)
        *count = 0;
    return code;
}

NVML_CALL nvmlGpuInstanceGetComputeInstances(struct gpu *instance, unsigned profile, struct gpu **answer,
                                             unsigned *count)
{
    nvml_return code = instance_usable(instance, profile == COMPUTE_PROFILE_ID, count);

    if (code != NVML_SUCCESS)
        return code;
    *count = 1;
    if (answer)
        answer[0] = instance;
    return NVML_SUCCESS;
}

OF_MIG_DEVICE(nvmlComputeInstanceGetInfo_v2, struct compute_info,
              ((struct compute_info){gpu->parent, gpu, gpu->compute_instance, COMPUTE_PROFILE_ID, {0, SLICES}}))
