# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a registry which digest an image's tag has now (Docker Registry HTTP API v2), anonymously.

Pure but for the ``fetch`` that it is given. The digest is that of the index where the image has one, as ``docker pull``
records it, so that one lock serves both architectures.
"""

from __future__ import annotations

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
_HUB = "registry-1.docker.io"
_PIN = "Pin image.digest in the bundle; a login of docker_registries is used for pulling the image, and not here"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


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
class Reference:
    host: str
    repository: str
    tag: str


def parse(reference: str) -> Reference:
    """A reference as Docker reads it: the first part is a host when it looks like one, else it is on Docker Hub."""
    name, _colon, tag = reference.rpartition(":")
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        hub = first in ("docker.io", "index.docker.io")
        return Reference(_HUB if hub else first, _official(rest) if hub else rest, tag)
    return Reference(_HUB, _official(name), tag)


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


def digest(reference: str, insecure: t.Iterable[str], fetch: Fetch) -> str:
    """The digest of an image's tag.

    :arg insecure: ``insecure-registries`` of the daemon, hosts or networks
    :raises RegistryError: saying what the registry or the network said
    """
    image = parse(reference)
    ways = [("https", True)]
    if is_insecure(image.host, list(insecure)):
        ways = [("https", False), ("http", False)]
    unreachable = []
    for scheme, verify in ways:
        base = "%s://%s" % (scheme, image.host)
        try:
            return _Registry(reference, image, base, verify, fetch).digest()
        except OSError as error:
            unreachable.append("%s: %s" % (base, error))
    fix = "Check the registry's name and the node's network; a registry without TLS must be in docker_daemon_options"
    fix += '["insecure-registries"]; or pin image.digest in the bundle, and the registry is not asked'
    message = "cannot be looked up: %s" % "; ".join(unreachable)
    raise RegistryError(Problem("image.reference", reference, message, fix))


class _Registry:
    def __init__(self, reference: str, image: Reference, base: str, verify: bool, fetch: Fetch) -> None:
        self._reference = reference
        self._image = image
        self._url = "%s/v2/%s/manifests/%s" % (base, image.repository, image.tag)
        self._verify = verify
        self._fetch = fetch

    def digest(self) -> str:
        headers = {"Accept": _ACCEPT}
        response = self._fetch("HEAD", self._url, headers, self._verify)
        if response.status == 401:
            headers["Authorization"] = "Bearer " + self._token(response.headers.get("www-authenticate", ""))
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
            raise self._error("may not be read without a login on %s" % self._image.host, _PIN)
        if response.status == 429:
            raise self._error("cannot be looked up: %s allows no more requests now" % self._image.host, "Try later")
        raise self._error(
            "cannot be looked up: %s answers with status %d" % (self._image.host, response.status),
            "Try later, or pin image.digest in the bundle",
        )

    def _token(self, challenge: str) -> str:
        """An anonymous token from the place that the registry names."""
        scheme, _space, rest = challenge.partition(" ")
        values = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        if scheme.lower() != "bearer" or "realm" not in values:
            raise self._error("may not be read without a login on %s" % self._image.host, _PIN)
        query = {key: values[key] for key in ("service", "scope") if key in values}
        query.setdefault("scope", "repository:%s:pull" % self._image.repository)
        url = "%s?%s" % (values["realm"], urllib.parse.urlencode(query))
        response = self._fetch("GET", url, {}, self._verify)
        try:
            plain = json.loads(response.body)
            token = plain.get("token") or plain.get("access_token")
        except (ValueError, AttributeError):
            token = None
        if response.status != 200 or not isinstance(token, str):
            message = "may not be read: %s gives no anonymous token (status %d)" % (values["realm"], response.status)
            raise self._error(message, _PIN)
        return token

    def _error(self, message: str, fix: str) -> RegistryError:
        return RegistryError(Problem("image.reference", self._reference, message, fix))
