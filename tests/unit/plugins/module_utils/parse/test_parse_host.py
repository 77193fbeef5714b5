# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host says of itself: Secure Boot and its keys, DKMS, PCI configuration space, the fabric manager's journal."""

from __future__ import annotations

import random

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.model import Certificate, DkmsModule, FabricMismatch
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import (
    dkms,
    fabric_manager,
    kernel_log,
    mokutil,
    pci,
    text,
)


@pytest.mark.parametrize(
    ("raw", "on"),
    [
        (b"\x06\x00\x00\x00\x01", True),
        (b"\x06\x00\x00\x00\x00", False),
        (b"\x06\x00\x00\x00", None),
        (b"\x06\x00\x00\x00\x02", None),
        (b"", None),
        (b"\x06\x00\x00\x00\x01\x01", None),
    ],
)
def test_a_switch_of_the_firmware(raw, on):
    assert mokutil.variable(raw) is on


@pytest.mark.parametrize(
    ("stdout", "stderr", "rc", "value"),
    [
        ("SecureBoot enabled\n", "", 0, True),
        ("SecureBoot disabled\n", "", 0, False),
        ("SecureBoot disabled\nPlatform is in Setup Mode\n", "", 0, False),
        ("SecureBoot enabled\nSecureBoot validation is disabled in shim\n", "", 0, False),
        ("", "This system doesn't support Secure Boot\n", 255, False),
        ("", "EFI variables are not supported on this system\n", 1, None),
        ("SecureBoot unknown", "", 0, None),
    ],
)
def test_the_state_that_mokutil_tells(stdout, stderr, rc, value):
    reading = mokutil.state(stdout, stderr, rc)
    assert reading.value is value
    assert reading.known is (value is not None)


@pytest.mark.parametrize("rc", [0, 1])
@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("is not enrolled", "not enrolled"),
        ("is already enrolled", "enrolled"),
        ("is already in db", "enrolled"),
        ("is already in the enrollment request", "requested"),
        ("is blocked in dbx", "blocked"),
        ("is blocked in MokListX", "blocked"),
    ],
)
def test_a_key_is_told_by_the_words_and_not_by_the_code_which_changed_its_meaning(words, state, rc):
    assert mokutil.test_key("/var/lib/dkms/mok.pub %s\n" % words, "", rc).value == state


def test_a_key_that_is_in_the_kernel_itself_is_told_as_an_error_and_is_trusted():
    said = "/var/lib/dkms/mok.pub is already in the built-in trusted keyring\n"
    assert mokutil.test_key("", said, 255).value == "enrolled"
    assert "Failed to open" in mokutil.test_key("", "Failed to open /x\n", 255).error


CERTIFICATE = """[key %d]
SHA1 Fingerprint: %s
Certificate:
    Data:
        Version: 3 (0x2)
        Serial Number:%s
        Signature Algorithm: sha256WithRSAEncryption
        Issuer: CN = not this one
        Validity
            Not Before: Nov 30 20:28:36 2026 GMT
        Subject: %s
        Subject Public Key Info:
            Public Key Algorithm: rsaEncryption
"""
DKMS_SHA1 = "5d:8b:4f:88:a3:43:18:e8:92:e3:c5:82:e9:02:5f:3a:b3:e5:93:f3"
HOST_SHA1 = "76:a0:92:06:58:00:bf:37:69:01:c3:72:cd:55:a9:0e:1f:de:d2:e0"


def test_the_enrolled_keys_with_serial_numbers_long_and_short():
    printed = CERTIFICATE % (
        1,
        DKMS_SHA1,
        "\n            5f:86:74:f8:65:23:46:9c",
        "CN = DKMS module signing key",
    ) + CERTIFICATE % (2, HOST_SHA1, " 4660 (0x1234)", "C=GB, O=Host, CN=Ubuntu host key, emailAddress=a@b")
    assert mokutil.enrolled(printed, "", 0).value == (
        Certificate("DKMS module signing key", DKMS_SHA1, "5f:86:74:f8:65:23:46:9c"),
        Certificate("Ubuntu host key", HOST_SHA1, "12:34"),
    )


