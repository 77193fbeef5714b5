#!/usr/bin/env python3
# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds what the test bed's vendor publishes, and starts the vendor.

    build.py OUTDIR           build everything into OUTDIR (inside the vendor image: Debian 13 with the tools)
    build.py --start NETWORK  make image and content if they are missing, and run the container goldennode-vendor,
                              known as vendor.testbed on that Docker network; does nothing when it runs already

Each part is built once for its own sources and kept in .testbed/vendor/parts; signing comes last and is done anew.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
import typing as t
from pathlib import Path

VENDOR = Path(__file__).resolve().parent
TESTBED = VENDOR.parent
sys.path[:0] = [str(VENDOR), str(TESTBED)]

from parts import dkms, docker_ce, image, nvidia, repository, toolkit, ubuntu  # noqa: E402
from parts.tools import VendorError, run, say  # noqa: E402
from simnodes import engine  # noqa: E402
from simnodes import image as node_image  # noqa: E402
from simnodes.shell import TestbedError, docker  # noqa: E402
from simnodes.shell import run as run_here  # noqa: E402

STATE = TESTBED.parents[1] / ".testbed"
CONTENT = STATE / "vendor"
CACHE = STATE / "cache"
KEYRING = STATE / "gnupg"
IMAGE = "goldennode/vendor"
CONTAINER = "goldennode-vendor"
HOST_NAME = "vendor.testbed"
#: The vendor's key as Ubuntu's is shipped; a node has it below /usr/share/keyrings.
UBUNTU_KEYRING = "ubuntu-archive-keyring.gpg"
USER = "goldennode test bed vendor <vendor@example.invalid>"
#: Signs nothing; tests give its key to apt to see that apt refuses.
IMPOSTOR = "goldennode test bed impostor <impostor@example.invalid>"


class Part(t.NamedTuple):
    """A directory of the content: what its build reads, and the build."""

    sources: t.Tuple[str, ...]
    make: t.Callable[[Path], None]
    signed: bool = True


_SERVING = ("vendor/Dockerfile", "vendor/serve.py")
_SHARED = ("vendor/parts/tools.py",)
_DEBS = _SHARED + ("vendor/parts/debs.py", "vendor/parts/repository.py")
_DRIVER = _DEBS + ("vendor/parts/driver.py", "fakes/*.[ch]", "fakes/Makefile")
PARTS = {
    "nvidia": Part(
        _DRIVER + ("vendor/parts/nvidia.py", "vendor/files/nvidia/*", "vendor/files/dkms/*"),
        lambda target: nvidia.make(target, CACHE, _fakes(target.parent / "fakes")),
    ),
    "nvidia-debian12": Part(_DEBS + ("vendor/parts/dkms.py",), lambda target: dkms.make(target, CACHE)),
    "nvidia-container-toolkit": Part(
        _DEBS + ("vendor/parts/toolkit.py", "vendor/files/toolkit/**/*"), lambda target: toolkit.make(target)
    ),
    "docker-ce": Part(
        _DEBS + ("vendor/parts/docker_ce.py", "vendor/files/docker/*"), lambda target: docker_ce.make(target, CACHE)
    ),
    "ubuntu": Part(
        _DRIVER + ("vendor/parts/ubuntu.py", "vendor/parts/prebuilt.py", "vendor/files/ubuntu/*"),
        lambda target: ubuntu.make(target, CACHE, _fakes(target.parent / "fakes")),
    ),
    "registry": Part(_SHARED + ("vendor/parts/image.py",), lambda target: image.make(target, CACHE), signed=False),
}


# --- building: inside the vendor image ------------------------------------------------------------------------------


