# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# One package of the driver's set is held no more, and the next upgrade will take it.
apt-mark unhold libnvidia-ml1
