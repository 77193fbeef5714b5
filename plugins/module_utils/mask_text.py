# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets and personal data in plain text, by their shape: what they look like, and what takes their place. Pure.

The same text always gets the same mask, so that what was equal before is equal after, and a node can still be judged.
"""

from __future__ import annotations

import ipaddress
import re
import typing as t

from .parse.text import without_users

#: In the name of a setting whose value is nobody's business.
_WORDS = (
    r"(?:token|passw(?:or)?d|passphrase|secret|credential|authorization|x-registry-auth"
    r"|(?:api|access|private|signing|encryption|account|client|consumer|shared)[-_. ]?key|shared[-_. ]?access"
    r"|passcode|(?<![A-Za-z])(?:auth|pass|pwd|psk|creds|cookie)(?![A-Za-z])"
    r"|(?-i:(?<=[A-Z0-9])_KEY(?![A-Za-z])))"
)
#: Its end is bounded, and where it is sought it starts where a word does: a file may be one endless word.
_NAME = r"[\w.-]*%s[\w.-]{0,64}" % _WORDS
_SECRET_WORD = re.compile(_WORDS, re.IGNORECASE)
_ONE_NAME = re.compile(r"[\w. -]+")
#: Settings that sound like it: names of plugins and of public things.
_NO_SECRETS = ("authorization-plugins", "x509_certificate", "signing_key", "signing_serial", "sig_key")

#: A setting as shells, TOML, INI files and command lines write it. After a blank the value is the rest of the line.
_SETTING = re.compile(
    r"""(?P<name>["']?(?<![\w.-])%s["']?[ \t]*[=:][ \t]*|(?<![^\s"'\[,])--?%s[ ]+)"""
    r"""(?P<value>\"{3}.*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z)|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'"""
    r"""|["'][^\n]*|(?<=[ \t])[^\n]+|[^\s"']+)""" % (_NAME, _NAME),
    re.IGNORECASE | re.DOTALL,
)
_BEARER = re.compile(r"\b(Bearer|Basic)[ \t]+[A-Za-z0-9+/._~=-]{6,}", re.IGNORECASE)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----.*?(?:-----END [^\n]*-----|\Z)", re.DOTALL)
#: Tokens that tell by themselves what they are: of forges, clouds, hubs and NVIDIA's registry; JSON web tokens.
_KNOWN_TOKENS = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|AKIA[0-9A-Z]{16}|nvapi-[\w-]{16,}"
    r"|hf_[A-Za-z0-9]{20,}|xox[abpr]-[\w-]{10,}|dckr_pat_[\w-]{16,}|sk-[\w-]{20,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}"
    r"|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|glrt-[\w-]{16,}|glc_[\w+/=-]{20,}|eyJ[\w-]{8,4096}\.eyJ[\w-]{8,}\.[\w-]*)"
)
#: Passwords that stand behind no sign: of GRUB's menu, of netrc and apt's auth.conf.
_BARE = re.compile(
    r"^(?P<before>[ \t]*password(?:_pbkdf2)?[ \t]+(?:\S+[ \t]+)?|.*\blogin[ \t]+\S+[ \t]+password[ \t]+)"
    r"(?P<value>\S+)[ \t]*$",
    re.MULTILINE,
)
#: An option and its value as two words of a list.
_LISTED = re.compile(r"""(["']--?%s["'][ \t]*,\s*["'])([^"'\n]+)""" % _NAME, re.IGNORECASE)
#: What crypt and GRUB make of a password: it can be tried at leisure.
_HASHES = re.compile(r"\$(?:1|2[abxy]?|5|6|7|y|gy)\$[./A-Za-z0-9$,=+-]{8,}|\bgrub\.pbkdf2\.\w+\.\d+\.[0-9A-Fa-f.]+")
#: user:password@host without a scheme, as in the root=nbd: and netroot=iscsi: of a command line; no digest of an image.
_LOGIN = re.compile(r"(?<![\w/@.:+-])((?:[\w.+-]{1,64}:){1,6})([^\s:@/'\"]{1,128})@(?!sha\d)(?=[\w\[])")
#: What signs an address on the web, and lets anybody in who has it.
_SIGNED = re.compile(r"(?<=[?&])((?:[\w.-]*signature|sig|key|code)=)([^\s&'\"]+)", re.IGNORECASE)

