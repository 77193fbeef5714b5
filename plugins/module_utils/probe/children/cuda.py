# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Child: initialise CUDA, count the devices and name them, with the libcuda.so.1 that any program here gets.

It also runs inside images, whose Python may be as old as 3.6: nothing here is newer. And images often come without
compiled modules, so that a fresh container compiles each one that is imported, which took longer than all the rest of
the script: only modules that Python has loaded anyway, and ctypes.
"""

# A child process answers by printing; there is no module.
# pylint: disable=ansible-bad-function

import ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing as t

LIBRARY = "libcuda.so.1"


def main() -> None:
    answer = ask()
    print("{%s}" % ", ".join('"%s": %s' % (name, as_json(answer[name])) for name in sorted(answer)), flush=True)


def ask() -> "t.Dict[str, t.Union[str, int, None]]":
    try:
        cuda = ctypes.CDLL(LIBRARY)
    except OSError as error:
        # Only the library itself counts as absent: one that lacks a library of its own is broken.
        absent = str(error).startswith(LIBRARY + ": cannot open shared object file")
        return {"missing" if absent else "broken": str(error)}
    count = ctypes.c_int(0)
    code = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    return {
        "code": code,
        "error": error_name(cuda, code) if code else None,
        "devices": None if code else count.value,
        "library": loaded_file(),
        "uuids": None if code else uuids(cuda, count.value),
    }


def uuids(cuda: "t.Any", count: int) -> "t.Optional[str]":
    """Of all devices, with commas between; None where CUDA does not tell one. An image need not have nvidia-smi."""
    # The first, since CUDA 11.4, tells a MIG instance by its own UUID.
    ask = getattr(cuda, "cuDeviceGetUuid_v2", None) or getattr(cuda, "cuDeviceGetUuid", None)
    if ask is None:
        return None
    found = []
    for number in range(count):
        raw = (ctypes.c_ubyte * 16)()
        device = ctypes.c_int(0)
        if cuda.cuDeviceGet(ctypes.byref(device), number) or ask(ctypes.byref(raw), device):
            return None
        digits = "".join("%02x" % byte for byte in raw)
        parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        found.append("GPU-" + "-".join(parts))
    return ",".join(found)


def error_name(cuda: "t.Any", code: int) -> str:
    text = ctypes.c_char_p()
    if cuda.cuGetErrorName(code, ctypes.byref(text)) == 0 and text.value:
        return text.value.decode("ascii", "replace")
    return "CUDA error %d" % code


def loaded_file() -> "t.Optional[str]":
    """The file that the linker has really taken; LD_LIBRARY_PATH and compat directories included."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            path = line[line.find("/") :].rstrip("\n") if "/" in line else ""
            if os.path.basename(path).startswith("libcuda.so"):
                return os.path.realpath(path)
    return None


def as_json(value: "t.Union[str, int, None]") -> str:
    """What json.dumps would give; importing json is most of what this program would cost."""
    if value is None:
        return "null"
    if isinstance(value, int):
        return "%d" % value
    # What stands beyond \uffff is replaced: no path and no message of the linker has any.
    special = ('"', "\\")
    letters = [c if " " <= c <= "~" and c not in special else "\\u%04x" % min(ord(c), 0xFFFD) for c in value]
    return '"%s"' % "".join(letters)


if __name__ == "__main__":
    main()
