#!/usr/bin/env bash
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Prints "VERSION PATH" of every Python on this machine that is 3.11 or newer and can make a virtual environment, the
# newest first. Each candidate is really run: pyenv and the like leave programs on PATH that only say "not found".
# With --without-venv those are printed that lack the parts for a virtual environment.
set -euo pipefail

modules="venv, ensurepip, ssl"
wanted=complete
if [[ "${1:-}" == --without-venv ]]; then
    wanted=incomplete
fi

candidates() {
    local folder
    local -a folders
    IFS=: read -ra folders <<< "$PATH"
    for folder in "${folders[@]}" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin; do
        compgen -G "$folder/python3" || true
        compgen -G "$folder/python3.[1-9][0-9]" || true
    done
}

# The path is the interpreter's own idea of it: several names and shims lead to one Python.
probe="
import sys
if sys.version_info < (3, 11) or sys.prefix != sys.base_prefix:
    sys.exit(1)
try:
    import $modules
    state = 'complete'
except ImportError:
    state = 'incomplete'
print(state, '%d.%d.%d' % sys.version_info[:3], sys.executable)
"
candidates | while read -r python; do
    "$python" -I -c "$probe" 2>/dev/null || true
done | sort -u | awk -v wanted="$wanted" '$1 == wanted {print $2, $3}' | sort -t. -k1,1nr -k2,2nr -k3,3nr
