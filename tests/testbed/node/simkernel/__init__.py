# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays the kernel of a simulated node: which kernel booted, which GPU sits on the PCI bus, which module drives it.

Decisions come from the node's real files through the real tools: its initramfs is unpacked and read, modprobe
resolves aliases, blacklists and options, modinfo reads the modules that DKMS built. Only the effect is played.
"""
