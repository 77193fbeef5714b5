// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Reads the hardware profile, and what faults make of its GPUs; see state.h.

#include "state.h"

#include <stdlib.h>
#include <string.h>

static const char PROFILE[] = "/etc/simgpu/profile";
static const char BOUND_GPUS[] = "/run/simgpu/gpus";

enum { LINE_SIZE = 1024, WORD_SIZE = 32 };

// --- lines ---------------------------------------------------------------------------------------------------------

// Cuts the next `key=value` or `key="some words"` off `*rest`; false at the end of the line.
static bool next_token(char **rest, char **key, char **value)
{
    char *at = *rest + strspn(*rest, " \t\n");
    char *equals = strchr(at, '=');
    const char *end = " \t\n";

    if (!equals)
        return false;
    *equals = '\0';
    *key = at;
    *value = equals + 1;
    if (**value == '"') {
        end = "\"";
        ++*value;
    }
    at = *value + strcspn(*value, end);
    *rest = *at ? at + 1 : at;
    *at = '\0';
    return true;
}

static void set_text(struct gpu *gpu, const char *key, const char *value)
{
    const struct {
        const char *key;
        char *text;
        size_t size;
    } texts[] = {
        {"uuid", gpu->uuid, sizeof(gpu->uuid)},
        {"name", gpu->name, sizeof(gpu->name)},
        {"pci", gpu->pci, sizeof(gpu->pci)},
        {"profile", gpu->mig_profile, sizeof(gpu->mig_profile)},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strcmp(key, texts[i].key) == 0)
            snprintf(texts[i].text, texts[i].size, "%s", value);
    }
}

static void set_number(struct gpu *gpu, const char *key, const char *value)
{
    const struct {
        const char *key;
        unsigned *number;
    } numbers[] = {
        {"index", &gpu->index},
        {"memory_mib", &gpu->memory_mib},
        {"numa", &gpu->numa},
        {"arch", &gpu->architecture},
        {"power_w", &gpu->power_limit_w},
        {"pcie_gen", &gpu->pcie_generation},
        {"pcie_width", &gpu->pcie_width},
        {"nvlinks", &gpu->nvlinks},
        {"mig_max", &gpu->mig_max},
        {"gi", &gpu->gpu_instance},
        {"ci", &gpu->compute_instance},
        {"start", &gpu->start},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(key, numbers[i].key) == 0)
            *numbers[i].number = (unsigned)strtoul(value, NULL, 10);
    }
}

static void set_value(struct gpu *gpu, const char *key, const char *value)
{
    set_text(gpu, key, value);
    set_number(gpu, key, value);
    if (strcmp(key, "device") == 0)
        gpu->device_id = (unsigned)strtoul(value, NULL, 16);
    else if (strcmp(key, "cc") == 0)
        sscanf(value, "%u.%u", &gpu->cc_major, &gpu->cc_minor);
    else if (strcmp(key, "ecc") == 0)
        gpu->ecc = strcmp(value, "no") != 0;
    else if (strcmp(key, "mig") == 0 && strcmp(value, "no") != 0) {
        gpu->mig_max = gpu->mig_max ? gpu->mig_max : 7;
        gpu->mig_enabled = gpu->mig_pending = strcmp(value, "on") == 0;
    }
}

static void parse_gpu(char *rest, struct gpu *gpu)
{
    char *key, *value;

    *gpu = (struct gpu){.architecture = 7,
                        .cc_major = 8,
                        .power_limit_w = 150,
                        .pcie_generation = 4,
                        .pcie_width = 16,
                        .ecc = true};
    while (next_token(&rest, &key, &value))
        set_value(gpu, key, value);
    sscanf(gpu->pci, "%x:%x:%x", &gpu->domain, &gpu->bus, &gpu->slot);
}

static bool is_bound(const char *pci)
{
    FILE *file = state_open(BOUND_GPUS);
    char line[LINE_SIZE];
    bool bound = false;

    if (!file)
        return false;
    while (!bound && fgets(line, sizeof(line), file)) {
        line[strcspn(line, " \t\n")] = '\0';
        bound = strcmp(line, pci) == 0;
    }
    fclose(file);
    return bound;
}

