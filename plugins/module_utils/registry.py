# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a registry which digest an image's tag has now (Docker Registry HTTP API v2), with a login where there is one.

Pure but for the ``fetch`` that it is given. The digest is that of the index where the image has one, as ``docker pull``
records it, so that one lock serves both architectures.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import hashlib
import ipaddress
import json
import re
import typing as t
import urllib.parse

from .bundle import Problem

_ACCEPT = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
#: As images, and logins, name Docker Hub, and where it answers.
HUB = "docker.io"
_HUB_HOST = "registry-1.docker.io"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TOKEN = re.compile(r"[!-~]+")
_ADDRESS = "Check that image.reference names the registry that you mean, and pin image.digest in the bundle"
_LOGIN = "Set docker_registries (registry: %s, username, password), or pin image.digest in the bundle"


@dataclasses.dataclass(frozen=True)
class Response:
    """``headers`` have lower-case names."""

    status: int
    headers: t.Mapping[str, str]
    body: bytes = b""


#: (method, url, headers, verify the certificate) -> response of any status; raises OSError when there is none.
Fetch = t.Callable[[str, str, t.Mapping[str, str], bool], Response]


class RegistryError(ValueError):
    """The digest cannot be learnt."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


@dataclasses.dataclass(frozen=True)
class Login:
    """``registry`` is the host as images name it. The password is not shown where a login is printed."""

    registry: str
    username: str
    password: str = dataclasses.field(repr=False)

    @property
    def basic(self) -> str:
        """Name and password as HTTP, and Docker's config.json, carry them."""
        return base64.b64encode(("%s:%s" % (self.username, self.password)).encode("utf-8")).decode("ascii")


@dataclasses.dataclass(frozen=True)
class Reference:
    host: str
    repository: str
    tag: str

    @property
    def registry(self) -> str:
        """The registry by the name that people use."""
        return HUB if self.host == _HUB_HOST else self.host


def parse(reference: str) -> Reference:
    """A reference as Docker reads it: the first part is a host when it looks like one, else it is on Docker Hub."""
    name, _colon, tag = reference.rpartition(":")
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        hub = first in ("docker.io", "index.docker.io")
        return Reference(_HUB_HOST if hub else first, _official(rest) if hub else rest, tag)
    return Reference(_HUB_HOST, _official(name), tag)


def _official(repository: str) -> str:
    return repository if "/" in repository else "library/" + repository


def is_insecure(host: str, listed: t.Iterable[str]) -> bool:
    """Whether Docker would talk to this registry without TLS: ``insecure-registries``, and this machine itself."""
    name = host.rpartition(":")[0] or host
    if name == "localhost" or host in listed or name in listed:
        return True
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return any(address in network for network in _networks([*listed, "127.0.0.0/8", "::1/128"]))


def _networks(listed: t.Iterable[str]) -> t.Iterator[t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]]:
    """Those of the list that are networks; the others are hosts, or what dockerd itself refuses."""
    for item in listed:
        if "/" in item:
            with contextlib.suppress(ValueError):
                yield ipaddress.ip_network(item, strict=False)


def digest(reference: str, insecure: t.Iterable[str], fetch: Fetch, logins: t.Iterable[Login] = ()) -> str:
    """The digest of an image's tag.

    :arg insecure: ``insecure-registries`` of the daemon, hosts or networks
    :arg logins: of any registries; the one of the image's is used, and only where that asks for one
    :raises RegistryError: saying what the registry or the network said
    """
    image = parse(reference)
    login = next((one for one in logins if one.registry == image.registry), None)
    ways = [("https", True)]
    if is_insecure(image.host, list(insecure)):
        ways = [("https", False), ("http", False)]
    unreachable = []
    for scheme, verify in ways:
        base = "%s://%s" % (scheme, image.host)
        try:
            return _Registry(reference, image, base, verify, fetch, login).digest()
        except OSError as error:
            unreachable.append("%s: %s" % (base, error))
    fix = "Check the registry's name and the node's network; a registry without TLS must be in docker_daemon_options"
    fix += '["insecure-registries"]; or pin image.digest in the bundle, and the registry is not asked'
    message = "cannot be looked up: %s" % "; ".join(unreachable)
    raise RegistryError(Problem("image.reference", reference, message, fix))


