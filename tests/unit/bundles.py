# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sound bundles for the tests: the data that YAML gives, and the typed bundle. A test breaks one thing of one."""

from __future__ import annotations

import copy
import dataclasses
import typing as t

from ansible_collections.goldennode.gpu.plugins.module_utils import bundle

#: Made for these tests with gpg, which also computed the fingerprints; nobody has the secret halves.
FINGERPRINT = "92CF7982C2CAD2CE12D5C89BF86BDF5EE4180FDF"
KEY = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEaw2ayRYJKwYBBAHaRw8BAQdAfXTyC6fGhsuyisKgmExFkux9Xzm0vk5EFm78
b6+IhR20FFRlc3QgPHRAZXhhbXBsZS5vcmc+iJAEExYIADgWIQSSz3mCwsrSzhLV
yJv4a99e5BgP3wUCaw2ayQIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAKCRD4
a99e5BgP388aAPwP9BHkfFZ6n4Tdx4460qKq6Lp8IPZa6DxZtc8D/QJeiAD+IquZ
RivH0Rhbs1fwj+d2fwdxquGWSTHnE19xjRQeDQQ=
=i+jI
-----END PGP PUBLIC KEY BLOCK-----
"""
#: Another, of the older kind that gpg makes for RSA.
OTHER_FINGERPRINT = "1A8F500A44DDB34B3288131A91936220460FBB83"
OTHER_KEY = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mQENBGsNnboBCADqgZna8Rdp+dm07BV02+SQlSysDwL7aBaUNlMM/UFwu/FNFV8j
v5ml/L7LR4Ibh38myLLe6Uvv1zGxp9GsQGbXJ1bH4FjasFhVAto9eAdC7oflEm4F
99el3j8wWyOap/bL+rnNDjuqsgKaiaPYayYrW5lNcBc1+KfDCdzFcEJx67WqFBI8
1qjc4mzWbhU4M4uiunj1SyHLFdJSjoE4Is0iqrIFFeiJhXP4wHEopXQGBJPq19sU
MMYSz5NFQhdvWhBDij0ARkjyLRDgfPzAgku2MqCkWBEAxQrX+Co56woBqfOgvuSd
GBQtanPxlMcqOmWbzfZU61FsS4fwMZUI/INzABEBAAG0E1JTQSA8ckBleGFtcGxl
Lm9yZz6JAU4EEwEKADgWIQQaj1AKRN2zSzKIExqRk2IgRg+7gwUCaw2dugIbAwUL
CQgHAgYVCgkICwIEFgIDAQIeAQIXgAAKCRCRk2IgRg+7gzXrCACgN7Gdjk/cGqX1
bsfAtrJtDgJ5aqsmf7qenOm8OfpgelcXxioZTirEsJ9MKyN6flb0Mr04S5FTVLXH
WkrzVRJAgN16p0HXkK7XKfNLgQRomC5SH2tWj76XyHyZRkKrqrmJmJJstFfKmELa
KfzTSB5GSwMewbwncQMB0rc5RR8TZ2XlkTwrbMEEYhfljfd3sG3ZEO7pUMvasPeb
gsEURuBSbikUtnAuVyLd05yK6WWSn+y5Wcj61rmciOQDPAgCrA3YV7EfDQvmeHuv
KNBZYW/ft3IvXn4z6FA/G3Am6lcOQPSzwhf3ZD1vBd7b1judr9SmdyzLTV1DUq0m
BvIYce10
=OuVn
-----END PGP PUBLIC KEY BLOCK-----
"""
#: Bound by a SHA1 signature alone, as NVIDIA's older key is; and one that ended on 2025-01-01.
SHA1_FINGERPRINT = "904662487F95D010BBB4F81BF3C9CF312122DA5D"
SHA1_KEY = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEZZIAgBYJKwYBBAHaRw8BAQdA4xg15Oc5rH/4HT1lOtEsEN/d14MVbv7aN2vP
A//6/Vy0F1NoYTEgPHNoYTFAZXhhbXBsZS5vcmc+iJAEExYCADgWIQSQRmJIf5XQ
ELu0+Bvzyc8xISLaXQUCZZIAgAIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAK
CRDzyc8xISLaXXM5AQCVi8UfkupO9S/pcym/OPOk4KKtkPapUwDD2LEG+nJIXQEA
j3KMUNE5gA6gq2sEYw6qgTTRLC4C8jMQZWV6sqjcLgA=
=zlzF
-----END PGP PUBLIC KEY BLOCK-----
"""
EXPIRED_FINGERPRINT = "FE83F2C0023BF6A7EEC1BA0D63A6B023D0DB6395"
EXPIRED_KEY = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEZZIAgBYJKwYBBAHaRw8BAQdAQNtomGOMm0Mtj/3aQbuj12CGFfkiKOE0TxWR
V0XLdLS0HUV4cGlyZWQgPGV4cGlyZWRAZXhhbXBsZS5vcmc+iJYEExYKAD4WIQT+
g/LAAjv2p+7Bug1jprAj0NtjlQUCZZIAgAIbAwUJAeMtwAULCQgHAgYVCgkICwIE
FgIDAQIeAQIXgAAKCRBjprAj0NtjlfcqAQDtS7CVVN2onvHaZLzpTGhkYviVVGDz
3P5B5JqPPi55LAD/Zfp+3bckMKXMvCpXs+YI2gK7io5+wkwnQBjcQdY/bQQ=
=1uAc
-----END PGP PUBLIC KEY BLOCK-----
"""
REVOKED_FINGERPRINT = "168C55F9934F77A94C4B1E5FE6B8EEF70479E9CA"
REVOKED_KEY = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEZZIAgBYJKwYBBAHaRw8BAQdAze1aFb+eEe+Ud9n7wmP9RS+fl1WRsm3lplPI
//NDS2CIeAQgFgoAIBYhBBaMVfmTT3epTEseX+a47vcEeenKBQJlkgCAAh0AAAoJ
EOa47vcEeenKjhAA/jrpdBnesRQaKZYojbBPHzeZIWn6sWNaink1v6IWm3BYAQCx
UfXCW0MCRkKQJ1LBy9wC7CVHW+NxsY9ewTrhE5cnBLQdUmV2b2tlZCA8cmV2b2tl
ZEBleGFtcGxlLm9yZz6IkAQTFgoAOBYhBBaMVfmTT3epTEseX+a47vcEeenKBQJl
kgCAAhsDBQsJCAcCBhUKCQgLAgQWAgMBAh4BAheAAAoJEOa47vcEeenKXZIBAI/8
j5gJDPHyaHH/IuGIBTy0U1w31h5IkEim/tfkxANGAQCi5daDJrx4nciw1OIcU6CZ
VaI1eYGgJ+VXOfKy9cKCAA==
=CzE2
-----END PGP PUBLIC KEY BLOCK-----
"""
#: 1024 bits of RSA.
SHORT_FINGERPRINT = "225A6A675EC0BBC079E1CB6A0D27DAD2AED3E688"
SHORT_KEY = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mI0EZZIAgAEEAKpwmtaPrW60MA1awqxUp18xtvTZKOtJ6CpzgcXZFMz8Lq3Mz7RU
d8199g7qof12UNdPAOI3rAx/4XX6ZhjYBzWxkSKYCEK2GgKYoguwxSE1iN3fJGh/
K3Y8E2R780HIneRe23CPsEddBiNlq9C18S3MCxgRd3sTAvCeNBVTtO2tABEBAAG0
GVNtYWxsIDxzbWFsbEBleGFtcGxlLm9yZz6IzgQTAQoAOBYhBCJaamdewLvAeeHL
ag0n2tKu0+aIBQJlkgCAAhsDBQsJCAcCBhUKCQgLAgQWAgMBAh4BAheAAAoJEA0n
2tKu0+aIaBEEAJqFTdOViQBI1SWvm6aXxgCrVmkpQJ1eXgBmj9asHDeIXbHffz9b
9AnjckUabfIfvBdXWTQDL5ZYgpua08Wagf7H83oc/KHRO9C2yej+iOr3FdX/bCt7
J1g5KIctDFNikGDemgkUUhSCDjWrw6FWfIBMN/L0X+fquY28qQg/GeAT
=5wJp
-----END PGP PUBLIC KEY BLOCK-----
"""
PLATFORM = "debian-13-x86_64"

