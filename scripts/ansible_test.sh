#!/usr/bin/env bash
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs ansible-test on a copy of the tree: it insists on a real path .../ansible_collections/goldennode/gpu in a
# repository of its own. Arguments are those of ansible-test: `sanity`, `units`. Results: tests/output/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
tree=$root/.cache/tree/ansible_collections/goldennode/gpu
environment=$root/.venv/bin

# What Git knows and what is new, as it is in the working tree now.
sync_tree() {
    mkdir -p "$tree"
    find "$tree" -mindepth 1 -maxdepth 1 ! -name .git ! -name .ansible -exec rm -rf {} +
    git ls-files -z --cached --others --exclude-standard --deduplicate \
        | xargs -0 sh -c 'for path; do [ ! -e "$path" ] || printf "%s\0" "$path"; done' sh \
        | tar --create --null --files-from - | tar --extract --directory "$tree"
    if [[ ! -d "$tree/.git" ]]; then
        git -C "$tree" init --quiet
    fi
    git -C "$tree" add --all
}

# ansible-test fetches a script that brings pip into its environments from a host of its own, which many networks do
# not reach. pip's own wheel can do the same.
seed_pip() {
    local cache=$HOME/.ansible/test/cache version script
    version=$("$environment/python" - <<'PYTHON'
import pathlib, re
import ansible_test
source = pathlib.Path(ansible_test.__file__).parent / "_internal" / "python_requirements.py"
print(re.search(r"pip='([0-9.]+)'", source.read_text())[1])
PYTHON
    )
    script=$cache/get_pip_${version//./_}.py
    [[ ! -e "$script" ]] || return 0
    mkdir -p "$cache"
    "$environment/python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --dest "$cache" "pip==$version"
    cat > "$script.new" <<PYTHON
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "pip-$version-py3-none-any.whl"))
from pip._internal.cli.main import main

sys.exit(main(["install"] + [word for word in sys.argv[1:] if word not in ("--no-setuptools", "--no-wheel")]))
PYTHON
    mv "$script.new" "$script"
}

# Real interpreters in place of pyenv's shims, which run and then say that they are not there.
search_path() {
    local folder path=$environment
    local -a folders
    IFS=: read -ra folders <<< "$PATH"
    for folder in "${folders[@]}" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.{9,1?}*/bin; do
        if [[ "$folder" != */shims && -d "$folder" ]]; then
            path+=:$folder
        fi
    done
    printf '%s\n' "$path"
}

kind=$1
shift
results=tests/output/junit/$kind
sync_tree
seed_pip
options=()
case $kind in
    # Programs of the test bed and of the repository are no part of the collection: ruff looks after them.
    sanity)
        options+=(--junit --exclude scripts/)
        for folder in browser pool real testbed; do options+=(--exclude "tests/$folder/"); done
        ;;
    units) options+=(--python "$("$environment/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')") ;;
    units-all) kind=units options+=(--venv) ;;
esac
PATH=$(search_path)
export PATH
rm -rf "$tree/tests/output" "$results"
status=0
run() {
    (cd "$tree" && "$environment/ansible-test" "$kind" --color no "${options[@]}" "$@") || status=$?
}
if [[ "$kind" == units && $# == 0 ]]; then
    # ansible-test tests these three apart, and stops after the first that fails.
    run tests/unit/plugins/modules/
    run tests/unit/plugins/module_utils/
    run --exclude tests/unit/plugins/modules/ --exclude tests/unit/plugins/module_utils/
else
    run "$@"
fi
mkdir -p "$results"
if [[ -d "$tree/tests/output/junit" ]]; then
    cp "$tree"/tests/output/junit/*.xml "$results/"
fi
exit "$status"
