# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A registry is asked as Docker asks it; every way in which it may not answer is one clear message."""

from __future__ import annotations

import hashlib
import json

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import registry
from ansible_collections.goldennode.gpu.plugins.module_utils.registry import Login, Reference, Response

DIGEST = "sha256:" + "d" * 64
BEARER = 'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/cuda:pull"'
REFERENCE = "registry.example/a/cuda:13.0"
MANIFEST = "https://registry.example/v2/a/cuda/manifests/13.0"


class Registry:
    """Answers in turn; an answer that is an error is raised."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def __call__(self, method, url, headers, verify):
        self.asked.append((method, url, dict(headers), verify))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def ok(digest=DIGEST, body=b""):
    return Response(200, {"docker-content-digest": digest} if digest else {}, body)


def refused(*answers, insecure=()):
    with pytest.raises(registry.RegistryError) as caught:
        registry.digest(REFERENCE, insecure, Registry(*answers))
    return str(caught.value)


@pytest.mark.parametrize(
    ("reference", "parsed"),
    [
        ("registry.example/a/cuda:13.0", Reference("registry.example", "a/cuda", "13.0")),
        ("vendor.testbed:5000/cuda:13.0.1-base", Reference("vendor.testbed:5000", "cuda", "13.0.1-base")),
        ("localhost/x:1", Reference("localhost", "x", "1")),
        ("ubuntu:24.04", Reference("registry-1.docker.io", "library/ubuntu", "24.04")),
        ("nvidia/cuda:13.0", Reference("registry-1.docker.io", "nvidia/cuda", "13.0")),
        ("docker.io/nvidia/cuda:13.0", Reference("registry-1.docker.io", "nvidia/cuda", "13.0")),
        ("docker.io/ubuntu:24.04", Reference("registry-1.docker.io", "library/ubuntu", "24.04")),
    ],
)
def test_a_reference_is_read_as_docker_reads_it(reference, parsed):
    assert registry.parse(reference) == parsed


@pytest.mark.parametrize(
    ("host", "listed", "insecure"),
    [
        ("vendor.testbed:5000", ["vendor.testbed:5000"], True),
        ("vendor.testbed:5000", ["vendor.testbed"], True),
        ("vendor.testbed:5000", ["vendor.testbed:5001"], False),
        ("10.1.2.3:5000", ["10.0.0.0/8"], True),
        ("10.1.2.3:5000", ["11.0.0.0/8"], False),
        ("127.0.0.1:5000", [], True),
        ("[::1]:5000", [], True),
        ("localhost:5000", [], True),
        ("registry.example", ["10.0.0.0/8"], False),
        ("10.1.2.3:5000", ["http://registry.example/x", "10.0.0.0/8"], True),
    ],
)
def test_which_registries_are_talked_to_without_tls(host, listed, insecure):
    assert registry.is_insecure(host, listed) is insecure


def test_the_digest_is_what_the_registry_says():
    asked = Registry(ok())
    assert registry.digest(REFERENCE, [], asked) == DIGEST
    method, url, headers, verify = asked.asked[0]
    assert (method, url, verify) == ("HEAD", MANIFEST, True)
    assert "image.index.v1+json" in headers["Accept"]
    assert "manifest.list.v2+json" in headers["Accept"]


def test_an_anonymous_token_is_fetched_where_one_is_asked_for():
    token = Response(200, {}, json.dumps({"token": "t0ken"}).encode())
    asked = Registry(Response(401, {"www-authenticate": BEARER}), token, ok())
    assert registry.digest(REFERENCE, [], asked) == DIGEST
    assert asked.asked[1][1] == (
        "https://auth.example/token?service=registry.example&scope=repository%3Aa%2Fcuda%3Apull"
    )
    assert asked.asked[2][2]["Authorization"] == "Bearer t0ken"


def test_another_name_of_the_token_and_a_challenge_without_scope():
    token = Response(200, {}, b'{"access_token": "x"}')
    challenge = {"www-authenticate": 'Bearer realm="https://nvcr.io/proxy_auth"'}
    asked = Registry(Response(401, challenge), token, ok())
    assert registry.digest(REFERENCE, [], asked) == DIGEST
    assert asked.asked[1][1] == "https://nvcr.io/proxy_auth?scope=repository%3Aa%2Fcuda%3Apull"


@pytest.mark.parametrize("said", [None, "sha256:short"])
def test_a_registry_that_says_no_digest_is_asked_for_the_manifest(said):
    asked = Registry(ok(said), ok(said, b"{}"))
    assert registry.digest(REFERENCE, [], asked) == "sha256:" + hashlib.sha256(b"{}").hexdigest()
    assert asked.asked[1][0] == "GET"


def test_an_insecure_registry_is_tried_with_tls_first():
    asked = Registry(OSError("wrong version number"), ok())
    assert registry.digest(REFERENCE, ["registry.example"], asked) == DIGEST
    assert [(url.split(":")[0], verify) for _method, url, _headers, verify in asked.asked] == [
        ("https", False),
        ("http", False),
    ]


def test_a_registry_that_is_not_listed_is_never_asked_without_tls():
    asked = Registry(OSError("refused"))
    with pytest.raises(registry.RegistryError):
        registry.digest(REFERENCE, ["other.example"], asked)
    assert len(asked.asked) == 1


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([OSError("no route")], "cannot be looked up: https://registry.example: no route. Check the registry's name"),
        ([Response(404, {})], "is not there: registry.example has no a/cuda:13.0. Check the tag"),
        ([Response(403, {})], "may not be read without a login on registry.example"),
        ([Response(429, {})], "allows no more requests now"),
        ([Response(502, {})], "answers with status 502"),
        ([Response(401, {"www-authenticate": 'Basic realm="x"'})], "may not be read without a login"),
        ([Response(401, {})], "may not be read without a login"),
        (
            [Response(401, {"www-authenticate": BEARER}), Response(403, {}, b"")],
            "gives no token without a login (status 403)",
        ),
        ([Response(401, {"www-authenticate": BEARER}), Response(200, {}, b"[]")], "gives no token without a login"),
        ([Response(401, {"www-authenticate": BEARER}), Response(200, {}, b"<html>")], "gives no token without a login"),
        (
            [Response(401, {"www-authenticate": BEARER}), Response(200, {}, b'{"token": "t"}'), Response(401, {})],
            "without a login",
        ),
        (
            [Response(401, {"www-authenticate": 'Bearer realm="file:///etc/shadow"'})],
            "registry.example sends for a token to 'file:///etc/shadow'",
        ),
        ([Response(401, {"www-authenticate": 'Bearer realm="token"'})], "sends for a token to 'token'"),
        (
            [Response(401, {"www-authenticate": BEARER}), Response(200, {}, b'{"token": "a\\r\\nX: y"}')],
            "gives a token that no header can carry",
        ),
    ],
)
def test_a_registry_that_does_not_answer_is_told(answers, said):
    text = refused(*answers)
    assert text.startswith("image.reference: 'registry.example/a/cuda:13.0' ")
    assert said in text


# --- with a login ---------------------------------------------------------------------------------------------------

LOGIN = Login("registry.example", "reader", "s3cret:with colon")
BASIC = "Basic cmVhZGVyOnMzY3JldDp3aXRoIGNvbG9u"
CHALLENGE = Response(401, {"www-authenticate": BEARER})
BASIC_CHALLENGE = Response(401, {"www-authenticate": 'Basic realm="registry"'})
TOKEN = Response(200, {}, b'{"token": "t0ken"}')


def test_a_login_is_sent_only_to_whoever_asks_for_one():
    asked = Registry(ok())
    assert registry.digest(REFERENCE, [], asked, [LOGIN]) == DIGEST
    assert "Authorization" not in asked.asked[0][2]


def test_a_login_buys_a_token():
    asked = Registry(CHALLENGE, TOKEN, ok())
    assert registry.digest(REFERENCE, [], asked, [LOGIN]) == DIGEST
    sent = [headers.get("Authorization") for _method, _url, headers, _verify in asked.asked]
    assert sent == [None, BASIC, "Bearer t0ken"]


def test_a_registry_without_tokens_is_given_the_login_itself():
    asked = Registry(BASIC_CHALLENGE, ok())
    assert registry.digest(REFERENCE, [], asked, [LOGIN]) == DIGEST
    assert asked.asked[1][2]["Authorization"] == BASIC


@pytest.mark.parametrize("other", ["other.example", "registry.example:5000", "docker.io"])
def test_the_login_of_another_registry_is_not_sent(other):
    asked = Registry(CHALLENGE, TOKEN, ok())
    registry.digest(REFERENCE, [], asked, [Login(other, "reader", "x")])
    assert "Authorization" not in asked.asked[1][2]


def test_the_login_of_docker_hub_goes_by_its_name():
    asked = Registry(CHALLENGE, TOKEN, ok())
    registry.digest("nvidia/cuda:13.0", [], asked, [Login("docker.io", "reader", "s3cret:with colon")])
    assert asked.asked[1][2]["Authorization"] == BASIC


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([BASIC_CHALLENGE, Response(401, {})], "may not be read: registry.example refuses the user reader"),
        ([BASIC_CHALLENGE, Response(403, {})], "may not be read: registry.example refuses the user reader"),
        ([CHALLENGE, Response(401, {})], "may not be read: registry.example refuses the user reader"),
        ([CHALLENGE, TOKEN, Response(403, {})], "may not be read: registry.example refuses the user reader"),
        ([CHALLENGE, Response(500, {})], "gives no token for reader (status 500)"),
        (
            [Response(401, {"www-authenticate": 'Bearer realm="http://auth.example/token"'})],
            "sends the password to http://auth.example/token, without TLS",
        ),
    ],
)
def test_a_login_that_does_not_help_is_told_without_its_password(answers, said):
    with pytest.raises(registry.RegistryError) as caught:
        registry.digest(REFERENCE, [], Registry(*answers), [LOGIN])
    assert said in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(LOGIN)


def test_all_ways_that_were_tried_are_told():
    text = refused(OSError("one"), OSError("two"), insecure=["registry.example"])
    assert "https://registry.example: one; http://registry.example: two" in text
    assert "image.digest" in text
