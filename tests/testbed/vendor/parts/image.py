# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CUDA images' stand-in: a small Debian with the environment that the vendor's images have, and no CUDA in it.

The driver's libraries come from the node at run time, as in life; what an image needs to prove them is a dynamic
linker, ldconfig, and Python with ctypes (or, for the tag without Python, nothing else). The images are pushed through a
real registry into its storage.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import tarfile
import time
import typing as t
import urllib.error
import urllib.request
from pathlib import Path

from .tools import EPOCH, VendorError, debian_packages, run, unpack

REPOSITORY = "cuda"
#: tag -> (CUDA, with Python)
TAGS = {"13.0.1-base": ("13.0.1", True), "12.9.1-base": ("12.9.1", True), "13.0.1-nopython": ("13.0.1", False)}

_BASE = ("base-files", "base-passwd", "bash", "dash", "coreutils", "grep", "sed", "libc-bin")
_PYTHON = ("python3-minimal", "libpython3-stdlib")
#: Brought by dependencies on programs that no container of the test bed calls.
_UNUSED = frozenset(("debconf", "dpkg", "perl-base", "mawk", "tar", "media-types", "tzdata", "netbase"))
_LEFT_OUT = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "usr/share/lintian",
    "usr/share/bug",
)
_REGISTRY = "127.0.0.1:5099"
_REGISTRY_CONFIG = """\
version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: %s}}
http: {addr: "%s"}
"""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
_CONFIG = "application/vnd.docker.container.image.v1+json"
_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def make(target: Path, cache: Path) -> None:
    """The storage of a registry that holds the images, in ``target``."""
    layers = {
        True: _layer(target / "python", cache, _BASE + _PYTHON),
        False: _layer(target / "plain", cache, _BASE),
    }
    with _Registry(target):
        for tag, (cuda, python) in TAGS.items():
            _push(tag, cuda, layers[python])


def digests(storage: Path) -> t.Dict[str, str]:
    """cuda:TAG -> the digest of its manifest, as the registry's storage has it."""
    manifests = storage / "docker/registry/v2/repositories" / REPOSITORY / "_manifests/tags"
    return {"%s:%s" % (REPOSITORY, tag): (manifests / tag / "current/link").read_text().strip() for tag in TAGS}


# --- the file system ------------------------------------------------------------------------------------------------


class _Layer(t.NamedTuple):
    packed: bytes
    #: digest of the unpacked tar file
    diff_id: str


def _layer(root: Path, cache: Path, packages: t.Sequence[str]) -> _Layer:
    """A root made of these packages and what they need; no maintainer script runs."""
    for deb in _closure(cache, packages):
        unpack(deb, root)
    for path in _LEFT_OUT:
        if (root / path).exists():
            run("rm", "-r", root / path)
    for name in ("passwd", "group"):
        (root / "etc" / name).write_text((root / "usr/share/base-passwd" / (name + ".master")).read_text())
    run("ldconfig", "-r", root)
    # Holds inode numbers: another build would give another digest.
    (root / "var/cache/ldconfig/aux-cache").unlink()
    tar = _tar(root)
    run("rm", "-r", root)
    return _Layer(gzip.compress(tar, 6, mtime=EPOCH), _digest(tar))


def _closure(cache: Path, packages: t.Sequence[str]) -> t.List[Path]:
    """``packages`` and what they depend on, for a system in which nothing is installed."""
    options = ("-o", "Dir::State::status=/dev/null", "--no-install-recommends")
    simulated = run("apt-get", "install", "--simulate", *options, *packages)
    names = {line.split()[1] for line in simulated.splitlines() if line.startswith("Inst ")}
    return list(debian_packages(cache, *sorted(names - _UNUSED)).values())


def _tar(root: Path) -> bytes:
    """A tar file that is the same for the same files: sorted, of one moment, owned by root."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(root.rglob("*")):
            member = archive.gettarinfo(path, str(path.relative_to(root)))
            member.mtime = EPOCH
            member.uid = member.gid = 0
            member.uname = member.gname = "root"
            if member.isreg():
                with path.open("rb") as content:
                    archive.addfile(member, content)
            else:
                archive.addfile(member)
    return packed.getvalue()


# --- the registry ---------------------------------------------------------------------------------------------------


class _Registry:
    """A registry on loopback that stores into a directory, for as long as the context lasts."""

    def __init__(self, storage: Path) -> None:
        self._storage = storage

    def __enter__(self) -> None:
        file = Path("/tmp/registry.yml")
        file.write_text(_REGISTRY_CONFIG % (self._storage, _REGISTRY))
        self._process = subprocess.Popen(["docker-registry", "serve", str(file)])
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                _ask("GET", "/v2/")
                return
            except urllib.error.URLError:
                time.sleep(0.1)
        raise VendorError("docker-registry does not answer on %s" % _REGISTRY)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


def _push(tag: str, cuda: str, layer: _Layer) -> None:
    config = json.dumps(_config(cuda, layer), sort_keys=True).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _blob(config, _CONFIG),
        "layers": [_blob(layer.packed, _LAYER)],
    }
    _ask("PUT", "/v2/%s/manifests/%s" % (REPOSITORY, tag), json.dumps(manifest).encode(), _MANIFEST)


def _config(cuda: str, layer: _Layer) -> t.Dict[str, t.Any]:
    major_minor = cuda.rsplit(".", maxsplit=1)[0]
    environment = {
        "PATH": "/usr/local/nvidia/bin:/usr/local/cuda/bin:" + _PATH,
        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
        "CUDA_VERSION": cuda,
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
        "NVIDIA_REQUIRE_CUDA": "cuda>=%s" % major_minor,
    }
    return {
        "architecture": "amd64",
        "os": "linux",
        "created": "2026-11-01T00:00:00Z",
        "config": {"Env": ["%s=%s" % item for item in environment.items()], "Cmd": ["/bin/bash"], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id]},
    }


def _blob(content: bytes, media_type: str) -> t.Dict[str, t.Union[str, int]]:
    """Upload one blob; its descriptor for the manifest."""
    digest = _digest(content)
    location = _ask("POST", "/v2/%s/blobs/uploads/" % REPOSITORY).headers["Location"]
    place = location.split(_REGISTRY, maxsplit=1)[-1]
    _ask("PUT", "%s&digest=%s" % (place, digest), content, "application/octet-stream")
    return {"mediaType": media_type, "size": len(content), "digest": digest}


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _ask(method: str, path: str, body: t.Optional[bytes] = None, media_type: str = "") -> t.Any:
    request = urllib.request.Request("http://%s%s" % (_REGISTRY, path), data=body, method=method)
    if media_type:
        request.add_header("Content-Type", media_type)
    return urllib.request.urlopen(request, timeout=60)