class _Registry:
    def __init__(
        self,
        reference: str,
        image: Reference,
        base: str,
        verify: bool,
        fetch: Fetch,
        login: t.Optional[Login],
    ) -> None:
        self._reference = reference
        self._image = image
        self._base = base
        self._url = "%s/v2/%s/manifests/%s" % (base, image.repository, image.tag)
        self._verify = verify
        self._fetch = fetch
        self._login = login

    def digest(self) -> str:
        headers = {"Accept": _ACCEPT}
        response = self._fetch("HEAD", self._url, headers, self._verify)
        if response.status == 401:
            headers["Authorization"] = self._authorization(response.headers.get("www-authenticate", ""))
            response = self._fetch("HEAD", self._url, headers, self._verify)
        found = response.headers.get("docker-content-digest", "")
        if response.status == 200 and not _DIGEST.fullmatch(found):
            response = self._fetch("GET", self._url, headers, self._verify)
            found = "sha256:" + hashlib.sha256(response.body).hexdigest()
        if response.status == 200:
            return found
        if response.status == 404:
            message = "is not there: %s has no %s:%s" % (self._image.host, self._image.repository, self._image.tag)
            raise self._error(message, "Check the tag; vendors delete old ones")
        if response.status in (401, 403):
            raise self._refused()
        if response.status == 429:
            raise self._error("cannot be looked up: %s allows no more requests now" % self._image.host, "Try later")
        raise self._error(
            "cannot be looked up: %s answers with status %d" % (self._image.host, response.status),
            "Try later, or pin image.digest in the bundle",
        )

    def _authorization(self, challenge: str) -> str:
        """What to answer to a registry that lets nobody read without saying who asks."""
        scheme, _space, rest = challenge.partition(" ")
        values = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        if scheme.lower() == "bearer" and "realm" in values:
            return "Bearer " + self._token(values)
        if scheme.lower() == "basic" and self._login:
            return "Basic " + self._login.basic
        raise self._refused()

    def _token(self, values: t.Mapping[str, str]) -> str:
        """A token from the place that the registry names, by the login or else for anybody."""
        realm = values["realm"]
        # Whoever answers names the place: it must be one of the web, and not less safe than the registry itself.
        if not realm.startswith(("https://", "http://")):
            raise self._error("may not be read: %s sends for a token to %r" % (self._image.host, realm), _ADDRESS)
        query = {key: values[key] for key in ("service", "scope") if key in values}
        query.setdefault("scope", "repository:%s:pull" % self._image.repository)
        headers = {}
        if self._login:
            if not realm.startswith("https://") and self._base.startswith("https://"):
                message = "may not be read: %s sends the password to %s, without TLS" % (self._image.host, realm)
                raise self._error(message, "Pin image.digest in the bundle, and tell whoever runs the registry")
            headers["Authorization"] = "Basic " + self._login.basic
        url = "%s?%s" % (realm, urllib.parse.urlencode(query))
        response = self._fetch("GET", url, headers, self._verify)
        if self._login and response.status in (401, 403):
            raise self._refused()
        try:
            plain = json.loads(response.body)
            token = plain.get("token") or plain.get("access_token")
        except (ValueError, AttributeError):
            token = None
        if response.status != 200 or not isinstance(token, str):
            whose = "for %s" % self._login.username if self._login else "without a login"
            message = "may not be read: %s gives no token %s (status %d)" % (realm, whose, response.status)
            raise self._error(message, _LOGIN % self._image.registry)
        if not _TOKEN.fullmatch(token):
            raise self._error("may not be read: %s gives a token that no header can carry" % realm, _ADDRESS)
        return token

    def _refused(self) -> RegistryError:
        registry = self._image.registry
        if self._login is None:
            return self._error("may not be read without a login on %s" % registry, _LOGIN % registry)
        return self._error(
            "may not be read: %s refuses the user %s" % (registry, self._login.username),
            "Correct username and password of %s in docker_registries, or give that user the right to pull" % registry,
        )

    def _error(self, message: str, fix: str) -> RegistryError:
        return RegistryError(Problem("image.reference", self._reference, message, fix))
