// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Reads the state files; see state.h.

#include "state.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PROFILE[] = "/etc/simgpu/profile";
static const char MODULE_VERSION[] = "/run/simgpu/proc/driver/nvidia/version";
static const char MODULE_PARAMS[] = "/run/simgpu/proc/driver/nvidia/params";
static const char BOUND_GPUS[] = "/run/simgpu/gpus";
static const char CHAR_DEVICES[] = "/run/simgpu/devices";
static const char FABRIC[] = "/run/simgpu/fabric";
static const char FAULTS[] = "/run/simgpu/faults/";

enum { LINE_SIZE = 1024 };

static FILE *open_state(const char *path)
{
    char full[PATH_MAX];

    return fopen(state_path(full, path), "re");
}

static bool read_line(const char *path, char *line, size_t size)
{
    FILE *file = open_state(path);
    bool read;

    if (!file)
        return false;
    read = fgets(line, (int)size, file) != NULL;
    fclose(file);
    return read;
}

// --- the loaded module ---------------------------------------------------------------------------------------------

// The first word made of digits and dots alone: the banner's words differ between flavours and branches.
static void find_version(char *banner, char *version, size_t size)
{
    version[0] = '\0';
    for (char *rest, *word = strtok_r(banner, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
        if (isdigit((unsigned char)word[0]) && strchr(word, '.') && word[strspn(word, "0123456789.")] == '\0') {
            snprintf(version, size, "%s", word);
            return;
        }
    }
}

static void load_params(struct params *params)
{
    FILE *file = open_state(MODULE_PARAMS);
    char line[LINE_SIZE], key[64];
    unsigned value;

    *params = (struct params){.modify_device_files = true, .uid = 0, .gid = 0, .mode = 0666};
    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%63[^:]: %u", key, &value) != 2)
            continue;
        if (strcmp(key, "ModifyDeviceFiles") == 0)
            params->modify_device_files = value != 0;
        else if (strcmp(key, "DeviceFileUID") == 0)
            params->uid = value;
        else if (strcmp(key, "DeviceFileGID") == 0)
            params->gid = value;
        else if (strcmp(key, "DeviceFileMode") == 0)
            params->mode = value;
    }
    fclose(file);
}

static int find_major(const char *wanted)
{
    FILE *file = open_state(CHAR_DEVICES);
    char line[LINE_SIZE], name[64];
    int major, found = -1;

    if (!file)
        return -1;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%d %63s", &major, name) == 2 && strcmp(name, wanted) == 0)
            found = major;
    }
    fclose(file);
    return found;
}

static enum fabric load_fabric(void)
{
    char line[LINE_SIZE];

    if (!read_line(FABRIC, line, sizeof(line)))
        return FABRIC_COMPLETED;
    line[strcspn(line, " \t\n")] = '\0';
    if (strcmp(line, "completed") == 0)
        return FABRIC_COMPLETED;
    return strcmp(line, "in_progress") == 0 ? FABRIC_IN_PROGRESS : FABRIC_NOT_STARTED;
}

// --- the hardware profile ------------------------------------------------------------------------------------------

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

static void set_gpu_value(struct gpu *gpu, const char *key, const char *value)
{
    unsigned number = (unsigned)strtoul(value, NULL, strcmp(key, "device") == 0 ? 16 : 10);

    if (strcmp(key, "index") == 0)
        gpu->index = number;
    else if (strcmp(key, "uuid") == 0)
        snprintf(gpu->uuid, sizeof(gpu->uuid), "%s", value);
    else if (strcmp(key, "name") == 0)
        snprintf(gpu->name, sizeof(gpu->name), "%s", value);
    else if (strcmp(key, "pci") == 0)
        snprintf(gpu->pci, sizeof(gpu->pci), "%s", value);
    else if (strcmp(key, "device") == 0)
        gpu->device_id = number;
    else if (strcmp(key, "memory_mib") == 0)
        gpu->memory_mib = number;
    else if (strcmp(key, "numa") == 0)
        gpu->numa = number;
    else if (strcmp(key, "arch") == 0)
        gpu->architecture = number;
    else if (strcmp(key, "cc") == 0)
        sscanf(value, "%u.%u", &gpu->cc_major, &gpu->cc_minor);
    else if (strcmp(key, "power_w") == 0)
        gpu->power_limit_w = number;
    else if (strcmp(key, "pcie_gen") == 0)
        gpu->pcie_generation = number;
    else if (strcmp(key, "nvlinks") == 0)
        gpu->nvlinks = number;
    else if (strcmp(key, "mig") == 0)
        gpu->mig_capable = strcmp(value, "yes") == 0;
}

