# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The raw lines behind a finding: which command or file said it, and in which words. Pure.

From the capture of the look where there is one, else from what was read out of it.
"""

from __future__ import annotations

import re
import typing as t

from .checks.registry import CHECKS
from .model import Evidence, Finding, Reading, to_plain

Plain = t.Mapping[str, t.Any]

#: So much is read at a glance.
SOURCES, LINES, WIDTH = 3, 4, 160

_GPU_LINES = r"NVRM|nvidia|nouveau|Xid"


class Source(t.NamedTuple):
    """One command or file and what of it is shown."""

    head: str
    lines: t.Tuple[str, ...]


class _Asked(t.NamedTuple):
    """Commands of ``program`` with ``word`` among their arguments; ``pattern`` picks lines of what they print."""

    program: str
    word: str = ""
    pattern: str = ""
    where: str = "host"


_COMMANDS: t.Dict[str, t.Tuple[_Asked, ...]] = {
    "smi": (_Asked("nvidia-smi"),),
    "nvml": (_Asked("python3", "nvml"),),
    "cuda": (_Asked("python3", "cuda"),),
    "kernel_log": (_Asked("dmesg", "", _GPU_LINES), _Asked("journalctl", "--dmesg", _GPU_LINES)),
    "packages": (_Asked("dpkg-query", "", "ENTITY"),),
    "libraries": (_Asked("ldconfig", "", r"libcuda\.so|libnvidia-ml\.so"),),
    "module_on_disk": (_Asked("modinfo", "", r"^(filename|version|license|vermagic|signer):"),),
    "module_to_boot": (_Asked("modinfo", "", r"^(filename|version|license|vermagic|signer):"),),
    "dkms": (_Asked("dkms"),),
    "docker": (_Asked("docker", "info", "^$"),),
    "image_digests": (_Asked("docker", "image", "^$"),),
    "containers": (_Asked("docker", "run", r"(?i)cuda|nvidia|error|denied|rc ", "container"),),
    "requests": (_Asked("docker", "run", r"(?i)cuda|nvidia|error|denied|rc ", "container"),),
    "running_containers": (_Asked("docker", "ls"),),
    "secure_boot": (_Asked("mokutil"),),
    "fabric_mismatch": (_Asked("journalctl", "--unit=nvidia-fabricmanager.service", "(?i)version|error|fail"),),
}
#: Files, and the lines of them that count.
_FILES: t.Dict[str, t.Tuple[t.Tuple[str, str], ...]] = {
    "platform": (("/etc/os-release", "^(ID|VERSION_ID|PRETTY_NAME)="),),
    "boot": (("/proc/sys/kernel/osrelease", ""),),
    "command_line": (("/proc/cmdline", ""),),
    "driver": (("/proc/driver/nvidia/version", ""), ("/sys/module/nvidia/version", "")),
    "driver_params": (("/proc/driver/nvidia/params", "^(ModifyDeviceFiles|DeviceFile)"),),
    "device_majors": (("/proc/devices", "nvidia"),),
    "groups": (("/etc/group", "ENTITY"),),
    "docker_config": (("/etc/docker/daemon.json", ""),),
    "toolkit_config": (("/etc/nvidia-container-runtime/config.toml", r"^[^#]*="),),
}
#: Told by their parts, since no one command has printed them.
_READINGS = (
    *("pci", "modules_loaded", "device_nodes", "units", "initramfs", "files", "dev_char", "cdi_specs", "selinux"),
    *("runtime_program", "cgroups"),
)


def sources(finding: Finding, evidence: Evidence, capture: t.Optional[Plain] = None) -> t.List[Source]:
    """What stands behind a finding, the most telling first: at most SOURCES of LINES each."""
    check = next((check for check in CHECKS if check.id == finding.id), None)
    needs = check.needs if check else ()
    found = [source for field in needs for source in _of_field(field, finding, evidence, capture or {})]
    telling = [source for source in dict.fromkeys(found) if source.lines]
    words = [word for word in (finding.entity, *_words(finding.actual)) if word]
    # Sorting is stable: the check's own order decides among those that tell the same.
    ranked = sorted(telling, key=lambda source: -_hits(source, words))
    return [source for source in ranked[:SOURCES] if _hits(source, words)] or ranked[:1]


def _hits(source: Source, words: t.Sequence[str]) -> int:
    text = " ".join((source.head, *source.lines))
    return sum(1 for word in words if word in text)


def _words(text: str) -> t.List[str]:
    return [word for word in re.split(r"[\s,;]+", text) if len(word) > 3][:12]


def _of_field(field: str, finding: Finding, evidence: Evidence, capture: Plain) -> t.Iterator[Source]:
    reading = getattr(evidence, field)
    yielded = False
    for asked in _COMMANDS.get(field, ()):
        for command in capture.get("commands") or ():
            if _is(command, asked):
                yielded = True
                yield Source(*_command(command, asked.pattern, finding))
    for path, pattern in _FILES.get(field, ()):
        files = capture.get("files") or {}
        if path in files and (files[path] is None or isinstance(files[path], str)):
            yielded = True
            lines = ("(not there)",) if files[path] is None else _picked(files[path].splitlines(), pattern, finding)
            yield Source("$ cat %s" % path, lines)
    if isinstance(reading, Reading) and not reading.known:
        if not yielded:
            yield Source(field, (_short(str(reading.error)),))
    elif field in _READINGS and isinstance(reading, Reading):
        yield Source(field, _parts(to_plain(reading.value), finding))


def _is(command: Plain, asked: _Asked) -> bool:
    argv = [str(word) for word in command.get("argv") or ()]
    said = argv[:1] == [asked.program] and command.get("where") == asked.where
    return said and (not asked.word or asked.word in argv)


def _command(command: Plain, pattern: str, finding: Finding) -> t.Tuple[str, t.Tuple[str, ...]]:
    words = ["SCRIPT" if "\n" in str(word) else str(word) for word in command["argv"]]
    code = command.get("error") or "rc %s" % command.get("rc")
    complaints = str(command.get("stderr") or "").splitlines()
    printed = str(command.get("stdout") or "").splitlines()
    lines = _picked(complaints, "", finding) + _picked(printed, pattern, finding)
    return "$ %s   (%s)" % (_short(" ".join(words)), code), lines[:LINES] or ("(it said nothing)",)


def _picked(lines: t.Sequence[str], pattern: str, finding: Finding) -> t.Tuple[str, ...]:
    """The lines that count, the last of them: a tool says last why it failed."""
    if pattern == "ENTITY":
        if not finding.entity:
            return ()
        pattern = r"^%s\b" % re.escape(finding.entity)
    kept = [_short(line.rstrip()) for line in lines if line.strip() and (not pattern or re.search(pattern, line))]
    return tuple(kept[-LINES:])


def _parts(value: t.Any, finding: Finding) -> t.Tuple[str, ...]:
    """The items that the finding is about, else the first ones."""
    if isinstance(value, dict):
        items = ["%s: %s" % (key, _plainly(item)) for key, item in value.items()]
    else:
        items = [_plainly(item) for item in value] if isinstance(value, list) else [_plainly(value)]
    about = [item for item in items if finding.entity and finding.entity in item]
    return tuple(_short(item) for item in (about or items)[:LINES]) or ("none",)


def _plainly(item: t.Any) -> str:
    if isinstance(item, dict):
        shown = ((key, part) for key, part in item.items() if part not in (None, "", [], {}))
        return " ".join("%s=%s" % (key, "0%o" % part if key == "mode" else part) for key, part in shown)
    return "not there" if item is None else str(item)


def _short(text: str) -> str:
    text = "".join(sign if sign.isprintable() else " " for sign in text)
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
