# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# nouveau is back in every kernel's initramfs, and nothing keeps it from the GPU. Takes effect with the next boot.
grep -rlE '^[[:space:]]*(blacklist|install|options)[[:space:]]+nouveau' /etc/modprobe.d /usr/lib/modprobe.d | xargs -r rm
grep -qx nouveau /etc/initramfs-tools/modules || echo nouveau >> /etc/initramfs-tools/modules
update-initramfs -u -k all
