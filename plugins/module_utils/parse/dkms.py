# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``dkms status`` prints, in the forms of DKMS 2 and 3, and which certificate DKMS signs with."""

from __future__ import annotations

import re
import typing as t

from ..model import DkmsModule, Reading
from .text import failure

#: DKMS 2 writes "m, v, k, a: state", DKMS 3 "m/v, k, a: state", and both "m, v, k, a: installed-weak from KERNEL".
_LINE = re.compile(
    r"^(?P<name>[^\s,/:]+)(?:/|, )(?P<version>[^\s,/]+?)(?:, (?P<kernel>[^\s,]+), (?P<arch>[^\s,:]+))?: "
    r"(?P<state>installed-weak|added|built|installed|broken)"
    r"(?: from (?P<weak_from>\S+))?(?P<remark>(?: \([^)]*\))*)\s*$"
)
_OURS = re.compile(r"^nvidia\b")

_ASSIGNMENT = re.compile(r"""^\s*(?:export\s+)?(mok_signing_key|mok_certificate)=(["']?)(.*?)\2\s*(?:#.*)?$""")

DEFAULT_CERTIFICATE = "/var/lib/dkms/mok.pub"
#: Ubuntu's DKMS takes the key that its shim-signed makes; Debian's does not.
UBUNTU_CERTIFICATE = "/var/lib/shim-signed/mok/MOK.der"


def status(stdout: str, stderr: str, rc: t.Optional[int]) -> Reading[t.Tuple[DkmsModule, ...]]:
    """All modules that DKMS knows. Warnings may stand between the lines; one on an nvidia module must be understood."""
    found: t.List[DkmsModule] = []
    for line in stdout.splitlines():
        match = _LINE.match(line.strip())
        if match:
            fields = {name: value or "" for name, value in match.groupdict().items()}
            fields["remark"] = re.sub(r"\) \(", "; ", fields["remark"].strip()).strip("()")
            found.append(DkmsModule(**fields))
        elif _OURS.match(line.strip()):
            return Reading.unknown("dkms status printed a line that is not understood: %s" % line.strip()[:200])
    if rc != 0 and not found:
        return Reading.unknown(failure("dkms status", rc, stdout, stderr))
    return Reading(tuple(found))


def certificate(configuration: t.Iterable[str], platform_id: str) -> Reading[str]:
    """The path of the certificate that DKMS signs with.

    :arg configuration: texts of /etc/dkms/framework.conf and then framework.conf.d/*.conf, in the order of their names
    """
    said: t.Dict[str, str] = {}
    for text in configuration:
        for line in text.splitlines():
            match = _ASSIGNMENT.match(line)
            if match:
                said[match.group(1)] = match.group(3)
    named = said.get("mok_certificate", "")
    if not said.get("mok_signing_key") and platform_id == "ubuntu":
        return Reading(UBUNTU_CERTIFICATE)
    if "$" in named or "`" in named:
        return Reading.unknown("the configuration of DKMS gives mok_certificate as %s, which is not evaluated" % named)
    return Reading(named or DEFAULT_CERTIFICATE)
