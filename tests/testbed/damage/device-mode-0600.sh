# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Another device mode in the module's options. Takes effect with the next boot.
file=$(grep -lE '^[[:space:]]*options[[:space:]]+nvidia[[:space:]].*NVreg_DeviceFileMode=' /etc/modprobe.d/*.conf)
sed -i -E 's/(NVreg_DeviceFileMode=)[0-9]+/\10600/' "$file"
