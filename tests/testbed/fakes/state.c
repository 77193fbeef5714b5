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

static const char MODULE_VERSION[] = "/run/simgpu/proc/driver/nvidia/version";
static const char MODULE_PARAMS[] = "/run/simgpu/proc/driver/nvidia/params";
static const char CHAR_DEVICES[] = "/run/simgpu/devices";
static const char FABRIC[] = "/run/simgpu/fabric";
static const char FAULTS[] = "/run/simgpu/faults/";

enum { LINE_SIZE = 1024 };

FILE *state_open(const char *path)
{
    char full[PATH_MAX];

    return fopen(state_path(full, path), "re");
}

static bool read_line(const char *path, char *line, size_t size)
{
    FILE *file = state_open(path);
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
    FILE *file = state_open(MODULE_PARAMS);
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
    FILE *file = state_open(CHAR_DEVICES);
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

    if (state_fault_words("fabric-not-ready", line, sizeof(line)))
        return strncmp(line, "not_started", 11) == 0 ? FABRIC_NOT_STARTED : FABRIC_IN_PROGRESS;
    if (!read_line(FABRIC, line, sizeof(line)))
        return FABRIC_COMPLETED;
    line[strcspn(line, " \t\n")] = '\0';
    if (strcmp(line, "completed") == 0)
        return FABRIC_COMPLETED;
    return strcmp(line, "in_progress") == 0 ? FABRIC_IN_PROGRESS : FABRIC_NOT_STARTED;
}

// --- faults --------------------------------------------------------------------------------------------------------

bool state_fault(const char *name)
{
    char fault[PATH_MAX], full[PATH_MAX];

    snprintf(fault, sizeof(fault), "%s%s", FAULTS, name);
    return access(state_path(full, fault), F_OK) == 0;
}

bool state_fault_words(const char *name, char *line, size_t size)
{
    char path[PATH_MAX];

    line[0] = '\0';
    if (!state_fault(name))
        return false;
    snprintf(path, sizeof(path), "%s%s", FAULTS, name);
    read_line(path, line, size);
    return true;
}

// --- all of it -----------------------------------------------------------------------------------------------------

void state_load(struct state *state)
{
    char banner[LINE_SIZE];

    memset(state, 0, sizeof(*state));
    if (read_line(MODULE_VERSION, banner, sizeof(banner)))
        find_version(banner, state->module_version, sizeof(state->module_version));
    load_params(&state->params);
    state->uvm_major = find_major("nvidia-uvm");
    state->caps_major = find_major("nvidia-caps");
    state->fabric = load_fabric();
    profile_load(state);
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
