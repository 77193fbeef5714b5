# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every way in which a bundle can be wrong is told with place, value and fix, and all of them at once."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import bundle
from ansible_collections.goldennode.gpu.plugins.module_utils.model import to_plain
from ansible_collections.goldennode.gpu.plugins.module_utils.plain import from_plain
from ansible_collections.goldennode.gpu.tests.unit.bundles import (
    FINGERPRINT,
    KEY,
    OTHER_FINGERPRINT,
    OTHER_KEY,
    PLATFORM,
    data,
    load,
    platform_bundle,
    problems,
)


class AsWritten(float):
    """As the YAML reader gives a number with a fraction."""

    as_written = "1.20"


KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def source(**fields):
    found = data()
    own = found["platforms"][PLATFORM]["sources"][0]
    for key, value in fields.items():
        if value is None:
            del own[key]
        else:
            own[key] = value
    return found


def only(plain):
    found = problems(plain)
    assert len(found) == 1, found
    return found[0]


# --- sound ones ---------------------------------------------------------------------------------------------------


def test_a_sound_bundle_is_typed_and_has_its_defaults():
    found = load(data())
    assert found.id == "pool-2026.11"
    own = bundle.for_platform(found, PLATFORM)
    assert own.driver == bundle.Driver("580.159.03", "open", "dkms", "nvidia")
    assert own.driver.branch == 580
    assert own.docker == bundle.Docker("26.1.4", "docker-ce", None)
    assert own.image.cuda == "13.0"
    assert own.image.digest is None
    assert own.image.cuda_check == "required"
    assert own.sources[0].key == KEY
    assert own.sources[0].fingerprint == FINGERPRINT


def test_the_fabric_manager_may_be_left_out():
    assert load(data(fabric_manager=None)).platforms[PLATFORM].fabric_manager is None


def test_a_platform_replaces_an_axis_as_a_whole():
    plain = data(image={"digest": "sha256:" + "a" * 64})
    plain["platforms"][PLATFORM]["image"] = {"reference": "registry.example/cuda:12.9.1-base"}
    plain["platforms"]["debian-12-aarch64"] = {"kernel": {"metapackage": "linux-image-arm64"}}
    found = load(plain)
    assert found.platforms[PLATFORM].image.cuda == "12.9"
    assert found.platforms[PLATFORM].image.digest is None, "a digest must not be inherited by another image"
    assert found.platforms["debian-12-aarch64"].image.digest == "sha256:" + "a" * 64
    assert found.platforms["debian-12-aarch64"].kernel.metapackage == "linux-image-arm64"


@pytest.mark.parametrize("key", bundle.PLATFORM_KEYS)
def test_every_platform_that_is_meant_is_known(key):
    plain = data()
    plain["platforms"] = {key: None}
    assert load(plain).platforms[key].sources == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"suites": ["/"], "components": None},
        {"suites": ["noble", "noble-updates"], "components": ["main", "restricted"]},
        {"uris": ["http://a.example/x", "mirror+https://b.example/list"]},
        {"uris": ["file:/srv/repository"]},
        {"fingerprint": FINGERPRINT.lower()},
        {"fingerprint": None},
        {"key_file": None, "key": "text before\n" + KEY},
        {"key_file": None, "fingerprint": None, "keyring": "/usr/share/keyrings/debian-archive-keyring.gpg"},
        {"key_file": None, "fingerprint": None, "keyring": "/usr/share/keyrings/debian-archive-keyring.pgp"},
    ],
)
def test_sound_sources(fields):
    assert problems(source(**fields)) == []


@pytest.mark.parametrize(
    ("uri", "shown", "machine"),
    [
        ("https://svc:S3cret@mirror.example/nvidia", "https://mirror.example/nvidia", "https://mirror.example"),
        ("http://svc:S3@cret@m.example:8080/x/y", "http://m.example:8080/x/y", "http://m.example:8080"),
        ("mirror+https://svc@b.example/list", "mirror+https://b.example/list", "https://b.example"),
    ],
)
def test_a_user_in_an_address_is_refused_with_the_way_out_and_is_not_shown(uri, shown, machine):
    assert only(source(name="mine", uris=[uri])) == (
        "platforms.%s.sources[0].uris[0]: '%s' has a user in it, and everybody can read the files that it goes into."
        " Take user and password out of the address, and write this line on the node into"
        " /etc/apt/auth.conf.d/mine.conf, mode 0600: machine %s login USER password PASSWORD."
        % (PLATFORM, shown, machine)
    )


