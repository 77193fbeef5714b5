// Copyright (c) 2026, the goldennode.gpu authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The device nodes of the simulated driver: made, mended and probed as the real libraries and nvidia-modprobe do.

#ifndef SIMGPU_NODES_H
#define SIMGPU_NODES_H

#include "state.h"

enum { CONTROL_MINOR = 255 };

// Makes /dev/nvidiaN (or /dev/nvidiactl for CONTROL_MINOR) as the module's parameters say: a wrong mode or owner is
// mended too, unless the parameters forbid it. False when that could not be done.
bool node_make(const struct state *state, unsigned minor);

// Makes /dev/nvidia-uvm and /dev/nvidia-uvm-tools: root:root 0666 always, the parameters do not apply to them.
bool node_make_uvm(const struct state *state);

// Makes /dev/nvidia-caps/nvidia-capMINOR, root's with the mode that the capability's file below /proc names.
bool node_make_cap(const struct state *state, unsigned minor, mode_t mode);

// 0 when the driver would answer on this node, else the errno of open().
int node_probe(const char *name);
int node_probe_gpu(const struct gpu *gpu);

// The minor of a MIG device's GPU instance; its compute instances follow it.
unsigned cap_minor(const struct gpu *mig);

// Leaves the MIG devices alone that this process may use: it opens the nodes of both instances, which a container has of
// its own devices alone.
void nodes_hide_mig(struct state *state);

// What the libraries do when they start: root makes and mends the nodes by itself; anybody else, and root when a
// module is not loaded, asks nvidia-modprobe, which is setuid. May reload `state`.
void nodes_ensure(struct state *state);
void nodes_ensure_uvm(struct state *state);

#endif
