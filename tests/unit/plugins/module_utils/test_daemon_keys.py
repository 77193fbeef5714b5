# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that dockerd does not take are named before it stops on them (case 031).

The table was compared with what dockerd 20.10.24 and 26.1.5 themselves say to eight values of every key.
"""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import daemon_json
from ansible_collections.goldennode.gpu.plugins.module_utils.daemon_keys import faults


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"ipv6": "true"}, 'ipv6: "true" is not true or false; write it so, dockerd takes nothing else there'),
        ({"debug": 1}, "debug: 1 is not true or false"),
        ({"mtu": "1500"}, 'mtu: "1500" is not a whole number'),
        ({"mtu": 1500.0}, "mtu: 1500.0 is not a whole number"),
        ({"mtu": True}, "mtu: true is not a whole number"),
        ({"mtu": 2**63}, "mtu: 9223372036854775808 is not a whole number"),
        ({"data-root": ["/data"]}, 'data-root: ["/data"] is not text'),
        ({"default-shm-size": 64}, "default-shm-size: 64 is not text"),
        ({"dns": "1.1.1.1"}, 'dns: "1.1.1.1" is not a list of texts'),
        ({"labels": ["a", 1]}, 'labels: ["a", 1] is not a list of texts'),
        ({"log-opts": {"max-file": 3}}, "log-opts.max-file: 3 is not text"),
        ({"log-opts": ["env=FOO"]}, 'log-opts: ["env=FOO"] is not an object'),
        ({"features": {"cdi": "true"}}, 'features.cdi: "true" is not true or false'),
        ({"proxies": {"http-proxy": 3}}, "proxies.http-proxy: 3 is not text"),
        ({"default-ulimits": {"nofile": {"Hard": "1"}}}, 'default-ulimits.nofile.Hard: "1" is not a whole number'),
        ({"default-network-opts": {"bridge": {"a": 1}}}, "default-network-opts.bridge.a: 1 is not text"),
        (
            {"default-address-pools": [{"base": "10.0.0.0/8", "size": "24"}]},
            'default-address-pools: [{"base": "10.0.0.0/8", "size": "24"}] is not a list of objects with a base and a',
        ),
        ({"runtimes": {"a": {"path": "x", "runtimeArgs": "x"}}}, 'runtimes.a.runtimeArgs: "x" is not a list of texts'),
        (
            {"runtimes": {"runc": {"path": "x"}}},
            'runtimes.runc: {"path": "x"} is a runtime of a reserved name; take it',
        ),
        ({"runtimes": {"a": {}}}, "runtimes.a: {} has not one of path and runtimeType, or has both; give it one"),
        ({"runtimes": {"a": None}}, "runtimes.a: null has not one of path and runtimeType"),
        ({"runtimes": {"a": {"path": "x", "runtimeType": "y"}}}, "runtimes.a: "),
        ({"runtimes": {"a": "x"}}, 'runtimes.a: "x" is not an object'),
        ({"runtimes": {"a": {"path": 3}}}, "runtimes.a.path: 3 is not text"),
        ({"labels": ["x" * 90, 1]}, "labels: %s... is not a list" % ('["' + "x" * 55)),
    ],
)
def test_what_stops_dockerd(config, words):
    (fault,) = faults(config)
    assert str(fault).startswith(words)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        # Case 031 e: measured, dockerd 20.10 says "the following directives don't match any configuration option".
        (
            {"log-opt": {"max-size": "10m"}},
            'log-opt: {"max-size": "10m"} is under the name of the flag; call it log-opts',
        ),
        ({"add-runtime": {"nvidia": {"path": "x"}}}, "add-runtime: "),
        ({"default-ulimit": {"nofile": {"Name": "nofile", "Hard": 1, "Soft": 1}}}, "default-ulimit: "),
        ({"feature": {"cdi": True}}, 'feature: {"cdi": true} is under the name of the flag; call it features'),
        ({"Runtimes": {"nvidia": {"path": "x"}}}, "Runtimes: "),
        ({"DEBUG": True}, "DEBUG: true is under a name that dockerd does not know; call it debug"),
        ({"log_driver": "json-file"}, "log_driver: "),
        ({"Insecure_Registries": ["x:5000"]}, "Insecure_Registries: "),
    ],
)
def test_a_key_that_dockerd_does_not_know_by_this_name(config, words):
    (fault,) = faults(config)
    assert str(fault).startswith(words)


@pytest.mark.parametrize(
    "config",
    [
        {},
        # Measured: a flag's name over anything but settings is read past.
        {"insecure-registry": ["x:5000"], "host": ["fd://"], "storage-opt": ["a=b"], "log-opt": {}},
        {"Proxies": {"http-proxy": "x"}},
        {"debug": None, "log-opts": None, "runtimes": None, "labels": [None], "features": {"cdi": None}},
        {"mtu": 1500, "cpu-rt-period": -(2**63)},
        {"a-key-of-a-newer-engine": {"x": 1}, "tls-opts": {"tlscacert": 3}},
        {"runtimes": {"a": {"path": "x", "args": 3}, "b": {"runtimeType": "io.containerd.runc.v2", "options": {}}}},
        {"default-address-pools": [{"base": "10.0.0.0/8", "size": 24}, None]},
        {"default-ulimits": {"nofile": {"Name": "nofile", "Hard": 64000, "Soft": 64000}}},
        {"builder": {"gc": {"enabled": True, "policy": [{"keepStorage": "10GB", "filter": ["unused-for=2200h"]}]}}},
    ],
)
def test_what_does_not_stop_dockerd(config):
    assert faults(config) == []


@pytest.mark.parametrize(
    "config",
    [
        {"log-opts": {"splunk-token": ["S3cret"]}},
        {"log-opts": [{"splunk-token": "S3cret"}]},
        {"proxies": {"http-proxy": ["http://svc:S3cret@proxy.example:3128/%s" % ("x" * 90)]}},
        {"log-opts": ["a", "https://svc:S3cret%s@logs.example" % ("x" * 90)]},
        {"cluster-store-opts": {"kv.password": 1, "x": {"Password": "S3cret"}}},
    ],
)
def test_a_wrong_value_shows_no_secret(config):
    found = " ".join(map(str, faults(config)))
    assert found
    assert "S3cret" not in found


def test_half_a_character_in_a_value_can_be_said_and_written():
    (fault,) = faults(daemon_json.load(b'{"ipv6": "\\ud800"}'))
    assert str(fault).encode("utf-8").startswith(b'ipv6: "\\ud800" is not true or false')


def test_every_wrong_type_is_named_at_once():
    assert [fault.path for fault in faults({"ipv6": "true", "experimental": "true", "mtu": 1})] == [
        ("ipv6",),
        ("experimental",),
    ]


@pytest.mark.parametrize(
    ("text", "path", "place"),
    [
        ('{\n  "log-opts": {"a": "1",\n    "b": 3}}', ("log-opts", "b"), "line 3 column 10"),
        ('\ufeff{"a": 1}', ("a",), "line 1 column 7"),
        ('{"\\u0061": 1}', ("a",), "line 1 column 12"),
        ('{"a": 1}', ("b",), ""),
        ('{"a": 1}', ("a", "b"), ""),
        ("\n", ("a",), ""),
    ],
)
def test_where_a_value_stands(text, path, place):
    assert daemon_json.place(text.encode("utf-8"), path) == place
