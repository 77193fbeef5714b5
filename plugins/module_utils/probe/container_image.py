# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the container probe's script that asks what the image itself brings: driver libraries and frameworks.

It looks in the places where these are found in practice and nowhere else: a search of the whole image costs seconds.
It starts no process but readlink; a framework is known by its files, since an import takes as long as the whole look.
``parse.container_image`` reads what it prints.
"""

from __future__ import annotations

#: Where copies of the driver's libraries lie: folders of the linker, cuda-compat (of the vendor's packages and of
#: conda), folders that images of older toolkits name.
_PLACES = (
    "/usr/lib/*-linux-gnu /usr/lib64 /usr/lib /lib/*-linux-gnu /lib64 /lib /usr/local/lib /usr/local/lib64 "
    "/usr/local/nvidia/lib /usr/local/nvidia/lib64 /usr/local/cuda*/compat /usr/local/cuda*/compat/lib* "
    "/opt/conda/lib /opt/conda/cuda-compat /opt/conda/envs/*/lib /opt/conda/envs/*/cuda-compat"
)

#: A file of a framework longer than this is none of the small ones that we know.
_LINES = "200"

FUNCTIONS = r"""
files_in() {
    for file in "$1"/libcuda.so* "$1"/libnvidia-ml.so*; do
        if [ -e "$file" ] || [ -L "$file" ]; then printf 'file %s\n' "$file"; target "$file"; fi
    done
}

driver_files() {
    # What is mounted is the host's, a file or the folder that it lies in; but for what the root says is cuda-compat.
    while read -r _id _parent _device root point _more; do
        case $point in
            / | /tmp | /proc | /proc/* | /sys | /sys/* | /dev | /dev/*) ;;
            *) printf 'mount %s %s\n' "$point" "$root" ;;
        esac
    done 2> /dev/null < /proc/self/mountinfo || { echo '/proc/self/mountinfo cannot be read'; return 1; }
    old_ifs=$IFS; IFS=:; set -- $LD_LIBRARY_PATH; IFS=$old_ifs
    for directory in "$@" @PLACES@; do
        if [ -d "$directory" ]; then files_in "$directory"; fi
    done
}

lines_of() {
    left=@LINES@
    # The last line need not have an end.
    while [ "$left" -gt 0 ] && { read -r line || [ -n "$line" ]; }; do
        printf '| %s\n' "$line"; left=$((left - 1))
    done < "$1"
}

frameworks() {
    python=$(command -v python3) || return 0
    # A virtual environment, conda and a distribution have their packages beside the program, or beside what it is a
    # link to. Where neither has a library of Python, the program is something else that starts one.
    prefix=${python%/bin/*}; base=
    [ -f "$prefix/pyvenv.cfg" ] || { base=$(readlink -f "$python" 2> /dev/null); base=${base%/bin/*}; }
    [ "$base" != "$prefix" ] || base=/nonexistent
    known=
    for directory in "$prefix"/lib*/python3* "$base"/lib*/python3*; do
        if [ -d "$directory" ]; then known=1; fi
    done
    [ "$known" ] || { printf '%s has no packages beside it\n' "$python"; return 1; }
    for directory in "$prefix"/lib/python3*/*-packages "$prefix"/lib64/python3*/*-packages \
        "$prefix"/local/lib/python3*/*-packages "$base"/lib/python3*/*-packages "$base"/lib64/python3*/*-packages; do
        for file in torch/version.py tensorflow/python/platform/build_info.py jaxlib/version.py; do
            [ -f "$directory/$file" ] && [ -r "$directory/$file" ] || continue
            printf 'package %s\n' "$directory/$file"; lines_of "$directory/$file"
        done
        for file in "$directory"/tensorflow-*.dist-info "$directory"/tensorflow_cpu-*.dist-info \
            "$directory"/jax_cuda*_plugin; do
            if [ -d "$file" ]; then printf 'folder %s\n' "$file"; fi
        done
    done
}
""".replace("@PLACES@", _PLACES).replace("@LINES@", _LINES)