DATA: t.Dict[str, t.Any] = {
    "bundle": "pool-2026.11",
    "platforms": {
        PLATFORM: {
            "sources": [
                {
                    "name": "nvidia",
                    "uris": ["https://vendor.example/nvidia"],
                    "suites": ["stable"],
                    "components": ["main"],
                    "key_file": "vendor.asc",
                    "fingerprint": FINGERPRINT,
                }
            ]
        }
    },
    "kernel": {"release": "6.12.57+deb13-amd64"},
    "driver": {"version": "580.159.03", "flavour": "open"},
    "fabric_manager": {"version": "580.159.03"},
    "toolkit": {"version": "1.20.0"},
    "docker": {"version": "26.1.4"},
    "image": {"reference": "registry.example/cuda:13.0.1-base"},
    "python": {"nvidia_ml_py": "13.615.71"},
}


def data(**axes: t.Any) -> t.Dict[str, t.Any]:
    """The data of a bundle, with some keys at its top changed; None takes a key out."""
    found = copy.deepcopy(DATA)
    for key, value in axes.items():
        if value is None:
            del found[key]
        elif isinstance(value, dict) and key != "platforms":
            found[key] = {**found.get(key, {}), **value}
        else:
            found[key] = value
    return found


def read_key(name: str) -> str:
    if name != "vendor.asc":
        raise FileNotFoundError(2, "No such file or directory", name)
    return KEY


def load(plain: t.Any) -> bundle.Bundle:
    return bundle.load(plain, "pool.yml", read_key)


def problems(plain: t.Any) -> t.List[str]:
    """What is said of the data, a sentence for each problem; none when it is sound."""
    try:
        load(plain)
    except bundle.BundleError as error:
        return [str(problem) for problem in error.problems]
    return []


def platform_bundle(**axes: t.Any) -> bundle.PlatformBundle:
    """The bundle as Debian 13 sees it: ``platform_bundle(driver={"version": "595.71.05"}, fabric_manager=None)``.

    Nothing is checked here, so that what cannot work together can be put together.
    """
    found = load(data()).platforms[PLATFORM]
    for axis, values in axes.items():
        value = dataclasses.replace(getattr(found, axis), **values) if isinstance(values, dict) else values
        found = dataclasses.replace(found, **{axis: value})
    return found
