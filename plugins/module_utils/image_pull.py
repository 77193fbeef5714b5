# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pulling an image with a login that is used once: what Docker's client reads, and what its words mean. Pure."""

from __future__ import annotations

import json
import re
import typing as t

from .registry import HUB, Login

#: By this name the client keeps the login of Docker Hub.
_KEY_OF_HUB = "https://index.docker.io/v1/"

_NO_SUCH_IMAGE = ("No such image", "No such object")
#: 401 and 403, in the words of registries, of engines with their own store of images, and of those with containerd's.
_REFUSED = re.compile(
    r"unauthorized|no basic auth credentials|authentication required|authorization failed|failed to authorize"
    r"|access denied|access to the resource is denied|denied: |\b401 Unauthorized|\b403 Forbidden"
    r"|status(?: code)?:? 40[13]\b",
    re.IGNORECASE,
)
_TOO_MANY = re.compile(r"toomanyrequests|\b429\b", re.IGNORECASE)
_GONE = re.compile(r"manifest unknown|manifest for \S+ not found|: not found\b|name unknown", re.IGNORECASE)


def client_config(login: Login) -> str:
    """The client's config.json with this login and nothing else.

    It is written and not made by ``docker login``: that would hand the password to a store of root's (``pass``) where
    the node has one. With an entry in ``auths`` the client looks for no store.
    """
    key = _KEY_OF_HUB if login.registry == HUB else login.registry
    return json.dumps({"auths": {key: {"auth": login.basic}}})


def is_absent(rc: int, stderr: str) -> bool:
    """Whether ``docker image inspect`` says that the image is not there."""
    return rc != 0 and any(words in stderr for words in _NO_SUCH_IMAGE)


def trouble(image: str, registry: str, login: t.Optional[Login], rc: int, words: str, seconds: int) -> str:
    """Why an image could not be pulled, and what to do.

    :arg registry: the image's, for people
    :arg words: what the client said
    """
    said = " ".join(words.split()) or "it said nothing, rc %d" % rc
    if rc in (124, 137) and not words.strip():
        return "%s was not pulled within %d s. Look at the node's way to %s, and run again." % (
            image,
            seconds,
            registry,
        )
    # Too many requests come first: Docker Hub tells those who are not logged in to do so.
    if _TOO_MANY.search(said):
        advice = "Try later" if login else "Try later, or set docker_registries for %s: a login may do more" % registry
        return "%s allows no more requests now. %s. It said: %s" % (registry, advice, said)
    if _REFUSED.search(said):
        if login is None:
            return (
                "%s may not be pulled without a login. Set docker_registries (registry: %s, username, password). "
                "%s said: %s" % (image, registry, registry, said)
            )
        return (
            "%s refuses %s to the user %s. Correct username and password for it in docker_registries, or give that "
            "user the right to pull. It said: %s" % (registry, image, login.username, said)
        )
    if _GONE.search(said):
        return (
            "%s has no %s any more. Take another tag or digest in the bundle, and run "
            "ansible-playbook goldennode.gpu.lock. It said: %s" % (registry, image, said)
        )
    return "%s could not be pulled from %s: %s" % (image, registry, said)
