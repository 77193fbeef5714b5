// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The fake nvidia-persistenced: keeps the driver's state while no client runs. It has the nodes made as root, becomes
// the user it is told, and stays until it is stopped.

#include "nodes.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char RUN_DIRECTORY[] = "/run/nvidia-persistenced";
static const char PID_FILE[] = "/run/nvidia-persistenced/nvidia-persistenced.pid";

static bool become(const char *name)
{
    const struct passwd *user = getpwnam(name);

    if (!user) {
        fprintf(stderr, "nvidia-persistenced: there is no user %s\n", name);
        return false;
    }
    return initgroups(name, user->pw_gid) == 0 && setgid(user->pw_gid) == 0 && setuid(user->pw_uid) == 0;
}

// Owned by the user, so that the daemon can take its file away after it has given root up.
static bool make_run_directory(const char *name)
{
    const struct passwd *user = name ? getpwnam(name) : NULL;
    char path[PATH_MAX];

    state_path(path, RUN_DIRECTORY);
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        return false;
    return !user || chown(path, user->pw_uid, user->pw_gid) == 0;
}

static bool write_pid_into(const char *file_name)
{
    char path[PATH_MAX];
    FILE *file = fopen(state_path(path, file_name), "we");

    if (!file)
        return false;
    fprintf(file, "%d\n", (int)getpid());
    return fclose(file) == 0;
}

static void remove_file(const char *file_name)
{
    char path[PATH_MAX];

    unlink(state_path(path, file_name));
}

static bool serve(bool persistence)
{
    sigset_t signals;
    int received;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    if (persistence && !write_pid_into(PERSISTENCE_FILE))
        return false;
    if (!write_pid_into(PID_FILE))
        return false;
    sigwait(&signals, &received);
    remove_file(PERSISTENCE_FILE);
    remove_file(PID_FILE);
    return true;
}

int main(int argc, char *argv[])
{
    static const struct option options[] = {
        {"user", required_argument, NULL, 'u'},
        {"persistence-mode", no_argument, NULL, 'p'},
        {"no-persistence-mode", no_argument, NULL, 'n'},
        {"verbose", no_argument, NULL, 'V'},
        {"no-daemon", no_argument, NULL, 'f'},
        {NULL, 0, NULL, 0},
    };
    const char *user = NULL;
    bool foreground = false, persistence = true;
    struct state state;
    int option;

    while ((option = getopt_long(argc, argv, "u:pV", options, NULL)) != -1) {
        if (option == 'u')
            user = optarg;
        else if (option == 'f')
            foreground = true;
        else if (option == 'n')
            persistence = false;
        else if (option == '?')
            return 1;
    }
    state_load(&state);
    nodes_ensure(&state);
    if (!state.module_version[0] || node_probe("nvidiactl") != 0) {
        fprintf(stderr, "nvidia-persistenced: failed to query NVIDIA devices; is the nvidia module loaded?\n");
        return 1;
    }
    if (!make_run_directory(user) || (user && !become(user))) {
        perror("nvidia-persistenced");
        return 1;
    }
    if (!foreground && daemon(0, 0) != 0) {
        perror("nvidia-persistenced: cannot go into the background");
        return 1;
    }
    if (!serve(persistence)) {
        perror("nvidia-persistenced: cannot write below /run/nvidia-persistenced");
        return 1;
    }
    return 0;
}
