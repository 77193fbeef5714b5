# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia-ctk: `cdi generate`, `cdi list`, `runtime configure`, `config`, `system`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

from . import config, daemon_json, release, spec
from .log import ToolkitError, line

_MODPROBE = "/usr/bin/nvidia-modprobe"


def main(argv: t.Sequence[str]) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.version:
        print("NVIDIA Container Toolkit CLI version %s\ncommit: stand-in" % release.VERSION)
        return 0
    try:
        return int(arguments.command(arguments))
    except ToolkitError as error:
        line("error", str(error))
        return 1
    except daemon_json.Panic as error:
        print("%s\n\ngoroutine 1 [running]:" % error, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nvidia-ctk", allow_abbrev=False)
    parser.add_argument("--version", "-v", action="store_true")
    parser.set_defaults(command=lambda _: _show_help(parser))
    groups = parser.add_subparsers()

    cdi = groups.add_parser("cdi", allow_abbrev=False).add_subparsers(required=True)
    generate = cdi.add_parser("generate", allow_abbrev=False)
    generate.add_argument("--output", default=os.environ.get("NVIDIA_CTK_CDI_OUTPUT_FILE_PATH", ""))
    generate.add_argument("--feature-flag", "--feature-flags", dest="flags", action="append", default=[])
    generate.add_argument("--format", choices=("yaml", "json"), default="yaml")
    generate.set_defaults(command=_cdi_generate)
    cdi.add_parser("list", allow_abbrev=False).set_defaults(command=_cdi_list)

    runtime = groups.add_parser("runtime", allow_abbrev=False).add_subparsers(required=True)
    configure = runtime.add_parser("configure", allow_abbrev=False)
    configure.add_argument("--runtime", default="docker")
    configure.add_argument("--config", default="/etc/docker/daemon.json")
    configure.add_argument("--dry-run", action="store_true")
    configure.add_argument("--nvidia-runtime-name", "--runtime-name", dest="name", default="nvidia")
    configure.add_argument("--nvidia-runtime-path", "--runtime-path", dest="path", default="nvidia-container-runtime")
    configure.add_argument("--nvidia-set-as-default", "--set-as-default", dest="default", action="store_true")
    configure.add_argument("--cdi.enabled", "--cdi.enable", "--enable-cdi", dest="cdi", action="store_true")
    configure.set_defaults(command=_runtime_configure)

    settings = groups.add_parser("config", allow_abbrev=False)
    settings.add_argument("--config-file", "--config", "-c", dest="file", type=Path, default=config.PATH)
    settings.add_argument("--in-place", "-i", action="store_true")
    settings.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    settings.set_defaults(command=_config)

    system = groups.add_parser("system", allow_abbrev=False).add_subparsers(required=True)
    nodes = system.add_parser("create-device-nodes", allow_abbrev=False)
    nodes.add_argument("--control-devices", action="store_true")
    nodes.add_argument("--load-kernel-modules", action="store_true")
    nodes.set_defaults(command=_create_device_nodes)
    return parser


def _show_help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0


def _cdi_generate(arguments: argparse.Namespace) -> int:
    flags = arguments.flags or os.environ.get("NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS", "").split(",")
    content = spec.generate(additional_gids="no-additional-gids-for-device-nodes" not in flags)
    text = json.dumps(content, indent=2) + "\n" if arguments.format == "json" else "---\n" + spec.dump(content)
    if not arguments.output:
        sys.stdout.write(text)
        return 0
    _write(Path(arguments.output), text)
    line("info", "Generated CDI spec with version %s" % content["cdiVersion"])
    return 0


def _cdi_list(_: argparse.Namespace) -> int:
    names = spec.device_names()
    line("info", "Found %d CDI devices" % len(names))
    print("".join(name + "\n" for name in names), end="")
    return 0


def _runtime_configure(arguments: argparse.Namespace) -> int:
    if arguments.runtime != "docker":
        raise ToolkitError("this stand-in configures docker only, not %s" % arguments.runtime)
    path = Path(arguments.config)
    if path.exists():
        line("info", "Loading config from %s" % path)
        before = daemon_json.parse(path.read_text(encoding="utf-8"))
    else:
        line("info", "Config file does not exist; using empty config")
        before = {}
    after = daemon_json.configure(before, arguments.name, arguments.path, arguments.default, arguments.cdi)
    text = daemon_json.dump(after)
    if arguments.dry_run:
        print(text)
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    line("info", "Wrote updated config to %s" % path)
    line("info", "It is recommended that docker daemon be restarted.")
    return 0


def _config(arguments: argparse.Namespace) -> int:
    config.load(arguments.file)  # the real one parses the file, and refuses what it cannot
    text = arguments.file.read_text(encoding="utf-8") if arguments.file.exists() else ""
    for setting in arguments.set:
        key, separator, value = setting.partition("=")
        text = config.set_value(text, key, value if separator else "true")
    if arguments.in_place:
        _write(arguments.file, text)
    else:
        sys.stdout.write(text)
    return 0


def _create_device_nodes(arguments: argparse.Namespace) -> int:
    """Makes what is missing and leaves alone what is there, as the real one does: a node keeps its group and mode.

    With the driver's own helper, which alone knows modes, owners and majors.
    """
    wanted = {"/dev/nvidiactl": ["-c", "255"], "/dev/nvidia-uvm": ["-u", "-c", "0"]}
    for node, options in wanted.items():
        if Path(node).exists():
            line("info", "Skipping: %s already exists" % node)
            continue
        done = subprocess.run([_MODPROBE, *options], check=False)
        if done.returncode != 0:
            raise ToolkitError(
                "failed to create NVIDIA control device nodes: %s ended with %d" % (_MODPROBE, done.returncode)
            )
    return 0


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".%s." % path.name)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(temporary, 0o644)
    os.rename(temporary, path)
