# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt and dpkg say when they fail, as a cause and a way out. Pure; any text is taken."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from . import dpkg_errors
from .apt_rules import DKMS, KEY, LOCKED, OTHER, RULES, SCRIPT, SPACE, UNMET, Rule
from .dkms_output import failed_builds, refused_for_headers


@dataclasses.dataclass(frozen=True)
class Trouble:
    """``cause`` ends with apt's own line where that tells more. ``log`` is the file that has the details, or ""."""

    kind: str
    cause: str
    fix: str
    log: str = ""


_SCRIPT = re.compile(
    r"(?:installed|new|old) (\S+) package (pre|post)-(installation|removal) script subprocess"
    r" (?:(?:returned error|failed with) exit status (\d+)|was killed by signal \(([^)]+)\))"
)
#: apt's and dpkg's own lines around what a script prints.
_NOT_THE_SCRIPTS = re.compile(
    r"dpkg: |debconf: |Setting up |Preparing to |Unpacking |Removing |Processing triggers|Selecting |\(Reading |E: "
    r"|Errors were |Reading |Building dependency|\d+ (?:upgraded|not fully)|Need to get|After this operation|Fetched "
    r"|The following |WARNING: apt|Get:\d|Hit:\d|Solving "
)
_SCRIPT_FILE = {
    ("pre", "installation"): "preinst",
    ("post", "installation"): "postinst",
    ("pre", "removal"): "prerm",
    ("post", "removal"): "postrm",
}
_FIX_BROKEN = re.compile(r"Try 'apt(?:-get)? (?:--fix-broken|-f) install'")
_UNMET = re.compile(r"have unmet dependencies|you have held broken packages|Unable to satisfy dependencies")
_VERSION_GONE = re.compile(
    r"Version '([^']+)' for '([^']+)' was not found|Unable to locate package (\S+)"
    r"|Package '([^']+)' has no installation candidate"
)
#: Somebody else was waited for, and has ended.
_WAITED = re.compile(r"^Waiting for cache lock: .*\n?", re.MULTILINE)
_UNSIGNED = re.compile(r"^E: The repository '(\S+)[^'\n]*' is (?:not|no longer) signed\..*\n?", re.MULTILINE)

_COMPLAINT = re.compile(r"^(?:E: |W: |Err:|dpkg: error).*(?:\n[ \t].*)*", re.MULTILINE)

_TOLD_LINES = 4


def explain(text: str, what: str = "apt-get") -> Trouble:
    """The one trouble that a failed command is about.

    :arg text: all that it printed
    :arg what: the command, for a message that is not known
    """
    text = _told_last(text)
    # What a package's script prints is about anything: it comes before words of which some may be in it.
    scripted = _dkms(text) or _script(text)
    for rule in RULES:
        if rule.pattern.search(text) and (scripted is None or rule.kind in (SPACE, LOCKED)):
            return _ruled(rule, text)
    explained = scripted or _dpkg(text) or _unmet(text)
    if explained:
        return explained
    lines = _telling(text)
    first = next((line for line in lines if line.startswith(("E: ", "dpkg: error"))), lines[0] if lines else "nothing")
    return Trouble(OTHER, "%s fails (apt says: %s)" % (what, _words(first)), "Mend what it names")


def complaints(text: str) -> t.Tuple[str, ...]:
    """Each of apt's and dpkg's own complaints, with the indented lines below it: what they name belongs together."""
    return tuple(match.group(0) for match in _COMPLAINT.finditer(text))


def repositories(text: str) -> t.Tuple[str, ...]:
    """Addresses of the repositories that apt complains of."""
    heads = [complaint.partition("\n")[0] for complaint in complaints(text)]
    found = re.findall(r"\b(?:[a-z+]+):/+[^\s'\"]+", "\n".join(heads))
    return tuple(dict.fromkeys(name.rstrip(":") for name in found))


def concerning(text: str, is_own: t.Callable[[str], bool]) -> t.Optional[str]:
    """Of a failed update, only the complaints of our own repositories: other ones may fail by something else.

    :arg is_own: whether an address is of one of them
    :returns: all that was printed where no repository is named; None where only others' are
    """
    if not repositories(text):
        return text
    own = [complaint for complaint in complaints(text) if any(map(is_own, repositories(complaint)))]
    return "\n".join(own) or None


def _told_last(text: str) -> str:
    """Without what says nothing of its own: a wait that has ended, and that a file which did not come is not signed."""

    def kept(match: t.Match[str]) -> str:
        failed = re.search(r"Failed to fetch %s[/ ]" % re.escape(match.group(1).rstrip("/")), text)
        return "" if failed else match.group(0)

    return _UNSIGNED.sub(kept, _WAITED.sub("", text) or text)


