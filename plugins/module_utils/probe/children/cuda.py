# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Child: initialise CUDA and count the devices, with the libcuda.so.1 that any program here gets.

It also runs inside images, whose Python may be as old as 3.6: nothing here is newer.
"""

# A child process answers by printing; there is no module.
# pylint: disable=ansible-bad-function

import ctypes
import json
import os
import re
import typing as t

LIBRARY = "libcuda.so.1"


def main() -> None:
    print(json.dumps(ask()), flush=True)


def ask() -> t.Dict[str, t.Any]:
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
    }


def error_name(cuda: t.Any, code: int) -> str:
    text = ctypes.c_char_p()
    if cuda.cuGetErrorName(code, ctypes.byref(text)) == 0 and text.value:
        return text.value.decode("ascii", "replace")
    return "CUDA error %d" % code


def loaded_file() -> t.Optional[str]:
    """The file that the linker has really taken; LD_LIBRARY_PATH and compat directories included."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        found = re.search(r"(/\S*/libcuda\.so\S*)$", maps.read(), re.MULTILINE)
    return os.path.realpath(found.group(1)) if found else None


if __name__ == "__main__":
    main()
