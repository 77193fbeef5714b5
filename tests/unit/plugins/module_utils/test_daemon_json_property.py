# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any daemon.json, as raw text: what is not ours keeps every byte, what is broken is not touched, and no accident
leaves less than a whole file on the disk.

The files are made by a generator with a seed, valid ones and broken ones; they go through the code of the module and
the real ``System``, only that no Docker is there. What was kept is judged by a tokenizer of this file's own, and what
is valid by Python's json; neither shares a line with what is tested.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.docker_config import DockerConfigError, Wanted, apply
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System, SystemFailure

FILES = 2200
BATCH = 200
OURS = {
    "runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}},
    "default-runtime": "runc",
    "features": {"cdi": True},
    "log-opts": {"max-size": "10m"},
}
MANAGED = [
    ("runtimes", "nvidia", "path"),
    ("runtimes", "nvidia", "args"),
    ("default-runtime",),
    ("features", "cdi"),
    ("log-opts", "max-size"),
]
PLACE = re.compile(r"(?:line (\d+) column (\d+)|byte (\d+) is not)")


class Bare(System):
    """A real file system on a node without Docker."""

    def run(self, argv, timeout, unprivileged=False, groups=(), where="host"):
        if argv[0] == "systemctl":
            return Command(where, tuple(argv), 0, "LoadState=not-found\nActiveState=inactive\n")
        return Command(where, tuple(argv), missing=True, error="%s is not installed" % argv[0])


def run(path, backup=False):
    return apply(Bare(), Wanted(OURS, path=str(path), backup=backup))


# The generator