def build(outdir: Path) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    partial = outdir.with_name(outdir.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    # The image's lists are as old as the image, and Debian's mirrors drop what has been replaced.
    run("apt-get", "update")
    key = repository.make_key(KEYRING, USER)
    for name, part in PARTS.items():
        # Links, not copies: the packages are large, and nobody changes them.
        run("cp", "--archive", "--link", _built(name, part), partial / name)
        if part.signed:
            repository.sign(partial / name, KEYRING, key)
    _publish_keys(partial, key)
    contents = {
        "fingerprint": key,
        "images": image.digests(partial / "registry"),
        "packages": {name: _published(partial / name) for name, part in PARTS.items() if part.signed},
    }
    (partial / "contents.json").write_text(json.dumps(contents, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    shutil.rmtree(outdir, ignore_errors=True)
    partial.rename(outdir)


def _built(name: str, part: Part) -> Path:
    target = CONTENT / "parts" / ("%s-%s" % (name, digest(part.sources)))
    if target.exists():
        return target
    say("building %s" % name)
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    part.make(partial)
    partial.rename(target)
    return target


def _fakes(target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    run("make", "-C", TESTBED / "fakes", "OUT=%s" % target)
    return target


def _publish_keys(content: Path, key: str) -> None:
    for name, fingerprint in (("vendor", key), ("impostor", repository.make_key(KEYRING, IMPOSTOR))):
        repository.export_key(KEYRING, fingerprint, content / ("%s.asc" % name))
        shutil.copyfile(content / ("%s.asc" % name), STATE / ("%s.asc" % name))
    repository.export_keyring(KEYRING, key, content / UBUNTU_KEYRING)


def _published(part: Path) -> t.Dict[str, t.List[str]]:
    versions: t.Dict[str, t.List[str]] = {}
    for stanza in repository.read_index(part):
        fields = dict(line.split(": ", maxsplit=1) for line in stanza.splitlines() if ": " in line)
        versions.setdefault(fields["Package"], []).append(fields["Version"])
    return versions


def digest(patterns: t.Iterable[str]) -> str:
    """Of the names, modes and contents of the files that these patterns find below the test bed."""
    total = hashlib.sha256()
    for pattern in patterns:
        files = [path for path in sorted(TESTBED.glob(pattern)) if path.is_file() and "__pycache__" not in path.parts]
        if not files:
            raise VendorError("%s has no file %s" % (TESTBED, pattern))
        for path in files:
            total.update(b"%s\0%d\0" % (str(path.relative_to(TESTBED)).encode(), path.stat().st_mode & 0o777))
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


# --- starting: on the machine that has the Docker Engine ------------------------------------------------------------


def start(network: str) -> None:
    engine.ensure()
    content = CONTENT / digest([*_SERVING, *(pattern for part in PARTS.values() for pattern in part.sources)])
    running = docker("ps", "--filter", "name=^%s$" % CONTAINER, "--format", '{{.Label "content"}} {{.Networks}}')
    # The whole path is compared: another checkout on this machine signs with another key.
    if running == "%s %s" % (content, network) and content.is_dir():
        return
    started = time.monotonic()
    _build_image()
    if not content.is_dir():
        # The same paths inside as outside, so that the build need not know where it runs.
        mounts = ("--volume=%s:%s:ro" % (TESTBED, TESTBED), "--volume=%s:%s" % (STATE, STATE))
        program = ("python3", "-B", str(VENDOR / "build.py"), str(content))
        say("building what the vendor publishes (about half a minute, once)")
        docker("run", "--rm", "--network", "host", *mounts, IMAGE, *program)
    docker("rm", "--force", CONTAINER)
    docker(
        *("run", "--detach", "--name", CONTAINER, "--label", "content=%s" % content, "--network", network),
        *("--network-alias", HOST_NAME, "--hostname", HOST_NAME, "--restart", "unless-stopped"),
        *("--volume", "%s:/srv:ro" % content, "--volume", "%s:/vendor:ro" % VENDOR),
        *("--volume", "%s:/keyring:ro" % KEYRING, IMAGE, "python3", "-B", "/vendor/serve.py"),
    )
    _forget_all_but(content)
    say("%s: up after %.0f s" % (HOST_NAME, time.monotonic() - started))


@contextlib.contextmanager
def _one_at_a_time() -> t.Iterator[None]:
    STATE.mkdir(exist_ok=True)
    with (STATE / "vendor.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_image() -> None:
    node_image.ensure_base()
    # The classic builder is in every engine; the host's network spares the build a guess at the path's MTU.
    command = ("docker", "build", "--quiet", "--network", "host", "--tag", IMAGE, str(VENDOR))
    run_here(*command, extra_environment={"DOCKER_BUILDKIT": "0"})


def _forget_all_but(content: Path) -> None:
    """Content and parts of sources that are no more."""
    kept = {content, CONTENT / "parts"}
    kept |= {CONTENT / "parts" / ("%s-%s" % (name, digest(part.sources))) for name, part in PARTS.items()}
    for directory in (*CONTENT.glob("*"), *(CONTENT / "parts").glob("*")):
        if directory not in kept:
            shutil.rmtree(directory)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("outdir", nargs="?", type=Path, metavar="OUTDIR")
    what.add_argument("--start", metavar="NETWORK")
    arguments = parser.parse_args()
    try:
        if arguments.start:
            with _one_at_a_time():
                start(arguments.start)
        else:
            build(arguments.outdir.absolute())
    except (VendorError, TestbedError) as error:
        say("vendor: %s" % error)
        return 1
    return 0


if __name__ == "__main__":
    # A node's apt must be able to read everything, whatever the caller's umask.
    os.umask(0o022)
    sys.exit(main())
