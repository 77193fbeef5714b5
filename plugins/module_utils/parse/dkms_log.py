# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a module could not be built, from DKMS's make.log. Pure; any text is taken."""

from __future__ import annotations

import re
import typing as t

#: Whose fault it is: the node's as a whole, or that of one kernel with its tools. Code decides by it.
NODE, KERNEL = "node", "kernel"


class Reason(t.NamedTuple):
    cause: str
    fix: str
    whose: str = KERNEL


class _Rule(t.NamedTuple):
    """The cause ends with the log's line where ``quoted``. ``fix`` may name what was found as ``{0}``, and the compiler
    of the kernel as ``{gcc}``.
    """

    pattern: t.Pattern[str]
    cause: str
    fix: str
    quoted: bool = True
    whose: str = KERNEL


def _rule(pattern: str, *rest: t.Any) -> _Rule:
    return _Rule(re.compile(pattern, re.MULTILINE), *rest)


_COMPILER = r"(?:\S*/)?(?:[a-z0-9_]+-linux-gnu-)?((?:cc|gcc|g\+\+|clang)(?:-\d+)?)"
_INSTALL_HEADERS = "Install the headers of exactly this kernel"
_NO_HEADERS = "the kernel's headers are not there or not whole"
_UNSUPPORTED = "the driver does not build on this kernel"
_ANOTHER = "Use a driver that supports this kernel, or another kernel, in the bundle"

#: The first that matches counts. A compiler that "differs" is a warning and stops nothing: only a check that says it
#: fails is about the compiler's version.
_RULES = (
    _rule(r"No space left on device", "the disk is full", "Make room below /var/lib/dkms and /tmp", False, NODE),
    _rule(
        r"Failed CC version check|Compiler version check failed|The CC version check failed|gcc-version-check failed",
        "the compiler is not the one that built the kernel{versions}",
        "Install the compiler that built that kernel{gcc}; IGNORE_CC_MISMATCH would only hide it",
        False,
    ),
    _rule(
        r"^Killed$|fatal error: Killed signal",
        "the compiler was killed",
        "See whether the node ran out of memory: dmesg",
        False,
        NODE,
    ),
    _rule(
        r"incompatible gcc/plugin versions",
        "the compiler is not the one that built the kernel{versions}",
        "Install the compiler that built that kernel{gcc}",
    ),
    _rule(
        r"unrecogni[sz]ed command[- ]line option",
        "the compiler is older than the one that built the kernel{versions}",
        "Install the compiler that built that kernel{gcc}",
    ),
    _rule(
        r"does not appear to be able to create executables",
        "the compiler on this node builds no programs",
        "Install gcc and libc6-dev{gcc}",
    ),
    _rule(
        r"^(?:.*: )?%s: (?:(?:command )?not found|No such file or directory|Command not found)" % _COMPILER,
        "the compiler for this kernel is not installed",
        "Install {0} on the node",
    ),
    _rule(
        r"^make.*\*\*\* \S*/build: No such file or directory|No rule to make target '?modules'?"
        r"|Kernel configuration is invalid|include/generated/autoconf\.h or include/config/auto\.conf are missing",
        _NO_HEADERS,
        _INSTALL_HEADERS,
    ),
    _rule(r"modpost: GPL-incompatible module|modpost: \"[^\"]+\" .*undefined!", _UNSUPPORTED, _ANOTHER),
    _rule(
        r"error while loading shared libraries: \S+",
        "a tool of the kernel's headers does not run",
        "Install the library that it names",
    ),
)

_ERROR = re.compile(r"^.*(?:\berror: |\*\*\* ).*$", re.MULTILINE)
_HEADERS = re.compile(
    r"kernel headers|Kernel (?:source|preparation) .{0,200}?(?:not|failed)|include/generated/autoconf", re.I
)
_BUILT_BY = re.compile(
    r"(?:kernel was built (?:by:|with)|compile the kernel:\n|^Linux version \S+ .*?\().*?gcc(?:-| version |\D*? )(\d+)",
    re.M,
)
_VERSIONS = re.compile(r"\bg?cc(?:-\d+)?(?: version)?(?: \([^)]*\))? ([0-9][0-9.]*[0-9])")


def reason(log: str, proc_version: str = "") -> Reason:
    """:arg proc_version: /proc/version, where the module was built for the kernel that runs"""
    for rule in _RULES:
        match = rule.pattern.search(log)
        if match:
            found = [group for group in match.groups() if group]
            words = {"gcc": _gcc(log, proc_version), "versions": _versions(log)}
            cause = rule.cause.format(**words) + (": %s" % _line_of(log, match) if rule.quoted else "")
            return Reason(cause, rule.fix.format(*found, **words), rule.whose)
    errors = [line for line in _ERROR.findall(log) if ": *** " not in line or "recipe" not in line]
    first = next((line for line in errors if "error: " in line), errors[0] if errors else "")
    if first and not _HEADERS.search(first):
        return Reason("%s: %s" % (_UNSUPPORTED, _short(first)), _ANOTHER)
    if _HEADERS.search(log):
        return Reason(_NO_HEADERS, _INSTALL_HEADERS)
    return Reason("the log does not say", "Read the log")


def _versions(log: str) -> str:
    versions = _VERSIONS.findall(log)
    return ": the kernel was built by %s, here is %s" % (versions[0], versions[1]) if len(versions) > 1 else ""


def _gcc(log: str, proc_version: str) -> str:
    """The package of the compiler that built the kernel, where its major number is known."""
    match = _BUILT_BY.search(log) or _BUILT_BY.search(proc_version)
    return " (gcc-%s)" % match.group(1) if match else ""


def _line_of(log: str, match: t.Match[str]) -> str:
    """The whole line in which a pattern was found."""
    begin = log.rfind("\n", 0, match.end()) + 1
    return _short(log[begin:].partition("\n")[0])


def _short(line: str) -> str:
    return " ".join(line.split())[:200]
