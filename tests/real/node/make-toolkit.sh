#!/bin/sh
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes a small signed repository of empty packages under the names of NVIDIA's container toolkit, in the directory that
# is its argument. Its key lies beside it, as key.asc.
set -eu
target=$1
version=1.20.0-1

mkdir -p "$target"
cd "$target"
work=$(mktemp -d)
for name in nvidia-container-toolkit nvidia-container-toolkit-base libnvidia-container-tools libnvidia-container1; do
    mkdir -p "$work/$name/DEBIAN"
    printf '%s\n' "Package: $name" "Version: $version" 'Architecture: amd64' \
        'Maintainer: the goldennode.gpu tests <tests@example.invalid>' \
        'Description: empty stand-in' > "$work/$name/DEBIAN/control"
    dpkg-deb --root-owner-group --build "$work/$name" "${name}_$version.deb" > /dev/null
done

for deb in *.deb; do
    dpkg-deb --field "$deb"
    printf 'Filename: %s\nSize: %s\nSHA256: %s\n\n' "$deb" "$(stat -c %s "$deb")" "$(sha256sum < "$deb" | cut -d' ' -f1)"
done > Packages
{
    printf 'Origin: stand-in\nDate: %s\nSHA256:\n' "$(date -u '+%a, %d %b %Y %H:%M:%S UTC')"
    printf ' %s %s Packages\n' "$(sha256sum < Packages | cut -d' ' -f1)" "$(stat -c %s Packages)"
} > Release

export GNUPGHOME="$work/gnupg"
mkdir -m 0700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key 'stand-in of the tests' ed25519 sign never
gpg --batch --quiet --clearsign --output InRelease Release
gpg --batch --quiet --armor --export > key.asc
gpgconf --kill all
rm -rf "$work"
