// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The fake nvidia-modprobe: loads the modules and makes device nodes. The driver package installs it setuid root, so
// that a user's NVML or CUDA can have the nodes made; under no_new_privs that stays without effect.
//
//   nvidia-modprobe                  load nvidia
//   nvidia-modprobe -c MINOR ...     and make /dev/nvidiaMINOR (255: /dev/nvidiactl)
//   nvidia-modprobe -u [-c BASE]     load nvidia-uvm, and make /dev/nvidia-uvm and /dev/nvidia-uvm-tools
//   nvidia-modprobe -f FILE ...      and make the node of the capability that FILE below /proc/driver/nvidia describes

#include "nodes.h"

#include <errno.h>
#include <getopt.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_MINORS = 64 };

static bool run_modprobe(char *module)
{
    char program[PATH_MAX];
    char *arguments[] = {"modprobe", module, NULL};
    char *environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL}; // the caller's is not to be trusted
    pid_t child;
    int status;

    if (posix_spawn(&child, state_path(program, "/sbin/modprobe"), NULL, NULL, arguments, environment) != 0)
        return false;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return false;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool load(struct state *state, bool uvm)
{
    state_load(state);
    if (!state->module_version[0] && !run_modprobe("nvidia"))
        return false;
    if (uvm && state->uvm_major < 0 && !run_modprobe("nvidia-uvm"))
        return false;
    state_load(state);
    return state->module_version[0] && (!uvm || state->uvm_major >= 0);
}

// The player's /proc/driver is /run/simgpu/proc/driver.
static bool make_cap(const struct state *state, const char *description)
{
    char path[PATH_MAX], line[128], key[64];
    unsigned value, minor = 0, mode = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/run/simgpu%s", description);
    file = state_open(path);
    if (!file) {
        fprintf(stderr, "nvidia-modprobe: there is no capability %s\n", description);
        return false;
    }
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%63[^:]: %u", key, &value) != 2)
            continue;
        if (strcmp(key, "DeviceFileMinor") == 0)
            minor = value;
        else if (strcmp(key, "DeviceFileMode") == 0)
            mode = value;
    }
    fclose(file);
    return minor && node_make_cap(state, minor, mode);
}

int main(int argc, char *argv[])
{
    static const struct option options[] = {
        {"create-nvidia-device-file", required_argument, NULL, 'c'},
        {"unified-memory", no_argument, NULL, 'u'},
        {"nvidia-cap-file", required_argument, NULL, 'f'},
        {NULL, 0, NULL, 0},
    };
    struct state state;
    unsigned long minors[MAX_MINORS];
    const char *caps[MAX_MINORS];
    int count = 0, cap_count = 0, option;
    bool uvm = false, made = true;

    while ((option = getopt_long(argc, argv, "c:f:u", options, NULL)) != -1) {
        if (option == 'u')
            uvm = true;
        else if (option == 'c' && count < MAX_MINORS)
            minors[count++] = strtoul(optarg, NULL, 10);
        else if (option == 'f' && cap_count < MAX_MINORS && strncmp(optarg, "/proc/driver/nvidia/", 20) == 0)
            caps[cap_count++] = optarg;
        else
            return 1;
    }
    // modprobe looks at the real user, not at the effective one. Without privileges (no_new_privs) this fails, and so
    // does everything after it.
    if (setgid(0) != 0 || setuid(0) != 0 || !load(&state, uvm)) {
        fprintf(stderr, "nvidia-modprobe: the module %s cannot be loaded\n", uvm ? "nvidia-uvm" : "nvidia");
        return 1;
    }
    for (int i = 0; i < count; i++)
        made = (uvm ? node_make_uvm(&state) : node_make(&state, (unsigned)minors[i])) && made;
    for (int i = 0; i < cap_count; i++)
        made = make_cap(&state, caps[i]) && made;
    return made ? 0 : 1;
}
