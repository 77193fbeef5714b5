# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the initramfs of every installed kernel where it is not built from what is configured now, and prove it.

A blacklist on disk is of no use while an initramfs from before loads nouveau. What is stale follows from digests that
are recorded after each success, kernel by kernel, so a run that died half-way is finished by the next.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .parse.initramfs import Content
from .probe import boot_default
from .probe import initramfs as probe
from .system import System, known, said

#: An image grows when modules come in; it is written beside the old one before it takes its place.
_GROWTH = 1.25
_SPARE = 16 * 1024 * 1024

#: Where an administrator, or a package, says what else goes into an image.
_ADDITIONS = (
    *("/etc/initramfs-tools/modules", "/etc/initramfs-tools/hooks", "/usr/share/initramfs-tools/hooks"),
    *("/etc/dracut.conf", "/etc/dracut.conf.d"),
)

_OWNER_TIMEOUT = 20.0
_UPDATE_INITRAMFS = "/usr/sbin/update-initramfs"


class InitramfsError(Exception):
    """An image could not be rebuilt, or is not what it must be. The message says what to do."""


@dataclasses.dataclass(frozen=True)
class Image:
    """One kernel's image before anything is done. ``stale`` says why it must be rebuilt; "" when it need not.

    ``path`` is "" for a kernel that boots without an image: it gets none. ``missing``: it is not there, and is made.
    """

    kernel: str
    path: str
    size: int
    inputs: str
    digest: str
    stale: str
    missing: bool = False


@dataclasses.dataclass(frozen=True)
class Result:
    """One kernel afterwards. In check mode ``rebuilt`` is a prediction and what will be inside is not known."""

    kernel: str
    rebuilt: bool
    reason: str
    nouveau: t.Optional[bool]
    blacklisted: t.Optional[bool]


def rebuild(
    system: System, blacklist: t.Sequence[str], timeout: float, check_mode: bool = False
) -> t.Tuple[Result, ...]:
    """Rebuild what is stale. ``timeout`` is in seconds, for one kernel."""
    # A record that cannot be read is none: every image is then rebuilt and recorded anew.
    record = {k: dict(v) for k, v in (probe.read_record(system).value or {}).items()}
    images = [_look(system, kernel, record.get(kernel, {})) for kernel in known(probe.installed_kernels(system)) or ()]
    images = [image if image.path else _without(system, image, images) for image in images]
    if not check_mode and any(image.stale for image in images):
        tool = _tool(system)
        # A kernel that is gone leaves the record with it.
        record = {image.kernel: record[image.kernel] for image in images if image.kernel in record}
        for image in images:
            if image.stale:
                record[image.kernel] = _rebuild_one(system, tool, image, blacklist, timeout)
                system.write(probe.RECORD, probe.record_text(record).encode("utf-8"))
    unknown: t.Dict[str, t.Any] = {}
    return tuple(
        _result(image, unknown if check_mode and image.stale else record.get(image.kernel, unknown)) for image in images
    )


def _result(image: Image, entry: t.Mapping[str, t.Any]) -> Result:
    return Result(image.kernel, bool(image.stale), image.stale, entry.get("nouveau"), entry.get("blacklisted"))


def _look(system: System, kernel: str, recorded: t.Mapping[str, t.Any]) -> Image:
    inputs = known(probe.inputs_digest(system, kernel)) or ""
    path = known(probe.image_path(system, kernel))
    if path is None:
        return Image(kernel, "", 0, inputs, "", "")
    status = known(system.stat(path))
    digest = known(probe.image_digest(system, path)) or ""
    stale = ""
    if not recorded:
        stale = "its image was not built by this module"
    elif recorded.get("inputs") != inputs:
        stale = "its configuration or modules have changed since its image was built"
    elif recorded.get("image") != digest:
        stale = "its image was changed by somebody else"
    elif recorded.get("nvidia_version") not in (None, _on_disk(system, kernel, recorded.get("nvidia_version"))):
        stale = "it holds the nvidia module %s, which is not the one on the disk" % recorded["nvidia_version"]
    return Image(kernel, path, status.size if status else 0, inputs, digest, stale)


def _without(system: System, image: Image, images: t.Sequence[Image]) -> Image:
    """A kernel that has no image: as it is, or with the one that is to be made, named as those of the others are."""
    others = [other for other in images if other.path]
    if not known(probe.is_missing(system, image.kernel, bool(others))):
        return image
    if others:
        path = others[0].path.replace(others[0].kernel, image.kernel)
    else:
        debian = known(system.stat("/var/lib/dpkg")) is not None
        path = probe.IMAGES[0 if debian else 1].format(image.kernel)
    size = max((other.size for other in others), default=0)
    return dataclasses.replace(image, path=path, size=size, stale="it has no image", missing=True)


def _rebuild_one(
    system: System, tool: str, image: Image, blacklist: t.Sequence[str], timeout: float
) -> t.Dict[str, t.Any]:
    """Rebuild, read back, and return the entry for the record."""
    _need_space(system, image)
    command = system.run(_command(tool, image, blacklist), timeout)
    if command.rc != 0:
        raise InitramfsError(
            "the initramfs of kernel %s could not be %s: %s" % (image.kernel, _done(image), said(command))
        )
    if known(system.stat(image.path)) is None:
        raise InitramfsError(
            "%s ended well, and %s is not there. Do not reboot into kernel %s. It said: %s"
            % (command.argv[0], image.path, image.kernel, said(command))
        )
    digest = known(probe.image_digest(system, image.path)) or ""
    if digest == image.digest:
        raise InitramfsError(
            "%s ended well, but left %s as it was; is update_initramfs=no in"
            " /etc/initramfs-tools/update-initramfs.conf? It said: %s" % (command.argv[0], image.path, said(command))
        )
    inside = known(probe.read_image(system, image.path))
    if inside is None:
        raise InitramfsError("what is inside %s is not known" % image.path)
    _refuse_nouveau(system, image, inside, blacklist)
    _refuse_old_nvidia(system, image, inside)
    _renew_menu(system, image, timeout)
    return probe.record_entry(image.inputs, digest, inside)


