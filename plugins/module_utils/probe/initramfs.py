# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The initramfs of every installed kernel: is it built from what is configured now, and what is inside?

Reading an image takes seconds. So the initramfs module records what it built, and an image that is still the recorded
one is not read again. What the image is built *from* is digested each time: that is cheap, and tells of a change that
nobody has built in yet.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import typing as t

from ..model import SCHEMA, Initramfs, Reading
from ..parse import initramfs as content
from ..parse.json_lines import parse_object
from . import children
from . import kernel as kernel_probe
from .children import initramfs as reader_child
from .host import Host

RECORD = "/var/lib/goldennode/initramfs.json"
MODULES = "/lib/modules"

#: Where an image may stand, {} being the kernel: Debian and Ubuntu, the RHEL family, SUSE.
IMAGES = ("/boot/initrd.img-{}", "/boot/initramfs-{}.img", "/boot/initrd-{}")
KERNELS = ("/boot/vmlinuz-{}", "/lib/modules/{}/vmlinuz", "/boot/vmlinux-{}", "/boot/Image-{}")

#: Those of them that a boot loader starts with the image that stands beside them.
_IN_BOOT = tuple(pattern for pattern in KERNELS if pattern.startswith("/boot/"))

#: What makes images: where one is installed, it makes one for each kernel.
GENERATORS = ("/usr/sbin/update-initramfs", "/usr/bin/dracut", "/usr/sbin/dracut")

_TAKES_AN_IMAGE = "CONFIG_BLK_DEV_INITRD=y"

#: Configuration that goes into an image or decides what does.
CONFIGURATION = (
    "/etc/modprobe.d",
    "/usr/lib/modprobe.d",
    "/lib/modprobe.d",
    "/run/modprobe.d",
    "/etc/initramfs-tools",
    "/etc/dracut.conf",
    "/etc/dracut.conf.d",
    "/usr/lib/dracut/dracut.conf.d",
)

#: Below /lib/modules/KERNEL: where drivers from outside the kernel's own package are put.
MODULE_DIRECTORIES = ("updates", "extra", "weak-updates", "kernel/drivers/video")

_NVIDIA_MODULE = re.compile(r"^nvidia.*\.ko(?:\.\w+)?$")
_DEPTH = 8
READ_SECONDS = 30.0


def installed_kernels(host: Host) -> Reading[t.Tuple[str, ...]]:
    """Kernels that the machine could boot: one whose package is gone leaves its directory behind, but no kernel."""
    names = host.listdir(MODULES)
    if not names.known:
        return Reading.unknown(names.error or "")
    found: t.List[str] = []
    for name, stat in (names.value or {}).items():
        if stat.kind not in ("dir", "link"):
            continue
        there = _first(host, KERNELS + IMAGES, name)
        if not there.known:
            return Reading.unknown(there.error or "")
        if there.value is not None:
            found.append(name)
    return Reading(tuple(found))


def image_path(host: Host, kernel: str) -> Reading[str]:
    """The image of a kernel; None when it has none."""
    return _first(host, IMAGES, kernel)


def is_missing(host: Host, kernel: str, others: bool) -> Reading[bool]:
    """Whether a kernel that has no image should have one.

    It should where it stands in /boot, and one would be made for it there (:arg others: other kernels have images). A
    machine whose kernels all go without, and one that was built to take none, are their owner's design; a kernel that
    is not in /boot is started from elsewhere.
    """
    kernel_file, config = _first(host, _IN_BOOT, kernel), host.read("/boot/config-" + kernel)
    if not kernel_file.known or not config.known:
        return Reading.unknown(kernel_file.error or config.error or "")
    takes_none = config.value is not None and _TAKES_AN_IMAGE not in config.value.splitlines()
    if kernel_file.value is None or takes_none:
        return Reading(False)
    if others:
        return Reading(True)
    generator = _first(host, GENERATORS, kernel)
    return Reading(None, generator.error) if not generator.known else Reading(generator.value is not None)


