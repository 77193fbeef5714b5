# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running programs, and fetching Debian's own packages; everything here runs inside the vendor image (Debian 13)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

#: One moment for everything that is built, so that the same input gives the same bytes and the same digests.
EPOCH = 1793491200

FILES = Path(__file__).resolve().parents[1] / "files"


class VendorError(Exception):
    """What went wrong and what to do about it, for a person to read."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(*argv: t.Union[str, Path], cwd: t.Optional[Path] = None, env: t.Optional[t.Dict[str, str]] = None) -> str:
    """The standard output of ``argv``; a failure names the command, its exit status and its last words."""
    done = subprocess.run(
        [str(word) for word in argv],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        words = (done.stderr + done.stdout).strip()[-2000:]
        raise VendorError("failed with status %d: %s\n%s" % (done.returncode, " ".join(map(str, argv)), words))
    return done.stdout


def debian_packages(cache: Path, *names: str) -> t.Dict[str, Path]:
    """Debian's current packages of these names, from the cache when they were fetched before."""
    cache.mkdir(parents=True, exist_ok=True)
    found: t.Dict[str, Path] = {}
    for line in run("apt-get", "download", "--print-uris", *names).splitlines():
        # 'http://…/x.deb' x_1%3a2_amd64.deb 1234 SHA256:…
        file_name = line.split()[1]
        found[file_name.split("_")[0]] = cache / file_name
    absent = [name for name in names if name not in found]
    if absent:
        raise VendorError("Debian has no package %s: is apt's list up to date?" % ", ".join(absent))
    missing = [name for name in names if not found[name].exists()]
    if missing:
        run("apt-get", "download", *missing, cwd=cache)
    return {name: found[name] for name in names}


def debian_closure(cache: Path, *names: str) -> t.Dict[str, Path]:
    """Debian's packages of these names with all that they need, as on a system on which nothing is installed."""
    with tempfile.NamedTemporaryFile() as nothing:
        status = "Dir::State::status=%s" % nothing.name
        text = run("apt-get", "-o", status, "--print-uris", "--yes", "install", *names)
    listed = [line.split()[1] for line in text.splitlines() if line.startswith("'")]
    return debian_packages(cache, *(file_name.split("_")[0] for file_name in listed))


def unpack(deb: Path, target: Path) -> Path:
    """The files of a package, without its scripts."""
    target.mkdir(parents=True, exist_ok=True)
    run("dpkg-deb", "--extract", deb, target)
    return target


def deb_version(deb: Path) -> str:
    return run("dpkg-deb", "--field", deb, "Version").strip()


def fill(template: Path, values: t.Mapping[str, str]) -> str:
    """The template's text with every @NAME@ replaced."""
    text = template.read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace("@%s@" % name, value)
    return text
