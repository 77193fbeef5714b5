# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A masked capture has no secret and nobody's data, and says of the node what the whole one said."""

from __future__ import annotations

import base64
import copy
import json
import random
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import inferred_verdict, masking, verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.mask_text import Masks
from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.plugin_utils import captures
from ansible_collections.goldennode.gpu.tests.unit import broken, fixtures, healthy
from ansible_collections.goldennode.gpu.tests.unit.cases import cases


def judged(capture: t.Dict[str, t.Any]) -> t.List[t.Any]:
    case = captures.case("node", capture)
    assert case.verdict is not None
    findings = [(f.id, f.status, f.required, f.repair) for f in case.verdict.findings]
    return [case.said, case.verdict.first_broken, findings]


@pytest.mark.parametrize("how", broken.BREAKS)
@pytest.mark.parametrize("with_bundle", [True, False])
def test_a_masked_capture_is_judged_as_the_whole_one(how: str, with_bundle: bool) -> None:
    capture = broken.capture(how, broken.wanted() if with_bundle else None)
    before = copy.deepcopy(capture)
    masked = json.loads(json.dumps(masking.mask(capture)))
    assert capture == before
    assert judged(masked) == judged(capture)
    assert masking.mask(masked) == masked  # once is enough, and twice does no harm


def test_the_ways_in_which_the_node_is_broken_are_told_apart() -> None:
    """Else the test above would compare nothing with nothing."""
    found = {how: judged(broken.capture(how))[:2] for how in broken.BREAKS}
    assert found == {
        "well": ["works", None],
        "not loaded": ["broken", "host_driver"],
        "old module": ["broken", "host_driver"],
        "no docker": ["not proven", "container_runtime"],
        "malformed": ["broken", "container_runtime"],
        "no gpu": ["broken", "hardware"],
        "closed": ["broken", "device_nodes"],
        "unreadable": ["not proven", "device_nodes"],
    }


@pytest.mark.parametrize("case", list(cases.every())[::6], ids=lambda case: str(case.id))
def test_a_masked_field_case_is_judged_as_the_whole_one(case: cases.Case) -> None:
    wanted = cases.desired(case)
    against = {"desired": to_plain(wanted), "expected_gpus": case.expected_gpus, "scope": "full", "single_gpus": True}
    capture = {**cases.capture(case, wanted), "judged": against}
    assert judged(masking.mask(capture)) == judged(capture)


# --- nothing gets out ------------------------------------------------------------------------------------------------

_LETTERS = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def made_up(chance: random.Random, length: int = 14, letters: str = _LETTERS) -> str:
    return "".join(chance.choice(letters) for _index in range(length))


#: (what is planted around a secret) for each form in which one is met.
_FORMS = (
    "https://svc:%s@proxy.corp.example:3128/",
    "http://%s@mirror.example/debian stable main",
    "HTTP_PROXY=http://user:%s@10.20.30.40:8080",
    "Authorization: Bearer %s",
    "Authorization: Basic %s",
    "export REGISTRY_PASSWORD=%s",
    "registry_password = %s and some more",
    "password: %s",
    "token = '%s'",
    'api_key = "%s"',
    'secret = """first\n%s\n"""',
    '{"auths": {"r.example": {"auth": "%s"}}}',
    '{"log-opts": {"splunk-token": "%s"}}',
    '{"identitytoken": "%s", "identitytoken ": 1',
    "--password %s",
    "--registry-token=%s",
    "curl -H 'X-Registry-Auth: %s'",
    "nvapi-%s-abcdef",
    "ghp_%sabcdefghij",
    "-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n%s",
    "mail to %s@corp.example now",
    "Serial Number: 12%s",
    "SerialNumber: 7%s",
    "/home/%s/.docker/config.json",
    "CREDENTIALS=%s",
    "DB_PASS=%s",
    "MYSQL_PWD=%s",
    "wpa_psk=%s",
    "WANDB_KEY=%s",
    "DefaultEndpointsProtocol=https;AccountKey=%s;EndpointSuffix=core.example",
    "Cookie: session=%s",
    "--pass %s",
    'args = ["--api-key", "%s"]',
    'started {"Cmd":["server","--password","%s"]} in 3 ms',
    "quiet netroot=iscsi:user:%s@10.0.0.1::::iqn.2009-06.example",
    "root=nbd:user:%s@host.example",
    "https://x.example/y?sv=1&sig=%s",
    "https://x.example/y?X-Amz-Signature=%s&x=1",
    "machine repo.example login bob password %s",
    "login bob\npassword %s\n",
    "set superusers=root\n\tpassword root %s\n",
    "password_pbkdf2 root grub.pbkdf2.sha512.10000.%s.0A",
    "root:$6$salt$%s:19000:0:99999:7:::",
    "sk-%sabcdefghijk",
    "npm_%sabcdefghijklmnopqrstuvwxyz",
)


