# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the package manager of a platform accepts a repository's key: known before any node is touched.

Pure. apt says of such a key that the repository is not signed, or that the key is not bound, on a day on which nothing
has changed; the same key again is no answer then. Marks: [V] read in the vendor's own source; [2] in a public source
that is not the vendor's.
"""

from __future__ import annotations

import datetime
import typing as t

from .bundle import PlatformBundle, Problem, Source
from .openpgp import Certificate, certificates

#: Platforms whose apt verifies with sqv and refuses weak keys: apt 3.0 of Debian 13 with default-sequoia.config, SHA1
#: and SHA224 since 2026-02-01 [V].
STRICT = ("debian-13",)
#: Verifies with gpgv, which accepts them, by what apt's maintainer says of 25.10 in January 2026 [2]; 26.10 refuses
#: them [2] (builds of August 2026). Of 26.04 nothing was found that says either.
UNKNOWN = ("ubuntu-26.04",)

#: In default-sequoia.config [V] and sequoia's standard policy.
WEAK_HASHES = ("MD5", "SHA1", "RIPEMD160", "SHA224")
_SHORTEST_RSA = 2048

#: A key that is refused -> by platform, the repository and key that the vendor has made for it [2].
_SUCCESSORS: t.Dict[str, t.Dict[str, t.Tuple[str, str]]] = {
    "EB693B3035CD5710E231E123A4B469963BF863CC": {
        "debian-13": (
            "https://developer.download.nvidia.com/compute/cuda/repos/debian13",
            "02182E60104FCDC26EAE1B8597A5D4CB8793F200",
        )
    }
}
_WAY_OUT = (
    "Use the vendor's repository for this release of the distribution, and the newer key that belongs to it; the same "
    "key again is no answer, and trusted=yes is none either"
)
_RENEW = "Take the vendor's current key into the bundle, and check its fingerprint with the vendor"


def problems(bundle: PlatformBundle, today: datetime.date) -> t.List[Problem]:
    """Keys that apt will not accept: expired or revoked ones anywhere, weak ones where sqv verifies."""
    found = []
    for index, source in enumerate(bundle.sources):
        for message, fix in _refusals(source, bundle.platform, today)[:1]:
            path = "platforms.%s.sources[%d].key" % (bundle.platform, index)
            names = " ".join(one.fingerprint for one in _certificates(source))
            found.append(Problem(path, names, message, fix))
    return found


def warnings(bundle: PlatformBundle) -> t.List[str]:
    """Weak keys of a platform of which it is not known whether its apt takes them."""
    if not bundle.platform.startswith(UNKNOWN):
        return []
    return [
        "repository %s: its key %s; whether apt of %s takes it is not known" % (source.name, weak, bundle.platform)
        for source in bundle.sources
        for weak in _all_or_none([_weakness(one) for one in _certificates(source)])[:1]
    ]


def _refusals(source: Source, platform: str, today: datetime.date) -> t.List[t.Tuple[str, str]]:
    """Why none of the source's keys will do; nothing when one of them will."""
    return _all_or_none([_refusal(one, platform, today) for one in _certificates(source)])


def _all_or_none(found: t.Sequence[t.Optional[t.Any]]) -> t.List[t.Any]:
    """One good key among several is enough for apt."""
    return [] if None in found else list(found)


def _refusal(key: Certificate, platform: str, today: datetime.date) -> t.Optional[t.Tuple[str, str]]:
    if key.revoked:
        return "is revoked by its owner", _RENEW
    if key.expires and key.expires.date() <= today:
        return "has expired on %s" % key.expires.date().isoformat(), _RENEW
    weak = _weakness(key) if platform.startswith(STRICT) else None
    return ("%s, which apt of %s does not accept" % (weak, platform), _way_out(key, platform)) if weak else None


def _way_out(key: Certificate, platform: str) -> str:
    successor = _SUCCESSORS.get(key.fingerprint, {}).get(platform.rpartition("-")[0])
    return "%s. It is %s, with the key %s" % (_WAY_OUT, *successor) if successor else _WAY_OUT


def _weakness(key: Certificate) -> t.Optional[str]:
    """What sqv dislikes in a key, as the rest of a sentence about it; None when it is strong."""
    if key.algorithm == "DSA":
        return "is a DSA key"
    if key.algorithm == "RSA" and key.bits < _SHORTEST_RSA:
        return "is an RSA key of %d bits" % key.bits
    own = [binding for binding in key.bindings if not binding.of]
    strong = [binding for binding in own if binding.hash not in WEAK_HASHES]
    if not strong:
        hashes = " and ".join(sorted({binding.hash for binding in own}))
        return "is bound by a %s signature" % hashes if own else "is not bound to a name by any signature"
    signing = [binding for binding in strong if binding.signs] or [
        binding for binding in key.bindings if binding.of and binding.signs and binding.hash not in WEAK_HASHES
    ]
    return None if signing else "has no part that may sign and is bound by a strong signature"


def _certificates(source: Source) -> t.Tuple[Certificate, ...]:
    return certificates(source.key) if source.key else ()
