#!/bin/sh
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Puts the kernel player in place while the image is built: programs that ask the kernel for modules or for its log, or
# that look behind the container, are diverted, so that package upgrades keep them diverted, and their originals stay
# reachable for the player.
set -eu

player=/usr/local/sbin/simkernel
cat > "$player" <<'LAUNCHER'
#!/usr/bin/python3 -I
import sys
sys.path.insert(0, "/usr/local/lib/simkernel")
from simkernel.cli import main
sys.exit(main(sys.argv))
LAUNCHER
chmod 755 "$player"
python3 -m compileall -q /usr/local/lib/simkernel

originals=/usr/lib/simkernel/real
mkdir -p "$originals"
for program in modprobe rmmod insmod lsmod modinfo; do
    ln -s /usr/bin/kmod "$originals/$program"
done
take_place_of() {
    dpkg-divert --quiet --local --rename --divert "$1.distrib" --add "$1"
    ln -s "$2" "$1"
}
for program in /usr/sbin/modprobe /usr/sbin/rmmod /usr/sbin/insmod /usr/sbin/lsmod /usr/bin/lsmod /usr/bin/dmesg; do
    take_place_of "$program" "$player"
done
for program in /usr/sbin/grub-probe /usr/bin/systemd-detect-virt; do
    take_place_of "$program" "/usr/local/lib/simkernel/programs/${program##*/}"
done

systemctl enable simkernel-coldplug.service simkernel-udev.path
