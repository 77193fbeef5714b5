# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The CDI specification names the libraries of another version of the driver, as one that was written before an upgrade
# and not since: a container that asks for a GPU by CDI does not start, because the files are not there.
changed=
for spec in /var/run/cdi/*.yaml /etc/cdi/*.yaml; do
    [ -f "$spec" ] || continue
    version=$(grep -Eom1 'libcuda\.so\.[0-9]+\.[0-9.]*[0-9]' "$spec" || true)
    version=${version#libcuda.so.}
    [ -n "$version" ] || continue
    stale=${version%?}$(((${version: -1} + 1) % 10))
    sed -i "s/\.so\.${version//./\\.}/.so.$stale/g" "$spec"
    changed=$spec
done
[ -n "$changed" ]