static void parse_gpu(char *rest, struct gpu *gpu)
{
    char *key, *value;

    *gpu = (struct gpu){.architecture = 7, .cc_major = 8, .power_limit_w = 150, .pcie_generation = 4};
    while (next_token(&rest, &key, &value))
        set_gpu_value(gpu, key, value);
    sscanf(gpu->pci, "%x:%x:%x", &gpu->domain, &gpu->bus, &gpu->slot);
}

static bool is_bound(const char *pci)
{
    FILE *file = open_state(BOUND_GPUS);
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

bool state_fault(const char *name)
{
    char fault[PATH_MAX], full[PATH_MAX];

    snprintf(fault, sizeof(fault), "%s%s", FAULTS, name);
    return access(state_path(full, fault), F_OK) == 0;
}

// True when the named fault is that of GPU `index`: its file holds the index, nothing for GPU 0, and maybe a word more.
static bool has_fault(unsigned index, const char *name, char word[32])
{
    char path[PATH_MAX], line[LINE_SIZE] = "";
    unsigned faulty = 0;

    if (!state_fault(name))
        return false;
    snprintf(path, sizeof(path), "%s%s", FAULTS, name);
    read_line(path, line, sizeof(line));
    word[0] = '\0';
    sscanf(line, "%u %31s", &faulty, word);
    return faulty == index;
}

static enum condition condition_of(unsigned index)
{
    char word[32];

    if (has_fault(index, "gpu-not-initialised", word))
        return GPU_NOT_INITIALISED;
    if (has_fault(index, "gpu-lost", word))
        return strcmp(word, "values") == 0 ? GPU_LOST_VALUES : GPU_LOST;
    return GPU_WELL;
}

static void load_profile(struct state *state)
{
    FILE *file = open_state(PROFILE);
    char line[LINE_SIZE];
    struct gpu gpu;

    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "nvswitch ", 9) == 0)
            state->nvswitch_count++;
        if (strncmp(line, "gpu ", 4) != 0 || state->gpu_count == MAX_GPUS)
            continue;
        parse_gpu(line + 4, &gpu);
        if (!is_bound(gpu.pci))
            continue;
        gpu.minor = state->gpu_count;
        gpu.condition = condition_of(gpu.index);
        state->gpus[state->gpu_count++] = gpu;
    }
    fclose(file);
}

void state_load(struct state *state)
{
    char banner[LINE_SIZE];

    memset(state, 0, sizeof(*state));
    if (read_line(MODULE_VERSION, banner, sizeof(banner)))
        find_version(banner, state->module_version, sizeof(state->module_version));
    load_params(&state->params);
    state->uvm_major = find_major("nvidia-uvm");
    state->fabric = load_fabric();
    load_profile(state);
}

int cuda_version_of(const char *driver_version)
{
    static const struct {
        int branch, cuda;
    } table[] = {
        {450, 11000}, {455, 11010}, {460, 11020}, {465, 11030}, {470, 11040}, {495, 11050}, {510, 11060},
        {515, 11070}, {520, 11080}, {525, 12000}, {530, 12010}, {535, 12020}, {545, 12030}, {550, 12040},
        {555, 12050}, {560, 12060}, {565, 12070}, {570, 12080}, {575, 12090}, {580, 13000}, {590, 13010},
        {595, 13020}, {610, 13030}, {615, 13040}, {620, 13050},
    };
    int branch = atoi(driver_version);

    for (size_t row = 0; row < sizeof(table) / sizeof(table[0]); row++) {
        if (table[row].branch == branch)
            return table[row].cuda;
    }
    return 0;
}