class Files:
    """Raw text of configurations. ``valid`` ones keep to JSON, with all that JSON allows to be odd."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.right = self.rng.random() < 0.15  # all that we write is there, in some spelling
        self.newline = self.rng.choice(["\n", "\n", "\r\n", "\r\n  ", " "])
        self.names = iter("x%d" % number for number in range(10_000))

    def valid(self):
        text = self.space() + self.object(self.top()) + self.space()
        return "".join(text)

    def broken(self):
        """A valid one with one thing done to it. It may be valid still, by chance."""
        text, rng = self.valid(), self.rng
        at = rng.randrange(len(text))
        return rng.choice(
            [
                lambda: text[:at],
                lambda: text[:at] + text[at + 1 :],
                lambda: text[:at] + rng.choice("{}[]:,\"\\/#\x00\x1f'0eE+-.tnN\u00e9") + text[at:],
                lambda: text[: text.rindex("}")] + "," + text[text.rindex("}") :],
                lambda: text + rng.choice(["{}", "x", ",", "}", "null"]),
                lambda: text.replace(":", rng.choice(["", "=", "::", " "]), 1),
                lambda: text.replace("{", '{"dup": 1, "d\\u0075p": [2], ', 1),
                lambda: text.replace("{", "{ // a note\n", 1),
                lambda: text.replace("{", "{ /* a note */", 1),
                lambda: "[" + text + "]",
                lambda: text.replace(
                    "{", '{"w": %s,' % rng.choice(["01", "-01", "1.", ".5", "+1", "1e", "NaN", "-"]), 1
                ),
                lambda: text.replace('"', "'"),
                lambda: "[" * rng.randint(101, 4000),
                lambda: (
                    text[:at] + rng.choice(["NaN", "Infinity", "01", "1.", ".5", "+1", "0x1", "1e", "-"]) + text[at:]
                ),
            ]
        )()

    def top(self):
        members = [(self.key(), self.value(1)) for _nth in range(self.rng.choice([0, 1, 2, 5, 9]))]
        members += [member for member in self.ours() if self.right or self.rng.random() < 0.5]
        self.rng.shuffle(members)
        return members

    def ours(self):
        """The keys that we write too: as wanted, with another value, or with things of their owner's beside it."""
        yield self.ours_or("default-runtime", '"runc"', '"nvidia"', '"\\u0072unc"', "null", "1e2", "[1 ,2]")
        yield self.quoted("features"), self.object([*self.more("true"), self.ours_or("cdi", "true", "false", "1")])
        yield self.quoted("log-opts"), self.object([*self.more('"3"'), self.ours_or("max-size", '"10m"', '"1g"')])
        nvidia = [self.ours_or("path", '"nvidia-container-runtime"', '"\\/old"')]
        nvidia += [self.ours_or("args", self.rng.choice(["[]", "[ ]", "[\n]"]), '["x"]')] * (
            self.right or self.rng.randrange(2)
        )
        nvidia += [(self.quoted("runtimeArgs"), '[ "--debug" ]')] * self.rng.randrange(2)
        other = (self.quoted("mine"), self.object([(self.quoted("path"), '"/usr/bin/\\u00fc"')]))
        yield self.quoted("runtimes"), self.object([other, (self.quoted("nvidia"), self.object(nvidia))])

    def ours_or(self, key, wanted, *others):
        return self.quoted(key), wanted if self.right else self.rng.choice([wanted, *others])

    def more(self, value):
        return [(self.key(), value) for _nth in range(self.rng.randrange(3))]

    def key(self):
        return self.quoted(
            next(self.names) + self.rng.choice(["", "-\u00fc", " ", "{", "]", ":,", "\U0001f600", "\u2028"])
        )

    def quoted(self, text):
        """One of the many spellings of a text."""
        spelled = ""
        for char in text:
            if ord(char) < 0x10000 and self.rng.random() < 0.05:
                spelled += self.rng.choice(["\\u%04x", "\\u%04X"]) % ord(char)
            else:
                spelled += char
        return '"%s"' % spelled

    def value(self, depth):
        rng = self.rng
        kind = rng.randrange(8 if depth < 6 else 6)
        if kind < 3:
            return self.number()
        if kind < 5:
            return self.quoted(
                "%s" % rng.choice(["", "a/b", "<&>", "{\u00e9}", "\u65e5\u672c", "// x", "[1,", "\u007f"])
            )[:-1] + (rng.choice(["", "\\/", "\\ud83d", "\\ud83d\\ude00", '\\b\\f\\n\\r\\t\\\\\\"', "\\u0000"]) + '"')
        if kind == 5:
            return rng.choice(["true", "false", "null"])
        if kind == 6:
            inside = [self.value(depth + 1) for _nth in range(rng.choice([0, 1, 3]))]
            return (
                "["
                + ",".join(self.space() + item + self.space() for item in inside)
                + (self.space() if not inside else "")
                + "]"
            )
        if rng.random() < 0.04:
            deep = rng.randint(20, 85)
            return '{"d":' * deep + self.number() + "}" * deep
        return self.object([(self.key(), self.value(depth + 1)) for _nth in range(rng.randrange(4))])

    def number(self):
        rng = self.rng
        whole = rng.choice(["0", "-0", "7", "-12", "9" * 40, "-" + "8" * 41, "18446744073709551616"])
        fraction = rng.choice(["", "", ".0", ".10", ".000000000000000000001", "." + "3" * 40])
        return whole + fraction + rng.choice(["", "", "e5", "E+05", "e-400", "E999", "e0"])

    def object(self, members):
        rng, parts = self.rng, []
        for key, value in members:
            parts.append(self.space() + key + self.space() + ":" + self.space() + value + self.space())
        return "{" + ",".join(parts) + (self.space() if rng.random() < 0.3 else "") + "}"

    def space(self):
        return self.rng.choice(["", "", " ", self.newline, self.newline + "  ", "\t", self.newline * 2, " \t "])


# The judges


TOKEN = re.compile(r'[{}\[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+', re.DOTALL)


