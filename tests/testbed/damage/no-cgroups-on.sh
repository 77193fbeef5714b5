# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What guides for a rootless Docker have people type: the nvidia runtime leaves device rules alone, for which the system's
# engine needs it. Containers by --gpus have the nodes and may not open them.
nvidia-ctk config --set nvidia-container-cli.no-cgroups=true --in-place
grep -q '^no-cgroups = true$' /etc/nvidia-container-runtime/config.toml