_MAIL = re.compile(r"(?<![\w.+@/-])[A-Za-z0-9][\w.+-]*@(?:[A-Za-z0-9-]+\.)+([A-Za-z]{2,})(?![\w-])")
#: What systemd calls instances of a unit: user@1000.service.
_UNITS = ("service", "socket", "slice", "scope", "target", "mount", "timer", "path", "device", "swap")
_MAC = re.compile(r"(?<![0-9A-Fa-f:-])(?:[0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:-])")
_IPV4 = re.compile(
    r"(?<![\w.+~-])(?:\d{1,3}\.){3}\d{1,3}(?![\w+~]|\.\d)|(?<=\d-)(?:\d{1,3}\.){3}\d{1,3}(?![\w+~]|\.\d)"
)
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f:]{0,45}:[0-9A-Fa-f:]{1,45}(?:(?<=:)(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])")
_SERIAL = re.compile(
    r"((?:\bserial[ _-]?n(?:o|umber)|<serial>|\bserial)[ \t]*[:=]?[ \t]*)(?<=[:=> \t])((?=[A-Za-z]*\d)[A-Za-z0-9]{6,})",
    re.IGNORECASE,
)
_GPU_UUID = re.compile(r"\b(GPU|MIG)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
_HOME = re.compile(r"(/home/|/Users/)([A-Za-z0-9_][\w.-]*)")

#: Nothing that is masked by its shape is shorter: an e-mail address, a setting with a value.
_SHORTEST = 6

_NETS = ("192.0.2.", "198.51.100.", "203.0.113.")


class Masks:
    """What has got which mask so far; one for each capture.

    :arg versions: texts that look like addresses of four numbers, and are versions
    """

    def __init__(self, versions: t.Container[str] = (), gpu_uuids: bool = False) -> None:
        self._given: t.Dict[str, t.Dict[str, str]] = {}
        self._masks: t.Set[t.Tuple[str, str]] = set()
        self._versions = versions
        self._gpu_uuids = gpu_uuids

    def of(self, kind: str, text: str, form: t.Callable[[int], str]) -> str:
        """The mask of ``text``: the one that it has, or the next of its kind."""
        given = self._given.setdefault(kind, {})
        if (kind, text) in self._masks:  # masked already: a text may be met twice
            return text
        if text not in given:
            given[text] = form(len(given) + 1)
            self._masks.add((kind, given[text]))
        return given[text]

    def secret(self, text: str) -> str:
        return self.of("secret", text, "masked-secret-{}".format)

    def user(self, name: str) -> str:
        return self.of("user", name, "user-{}".format)

    def serial(self, number: str) -> str:
        return self.of("serial", number, "serial-{}".format)

    def plain(self, text: str, addresses: bool = True, serials: bool = True) -> str:
        """One text without what its shape gives away.

        :arg addresses: whether numbers with dots can be addresses in it at all
        :arg serials: whether a serial number in it is a thing's, and not a certificate's
        """
        if len(text) < _SHORTEST:
            return text
        text = _PRIVATE_KEY.sub(lambda found: self.secret(found.group()), text)
        text = without_users(text)
        text = _SETTING.sub(self._setting, text)
        text = _BEARER.sub(lambda found: "%s %s" % (found.group(1), self.secret(found.group())), text)
        text = _LISTED.sub(lambda found: found.group(1) + self.secret(found.group(2)), text)
        text = _BARE.sub(lambda found: found.group("before") + self.secret(found.group("value")), text)
        text = _HASHES.sub(lambda found: self.secret(found.group()), text)
        text = _LOGIN.sub(lambda found: "%s%s@" % (found.group(1), self.secret(found.group(2))), text)
        text = _SIGNED.sub(lambda found: found.group(1) + self.secret(found.group(2)), text)
        text = _KNOWN_TOKENS.sub(lambda found: self.secret(found.group()), text)
        text = _MAIL.sub(self._mail, text)
        text = _HOME.sub(lambda found: found.group(1) + self.user(found.group(2)), text)
        text = _MAC.sub(self._mac, text)
        if serials:
            text = _SERIAL.sub(self._serial, text)
        if addresses:
            text = _IPV4.sub(self._ipv4, text)
            text = _IPV6.sub(self._ipv6, text)
        return _GPU_UUID.sub(self._uuid, text) if self._gpu_uuids else text

    def _setting(self, found: t.Match[str]) -> str:
        name, value = found.group("name"), found.group("value")
        if is_public(name.strip(" \t=:\"'-")):
            return found.group()
        inner = value.strip().strip("\"'")
        quote = value[0] if value[0] in "\"'" else ""
        return name + quote + (self.secret(inner) if inner else "") + quote

    def _mail(self, found: t.Match[str]) -> str:
        if found.group(1).lower() in _UNITS:
            return found.group()
        return self.of("mail", found.group().lower(), "mail-{}@example.invalid".format)

    def _mac(self, found: t.Match[str]) -> str:
        return self.of("mac", found.group().lower().replace("-", ":"), _mac_form)

    def _serial(self, found: t.Match[str]) -> str:
        return found.group(1) + self.serial(found.group(2))

    def _ipv4(self, found: t.Match[str]) -> str:
        text = found.group()
        if text in self._versions or not _masked_address(text):
            return text
        return self.of("ipv4", text, _ipv4_form)

    def _ipv6(self, found: t.Match[str]) -> str:
        text = found.group()
        groups = text.split(":")
        # Eight pairs of digits may be the serial number of a certificate.
        if ("::" not in text and max(map(len, groups)) < 3) or not _masked_address(text):
            return text
        return self.of("ipv6", str(ipaddress.ip_address(text)), "2001:db8::{:x}".format)

    def _uuid(self, found: t.Match[str]) -> str:
        form = found.group(1) + "-00000000-0000-4000-8000-{:012d}"
        return self.of("uuid", found.group(), form.format)


def is_secret_name(name: str) -> bool:
    """Whether the value of a setting of this name is a secret."""
    return bool(_ONE_NAME.fullmatch(name) and _SECRET_WORD.search(name)) and not is_public(name)


def is_public(name: str) -> bool:
    return name.lower() in _NO_SECRETS


def quads(text: str) -> t.Set[str]:
    """Four numbers with dots between, wherever they stand."""
    return set(re.findall(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])", text))


def _masked_address(text: str) -> bool:
    """Whether it is an address that tells of somebody. Loopback, none, all and netmasks tell of nobody."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    mask = address.version == 4 and text.startswith("255.")
    documented = text.startswith(_NETS) or text.startswith("2001:db8:")
    return not (address.is_loopback or address.is_unspecified or mask or documented)


def _mac_form(number: int) -> str:
    return "02:00:00:00:%02x:%02x" % divmod(number, 256)


def _ipv4_form(number: int) -> str:
    """Of the networks that are set apart for documents, and beyond them of the reserved one."""
    net, host = divmod(number - 1, 254)
    if net < len(_NETS):
        return "%s%d" % (_NETS[net], host + 1)
    return "240.%d.%d.%d" % (number // 65536 % 256, number // 256 % 256, number % 256)