def places(capture: t.Dict[str, t.Any], text: str, at: int) -> None:
    """Plant a text where a look can meet it."""
    files, commands = capture["files"], capture["commands"]
    if at == 0:
        files["/etc/docker/daemon.json"] = text
    elif at == 1:
        files["/etc/nvidia-container-runtime/config.toml"] += "\n" + text + "\n"
    elif at == 2:
        commands[2]["stderr"] = "before\n%s\nafter" % text
    elif at == 3:
        capture["errors"].setdefault("files", {})["/x"] = text
    elif at == 4:
        files["/etc/apt/sources.list.d/x.list"] = {"base64": base64.b64encode(b"\xff " + text.encode()).decode()}
    else:
        commands.append(dict(commands[0], argv=["x", "-c", text], stdout=json.dumps({"said": [text]})))


@pytest.mark.parametrize("seed", range(12))
def test_no_planted_secret_gets_out(seed: int) -> None:
    chance = random.Random(seed)
    capture, planted = fixtures.a10_capture(), []
    for at in range(6):
        secret = made_up(chance)
        planted.append(secret)
        places(capture, chance.choice(_FORMS) % secret, at)
    masked = masking.mask(capture)
    whole = json.dumps(masked) + unpacked(masked)
    assert [secret for secret in planted if secret in whole] == []


@pytest.mark.parametrize("form", _FORMS)
def test_every_form_of_a_secret_is_known(form: str) -> None:
    assert "Xk4pQ9wZt2" not in Masks().plain(form % "Xk4pQ9wZt2")


@pytest.mark.parametrize(
    "text",
    [
        "nvcr.io/nvidia/cuda:13.0.0@sha256:%s" % ("ab" * 32),
        "docker run -u 1000:1000 nvidia/cuda:13.0.0",
        "getty@tty1.service",
        "bypass=1 compass: north",
        "signature: 30:44:02:20",
    ],
)
def test_what_looks_a_little_like_a_secret_stays(text: str) -> None:
    assert Masks().plain(text) == text


_ENDLESS = ("a", "A_", "a.b-", "a:", "token", "--a ", ":", "eyJ-", "password ", "?key=a&", 'token="', "a@", "login a ")


@pytest.mark.parametrize("unit", _ENDLESS)
def test_an_endless_word_is_no_endless_work(unit: str) -> None:
    """A file of one line of base64 kept a look busy for hours: the work must grow as the text does."""
    text = (unit * 30000)[:30000] + "z"
    assert Masks().plain(text)


def unpacked(capture: t.Any) -> str:
    """The text of what is packed in it."""
    if isinstance(capture, dict):
        if set(capture) == {"base64"}:
            return base64.b64decode(capture["base64"]).decode("utf-8", "replace")
        return " ".join(unpacked(item) for item in capture.values())
    return " ".join(unpacked(item) for item in capture) if isinstance(capture, list) else ""


def test_people_and_places_are_masked_everywhere_and_alike() -> None:
    capture = broken.capture("well", broken.wanted())
    capture["host"] = "gpu07"
    capture["files"]["/etc/group"] += "docker:x:990:alice,docker\nwilma:x:1001:\n"
    capture["commands"][0]["stderr"] = (
        "gpu07.corp.example gpu07: wilma@corp.example alice at 10.1.2.3, 10.1.2.4 and 10.1.2.3; fe80::1:2:3:4, ::1, "
        "127.0.0.53, 52:54:00:AB:cd:ef; gpu-of-mine"
    )
    masked = masking.mask(capture)
    (user,) = masked["judged"]["desired"]["settings"]["device_access"]["device_access_users"]
    assert masked["commands"][0]["stderr"] == (
        "host-1 host-1: mail-1@example.invalid %s at 192.0.2.1, 192.0.2.2 and 192.0.2.1; 2001:db8::1, ::1, "
        "127.0.0.53, 02:00:00:00:00:01; host-1" % user
    )
    assert masked["host"] == masked["judged"]["name"] == "host-1"
    assert "wilma" not in json.dumps(masked)
    assert "alice" not in json.dumps(masked)
    assert "\ndocker:x:990:%s,docker\nuser-" % user in masked["files"]["/etc/group"]


