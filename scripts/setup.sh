#!/usr/bin/env bash
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes .venv with the locked tools, and the link by which Ansible finds this tree as the collection goldennode.gpu.
# Does nothing when both are there and the locked lists have not changed. PYTHON=PATH chooses the interpreter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

link_collection() {
    local folder=collections/ansible_collections/goldennode
    mkdir -p "$folder"
    if [[ "$(readlink "$folder/gpu" || true)" != ../../.. ]]; then
        ln -sfn ../../.. "$folder/gpu"
    fi
}

# Debian and Ubuntu leave out of python3 what a virtual environment needs.
install_venv() {
    local version package
    version=$(scripts/find_python.sh --without-venv | awk '{print $1; exit}')
    [[ -n "$version" ]] || fail "no Python 3.11 or newer is here; install one (Debian, Ubuntu: apt-get install python3)"
    package="python${version%.*}-venv"
    if [[ "$(id -u)" != 0 ]] || ! command -v apt-get > /dev/null; then
        fail "Python $version has no venv module; install it (Debian, Ubuntu: apt-get install $package)"
    fi
    say "installing $package"
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$package" >&2
}

choose_python() {
    if [[ -n "${PYTHON:-}" ]]; then
        "$PYTHON" -I -c 'import sys; print("%d.%d.%d" % sys.version_info[:3], sys.executable)' \
            || fail "PYTHON=$PYTHON does not run"
        return
    fi
    [[ -n "$(scripts/find_python.sh)" ]] || install_venv
    scripts/find_python.sh | head -n 1
}

lock_for() {
    case $1 in
        3.11.*) echo requirements/py311.txt ;;
        *) echo requirements/py312plus.txt ;;
    esac
}

# .venv/stamp says which Python and which list made the environment. It is written last: a set-up that was broken off
# is done again.
is_current() {
    local version python digest
    [[ -x .venv/bin/python && -f .venv/stamp ]] || return 1
    read -r version python digest < .venv/stamp
    [[ "$digest" == "$(digest_of "$(lock_for "$version")")" ]] || return 1
    [[ -z "${PYTHON:-}" || "$(choose_python)" == "$version $python" ]]
}

digest_of() { sha256sum < "$1" | cut -d' ' -f1; }

make_environment() {
    local version python lock
    ! is_current || return 0
    read -r version python < <(choose_python)
    [[ -n "${python:-}" ]] || fail "no Python 3.11 or newer that can make a virtual environment was found"
    lock=$(lock_for "$version")
    say "Python $version ($python), $lock"
    rm -rf .venv
    "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --requirement "$lock"
    .venv/bin/python -m pip check --disable-pip-version-check > /dev/null
    printf '%s %s %s\n' "$version" "$python" "$(digest_of "$lock")" > .venv/stamp
}

make_environment
link_collection