def inputs_digest(host: Host, kernel: str) -> Reading[str]:
    """Over everything that decides what is in the image and that we or an administrator may change.

    Text counts by its content, so that writing the same again is no change; modules by size and time, as they are
    large.
    """
    seen: t.List[t.Tuple[str, str]] = []
    for path in CONFIGURATION:
        error = _add_configuration(host, path, seen)
        if error is not None:
            return Reading.unknown(error)
    for path in _module_directories(host, kernel):
        error = _add_modules(host, path, seen)
        if error is not None:
            return Reading.unknown(error)
    return Reading(hashlib.sha256(json.dumps(sorted(seen)).encode("utf-8")).hexdigest())


def image_digest(host: Host, path: str) -> Reading[str]:
    """Size and time, not content: hashing an image takes as long as the rest of a look, and a rebuild changes both.

    The time is in whole seconds and the inode does not count, so that a copied or restored disk still has the images
    that were recorded on it.
    """
    stat = host.stat(path)
    if stat.value is None:
        return Reading.unknown(stat.error or "%s is not there" % path)
    return Reading("size %d, modified %d" % (stat.value.size, stat.value.mtime))


def read_image(host: Host, path: str, timeout: float = READ_SECONDS) -> Reading[content.Content]:
    """Really read an image, in a child. Seconds."""
    argv = ["python3", "-I", "-c", children.source(reader_child), "initramfs", path]
    command = host.run(argv, timeout)
    if command.error is not None:
        return Reading.unknown("%s could not be read: %s" % (path, command.error.replace("python3", "its reader")))
    return content.parse(command.stdout, command.stderr, command.rc)


def read_record(host: Host) -> Reading[t.Dict[str, t.Dict[str, t.Any]]]:
    """What the initramfs module wrote, by kernel. No record is an empty one."""
    text = host.read(RECORD)
    if not text.known:
        return Reading.unknown(text.error or "")
    if text.value is None:
        return Reading({})
    record = parse_object(text.value, RECORD)
    if record.value is None:
        return Reading.unknown(record.error or "")
    kernels = record.value.get("kernels")
    whole = isinstance(kernels, dict) and all(isinstance(entry, dict) for entry in kernels.values())
    if record.value.get("schema") != SCHEMA or not whole:
        return Reading.unknown("%s is not of schema %d; the next run of site.yml makes it anew" % (RECORD, SCHEMA))
    return Reading(t.cast("t.Dict[str, t.Dict[str, t.Any]]", kernels))


def record_text(kernels: t.Mapping[str, t.Mapping[str, t.Any]]) -> str:
    """The record as it is written; for each kernel what ``record_entry`` gives."""
    return json.dumps({"schema": SCHEMA, "kernels": kernels}, indent=2, sort_keys=True) + "\n"


def record_entry(inputs: str, image: str, inside: content.Content) -> t.Dict[str, t.Any]:
    return {
        "inputs": inputs,
        "image": image,
        "nouveau": inside.nouveau,
        "blacklisted": inside.blacklisted,
        "nvidia_version": inside.nvidia_version,
    }


def initramfs(host: Host, read: bool) -> Reading[t.Tuple[Initramfs, ...]]:
    """:arg read: whether an image that is not the recorded one is read, which takes seconds, and modinfo is asked"""
    kernels, record = installed_kernels(host), read_record(host)
    if kernels.value is None or record.value is None:
        return Reading.unknown(kernels.error or record.error or "")
    found: t.List[Initramfs] = []
    for kernel in kernels.value:
        one = _one(host, kernel, record.value.get(kernel, {}), read)
        if one.value is None:
            return Reading.unknown(one.error or "")
        found.append(one.value)
    return _with_missing(host, found)


def _with_missing(host: Host, images: t.Sequence[Initramfs]) -> Reading[t.Tuple[Initramfs, ...]]:
    found: t.List[Initramfs] = []
    for one in images:
        missing = Reading(False) if one.path else is_missing(host, one.kernel, any(other.path for other in images))
        if missing.value is None:
            return Reading.unknown(missing.error or "")
        found.append(dataclasses.replace(one, missing=missing.value))
    return Reading(tuple(found))


