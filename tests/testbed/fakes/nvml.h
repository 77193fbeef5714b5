// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// What the files of the fake libnvidia-ml share: NVML's return codes, the library's state, and the frame of a query.

#ifndef SIMGPU_NVML_H
#define SIMGPU_NVML_H

#include "nodes.h"

typedef enum {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_GPU_IS_LOST = 15,
    NVML_LIB_RM_VERSION_MISMATCH = 18,
    NVML_UNKNOWN = 999,
} nvml_return;

// A library call: visible outside, everything else in the library is hidden.
#define NVML_CALL __attribute__((visibility("default"))) nvml_return

struct nvml {
    unsigned users; // calls of nvmlInit that have not been shut down
    struct state state;
    struct gpu *visible[MAX_GPUS]; // GPUs whose node this process can see, in NVML's order
    unsigned visible_count;
};

extern struct nvml nvml;

struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device;
    unsigned device_id, subsystem_id;
    char bus_id[32];
};

void nvml_fill_pci_info(const struct gpu *gpu, struct pci_info *answer);

// The visible GPU at "domain:bus:slot.function", NULL when there is none.
struct gpu *nvml_find_pci(const char *address);

// What every query of a device answers before it looks at the question.
nvml_return nvml_usable(const struct gpu *gpu, const void *answer);

nvml_return nvml_copy_text(char *answer, unsigned size, const char *text);

// Defines a query of one number, of type `type`.
#define NVML_NUMBER(function, type, expression)                                                                        \
    NVML_CALL function(struct gpu *gpu, type *answer)                                                                  \
    {                                                                                                                  \
        nvml_return code = nvml_usable(gpu, answer);                                                                   \
                                                                                                                       \
        if (code == NVML_SUCCESS)                                                                                      \
            *answer = (type)(expression);                                                                              \
        return code;                                                                                                   \
    }

// The same where a second argument selects what is asked for.
#define NVML_NUMBER_OF(function, type, selector, expression)                                                           \
    NVML_CALL function(struct gpu *gpu, unsigned selector, type *answer)                                               \
    {                                                                                                                  \
        nvml_return code = nvml_usable(gpu, answer);                                                                   \
                                                                                                                       \
        (void)selector;                                                                                                \
        if (code == NVML_SUCCESS)                                                                                      \
            *answer = (type)(expression);                                                                              \
        return code;                                                                                                   \
    }

#define NVML_TEXT(function, expression)                                                                                \
    NVML_CALL function(struct gpu *gpu, char *answer, unsigned size)                                                   \
    {                                                                                                                  \
        nvml_return code = nvml_usable(gpu, answer);                                                                   \
                                                                                                                       \
        return code == NVML_SUCCESS ? nvml_copy_text(answer, size, expression) : code;                                 \
    }

#endif