def test_no_message_shows_a_password():
    found = only(source(uris=["htps://svc:S3cret@mirror.example/x"]))
    assert "uris[0]: 'htps://mirror.example/x' does not have the form" in found


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        ("docker", {"version": "26.1.5+dfsg1", "source": "distro", "containerd": "1.7.24"}),
        ("docker", {"version": "5.0.0-1~debian.13"}),
        ("toolkit", {"version": "1.20.0~rc.1"}),
        ("driver", {"version": "590.48", "flavour": "open"}),
        ("image", {"reference": "localhost:5000/a/b:t", "cuda": "12.4"}),
        ("image", {"cuda_command": ["/prove", "--all"], "cuda_check": "optional", "cuda_compat": "minor"}),
    ],
)
def test_sound_values(axis, values):
    assert problems(data(fabric_manager=None, **{axis: values})) == []


# --- the shape ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        (None, "the bundle is empty"),
        ([], "the bundle: [] is not a set of keys with values"),
        ("text", "the bundle: 'text' is not a set of keys with values"),
        (data(platforms=None), "platforms is missing: the bundle is for no platform"),
        (data(platforms={}), "platforms is missing: the bundle is for no platform"),
        (data(platforms=["debian-13-x86_64"]), "platforms: ['debian-13-x86_64'] is not a set of keys with values"),
        (data(bundle=None), "bundle is missing"),
        (data(bundle="two words"), "bundle: 'two words' does not have the form"),
        (data(kernel=None), "platforms.debian-13-x86_64 has no kernel. Add kernel with release or metapackage"),
        (data(toolkit=None), "platforms.debian-13-x86_64 has no toolkit. Add toolkit with version"),
        (dict(data(), toolkit=None), "toolkit is empty"),
        (dict(data(), toolkit="1.20.0"), "toolkit: '1.20.0' is not a set of keys with values"),
        (dict(data(), toolkit={}), "toolkit.version is missing. Add it, for example 1.20.1"),
        (dict(data(), kernel={}), "kernel: {} does not say which kernel"),
        (data(kernel={"metapackage": "linux-image-amd64"}), "says it twice"),
    ],
)
def test_a_wrong_shape_is_told(plain, said):
    assert said in only(plain)


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        (dict(data(), platfroms={}), "platfroms is not a key of a bundle. Did you mean platforms?"),
        (dict(data(), drivers={}), "drivers is not a key of a bundle. Did you mean driver?"),
        (data(driver={"flavor": "open"}), "driver.flavor is not a key of a bundle. Did you mean flavour?"),
        (data(image={"referenec": "x:y"}), "image.referenec is not a key of a bundle. Did you mean reference?"),
        (source(componets=["main"]), "sources[0].componets is not a key of a bundle. Did you mean components?"),
        (
            data(toolkit={"colour": "red"}),
            "toolkit.colour is not a key of a bundle. Take it out; known here: version, waiver.",
        ),
        (data(platforms={"debian-13-x86_46": {}}), "'debian-13-x86_46' is not a platform"),
        (data(driver={"flavour": "opne"}), "driver.flavour: 'opne' is none of open, proprietary. Did you mean open?"),
        (data(docker={"source": "dockerce"}), "Did you mean docker-ce?"),
        (data(driver={"build": "make"}), "driver.build: 'make' is none of dkms, precompiled. Use one of dkms"),
    ],
)
def test_a_misspelt_word_gets_the_right_one(plain, said):
    assert said in only(plain)


def test_the_right_platform_is_named_for_a_misspelt_one():
    assert "Did you mean debian-13-x86_64?" in only(data(platforms={"debian-13-x86_46": {}}))
    assert "Use one of debian-12" in only(data(platforms={"haiku": {}}))


# --- values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            AsWritten("1.20"),
            'toolkit.version: 1.20 is read by YAML as a number, not as text. Put quotes around it: version: "1.20"',
        ),
        (1.2, '"1.2"'),
        (120, "is read by YAML as a number"),
        (True, "is read by YAML as yes or no"),
        (None, "is read by YAML as nothing"),
        (datetime.date(2026, 11, 30), "is read by YAML as a date"),
        (["1.20.0"], "toolkit.version: ['1.20.0'] is not text"),
        ({"a": 1}, "is not text. Write one value, for example 1.20.1"),
        ("", "does not have the form that is wanted. Write it like this: 1.20.1"),
        ("latest", "does not have the form"),
        ("1.20", "does not have the form"),
        ("1.20.0 ", "does not have the form"),
        ("1.20.0\n", "does not have the form"),
    ],
)
def test_a_version_is_text_of_a_form(value, said):
    assert said in only(data(toolkit={"version": value}))


@pytest.mark.parametrize("version", ["580", "580.", "58.159.03", "580.159.03-1", "v580.159.03", "580.159.03.1"])
def test_a_driver_version_has_its_form(version):
    assert "driver.version: %r does not have the form" % version in only(data(driver={"version": version}))