def _one(host: Host, kernel: str, recorded: t.Mapping[str, t.Any], read: bool) -> Reading[Initramfs]:
    inputs, path = inputs_digest(host, kernel), image_path(host, kernel)
    if inputs.value is None or not path.known:
        return Reading.unknown(inputs.error or path.error or "")
    image: t.Optional[str] = None
    inside: t.Optional[content.Content] = None
    if path.value is not None:
        digest = image_digest(host, path.value)
        if digest.value is None:
            return Reading.unknown(digest.error or "")
        image = digest.value
        if image == recorded.get("image"):
            inside = _recorded_content(recorded)
        if inside is None and read:
            really = read_image(host, path.value)
            if really.value is None:
                return Reading.unknown(really.error or "")
            inside = really.value
    version = inside.nvidia_version if inside else None
    on_disk = version_on_disk(host, kernel) if version and read else Reading(None)
    if not on_disk.known:
        return Reading.unknown(on_disk.error or "")
    return Reading(
        Initramfs(
            kernel=kernel,
            path=path.value or "",
            inputs=inputs.value,
            image=image or "",
            recorded_inputs=_text(recorded.get("inputs")),
            recorded_image=_text(recorded.get("image")),
            nouveau=inside.nouveau if inside else None,
            blacklisted=inside.blacklisted if inside else None,
            nvidia_version=version,
            nvidia_on_disk=on_disk.value,
        )
    )


def version_on_disk(host: Host, kernel: str) -> Reading[str]:
    """Version of the nvidia module that modprobe would load for a kernel from the disk; "" where there is none."""
    module = kernel_probe.module_on_disk(host, kernel)
    if not module.known:
        return Reading.unknown(module.error or "")
    return Reading(module.value.version if module.value else "")


def _recorded_content(recorded: t.Mapping[str, t.Any]) -> t.Optional[content.Content]:
    nouveau, blacklisted = recorded.get("nouveau"), recorded.get("blacklisted")
    if not isinstance(nouveau, bool) or not isinstance(blacklisted, bool):
        return None
    version = _text(recorded.get("nvidia_version"))
    return content.Content(nouveau, blacklisted, (("", version),) if version else ())


def _text(value: t.Any) -> t.Optional[str]:
    return value if isinstance(value, str) and value else None


def _first(host: Host, patterns: t.Sequence[str], kernel: str) -> Reading[str]:
    for pattern in patterns:
        path = pattern.format(kernel)
        stat = host.stat(path)
        if not stat.known:
            return Reading(None, stat.error)
        if stat.value is not None and stat.value.kind == "file":
            return Reading(path)
    return Reading(None)


def _add_configuration(host: Host, path: str, seen: t.List[t.Tuple[str, str]], depth: int = 0) -> t.Optional[str]:
    """Add a file, or all files below a directory, by content. Returns what could not be read."""
    stat = host.stat(path)
    if stat.value is None:
        return stat.error
    if stat.value.kind == "file":
        state = host.file_state(path)
        if state.value is not None:
            # An executable bit turns a hook of initramfs-tools on or off.
            seen.append((path, "%s %o" % (state.value.sha256, state.value.mode & 0o111)))
        return state.error
    if stat.value.kind != "dir" or depth > _DEPTH:
        return None
    entries = host.listdir(path)
    if not entries.known:
        return entries.error
    for name in entries.value or {}:
        error = _add_configuration(host, "%s/%s" % (path, name), seen, depth + 1)
        if error is not None:
            return error
    return None


def _module_directories(host: Host, kernel: str) -> t.List[str]:
    base = "%s/%s" % (MODULES, kernel)
    found = ["%s/%s" % (base, name) for name in MODULE_DIRECTORIES]
    # Ubuntu's signed modules: kernel/nvidia-580srv and the like.
    own = host.listdir("%s/kernel" % base).value or {}
    return found + ["%s/kernel/%s" % (base, name) for name in own if name.startswith("nvidia")]


def _add_modules(host: Host, path: str, seen: t.List[t.Tuple[str, str]], depth: int = 0) -> t.Optional[str]:
    entries = host.listdir(path)
    if not entries.known:
        return entries.error
    for name, stat in (entries.value or {}).items():
        below = "%s/%s" % (path, name)
        if stat.kind == "dir" and depth < _DEPTH and not path.endswith("/kernel/drivers/video"):
            error = _add_modules(host, below, seen, depth + 1)
            if error is not None:
                return error
        elif _NVIDIA_MODULE.match(name):
            real = host.stat(below)  # a weak update is a link
            if not real.known:
                return real.error
            if real.value is not None:
                seen.append((below, "%d %d" % (real.value.size, real.value.mtime)))
    return None
