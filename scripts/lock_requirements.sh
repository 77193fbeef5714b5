#!/usr/bin/env bash
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Resolves requirements/direct.txt once on Python 3.11 and once on a newer one, and writes down every version.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lock() {
    local python=$1 file=$2 folder
    folder=$(mktemp -d)
    "$python" -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
        --requirement requirements/direct.txt
    {
        echo "# Made from direct.txt by \`make requirements\`; do not edit."
        "$folder/bin/python" -m pip freeze --disable-pip-version-check
    } > "$file"
    rm -rf "$folder"
    echo "$file: $(grep -c == "$file") packages by $("$python" -V)"
}

older=$(scripts/find_python.sh | awk '$1 ~ /^3\.11\./ {print $2; exit}')
newer=$(scripts/find_python.sh | awk '$1 !~ /^3\.11\./ {print $2; exit}')
if [[ -z "$older" || -z "$newer" ]]; then
    echo "both Python 3.11 and a newer one are needed; found: $(scripts/find_python.sh | tr '\n' ';')" >&2
    exit 1
fi
lock "$older" requirements/py311.txt
lock "$newer" requirements/py312plus.txt
