# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small questions about the output of tools that several parsers ask."""

from __future__ import annotations

import re
import typing as t

#: A driver version: at least two numbers, the first of three digits: 580.95, 550.163.01.
DRIVER_VERSION = r"\d{3,}(?:\.\d+)+"

_UUID = re.compile(r"^GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.IGNORECASE)
_MIG_UUID = re.compile(r"^MIG-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.IGNORECASE)
_PCI_ADDRESS = re.compile(r"^(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})\.([0-7])$")

#: User and password in front of a host. The last @ counts: people do not always write one in a password as %40.
_USER = re.compile(r"(?<=://)[^/\s'\"]*@")

#: In the name of a setting whose value nobody shall see, as splunk-token of Docker's log-opts.
_SECRET_WORDS = r"token|passw|secret"
_SECRET = re.compile(
    r"""((?:"[^"\n]*(?:%s)[^"\n]*"|'[^'\n]*(?:%s)[^'\n]*')\s*:\s*)(["'])(?:(?!\2)[^\\\n]|\\.)*\2"""
    % (_SECRET_WORDS, _SECRET_WORDS),
    re.IGNORECASE,
)


def first_line(text: str) -> str:
    """The first line that says something, or ""."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def last_line(text: str) -> str:
    """The last line that says something, or ""."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def failure(tool: str, rc: t.Optional[int], stdout: str, stderr: str) -> str:
    """One sentence for a tool that failed, with its own words."""
    said = first_line(stderr) or first_line(stdout) or "it said nothing"
    return "%s ended with code %s: %s" % (tool, rc, said)


def pci_address(text: str) -> t.Optional[str]:
    """A PCI address as the kernel writes it: NVIDIA's tools print eight digits of domain, and capitals."""
    match = _PCI_ADDRESS.match(text.strip())
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return "%04x:%02x:%02x.%s" % (int(domain or "0", 16), int(bus, 16), int(device, 16), function)


def gpu_uuid(text: str) -> t.Optional[str]:
    """The UUID of a GPU, or None: a tool prints words of an error in its place, and a GPU without one is not read."""
    return text.strip() if _UUID.match(text.strip()) else None


def mig_uuid(text: str) -> t.Optional[str]:
    """The UUID of a MIG device, as drivers since 470 give each its own; or None."""
    return text.strip() if _MIG_UUID.match(text.strip()) else None


def integer(text: str) -> t.Optional[int]:
    """A decimal number, or None. Only ASCII digits, and no more of them than any number here can have."""
    text = text.strip()
    return int(text) if re.match(r"^-?[0-9]{1,18}$", text) else None


def colons(number: str) -> str:
    """A number in hex as pairs of digits with colons between, in small letters: how two of them are compared."""
    digits = number.replace(":", "").lower()
    digits = digits.rjust(len(digits) + len(digits) % 2, "0")
    return ":".join(digits[at : at + 2] for at in range(0, len(digits), 2))


def without_users(text: str) -> str:
    """The text with no user and no password in its addresses: what is shown or kept must not have them."""
    return _USER.sub("", text)


def without_secrets(text: str) -> str:
    """Settings as JSON, or as Python shows them, without what they have of passwords: a log server's token, say."""
    return without_users(_SECRET.sub(r"\1\2...\2", text))


def is_secret(key: str) -> bool:
    return re.search(_SECRET_WORDS, key, re.IGNORECASE) is not None