def _done(image: Image) -> str:
    return "built" if image.missing else "rebuilt"


def _renew_menu(system: System, image: Image, timeout: float) -> None:
    """GRUB's menu starts a kernel without an image where it was made while there was none.

    From what the menu says and not from what was made just now, so that a run that died between the two is finished.
    """
    config = known(boot_default.configuration(system))
    if config is None:
        return
    menu = known(system.read(config)) or ""
    if not _names(menu, "vmlinuz-" + image.kernel) or _names(menu, image.path.rpartition("/")[2]):
        return
    command = system.run(["update-grub"], timeout)
    if command.rc != 0 and not command.missing:
        raise InitramfsError(
            "%s was %s, but %s starts kernel %s without it, and could not be made anew: %s. Do not reboot before"
            " update-grub has run" % (image.path, _done(image), config, image.kernel, said(command))
        )


def _names(menu: str, file: str) -> bool:
    return re.search(r"""/%s(?=["'\s]|$)""" % re.escape(file), menu) is not None


def _on_disk(system: System, kernel: str, inside: t.Optional[str]) -> t.Optional[str]:
    """Version of the nvidia module on the disk; not asked for an image that holds none."""
    return known(probe.version_on_disk(system, kernel)) if inside else None


def _refuse_nouveau(system: System, image: Image, inside: Content, blacklist: t.Sequence[str]) -> None:
    if "nouveau" in blacklist and inside.nouveau and not inside.blacklisted:
        raise InitramfsError(
            "%s was just rebuilt, and still holds nouveau without a blacklist for it, so kernel %s would bind the GPU"
            " to nouveau at boot. Something puts it in: take nouveau out of %s, and see that /etc/modprobe.d has the"
            " blacklist" % (image.path, image.kernel, _that_name(system, "nouveau"))
        )


def _refuse_old_nvidia(system: System, image: Image, inside: Content) -> None:
    """An nvidia module of before would be loaded at each boot, and no reboot would mend that."""
    disk = _on_disk(system, image.kernel, inside.nvidia_version)
    for path, version in inside.nvidia:
        if version in (None, disk):
            continue
        source = "/lib/" + path.partition("lib/")[2]
        if known(system.stat(source)) is not None:
            advice = "%s was put in: remove that file (dpkg -S tells its package; an installer leaves some)" % source
        else:
            advice = "no such file is on the disk: look for nvidia in %s" % _that_name(system, "nvidia")
        raise InitramfsError(
            "%s was just rebuilt, and holds the nvidia module %s, while the disk has %s for kernel %s, so each boot"
            " would load the old one. It is %s inside; %s"
            % (image.path, version, disk or "none", image.kernel, path, advice)
        )


def _that_name(system: System, word: str) -> str:
    """The files by which an administrator puts modules into an image, those that name ``word`` if any do."""
    files = [path for top in _ADDITIONS for path in _files_below(system, top) if not path.endswith("/goldennode.conf")]
    naming = [path for path in files if word in (system.read(path).value or "")]
    return ", ".join(naming or _ADDITIONS)


def _files_below(system: System, top: str) -> t.List[str]:
    names = known(system.listdir(top))
    return [top] if names is None else ["%s/%s" % (top, name) for name, stat in names.items() if stat.kind == "file"]


def _need_space(system: System, image: Image) -> None:
    folder, needed = image.path.rpartition("/")[0], int(image.size * _GROWTH) + _SPARE
    free = system.free_bytes(folder)
    if free < needed:
        raise InitramfsError(
            "%s has %d MiB free; to %s the initramfs of kernel %s takes about %d MiB. Remove kernels that are no"
            " longer used (apt-get autoremove --purge, dnf remove --oldinstallonly)"
            % (folder, free >> 20, "build" if image.missing else "rebuild", image.kernel, needed >> 20)
        )


def _tool(system: System) -> str:
    """``initramfs-tools`` or ``dracut``. Where dracut builds the images, update-initramfs may be only a shim of it."""
    owner = system.run(["dpkg-query", "--search", _UPDATE_INITRAMFS], _OWNER_TIMEOUT)
    if owner.rc == 0 and owner.stdout.partition(":")[0] == "initramfs-tools":
        return "initramfs-tools"
    if system.run(["dracut", "--version"], _OWNER_TIMEOUT).missing:
        raise InitramfsError(
            "neither initramfs-tools nor dracut is installed, so no initramfs can be built; install the one that the"
            " distribution uses"
        )
    return "dracut"


def _command(tool: str, image: Image, blacklist: t.Sequence[str]) -> t.List[str]:
    if tool == "initramfs-tools":
        return ["update-initramfs", "-c" if image.missing else "-u", "-k", image.kernel]
    # An image that is made for any machine (hostonly=no) leaves /etc/modprobe.d out: the modules must stay out too.
    omit = ["--omit-drivers", " ".join(blacklist)] if blacklist else []
    return ["dracut", "--force", *omit, image.path, "--kver", image.kernel]
