# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# One package of the driver's set is at another version of the branch, held or not: dpkg was told to look away.
package=libnvidia-cfg1
own=$(dpkg-query --show --showformat '${Version}' "$package")
other=$(
    apt-cache madison "$package" |
        awk -v branch="${own%%.*}." -v own="$own" 'index($3, branch) == 1 && $3 != own && !found { print $3; found = 1 }'
)
cd "$(mktemp -d)"
apt-get download "$package=$other"
dpkg --force-depends --force-hold --install ./*.deb