@pytest.mark.parametrize(
    "digest", ["sha256:" + "a" * 63, "sha256:" + "A" * 64, "a" * 64, "sha512:" + "a" * 64, "sha256:" + "g" * 64]
)
def test_a_digest_has_its_form(digest):
    assert "image.digest: " in only(data(image={"digest": digest}))


@pytest.mark.parametrize(
    "reference", ["cuda", "cuda@sha256:" + "a" * 64, "a b:c", "cuda:", "cuda:.x", "cuda:" + "a" * 129]
)
def test_an_image_has_a_tag_and_its_digest_apart(reference):
    assert "image.reference: " in only(data(image={"reference": reference}))


@pytest.mark.parametrize(
    ("reference", "cuda"),
    [
        ("nvcr.io/nvidia/cuda:13.0.1-base-ubuntu24.04", "13.0"),
        ("cuda:12.8", "12.8"),
        ("localhost:5000/cuda:12.10.0-x", "12.10"),
        ("nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubuntu22.04", "12.5"),
        ("pytorch/pytorch:2.9.0-cuda13.0-cudnn9-runtime", "13.0"),
        ("ubuntu:24.04", None),
        ("cuda:13", None),
        ("registry.example/cudatools:13.0", None),
        ("cuda:latest", None),
    ],
)
def test_cuda_is_read_from_an_images_name(reference, cuda):
    assert bundle.cuda_of(reference) == cuda
    assert load(data(image={"reference": reference})).platforms[PLATFORM].image.cuda == cuda


@pytest.mark.parametrize(
    ("version", "cuda"),
    [
        ("2.9.1+cu130", "13.0"),
        ("2.6.0+cu118", "11.8"),
        ("2.27.5-1+cuda12.9", "12.9"),
        ("2.9.1", None),
        ("2.9.1+cpu", None),
        ("25.09", None),
    ],
)
def test_cuda_is_read_from_the_version_of_a_build(version, cuda):
    assert bundle.cuda_of_build(version) == cuda
    found = load(data(framework={"name": "pytorch", "version": version}, nccl={"version": version})).platforms[PLATFORM]
    assert found.framework == bundle.Framework("pytorch", version, cuda)
    assert found.nccl == bundle.Nccl(version, cuda)


def test_what_the_bundle_says_of_a_builds_cuda_counts():
    found = load(data(framework={"name": "jax", "version": "0.7.2", "cuda": "12.9"})).platforms[PLATFORM]
    assert found.framework.cuda == "12.9"
    assert found.nccl is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": "pytorch"}, "framework.version is missing"),
        ({"version": "2.9.1"}, "framework.name is missing"),
        ({"name": "torch", "version": "2.9.1"}, "framework.name: 'torch' is none of pytorch, tensorflow, jax"),
        ({"name": "pytorch", "version": 2.9}, 'Put quotes around it: version: "2.9"'),
        ({"name": "pytorch", "version": "newest"}, "does not have the form that is wanted"),
    ],
)
def test_a_framework_has_its_form(values, said):
    assert said in only(data(framework=values))


@pytest.mark.parametrize("driver", ["580.159.04", "580.178.04", "580.159.3"])
def test_the_fabric_manager_must_equal_the_driver(driver):
    said = only(data(driver={"version": driver}))
    assert "fabric_manager.version: '580.159.03' is not the driver's version. Make it '%s'" % driver in said


# --- sources ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": None}, "sources[0].name is missing"),
        ({"name": "NVIDIA repo"}, "sources[0].name: 'NVIDIA repo' does not have the form"),
        ({"name": "../evil"}, "does not have the form"),
        ({"uris": None}, "sources[0].uris is missing"),
        ({"uris": []}, "sources[0].uris: [] is empty"),
        ({"uris": "http://x"}, "sources[0].uris: 'http://x' is not a list. Write it as a list: [http://x]"),
        ({"uris": ["ftp://x"]}, "sources[0].uris[0]: 'ftp://x' does not have the form"),
        ({"uris": ["http://x y"]}, "does not have the form"),
        ({"suites": []}, "sources[0].suites: [] is empty"),
        ({"components": None}, "sources[0].components is missing"),
        ({"suites": ["/"]}, "sources[0].components: ['main'] cannot stand beside the suite /"),
        ({"key_file": None}, "sources[0] has no key"),
        ({"key": KEY}, "sources[0] has both key and key_file"),
        ({"keyring": KEYRING}, "sources[0] has both key_file and keyring"),
        ({"key_file": None, "keyring": KEYRING}, "fingerprint: '%s' cannot stand beside keyring" % FINGERPRINT),
        ({"key_file": None, "keyring": "debian-archive-keyring.gpg"}, "keyring: 'debian-archive-keyring.gpg' does not"),
        ({"key_file": None, "keyring": "/usr/share/keyrings/../x.gpg"}, "does not have the form"),
        ({"key_file": None, "keyring": "/tmp/mine.gpg"}, "does not have the form"),
        ({"key_file": None, "keyring": "/usr/share/keyrings/a b.gpg"}, "does not have the form"),
        ({"key_file": None, "keyring": "/usr/share/keyrings/a.gpg\nTrusted: yes"}, "does not have the form"),
        ({"trusted": "yes"}, "sources[0].trusted is not a key of a bundle"),
        ({"key_file": "nope.asc"}, "sources[0].key_file: 'nope.asc' cannot be used: [Errno 2]"),
        ({"key_file": None, "key": "xx"}, "sources[0].key cannot be used: it holds no armoured public key"),
        ({"fingerprint": "abc"}, "sources[0].fingerprint: 'abc' does not have the form"),
        ({"fingerprint": "0" * 40}, "is not the fingerprint of the key, which has %s" % FINGERPRINT),
    ],
)
def test_a_wrong_source_is_told(fields, said):
    assert said in only(source(**fields))