def _ruled(rule: Rule, text: str) -> Trouble:
    """In words of one complaint: another one may be of another repository."""
    about = [complaint for complaint in complaints(text) if rule.pattern.search(complaint)]
    about.sort(key=lambda complaint: not rule.pattern.search(complaint.partition("\n")[0]))
    complaint = about[0] if about else text
    lines = complaint.splitlines()
    line = next((line for line in lines if rule.pattern.search(line)), lines[0] if lines else "")
    found = rule.pattern.search(complaint)
    groups = found.groups() if found else ()
    cause, fix = rule.cause.format(*groups), rule.fix.format(*groups)
    if rule.kind == LOCKED:
        cause += _holder(text)
    elif rule.kind == KEY:
        cause += _key(complaint)
    return Trouble(rule.kind, "%s (apt says: %s)" % (cause, _words(line)), fix)


def _holder(text: str) -> str:
    match = re.search(r"held by process (\d+)(?: \(([^)]+)\))?|process with pid (\d+)", text)
    if not match:
        return ""
    pid, name = match.group(1) or match.group(3), match.group(2)
    return ": %s" % (name + ", " if name else "") + "pid %s" % pid


def _key(text: str) -> str:
    """The key and the repository, as far as apt's words have them."""
    key = re.search(
        r"(?:Signing key on|NO_PUBKEY|EXPKEYSIG|REVKEYSIG|BADSIG|Missing key) ([0-9A-F]{6,40})",
        text,
    )
    where = repositories(text)
    told = [": key %s" % (key.group(1))] if key else []
    told += ["%s repository %s" % ("of" if told else ":", where[0])] if where else []
    return " ".join(told)


def _dkms(text: str) -> t.Optional[Trouble]:
    builds = failed_builds(text)
    if not builds:
        kernel = refused_for_headers(text)
        if kernel is None:
            return None
        cause = "DKMS could not build the module for kernel %s: its headers are not installed" % kernel
        return Trouble(DKMS, cause, "Install linux-headers-%s, or remove that kernel if nothing needs it" % kernel)
    first = builds[0]
    kernel = " for kernel %s" % first.kernel if first.kernel else ""
    cause = "DKMS could not build the module%s%s" % (kernel, " (its log: %s)" % first.log if first.log else "")
    return Trouble(DKMS, cause, "Use a driver that builds on this kernel, or another kernel, in the bundle", first.log)


def _script(text: str) -> t.Optional[Trouble]:
    match = _SCRIPT.search(text)
    if not match:
        return None
    name, when, what, status, signal = match.groups()
    before = text[: match.start()]
    begun = max(before.rfind("Setting up %s (" % name), before.rfind(") over (%s" % name), 0)
    lines = [" ".join(line.split()) for line in before[begun:].splitlines()]
    last = [line for line in lines if line and not _NOT_THE_SCRIPTS.match(line)][-_TOLD_LINES:]
    ended = "ended with status %s" % status if status else "was ended from outside (%s)" % signal
    cause = "the %s script of %s %s" % (_SCRIPT_FILE[(when, what)], name, ended)
    if last:
        cause += " (its last words: %s)" % " / ".join(last)
    if signal:
        fix = "See in dmesg whether the node ran out of memory, then run site.yml again"
    else:
        fix = "Mend what it names, then run dpkg --configure -a or site.yml again"
    return Trouble(SCRIPT, cause, fix)


def _dpkg(text: str) -> t.Optional[Trouble]:
    explained = dpkg_errors.explained(text)
    return Trouble(OTHER, *explained) if explained else None


def _unmet(text: str) -> t.Optional[Trouble]:
    gone = _VERSION_GONE.search(text)
    if gone:
        name = "%s=%s" % (gone.group(2), gone.group(1)) if gone.group(1) else gone.group(3) or gone.group(4)
        cause = "no repository of this node has %s" % name
        return Trouble(UNMET, cause, "Add the repository that has it, or resolve a new lock")
    if _FIX_BROKEN.search(text):
        cause = "the node's own packages do not fit together, whatever is to be installed: %s" % reason(text)
        return Trouble(UNMET, cause, "Run apt-get --fix-broken install on the node, and then site.yml again")
    if not _UNMET.search(text):
        return None
    cause = "the packages cannot be installed together: %s" % reason(text)
    fix = (
        "Nothing needs to be unheld and nothing forced: what apt calls held broken packages is a conflict with packages"
        " of another branch, or a set that is not whole. Remove the package that it names, or resolve a new lock"
    )
    return Trouble(UNMET, cause, fix)


def reason(text: str) -> str:
    """Why apt refuses a set, in its own words and in one line: the unmet dependencies, else its errors."""
    unmet = re.findall(r"^ (\S+ : .*(?:\n {4,}.*)*)", text, re.MULTILINE)
    if unmet:
        return "; ".join(" ".join(item.split()) for item in unmet)
    errors = [line[3:] for line in text.splitlines() if line.startswith("E: ")]
    return "; ".join(errors) or " ".join(text.split())[-300:] or "it gave no reason"


def _telling(text: str) -> t.List[str]:
    marked = ("E: ", "W: ", "Err", "dpkg: error")
    return [line for line in text.splitlines() if line.startswith(marked)] or text.splitlines()


def _words(line: str) -> str:
    text = " ".join(line.split())
    return text[3:] if text[:3] in ("E: ", "W: ") else text
