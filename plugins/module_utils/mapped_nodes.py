# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Child: which processes have memory of the NVIDIA driver's device nodes mapped, as their maps in /proc say.

Apart from us, since the kernel lets nobody read the maps of a process that holds the lock of its own memory while it
hangs in a driver. Each number is said before it is looked at: so it is known at whose maps a child hung.
"""

# A child process answers by printing; there is no module.
# pylint: disable=ansible-bad-function

from __future__ import annotations

import sys
import typing as t

NODES = b"/dev/nvidia"


def main() -> None:
    for number in sys.argv[2:]:
        print("at %s" % number, flush=True)
        try:
            for path in sorted(set(mapped("%s/%s/maps" % (sys.argv[1], number)))):
                print("has %s %s" % (number, path))
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
        except OSError as error:
            print("not %s %s" % (number, error.strerror or error))
    print("end", flush=True)


def mapped(path: str) -> t.Iterator[str]:
    """Address, rights, offset, device, inode, and then what is mapped."""
    with open(path, "rb") as lines:
        for line in lines:
            fields = line.split(None, 5)
            if len(fields) == 6 and fields[5].startswith(NODES):
                name = fields[5].decode("utf-8", "replace").strip()
                yield name[: -len(" (deleted)")] if name.endswith(" (deleted)") else name


if __name__ == "__main__":
    main()