def tokens(text):
    """(path, token) of every key, value and bracket, in order, each spelled as in the text."""
    found, stack, path, key = [], [], [], None
    for token in TOKEN.findall(text):
        if token in "{[":
            found.append((tuple(path), token))
            stack.append(token)
            path.append("" if token == "{" else 0)
            key = None
        elif token in "}]":
            stack.pop()
            path.pop()
            found.append((tuple(path), token))
        elif token == ",":
            key = None
            if stack[-1] == "[":
                path[-1] += 1
        elif token == ":":
            pass
        elif stack[-1] == "{" and key is None:
            key = path[-1] = json.loads(token)
            found.append((tuple(path), token))
        else:
            found.append((tuple(path), token))
    return found


def is_ours(path):
    return any(path[: len(ours)] == ours for ours in MANAGED)


def kept(before, after):
    """What is not managed, of the tokens of both. An object that was made to hold what is managed is of no interest."""
    there = {path for path, _token in before}
    above = {ours[:length] for ours in MANAGED for length in range(len(ours))} - there
    return tuple([item for item in both if not is_ours(item[0]) and item[0] not in above] for both in (before, after))


def meaning(text):
    """By Python's json, numbers as they are spelled; ValueError for what is no JSON, or has a key twice."""

    def once(pairs):
        if len({key for key, _value in pairs}) != len(pairs):
            raise ValueError("a key is there twice")
        return dict(pairs)

    def no(word):
        raise ValueError(word)

    found = json.loads(text, object_pairs_hook=once, parse_int=Spelled, parse_float=Spelled, parse_constant=no)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


class Spelled(str):
    """A number, by its digits."""


def is_valid(text):
    """JSON, and nothing that dockerd does not take, which is left where a fault hit the name of one of our keys."""
    try:
        config = meaning(text)
    except (ValueError, RecursionError):
        return False
    programs = [runtime for name, runtime in config.get("runtimes", {}).items() if name != "nvidia"]
    switches = [value for name, value in config.get("features", {}).items() if name != "cdi"]
    return all("path" in runtime for runtime in programs) and all(isinstance(value, bool) for value in switches)


def holds_ours(config, wanted=None):
    for key, value in (OURS if wanted is None else wanted).items():
        if isinstance(value, dict):
            if not holds_ours(config[key], value):
                return False
        elif config[key] != value or isinstance(config[key], Spelled):
            return False
    return True


def comes_through(before, after):
    """Every byte of the one stands in the other, in order."""
    rest = iter(after)
    return all(char in rest for char in before)


# The properties


