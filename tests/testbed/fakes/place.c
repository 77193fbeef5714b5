// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Where we are: the root of the state files, and the version of the library that we are in. Apart from state.c because
// with _GNU_SOURCE newer C libraries turn sscanf() and strtoul() into ones that older distributions lack.

#define _GNU_SOURCE
#include "state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *state_path(char buffer[PATH_MAX], const char *path)
{
    const char *root = secure_getenv("SIMGPU_ROOT");

    snprintf(buffer, PATH_MAX, "%s%s", root ? root : "", path);
    return buffer;
}

void library_version(const void *symbol, char *version, size_t size)
{
    Dl_info info;
    char *file = NULL, *suffix = NULL;

    if (dladdr(symbol, &info))
        file = realpath(info.dli_fname, NULL);
    if (file)
        suffix = strstr(file, ".so.");
    snprintf(version, size, "%s", suffix ? suffix + strlen(".so.") : "0");
    free(file);
}