// --- faults --------------------------------------------------------------------------------------------------------

// True when the named fault is that of GPU `index`: its file holds the index, nothing for GPU 0, and maybe a word more.
static bool has_fault(unsigned index, const char *name, char word[WORD_SIZE])
{
    char line[LINE_SIZE];
    unsigned faulty = 0;

    if (!state_fault_words(name, line, sizeof(line)))
        return false;
    word[0] = '\0';
    sscanf(line, "%u %31s", &faulty, word);
    return faulty == index;
}

static enum condition condition_of(unsigned index)
{
    char word[WORD_SIZE];

    if (has_fault(index, "gpu-not-initialised", word))
        return GPU_NOT_INITIALISED;
    if (has_fault(index, "gpu-lost", word))
        return strcmp(word, "values") == 0 ? GPU_LOST_VALUES : GPU_LOST;
    return GPU_WELL;
}

static void apply_faults(struct gpu *gpu)
{
    char word[WORD_SIZE];

    gpu->condition = condition_of(gpu->index);
    gpu->uncorrected_error = has_fault(gpu->index, "ecc-uncorrected", word);
    gpu->remap_pending = has_fault(gpu->index, "remap-pending", word);
    gpu->remap_failed = has_fault(gpu->index, "remap-failed", word);
    gpu->throttled = has_fault(gpu->index, "throttled", word);
    gpu->reset_required = has_fault(gpu->index, "xid-95", word);
    gpu->fabric_unhealthy = has_fault(gpu->index, "fabric-unhealthy", word);
    gpu->pcie_width_now = has_fault(gpu->index, "link-narrow", word) ? gpu->pcie_width / 2 : gpu->pcie_width;
    if (has_fault(gpu->index, "gpu-busy", word))
        gpu->process = word[0] ? (unsigned)strtoul(word, NULL, 10) : 1;
    if (gpu->mig_max && has_fault(gpu->index, "mig-empty", word))
        gpu->mig_enabled = gpu->mig_pending = true;
    if (gpu->mig_max && has_fault(gpu->index, "mig-pending", word))
        gpu->mig_pending = !gpu->mig_enabled;
}

// --- the profile ---------------------------------------------------------------------------------------------------

static void add_gpu(struct state *state, char *rest)
{
    struct gpu gpu;

    if (state->gpu_count == MAX_GPUS)
        return;
    parse_gpu(rest, &gpu);
    if (!is_bound(gpu.pci))
        return;
    gpu.minor = state->gpu_count;
    apply_faults(&gpu);
    state->gpus[state->gpu_count++] = gpu;
}

static struct gpu *find_gpu(struct state *state, unsigned index)
{
    for (unsigned i = 0; i < state->gpu_count; i++) {
        if (state->gpus[i].index == index)
            return &state->gpus[i];
    }
    return NULL;
}

// `mig gpu=INDEX gi=... ci=...`, behind the line of its GPU.
static void add_mig_device(struct state *state, char *rest)
{
    char name[sizeof(state->gpus[0].name)], word[WORD_SIZE], *key, *value;
    struct gpu *parent, *mig = &state->mig_devices[state->mig_count];

    if (state->mig_count == MAX_MIG_DEVICES || !next_token(&rest, &key, &value) || strcmp(key, "gpu") != 0)
        return;
    parent = find_gpu(state, (unsigned)strtoul(value, NULL, 10));
    if (!parent || !parent->mig_enabled || has_fault(parent->index, "mig-empty", word))
        return;
    *mig = *parent;
    mig->parent = parent;
    while (next_token(&rest, &key, &value))
        set_value(mig, key, value);
    snprintf(name, sizeof(name), "%.64s MIG %s", parent->name, mig->mig_profile);
    memcpy(mig->name, name, sizeof(name));
    state->mig_count++;
}

void profile_load(struct state *state)
{
    FILE *file = state_open(PROFILE);
    char line[LINE_SIZE];

    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "nvswitch ", 9) == 0)
            state->nvswitch_count++;
        else if (strncmp(line, "gpu ", 4) == 0)
            add_gpu(state, line + 4);
        else if (strncmp(line, "mig ", 4) == 0)
            add_mig_device(state, line + 4);
    }
    fclose(file);
}