@pytest.fixture
def folder():
    """In memory where that can be: the promise to the disk (fsync) is kept, and costs nothing."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        yield pathlib.Path(name)


def write(path, text):
    raw = text.encode("utf-8", "surrogatepass")
    path.write_bytes(raw)
    return raw


@pytest.mark.parametrize("batch", range(FILES // BATCH))
def test_any_file(folder, batch):
    path = folder / "daemon.json"
    seen = {"whole": 0, "broken": 0}
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        files = Files(seed)
        text = files.broken() if seed % 3 == 0 else files.valid()
        raw = write(path, text)
        if not text.strip() or is_valid(text):
            whole(path, text)
            seen["whole"] += 1
        else:
            untouched(path, text, raw)
            seen["broken"] += 1
        assert os.listdir(folder) == ["daemon.json"], seed
    assert seen["whole"] > BATCH // 2
    assert seen["broken"] > BATCH // 5


def whole(path, text):
    first = run(path)
    after = path.read_bytes()
    assert first.changed is (after != text.encode("utf-8"))
    assert not (first.changed and holds(text))  # other spellings of what is wanted are no reason to write
    assert (first.before, first.after) == (text, after.decode("utf-8"))
    config = meaning(first.after)
    assert holds_ours(config)
    there = tokens(text if text.strip() else "{}")
    before, now = kept(there, tokens(first.after))
    assert before == now
    if not any(is_ours(place) for place, _token in there):  # then things were put in, and nothing else
        assert comes_through(re.sub(r"\{\s+\}", "{}", text.strip()), first.after)
    assert not run(path).changed
    assert path.read_bytes() == after


def untouched(path, text, raw):
    with pytest.raises(DockerConfigError) as caught:
        run(path)
    assert path.read_bytes() == raw
    place = PLACE.search(str(caught.value))
    assert place, (text, str(caught.value))
    if place.group(1):
        lines = text.split("\n")
        assert 1 <= int(place.group(1)) <= len(lines)
        assert 1 <= int(place.group(2)) <= len(lines[int(place.group(1)) - 1]) + 1


def test_the_generator_makes_what_it_says():
    """Else the test above could pass on files that are all alike."""
    texts = [Files(seed).valid() for seed in range(FILES)]
    assert all(is_valid(text) for text in texts)
    for odd in [
        "E+05",
        "-0",
        "9" * 40,
        "\\u00",
        "\\ud83d\\ude00",
        "\r\n",
        "\t",
        '"runtimeArgs"',
        '{"d":' * 20,
        "e-400",
    ]:
        assert sum(odd in text for text in texts) > 20, odd
    assert len(set(texts)) > FILES * 0.9


# Accidents


def some(count, start=100_000):
    """Files that need a change."""
    found = []
    for seed in range(start, start + 100 * count):
        text = Files(seed).valid()
        if not holds(text):
            found.append(text)
        if len(found) == count:
            return found
    raise AssertionError("too few")


def holds(text):
    try:
        return holds_ours(meaning(text))
    except (KeyError, TypeError, ValueError):
        return False


@pytest.mark.parametrize("point", ["fchmod", "fsync", "replace", "after replace"])
@pytest.mark.parametrize("backup", [False, True])
def test_killed_at_any_point_of_a_write(folder, point, backup):
    for number, text in enumerate(some(12)):
        home = folder / ("killed-%d" % number)
        home.mkdir()
        path = home / "daemon.json"
        raw = write(path, text)
        assert killed_at(point, path, backup) == signal.SIGKILL
        assert path.read_bytes() == raw or holds(path.read_text(encoding="utf-8"))
        if point != "after replace" or backup:
            assert path.read_bytes() == raw  # with a backup, that is what it was killed at
        whole(path, path.read_bytes().decode("utf-8"))
        half = [name for name in os.listdir(home) if name.endswith(".goldennode")]
        assert len(half) == (point != "after replace")
        for name in half:
            os.utime(home / name, (1, 1))
        path.write_bytes(raw)
        run(path)
        assert not [name for name in os.listdir(home) if name.endswith(".goldennode")]
        shutil.rmtree(home)


def killed_at(point, path, backup):
    """Have a child run and be killed there, by a signal that nothing can catch. Returns the signal."""
    child = os.fork()
    if child == 0:
        name = point.split()[-1]
        real = getattr(os, name)

        def deadly(*arguments):
            if point.startswith("after"):
                real(*arguments)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(os, name, deadly)
        with contextlib.suppress(BaseException):
            run(path, backup)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else None


def test_a_write_that_ends_half_way(folder):
    """The kernel itself refuses to let the file grow, at any length."""
    for number, text in enumerate(some(25, 200_000)):
        path = folder / "daemon.json"
        raw = write(path, text)
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (number * len(raw) // 25, resource.RLIM_INFINITY))
            code = 3
            with contextlib.suppress(BaseException):
                try:
                    run(path)
                except SystemFailure as error:
                    code = 0 if "could not be written: File too large. The file is as it was" in str(error) else 2
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert path.read_bytes() == raw
        assert os.listdir(folder) == ["daemon.json"]
        whole(path, text)


FULL_DISK = """
    import os, sys
    from ansible_collections.goldennode.gpu.tests.unit.plugins.module_utils import test_daemon_json_property as mine
    path = os.path.join(sys.argv[1], "daemon.json")
    for number, text in enumerate(mine.some(10, 300_000)):
        raw = text.encode("utf-8") + b" " * (4096 * number)
        with open(path, "wb") as file:
            file.write(raw)
        with open(os.path.join(sys.argv[1], "filler"), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 512)
            except OSError:
                pass
        for backup in (False, True):
            try:
                mine.run(path, backup)
            except mine.SystemFailure as error:
                assert "No space left on device. The file is as it was; make room on its" in str(error), error
            else:
                raise AssertionError("it was written")
            with open(path, "rb") as file:
                assert file.read() == raw
            assert sorted(os.listdir(sys.argv[1])) == ["daemon.json", "filler"], os.listdir(sys.argv[1])
        os.unlink(os.path.join(sys.argv[1], "filler"))
        assert mine.run(path).changed
        assert not mine.run(path).changed
    print("ten full disks")