@pytest.mark.parametrize("printed", ["MokListRT is empty\n", ""])
def test_no_key_is_enrolled(printed):
    assert mokutil.enrolled(printed, "", 0).value == ()
    assert not mokutil.enrolled("", "EFI variables are not supported on this system\n", 1).known


@pytest.mark.parametrize(("number", "pairs"), [("123", "01:23"), ("AB:CD", "ab:cd"), ("", "")])
def test_numbers_are_compared_in_one_form(number, pairs):
    assert text.colons(number) == pairs


V, K = "535.54.03", "5.15.0-76-generic"
INSTALLED = DkmsModule("nvidia", V, "installed", K, "x86_64")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("nvidia, 535.54.03, 5.15.0-76-generic, x86_64: installed", INSTALLED),  # before 3.0
        ("nvidia/535.54.03, 5.15.0-76-generic, x86_64: installed", INSTALLED),
        ("nvidia/535.54.03: added", DkmsModule("nvidia", V, "added")),
        ("nvidia, 535.54.03: added", DkmsModule("nvidia", V, "added")),
        ("nvidia/535.54.03: broken", DkmsModule("nvidia", V, "broken")),
        ("nvidia/535.54.03, 5.15.0-76-generic, x86_64: built", DkmsModule("nvidia", V, "built", K, "x86_64")),
        (
            "nvidia/535.54.03, 5.15.0-76-generic, x86_64: installed "
            "(WARNING! Diff between built and installed module!)",
            DkmsModule("nvidia", V, "installed", K, "x86_64", "WARNING! Diff between built and installed module!"),
        ),
        (
            "nvidia/535.54.03, 5.15.0-76-generic, x86_64: installed (Original modules exist)"
            " (Differences between built and installed modules)",
            DkmsModule(
                "nvidia",
                V,
                "installed",
                K,
                "x86_64",
                "Original modules exist; Differences between built and installed modules",
            ),
        ),
        (
            "nvidia, 535.54.03, 5.15.0-76-generic, x86_64: installed-weak from 5.15.0-75-generic",
            DkmsModule("nvidia", V, "installed-weak", K, "x86_64", weak_from="5.15.0-75-generic"),
        ),
        (
            "nvidia-current-open/550.163.01, 6.12.57+deb13-amd64, x86_64: installed",
            DkmsModule("nvidia-current-open", "550.163.01", "installed", "6.12.57+deb13-amd64", "x86_64"),
        ),
    ],
)
def test_each_form_of_dkms_status(line, found):
    assert dkms.status(line + "\n", "", 0).value == (found,)


def test_warnings_between_the_lines_are_no_modules_and_an_nvidia_line_must_be_understood():
    said = "Deprecated feature: REMAKE_INITRD (/var/lib/dkms/x/1/source/dkms.conf)\nnvidia/535.54.03: added\n"
    assert dkms.status(said, "", 0).value == (DkmsModule("nvidia", V, "added"),)
    assert "not understood: nvidia/535.54.03: halfway" in dkms.status("nvidia/535.54.03: halfway\n", "", 0).error
    assert dkms.status("", "", 0).value == ()
    assert not dkms.status("", "Error! something\n", 3).known


