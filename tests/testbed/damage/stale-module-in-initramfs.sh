# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The initramfs of the running kernel holds an nvidia.ko of another version than the disk, as after an upgrade that
# rebuilt none; nothing else is changed. Takes effect with the next boot, and with every one after it.
kernel=$(uname -r)
module=$(modinfo -n nvidia)
version=$(modinfo -F version nvidia)
stale=${version%?}$(((${version: -1} + 1) % 10))
kept=$(mktemp)
cp -a "$module" "$kept"
trap 'cp -a "$kept" "$module"; sed -i "/^nvidia$/d" /etc/initramfs-tools/modules; depmod "$kernel"; rm "$kept"' EXIT
# The version stands in the module as text. The signature behind it is none any more, and goes.
xz --decompress --stdout "$kept" | sed "s/${version//./\\.}/$stale/g" > "${module%.xz}"
strip --strip-debug "${module%.xz}"
xz --force --check=crc32 "${module%.xz}"
depmod "$kernel"
[ "$(modinfo -F version nvidia)" = "$stale" ]
echo nvidia >> /etc/initramfs-tools/modules
update-initramfs -u -k "$kernel"
