# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of the test bed."""

from __future__ import annotations

import argparse
import os
import sys
import typing as t
from pathlib import Path

from . import engine, faults, image, key, nodes, snapshots, vendor
from .pool import POOL, parse_node, read_pool
from .shell import TestbedError, docker


def main(argv: t.Sequence[str]) -> int:
    arguments = _parser().parse_args(argv)
    try:
        arguments.command(arguments)
    except TestbedError as error:
        print("testbed: %s" % error, file=sys.stderr)
        return 1
    return 0


def _engine(_arguments: argparse.Namespace) -> None:
    print(engine.ensure())


def _image(_arguments: argparse.Namespace) -> None:
    engine.ensure()
    print(image.ensure())


def _up(arguments: argparse.Namespace) -> None:
    wanted = [parse_node(text) for text in arguments.nodes] or read_pool(arguments.pool)
    engine.ensure()
    nodes.ensure_network()
    vendor.start(nodes.NETWORK)
    snapshot = None if arguments.snapshot == snapshots.BARE else arguments.snapshot
    for system in sorted({node.system for node in wanted}):
        image_name = arguments.image or snapshots.image_of(arguments.snapshot, system)
        nodes.up([node for node in wanted if node.system == system], image_name, snapshot)


def _down(arguments: argparse.Namespace) -> None:
    nodes.down(arguments.nodes or nodes.names())
    if not nodes.names():
        vendor.stop()
        if nodes.network_exists():
            docker("network", "rm", nodes.NETWORK)
    if arguments.all:
        snapshots.remove(snapshots.names())
        image.remove_all()


def _status(_arguments: argparse.Namespace) -> None:
    for name in nodes.names():
        there = nodes.existing(name)
        running = there["State"]["Running"]
        profile = there["Config"]["Labels"][nodes.PROFILE_LABEL]
        where = "127.0.0.1:%d" % nodes.port(name) if running else "stopped"
        on = " ".join(faults.active(name)) if running else ""
        print("%-12s %-10s %-18s %-30s %s" % (name, profile, where, there["Config"]["Image"], on))
    print("snapshots: %s" % " ".join([snapshots.BARE, *snapshots.names()]))


def _ssh(arguments: argparse.Namespace) -> None:
    command = key.ssh_command(nodes.port(arguments.node), arguments.user)
    os.execvp(command[0], command + arguments.words)


def _exec(arguments: argparse.Namespace) -> None:
    os.execvp("docker", ["docker", "exec", nodes.container(arguments.node), *arguments.words])


def _fault(arguments: argparse.Namespace) -> None:
    if arguments.node == "vendor":
        vendor.switch(arguments.fault, arguments.state, arguments.words)
    else:
        faults.switch(arguments.node, arguments.fault, arguments.state, arguments.words)


def _boot(arguments: argparse.Namespace) -> None:
    nodes.boot(arguments.node, arguments.kernel, arguments.once)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="testbed", description="Simulated GPU nodes; see tests/testbed/README.md.")
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND")

    def add(name: str, command: t.Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        return sub

    add("engine", _engine, "make sure that a Docker Engine answers, and print its version")
    add("image", _image, "make sure that the node image is there, and print its name")

    sub = add("up", _up, "start nodes: those named, else those of the pool")
    sub.add_argument("nodes", nargs="*", metavar="NODE=PROFILE[@SYSTEM][:PORT]")
    sub.add_argument("--pool", type=Path, default=POOL, help="inventory that names the nodes")
    source = sub.add_mutually_exclusive_group()
    source.add_argument("--image", help="image for new nodes in place of the one built from node/")
    source.add_argument(
        "--from", dest="snapshot", metavar="SNAPSHOT", default=snapshots.BARE, help="start new nodes from it"
    )

    sub = add("down", _down, "remove nodes and what is theirs: those named, else all")
    sub.add_argument("nodes", nargs="*", metavar="NODE")
    sub.add_argument("--all", action="store_true", help="snapshots and images too")
    add("status", _status, "list nodes with profile, address, image and active faults")

    sub = add("ssh", _ssh, "a shell, or a command, over ssh")
    sub.add_argument("--user", default="root", help="root, admin or alice")
    sub.add_argument("node")
    sub.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    sub = add("exec", _exec, "a command by docker exec, beside sshd")
    sub.add_argument("node")
    sub.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")

    known = "; ".join("%s: %s" % item for item in faults.FAULTS.items())
    vendors = "; ".join("%s: %s" % item for item in vendor.FAULTS.items())
    sub = add("fault", _fault, "switch a fault on or off. Of a node: %s. Of `vendor`: %s." % (known, vendors))
    sub.add_argument("node", help="a node, or `vendor`")
    sub.add_argument("fault")
    sub.add_argument("state", choices=("on", "off"))
    sub.add_argument("words", nargs="*", help="which GPU (default 0), and how")
    sub = add("damage", lambda a: faults.damage(a.node, a.damage), "break what the roles can repair")
    sub.add_argument("node")
    sub.add_argument("damage", choices=faults.DAMAGE)

    sub = add("reboot", lambda a: nodes.reboot(a.node), "systemctl reboot, and wait for the node")
    sub.add_argument("node")
    sub = add("power", lambda a: nodes.power(a.node, a.state), "take the power away, or give it back and wait")
    sub.add_argument("node")
    sub.add_argument("state", choices=("on", "off"))
    sub = add("boot", _boot, "choose the kernel of this and all later boots at the boot loader's menu, and reboot")
    sub.add_argument("node")
    which = sub.add_mutually_exclusive_group(required=True)
    which.add_argument("--kernel", metavar="RELEASE")
    which.add_argument("--default", dest="kernel", action="store_const", const=None, help="leave it to GRUB again")
    sub.add_argument("--once", action="store_true", help="for this boot only")
    sub = add("enrol", lambda a: nodes.enrol(a.node, a.certificate), "confirm a key at the console of the next boot")
    sub.add_argument("node")
    sub.add_argument("certificate", nargs="?", help="DER file in the node; without it, what mokutil asked for")
    sub = add("kernel-list", lambda a: print("\n".join(nodes.kernels(a.node))), "kernels that a node can boot")
    sub.add_argument("node")

    sub = add("snapshot", lambda a: snapshots.take(a.node, a.snapshot), "save a node")
    sub.add_argument("node")
    sub.add_argument("snapshot")
    sub = add("reset", lambda a: snapshots.restore(a.node, a.snapshot), "start a node again from a snapshot")
    sub.add_argument("node")
    sub.add_argument("snapshot", help="bare: as the node image makes it")
    return parser
