#!/usr/bin/env python3
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the repositories' faults that are another content: packages withdrawn, or with a postinst that fails.

Runs in the vendor's container whenever such a fault is switched, and makes everything in CHANGED anew: for each
repository that differs from /srv an index of its own, signed, and beside it `gone`, the files that must not be served.
"""

from __future__ import annotations

import fnmatch
import json
import shutil
import sys
import tempfile
import typing as t
from pathlib import Path

from parts import repository
from parts.tools import VendorError, run, say
from serve import CHANGED, CONTENT, FAULTS

KEYRING = Path("/keyring")

FAILS = """\
#!/bin/sh
if [ "$1" = configure ] && { [ -z "%(once)s" ] || [ ! -e /var/lib/dpkg/%(package)s.has-failed ]; }; then
    touch /var/lib/dpkg/%(package)s.has-failed
    echo "%(package)s: the installation fails here, because a fault of the test bed wants it to" >&2
    exit 1
fi
"""


class Wish(t.NamedTuple):
    """Which packages a fault is about: a pattern of names, a version; and the words behind that."""

    package: str
    version: str
    words: t.Sequence[str] = ()

    def meets(self, fields: t.Mapping[str, str]) -> bool:
        return fnmatch.fnmatchcase(fields["Package"], self.package) and fields["Version"] == self.version


def wish_of(fault: str) -> t.Optional[Wish]:
    try:
        package, version, *words = (FAULTS / fault).read_text().split()
    except FileNotFoundError:
        return None
    except ValueError:
        raise VendorError("%s needs the words PACKAGE VERSION" % fault) from None
    return Wish(package, version, words)


def make() -> None:
    withdrawn, failing = wish_of("withdrawn"), wish_of("failing-postinst")
    partial = CHANGED.with_name("changed.partial")
    for directory in (CHANGED, partial):
        shutil.rmtree(directory, ignore_errors=True)
    partial.mkdir(parents=True)
    touched = 0
    for source in sorted(path.parent for path in Path(CONTENT).glob("*/dists")):
        touched += _change(source, partial / source.name, withdrawn, failing)
    if (withdrawn or failing) and not touched:
        raise VendorError("no repository has such a package: %s" % " ".join((withdrawn or failing or ())[:2]))
    partial.rename(CHANGED)


def _change(source: Path, target: Path, withdrawn: t.Optional[Wish], failing: t.Optional[Wish]) -> int:
    """How many packages differ; nothing is written for a repository that has none."""
    stanzas: t.List[str] = []
    gone: t.List[str] = []
    broken = 0
    for text in repository.read_index(source):
        fields = dict(line.split(": ", maxsplit=1) for line in text.splitlines() if ": " in line)
        if withdrawn and withdrawn.meets(fields):
            gone.append("%s/%s" % (source.name, fields["Filename"]))
            continue
        if failing and failing.meets(fields):
            deb = target / fields["Filename"]
            _break(source / fields["Filename"], deb, fields["Package"], "once" in failing.words)
            text = repository.stanza(deb, target)
            broken += 1
        stanzas.append(text)
    if gone or broken:
        repository.write_index(
            target, stanzas, *(repository.release_field(source, name) for name in ("Origin", "Suite"))
        )
        _sign(target)
        (target / "gone").write_text("".join(path + "\n" for path in gone), encoding="utf-8")
    return len(gone) + broken


def _break(deb: Path, target: Path, package: str, once: bool) -> None:
    """The package with a postinst that fails before it does anything else."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary, "root")
        run("dpkg-deb", "--raw-extract", deb, root)
        postinst = root / "DEBIAN/postinst"
        rest = postinst.read_text(encoding="utf-8") if postinst.exists() else ""
        postinst.write_text(FAILS % {"package": package, "once": "once" if once else ""} + rest, encoding="utf-8")
        postinst.chmod(0o755)
        run("dpkg-deb", "--root-owner-group", "-Zzstd", "-z1", "--build", root, target)


def _sign(target: Path) -> None:
    """gpg writes into its home even to sign."""
    key = json.loads(Path(CONTENT, "contents.json").read_text(encoding="utf-8"))["fingerprint"]
    with tempfile.TemporaryDirectory() as temporary:
        keyring = Path(temporary, "keyring")
        shutil.copytree(KEYRING, keyring, ignore=lambda _directory, names: [n for n in names if n.startswith("S.")])
        repository.sign(target, keyring, key)


def main() -> int:
    try:
        make()
    except VendorError as error:
        say("vendor: %s" % error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