def test_a_distributions_keyring_stands_in_the_bundle_by_its_path():
    own = load(source(key_file=None, fingerprint=None, keyring=KEYRING)).platforms[PLATFORM]
    assert (own.sources[0].keyring, own.sources[0].key, own.sources[0].fingerprint) == (KEYRING, None, None)


def test_a_file_with_one_key_more_than_named_is_refused():
    said = only(source(key_file=None, key=KEY + OTHER_KEY))
    assert "which has %s, %s" % (FINGERPRINT, OTHER_FINGERPRINT) in said


def test_two_sources_of_one_name_are_refused():
    plain = data()
    own = plain["platforms"][PLATFORM]["sources"]
    own.append(dict(own[0], uris=["https://other.example/x"]))
    assert "names two repositories" in only(plain)


def test_sources_must_be_a_list():
    plain = data()
    plain["platforms"][PLATFORM]["sources"] = {"name": "nvidia"}
    assert "is not a list. Write each repository as an item" in only(plain)


# --- together -----------------------------------------------------------------------------------------------------


def test_all_problems_are_told_at_once():
    plain = data(
        bundle=2026.11,
        driver={"version": 580.1, "flavour": "opne", "speed": 1},
        toolkit={"version": "x"},
        python=None,
    )
    plain["platforms"]["debian-31-x86_64"] = {}
    said = problems(plain)
    for place in (
        "bundle:",
        "driver.version:",
        "driver.flavour:",
        "driver.speed",
        "toolkit.version:",
        "platforms:",
        "python",
    ):
        assert any(place in line for line in said), place


def test_the_error_names_the_file_and_every_problem():
    with pytest.raises(bundle.BundleError) as caught:
        load(data(driver={"flavour": "opne"}, toolkit={"version": "x"}))
    assert caught.value.name == "pool.yml"
    assert [problem.path for problem in caught.value.problems] == ["driver.flavour", "toolkit.version"]
    assert str(caught.value).startswith("pool.yml: ")


def test_a_platform_that_the_bundle_lacks_is_told_with_those_that_it_has():
    with pytest.raises(bundle.BundleError, match="'rocky-9-x86_64' is not in the bundle. It knows debian-13-x86_64"):
        bundle.for_platform(load(data()), "rocky-9-x86_64")


def test_long_values_are_shortened():
    said = only(data(toolkit={"version": "1" * 500}))
    assert "..." in said
    assert len(said) < 300


# --- digest -------------------------------------------------------------------------------------------------------


def test_the_digest_is_the_same_for_the_same_content():
    plain = data()
    shuffled = {key: plain[key] for key in reversed(list(plain))}
    assert load(plain).platforms[PLATFORM].digest == load(shuffled).platforms[PLATFORM].digest
    assert platform_bundle().digest.startswith("sha256:")


@pytest.mark.parametrize(
    "changed",
    [
        data(driver={"flavour": "proprietary"}),
        data(docker={"containerd": "1.7.24"}),
        data(image={"cuda_check": "optional"}),
        data(bundle="other"),
        source(uris=["https://other.example/x"]),
    ],
)
def test_the_digest_follows_everything_that_the_platform_sees(changed):
    assert load(changed).platforms[PLATFORM].digest != platform_bundle().digest


def test_the_digest_does_not_follow_other_platforms():
    plain = data()
    plain["platforms"]["debian-12-x86_64"] = {}
    assert load(plain).platforms[PLATFORM].digest == platform_bundle().digest


def test_a_platforms_bundle_survives_the_way_through_json():
    assert from_plain(bundle.PlatformBundle, to_plain(platform_bundle()), "bundle") == platform_bundle()
