# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# dpkg was killed while it configured a package of the driver: its journal says so, and apt does nothing before
# `dpkg --configure -a`. The files are what such a dpkg leaves behind.
package=nvidia-persistenced
dpkg-query --show "$package" > /dev/null
awk -v RS= -v ORS='\n' -v package="$package" \
    'index($0 "\n", "Package: " package "\n") == 1 { sub(/ ok installed\n/, " ok half-configured\n"); print }' \
    /var/lib/dpkg/status > /var/lib/dpkg/updates/0000
grep -q "^Status: .* ok half-configured$" /var/lib/dpkg/updates/0000
