# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Upgrades the driver's packages to another version of the same branch, held or not; the loaded module stays.
loaded=$(cat /sys/module/nvidia/version)
packages=$(
    dpkg-query --show --showformat '${binary:Package} ${Version}\n' |
        awk -v start="$loaded-" 'index($2, start) == 1 { print $1 }'
)
other=$(
    apt-cache madison nvidia-modprobe |
        awk -v branch="${loaded%%.*}." -v own="$loaded-" \
            'index($3, branch) == 1 && index($3, own) != 1 && !found { print $3; found = 1 }'
)
# shellcheck disable=SC2086 # a list of names
apt-mark unhold $packages
# shellcheck disable=SC2046,SC2086
DEBIAN_FRONTEND=noninteractive apt-get install --yes --allow-downgrades $(printf "%s=$other " $packages)