"""


def test_a_full_disk(tmp_path):
    """A real one, small and in memory, that no other process sees."""
    mount = "mount -t tmpfs -o size=128k none %s && exec %s -c '%s' %s" % (
        tmp_path,
        sys.executable,
        textwrap.dedent(FULL_DISK).replace("'", "'\\''"),
        tmp_path,
    )
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    probe = ["unshare", "--mount", *rights, "mount", "-t", "tmpfs", "none", str(tmp_path)]
    if not shutil.which("unshare") or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount, also not in a namespace of its own")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    argv = ["unshare", "--mount", *rights, "sh", "-c", mount]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment, timeout=60)
    assert (ran.returncode, ran.stdout) == (0, "ten full disks\n"), ran.stderr


# Where and how the file lies


def test_mode_owner_and_label_are_kept(tmp_path):
    path = tmp_path / "daemon.json"
    path.write_text('{"debug": true}', encoding="utf-8")
    path.chmod(0o640)
    label = b"system_u:object_r:container_config_t:s0\x00"
    try:
        os.setxattr(path, "security.selinux", label)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EINVAL):
            raise
        label = None  # only root may, and not everywhere
    if os.geteuid() == 0:
        os.chown(path, 12, 34)
    before = path.stat()
    outcome = run(path, backup=True)
    for written in (path, pathlib.Path(outcome.backup_file)):
        now = written.stat()
        assert (now.st_mode, now.st_uid, now.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
        if label:
            assert os.getxattr(written, "security.selinux") == label


def test_a_link_stays_a_link_and_a_folder_is_made(tmp_path):
    link = tmp_path / "etc" / "docker" / "daemon.json"
    link.parent.mkdir(parents=True)
    target = tmp_path / "config" / "managed.json"
    link.symlink_to(target)
    assert run(link).changed  # to nothing: what it leads to is made
    assert link.is_symlink()
    assert holds(target.read_text(encoding="utf-8"))
    target.write_text('{"debug": true}', encoding="utf-8")
    assert run(link, backup=True).backup_file.startswith(str(link))
    assert link.is_symlink()
    assert json.loads(target.read_text(encoding="utf-8"))["debug"] is True
    assert not run(link).changed
    assert run(tmp_path / "new" / "docker" / "daemon.json").changed
    assert stat.S_IMODE((tmp_path / "new" / "docker" / "daemon.json").stat().st_mode) == 0o644


@pytest.mark.parametrize("of", ["file", "folder"])
def test_an_immutable_file_is_named_so(tmp_path, of):
    path = tmp_path / "daemon.json"
    path.write_text("{}", encoding="utf-8")
    frozen = path if of == "file" else tmp_path
    if (
        not shutil.which("chattr")
        or subprocess.run(["chattr", "+i", frozen], capture_output=True, check=False).returncode
    ):
        pytest.skip("this file system, or this user, makes nothing immutable")
    try:
        for _run in range(2):
            with pytest.raises(SystemFailure, match="Operation not permitted. The file is as it was.*chattr -i"):
                run(path, backup=True)
        assert path.read_text(encoding="utf-8") == "{}"
        assert os.listdir(tmp_path) == ["daemon.json"]
    finally:
        subprocess.run(["chattr", "-i", frozen], check=True)
    assert run(path).changed


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_left_alone(tmp_path, make):
    path = tmp_path / "daemon.json"
    make(path)
    with pytest.raises(Exception, match=r"daemon\.json could not be read: "):
        run(path)
    assert os.listdir(tmp_path) == ["daemon.json"]
