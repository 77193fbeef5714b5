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

// What every query of a GPU answers before it looks at the question: of a MIG device it cannot be asked.
nvml_return nvml_usable(const struct gpu *gpu, const void *answer);

// The same for what can be asked of GPUs and of MIG devices.
nvml_return nvml_reachable(const struct gpu *gpu, const void *answer);

// How many MIG devices a GPU has; as many of them as there is room for go into `answer`.
unsigned nvml_mig_devices(const struct gpu *gpu, struct gpu **answer, unsigned room);

// A MIG device by its UUID, NULL when there is none; and its place among those of its GPU.
struct gpu *nvml_find_mig(const char *uuid);
unsigned nvml_mig_place(const struct gpu *mig);

unsigned nvml_limit_mw(const struct gpu *gpu);
unsigned nvml_usage_mw(const struct gpu *gpu);

// What the process of a busy GPU has of its memory; and the number that stands for "of no instance".
enum { NVML_PROCESS_MIB = 1024 };
#define NVML_NO_INSTANCE 0xffffffffU

// Memory errors, since the driver was loaded (volatile) or ever (aggregate): the same, of a GPU without a past.
unsigned long long nvml_ecc_errors(const struct gpu *gpu, bool uncorrected);

struct nvml_remapped {
    unsigned correctable, uncorrectable, pending, failed;
};

// NOT_SUPPORTED before Ampere, without ECC, and while a GPU has MIG devices.
nvml_return nvml_remapped_rows(const struct gpu *gpu, struct nvml_remapped *answer);

// Before Ampere pages are retired in place of rows.
bool nvml_retires_pages(const struct gpu *gpu);

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
        nvml_return code = nvml_reachable(gpu, answer);                                                                \
                                                                                                                       \
        return code == NVML_SUCCESS ? nvml_copy_text(answer, size, expression) : code;                                 \
    }

#endif
