// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// What the fakes know of the simulated machine: its GPUs, the loaded module, faults. Everything is read from files
// that the kernel player writes (README.md lists them); nothing is kept between two calls of state_load().

#ifndef SIMGPU_STATE_H
#define SIMGPU_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

enum { MAX_GPUS = 32, MAX_MIG_DEVICES = 8 * MAX_GPUS, VERSION_SIZE = 32 };

enum condition {
    GPU_WELL,
    GPU_LOST,            // fallen off the bus: no handle any more
    GPU_LOST_VALUES,     // lost while handles still open: each value says so, and nvidia-smi still ends with 0
    GPU_NOT_INITIALISED, // the module could not start it
};

enum fabric { FABRIC_NOT_STARTED = 1, FABRIC_IN_PROGRESS = 2, FABRIC_COMPLETED = 3 };

struct gpu {
    unsigned index; // in the profile: what faults speak of
    unsigned minor; // of /dev/nvidiaN: the place among the GPUs that the module has bound
    char uuid[48];
    char name[96];
    char pci[16]; // as in /sys: 0000:17:00.0
    unsigned domain, bus, slot;
    unsigned device_id;
    unsigned memory_mib;
    unsigned numa;
    unsigned architecture; // NVML's number: 7 Ampere, 9 Hopper
    unsigned cc_major, cc_minor;
    unsigned power_limit_w;
    unsigned pcie_generation;
    unsigned pcie_width, pcie_width_now;
    unsigned nvlinks;
    bool ecc;
    enum condition condition;

    unsigned mig_max; // MIG devices at most; 0: there is no MIG
    bool mig_enabled, mig_pending;

    // What faults make of a healthy GPU.
    bool uncorrected_error; // of ECC, one
    bool remap_pending, remap_failed;
    bool throttled; // by the hardware, as it is too hot
    bool reset_required;
    bool fabric_unhealthy;
    unsigned process; // that uses it; 0: none does

    // Of a MIG device, which is a copy of its GPU but for what is its own.
    struct gpu *parent; // NULL: this is a GPU
    unsigned gpu_instance, compute_instance;
    unsigned start; // the memory slice
    char mig_profile[24];
};

struct params { // of the nvidia module
    bool modify_device_files;
    uid_t uid;
    gid_t gid;
    mode_t mode;
};

struct state {
    char module_version[VERSION_SIZE]; // empty: no module is loaded
    struct params params;
    int uvm_major;  // -1: nvidia-uvm is not loaded
    int caps_major; // -1: there are no capabilities, as before branch 450
    struct gpu gpus[MAX_GPUS]; // those that the module has bound, in the order of the profile
    unsigned gpu_count;
    struct gpu mig_devices[MAX_MIG_DEVICES]; // in the order of the profile
    unsigned mig_count;
    unsigned nvswitch_count;
    enum fabric fabric;
};

void state_load(struct state *state);

// What is in the hardware profile and bound by the module, with its faults; a part of state_load().
void profile_load(struct state *state);

// The path below SIMGPU_ROOT, which tests set; setuid programs ignore it.
const char *state_path(char buffer[PATH_MAX], const char *path);

// A state file; NULL where it is not there.
FILE *state_open(const char *path);

// There while nvidia-persistenced keeps the GPUs in persistence mode.
#define PERSISTENCE_FILE "/run/nvidia-persistenced/persistence-mode"

// True while the named fault is switched on.
bool state_fault(const char *name);

// Its first line; false while it is off.
bool state_fault_words(const char *name, char *line, size_t size);

// The version in the name of the library that holds `symbol`: 580.159.03 for libcuda.so.580.159.03.
void library_version(const void *symbol, char *version, size_t size);

// The CUDA version that a driver of this branch reports, as 1000 * major + 10 * minor; 0 for an unknown branch.
int cuda_version_of(const char *driver_version);

#endif
