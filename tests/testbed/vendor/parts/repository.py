# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A directory of packages -> an apt repository (one suite, component ``main``), and its signature."""

from __future__ import annotations

import email.utils
import gzip
import hashlib
import typing as t
from pathlib import Path

from .tools import EPOCH, VendorError, run

#: The suite of a vendor's repository; a distribution's has its code name.
STABLE = "stable"
_INDEX_DIRECTORY = "main/binary-amd64"


def index(repository: Path, origin: str, suite: str = STABLE) -> None:
    """Write Packages and an unsigned Release for everything below ``repository``/pool."""
    debs = sorted(repository.glob("pool/*.deb"))
    if not debs:
        raise VendorError("there is no package below %s" % (repository / "pool"))
    write_index(repository, [stanza(deb, repository) for deb in debs], origin, suite)


def write_index(repository: Path, stanzas: t.Sequence[str], origin: str, suite: str) -> None:
    """Packages of these stanzas, and an unsigned Release."""
    packages = "\n".join(stanzas).encode()
    target = repository / "dists" / suite / _INDEX_DIRECTORY
    target.mkdir(parents=True, exist_ok=True)
    (target / "Packages").write_bytes(packages)
    (target / "Packages.gz").write_bytes(gzip.compress(packages, 6, mtime=EPOCH))
    _write_release(repository / "dists" / suite, origin)


def read_index(repository: Path) -> t.List[str]:
    """The stanzas of Packages."""
    text = (_dist(repository) / _INDEX_DIRECTORY / "Packages").read_text(encoding="utf-8")
    return [part.rstrip("\n") + "\n" for part in text.split("\n\n")]


def sign(repository: Path, keyring: Path, key: str) -> None:
    """Release -> InRelease, with the secret key ``key`` of ``keyring``."""
    dist = _dist(repository)
    signed = dist / "InRelease"
    signed.unlink(missing_ok=True)
    run(
        "gpg", "--homedir", keyring, "--batch", "--local-user", key, "--clearsign", "--output", signed, dist / "Release"
    )


def release_field(repository: Path, field: str) -> str:
    """What Release says: Origin, Suite..."""
    text = (_dist(repository) / "Release").read_text(encoding="ascii")
    return text.partition(field + ": ")[2].partition("\n")[0]


def _dist(repository: Path) -> Path:
    """The directory of the one suite."""
    (dist,) = (repository / "dists").iterdir()
    return dist


def make_key(keyring: Path, user: str) -> str:
    """The fingerprint of ``user``'s key in ``keyring``; made there when it is missing."""
    keyring.mkdir(parents=True, exist_ok=True)
    keyring.chmod(0o700)
    gpg = ("gpg", "--homedir", keyring, "--batch")
    if user not in run(*gpg, "--with-colons", "--list-secret-keys"):
        run(*gpg, "--passphrase", "", "--quick-generate-key", user, "ed25519", "sign", "never")
    for line in run(*gpg, "--with-colons", "--list-secret-keys", user).splitlines():
        if line.startswith("fpr:"):
            return line.split(":")[9]
    raise VendorError("gpg made no key for %s in %s" % (user, keyring))


def export_key(keyring: Path, key: str, target: Path) -> None:
    target.write_text(run("gpg", "--homedir", keyring, "--batch", "--armor", "--export", key), encoding="ascii")


def export_keyring(keyring: Path, key: str, target: Path) -> None:
    """The key as apt wants it in a file that ends in .gpg."""
    run("gpg", "--homedir", keyring, "--batch", "--yes", "--output", target, "--export", key)


def stanza(deb: Path, repository: Path) -> str:
    """What Packages says of a package below ``repository``; with SHA512, as NVIDIA's own repositories have it."""
    content = deb.read_bytes()
    return "%sFilename: %s\nSize: %d\nSHA256: %s\nSHA512: %s\n" % (
        run("dpkg-deb", "--field", deb),
        deb.relative_to(repository),
        len(content),
        hashlib.sha256(content).hexdigest(),
        hashlib.sha512(content).hexdigest(),
    )


def _write_release(dist: Path, origin: str) -> None:
    indexes: t.List[str] = []
    for name in ("Packages", "Packages.gz"):
        content = (dist / _INDEX_DIRECTORY / name).read_bytes()
        indexes.append(" %s %d %s/%s\n" % (hashlib.sha256(content).hexdigest(), len(content), _INDEX_DIRECTORY, name))
    fields = {
        "Origin": origin,
        "Label": origin,
        "Suite": dist.name,
        "Codename": dist.name,
        "Date": email.utils.formatdate(EPOCH, usegmt=True).replace("GMT", "UTC"),
        "Architectures": "amd64",
        "Components": "main",
    }
    head = "".join("%s: %s\n" % field for field in fields.items())
    (dist / "Release").write_text(head + "SHA256:\n" + "".join(indexes), encoding="ascii")