def test_a_user_called_like_a_part_of_the_machinery_is_masked_where_names_stand_alone() -> None:
    capture = broken.capture("well")
    capture["files"]["/etc/group"] += "nvidia:x:1005:\nvideo2:x:995:nvidia\n"
    masked = masking.mask(capture)
    rows = masked["files"]["/etc/group"].split("\n")
    assert not [row for row in rows if "nvidia" in row.replace("nvidia-persistenced", "")]
    assert judged(masked) == judged(capture)


@pytest.mark.parametrize(
    "text",
    [
        "580.159.03 13.615.71 1.20.0-1 5:26.1.4-1~debian.13~trixie",
        "0000:17:00.0 00000000:17:00.0 16:08:04 11:36:AA:62:C8:E2:01:02:03",
        "11:36:AA:62:C8:E2:01:02",
        "vendor.testbed:5000/cuda@sha256:1e43ee7e8e69 user@1000.service 0.0.0.0 255.255.255.0",
        "GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0",
        "base-passwd\tamd64\t3.6.7\nlibsecret-1-0\tamd64\t0.21",
        "NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        '{"authorization-plugins": ["opa"]}',
        "serial console; Serial: 8250/16550 driver",
    ],
)
def test_what_a_node_is_judged_by_stays(text: str) -> None:
    assert Masks().plain(text) == text


def test_versions_of_four_numbers_are_no_addresses() -> None:
    capture = broken.capture("well")
    package = next(one for one in capture["commands"] if one["argv"][0] == "dpkg-query")
    package["stdout"] += "strange\tamd64\t10.2.3.4\tinstall\tok\tinstalled\n"
    masked = masking.mask(capture)
    assert "strange\tamd64\t10.2.3.4\t" in next(c for c in masked["commands"] if c["argv"][0] == "dpkg-query")["stdout"]


def test_uuids_of_gpus_are_masked_where_that_is_asked_for() -> None:
    capture = broken.capture("well")
    kept, masked = json.dumps(masking.mask(capture)), masking.mask(capture, gpu_uuids=True)
    assert "GPU-7a28f504-5a42-5b26-a5b1-5568882b45a0" in kept
    assert "7a28f504" not in json.dumps(masked)
    assert "GPU-00000000-0000-4000-8000-000000000001" in json.dumps(masked)
    assert judged(masked) == judged(capture)


def test_the_serial_number_in_a_configuration_space_is_taken_out() -> None:
    space = bytearray(4096)
    space[0x100:0x104] = (0x0001 | 1 << 16 | 0x148 << 20).to_bytes(4, "little")
    space[0x148:0x154] = (0x0003 | 1 << 16).to_bytes(4, "little") + b"\xaa" * 8
    path = "/sys/bus/pci/devices/0000:17:00.0/config"
    capture = {"files": {path: {"base64": base64.b64encode(bytes(space)).decode()}}}
    found = base64.b64decode(masking.mask(capture)["files"][path]["base64"])
    assert b"\xaa" not in found
    assert found[:0x14C] == bytes(space[:0x14C])


def test_a_thousand_addresses_have_a_thousand_masks() -> None:
    text = " ".join("10.0.%d.%d" % divmod(n, 250) for n in range(1000))
    found = Masks().plain(text).split()
    assert len(set(found)) == 1000
    assert not [one for one in found if one.startswith("10.")]


@pytest.mark.parametrize("capture", [{}, {"files": None, "commands": None}, {"commands": [{}]}, {"host": None}])
def test_what_is_no_capture_is_masked_too(capture: t.Dict[str, t.Any]) -> None:
    assert masking.mask(capture) == capture


def test_evidence_of_a_healthy_node_is_no_business_of_masks() -> None:
    """What is judged without a bundle is what is judged with one, on a node that is as wanted."""
    node = healthy.evidence()
    assert verdict.run(healthy.desired(), node, 1).first_broken is None
    assert inferred_verdict.judge(node, 1, "img:1").first_broken is None


def test_a_name_of_the_host_is_masked_inside_the_names_of_volumes_and_mounts_too() -> None:
    host = "gpu17"
    capture = {**broken.capture("well"), "host": host}
    capture["files"]["/proc/self/mountinfo"] += "99 1 0:9 / /srv/data-%s rw - nfs4 filer:/%s-scratch rw\n" % (
        host,
        host,
    )
    text = json.dumps(masking.mask(capture))
    assert host not in text
    assert "/srv/data-host-1" in text
    assert "filer:/host-1-scratch" in text
    assert "%sx" % host in json.dumps(masking.mask({**capture, "files": {"/x": "%sx" % host}}))