@pytest.mark.parametrize(
    ("platform", "texts", "path"),
    [
        ("debian", [""], "/var/lib/dkms/mok.pub"),
        ("ubuntu", [""], "/var/lib/shim-signed/mok/MOK.der"),
        ("debian", ["# mok_certificate=/no\nmok_certificate=/a.der\n"], "/a.der"),
        ("debian", ["mok_certificate=/a.der\n", "mok_certificate='/b.der'  # mine\n"], "/b.der"),
        # Where no key is named, Ubuntu's DKMS takes both from shim-signed, whatever is said of the certificate.
        ("ubuntu", ["mok_certificate=/a.der\n"], "/var/lib/shim-signed/mok/MOK.der"),
        ("ubuntu", ['mok_signing_key="/a.priv"\nmok_certificate="/a.der"\n'], "/a.der"),
        ("ubuntu", ["mok_signing_key=/a.priv\n"], "/var/lib/dkms/mok.pub"),
    ],
)
def test_the_certificate_that_dkms_signs_with(platform, texts, path):
    assert dkms.certificate(texts, platform).value == path


def test_a_path_that_a_shell_would_have_to_evaluate_is_not_guessed():
    assert "$kernelver" in dkms.certificate(["mok_certificate=/keys/$kernelver.der\n"], "debian").error


def config(*capabilities, status=0x10, size=256):
    """A configuration space with capabilities (id, offset, bytes behind the next pointer), linked in that order."""
    raw = bytearray(size)
    raw[0x06] = status
    pointer = 0x34
    for identity, at, rest in capabilities:
        raw[pointer] = at
        raw[at] = identity
        raw[at + 2 : at + 2 + len(rest)] = rest
        pointer = at + 1
    return bytes(raw)


VGPU = (0x09, 0xD0, b"\x1bVF\x00\x16460.16")
MSI = (0x05, 0x68, b"\x81\x00")


@pytest.mark.parametrize(
    ("raw", "vgpu"),
    [
        (config(VGPU), True),
        (config(MSI, VGPU), True),
        (config((0x09, 0xB4, b"\x14\x01\x00"), VGPU), True),  # another vendor-specific one before it
        (config(MSI, (0x09, 0xB4, b"\x14\x01\x00")), False),
        (config(MSI), False),
        (config(VGPU, status=0), False),
        (config((0x09, 0xD0, b"\x04VF")), False),  # too short to hold a signature
        (config(VGPU, size=256)[:64], None),  # an ordinary user's view
        (config(status=0)[:64], False),
        (b"", None),
    ],
)
def test_a_vgpu_is_told_by_its_vendor_specific_capability(raw, vgpu):
    assert pci.is_vgpu(raw) is vgpu


def test_a_chain_of_capabilities_that_loops_ends_and_no_bytes_raise():
    raw = bytearray(config(MSI))
    raw[0x68 + 1] = 0x68
    assert pci.is_vgpu(bytes(raw)) is False
    source = random.Random("goldennode")
    for _round in range(500):
        assert pci.is_vgpu(source.randbytes(source.randrange(300))) in (True, False, None)


SAID = (
    "fabric manager NVIDIA GPU driver interface version 530.30.02 don't match with driver version 530.41.03. Please "
    "update with matching NVIDIA driver package.\n"
)


def test_the_fabric_manager_says_that_versions_do_not_match():
    journal = "Starting nvidia-fabricmanager.service - NVIDIA fabric manager service...\n" + SAID
    assert fabric_manager.mismatch(journal).value == FabricMismatch("530.30.02", "530.41.03")
    assert fabric_manager.mismatch(journal + "Failed to start x\n" + journal).value is not None


def test_what_it_said_before_its_last_start_is_over():
    later = "Starting NVIDIA fabric manager service...\nConnected to 1 node.\nStarted NVIDIA fabric manager service.\n"
    assert (
        fabric_manager.mismatch(SAID + later).value,
        fabric_manager.mismatch(SAID + later).known,
    ) == (None, True)
    assert fabric_manager.mismatch("").value is None


@pytest.mark.parametrize(
    "line",
    [
        "Loading of module with unavailable key is rejected",
        "Loading of unsigned module is rejected",
        "PKCS#7 signature not signed with a trusted key",
        "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
    ],
)
def test_the_kernels_words_on_signatures_are_kept_though_they_name_no_module(line):
    assert kernel_log.parse("[    9.100000] %s\nsomething else\n" % line).value == (line,)
