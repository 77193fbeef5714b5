# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shell script of the container probe: what any image with a shell can do. ``parse.container`` reads its output.

Run as ``sh -c SCRIPT goldennode CUDA [cuda_command ...]``; CUDA is the text of the CUDA child.
"""

from __future__ import annotations

from ..parse.container import MARK
from ..parse.nvidia_smi import FIELDS
from .container_image import FUNCTIONS

SCRIPT = (
    r"""
say() { printf '\n@MARK@ %s\n' "$*"; }
target() { printf 'target %s => %s\n' "$1" "$(readlink -f "$1" 2> /dev/null)"; }

libraries() {
    # What LD_LIBRARY_PATH names comes before the cache, for the linker and for us.
    old_ifs=$IFS; IFS=:; set -- $LD_LIBRARY_PATH; IFS=$old_ifs
    for directory in "$@"; do
        for name in libcuda.so.1 libnvidia-ml.so.1; do
            [ -e "$directory/$name" ] || continue
            printf 'preload %s => %s\n' "$name" "$directory/$name"
            target "$directory/$name"
        done
    done
    cache=$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>&1) || { printf '%s\n' "$cache"; return 1; }
    printf '%s\n' "$cache" | while read -r line; do
        case $line in
            'libcuda.so.1 '* | 'libnvidia-ml.so.1 '*) printf 'cache %s\n' "$line"; target "${line##*=> }" ;;
        esac
    done
}

nodes() {
    set --
    for node in /dev/nvidia* /dev/nvidia-caps/*; do
        if [ -e "$node" ]; then set -- "$@" "$node"; fi
    done
    [ $# -eq 0 ] || stat -c '%n %f %u %g %t %T' "$@" 2>&1
}
# Only a container with a part of a GPU has such nodes: others are spared one more start of nvidia-smi.
mig() {
    for node in /dev/nvidia-caps/nvidia-cap*; do
        [ -e "$node" ] || continue
        nvidia-smi -L 2>&1 < /dev/null
        return
    done
}
@FUNCTIONS@
say start
cuda=$1; shift
confinement=
read -r confinement 2> /dev/null < /proc/self/attr/current
say confinement; printf '%s\n' "$confinement"; say rc 0
if command -v nvidia-smi > /dev/null 2>&1; then
    say smi
    nvidia-smi --query-gpu=@FIELDS@ --format=csv,noheader 2>&1 < /dev/null
    say rc $?
    say mig; mig; say rc $?
else
    say no_smi
fi
say libraries; libraries; say rc $?
say nodes; nodes; say rc $?
say ldconfig; PATH=$PATH:/usr/sbin:/sbin command -v ldconfig; say rc $?
say driver_files; driver_files; say rc $?
say frameworks; frameworks; say rc $?
if command -v python3 > /dev/null 2>&1; then
    say cuda
    python3 -I -c "$cuda" 2>&1 < /dev/null
    say rc $?
elif [ $# -gt 0 ]; then
    say cuda_command
    "$@" 2>&1 < /dev/null
    say rc $?
else
    say no_cuda
fi
""".replace("@FUNCTIONS@", FUNCTIONS)
    .replace("@MARK@", MARK)
    .replace("@FIELDS@", ",".join(FIELDS))
)
