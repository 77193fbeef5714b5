// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Device nodes; see nodes.h.

#define _GNU_SOURCE
#include "nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NVIDIA_MAJOR = 195, PERMISSIONS = 07777 };

static void node_name(char name[32], unsigned minor)
{
    if (minor == CONTROL_MINOR)
        snprintf(name, 32, "nvidiactl");
    else
        snprintf(name, 32, "nvidia%u", minor);
}

static const char *node_path(char full[PATH_MAX], const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/dev/%s", name);
    return state_path(full, path);
}

static bool is_device(const struct stat *status, dev_t device)
{
    return S_ISCHR(status->st_mode) && status->st_rdev == device;
}

static bool is_as_wanted(const char *path, dev_t device, const struct params *wanted)
{
    struct stat status;

    return stat(path, &status) == 0 && is_device(&status, device) &&
           (status.st_mode & PERMISSIONS) == (wanted->mode & PERMISSIONS) && status.st_uid == wanted->uid &&
           status.st_gid == wanted->gid;
}

static bool make(const char *name, dev_t device, const struct params *wanted)
{
    char path[PATH_MAX];
    struct stat status;

    node_path(path, name);
    if (!wanted->modify_device_files || is_as_wanted(path, device, wanted))
        return true;
    if (stat(path, &status) == 0 && !is_device(&status, device) && unlink(path) != 0)
        return false;
    if (mknod(path, S_IFCHR | wanted->mode, device) != 0 && errno != EEXIST)
        return false;
    // Again, because the umask has had its say in mknod().
    return chown(path, wanted->uid, wanted->gid) == 0 && chmod(path, wanted->mode) == 0;
}

bool node_make(const struct state *state, unsigned minor)
{
    char name[32];

    node_name(name, minor);
    return make(name, makedev(NVIDIA_MAJOR, minor), &state->params);
}

bool node_make_uvm(const struct state *state)
{
    const struct params open_to_all = {.modify_device_files = true, .uid = 0, .gid = 0, .mode = 0666};

    return state->uvm_major >= 0 && make("nvidia-uvm", makedev(state->uvm_major, 0), &open_to_all) &&
           make("nvidia-uvm-tools", makedev(state->uvm_major, 1), &open_to_all);
}

bool node_make_cap(const struct state *state, unsigned minor, mode_t mode)
{
    const struct params of_root = {state->params.modify_device_files, .uid = 0, .gid = 0, .mode = mode};
    char name[64], path[PATH_MAX];

    if (state->caps_major < 0)
        return false;
    if (!of_root.modify_device_files)
        return true;
    if (mkdir(node_path(path, "nvidia-caps"), 0755) != 0 && errno != EEXIST)
        return false;
    snprintf(name, sizeof(name), "nvidia-caps/nvidia-cap%u", minor);
    return make(name, makedev(state->caps_major, minor), &of_root);
}

unsigned cap_minor(const struct gpu *mig)
{
    enum { FIRST = 3, INSTANCES = 15, OF_AN_INSTANCE = 9 }; // the instance, and eight compute instances

    return FIRST + (mig->minor * INSTANCES + mig->gpu_instance) * OF_AN_INSTANCE;
}

static int probe(const char *name, int flags)
{
    char path[PATH_MAX];
    struct stat status;
    int file;

    node_path(path, name);
    file = open(path, flags | O_CLOEXEC);
    if (file < 0) // no driver stands behind a simulated node: ENXIO says that only the driver was missing
        return errno == ENXIO ? 0 : errno;
    close(file);
    return stat(path, &status) == 0 && S_ISCHR(status.st_mode) ? 0 : ENODEV;
}

int node_probe(const char *name)
{
    return probe(name, O_RDWR);
}

int node_probe_gpu(const struct gpu *gpu)
{
    char name[32];

    node_name(name, gpu->minor);
    return node_probe(name);
}

static bool may_use(unsigned minor)
{
    char name[64];

    snprintf(name, sizeof(name), "nvidia-caps/nvidia-cap%u", minor);
    return probe(name, O_RDONLY) == 0;
}

void nodes_hide_mig(struct state *state)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < state->mig_count; i++) {
        const struct gpu *mig = &state->mig_devices[i];
        unsigned minor = cap_minor(mig);

        if (may_use(minor) && may_use(minor + 1 + mig->compute_instance))
            state->mig_devices[kept++] = *mig;
    }
    state->mig_count = kept;
}

// --- what the libraries do at their start --------------------------------------------------------------------------

static void ask_modprobe(struct state *state, char *const arguments[])
{
    static const char PROGRAM[] = "/usr/bin/nvidia-modprobe";
    posix_spawn_file_actions_t silent;
    char path[PATH_MAX];
    pid_t child;
    int error;

    posix_spawn_file_actions_init(&silent);
    posix_spawn_file_actions_addopen(&silent, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&silent, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    error = posix_spawn(&child, state_path(path, PROGRAM), &silent, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&silent);
    if (error) // a container has no such program; the nodes stay as they are, as in life
        return;
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    state_load(state);
}

// In life NVML has each made when it first needs it.
static void make_caps(const struct state *state)
{
    enum { CONFIG = 1, MONITOR = 2 };
    bool mig = false;

    for (unsigned i = 0; i < state->gpu_count; i++)
        mig = mig || state->gpus[i].mig_enabled;
    if (!mig)
        return;
    node_make_cap(state, CONFIG, 0400);
    node_make_cap(state, MONITOR, 0444);
    for (unsigned i = 0; i < state->mig_count; i++) {
        unsigned minor = cap_minor(&state->mig_devices[i]);

        node_make_cap(state, minor, 0444);
        node_make_cap(state, minor + 1 + state->mig_devices[i].compute_instance, 0444);
    }
}

static bool nodes_are_as_wanted(const struct state *state)
{
    char name[32], path[PATH_MAX];

    if (!state->module_version[0])
        return false;
    if (!state->params.modify_device_files)
        return true;
    node_name(name, CONTROL_MINOR);
    if (!is_as_wanted(node_path(path, name), makedev(NVIDIA_MAJOR, CONTROL_MINOR), &state->params))
        return false;
    for (unsigned minor = 0; minor < state->gpu_count; minor++) {
        node_name(name, minor);
        if (!is_as_wanted(node_path(path, name), makedev(NVIDIA_MAJOR, minor), &state->params))
            return false;
    }
    return true;
}

void nodes_ensure(struct state *state)
{
    if (geteuid() == 0 && state->module_version[0])
        make_caps(state);
    if (nodes_are_as_wanted(state))
        return;
    if (geteuid() == 0 && state->module_version[0]) {
        node_make(state, CONTROL_MINOR);
        for (unsigned minor = 0; minor < state->gpu_count; minor++)
            node_make(state, minor);
        return;
    }
    ask_modprobe(state, (char *[]){"nvidia-modprobe", "-c", "255", NULL});
    for (unsigned minor = 0; minor < state->gpu_count; minor++) {
        char number[16];

        snprintf(number, sizeof(number), "%u", minor);
        ask_modprobe(state, (char *[]){"nvidia-modprobe", "-c", number, NULL});
    }
}

void nodes_ensure_uvm(struct state *state)
{
    char path[PATH_MAX];

    // Nodes that are there are left as they are: a udev rule may have given them to a group.
    if (access(node_path(path, "nvidia-uvm"), F_OK) == 0)
        return;
    if (geteuid() == 0 && state->uvm_major >= 0)
        node_make_uvm(state);
    else
        ask_modprobe(state, (char *[]){"nvidia-modprobe", "-u", "-c", "0", NULL});
}
