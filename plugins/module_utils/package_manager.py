# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``package_set`` is asked for and answers, and what a package manager must be able to do for it."""

from __future__ import annotations

import dataclasses
import typing as t

from .kept_packages import Offered
from .model import Package
from .package_dkms import Dkms
from .parse.apt_errors import Trouble

GOES_ON = "The next run goes on from there"


class PackageSetError(Exception):
    """The set could not be installed. The message says why, what to do, and in which state the node is."""


class PackageManagerError(Exception):
    """A command of the package manager failed."""

    def __init__(self, trouble: Trouble, output: str = "") -> None:
        self.trouble = trouble
        self.output = output
        super().__init__("%s. %s" % (trouble.cause, trouble.fix))


@dataclasses.dataclass(frozen=True)
class State:
    """What is installed, also in part, by name; and every name that is held, installed or not."""

    packages: t.Dict[str, Package]
    held: t.FrozenSet[str]
    interrupted: bool = False

    @property
    def unfinished(self) -> t.Tuple[str, ...]:
        return tuple(name for name, package in sorted(self.packages.items()) if package.status != "installed")


@dataclasses.dataclass(frozen=True)
class Order:
    """One transaction: exact versions by name, files by name in place of a repository's, and names to remove."""

    packages: t.Mapping[str, str]
    files: t.Mapping[str, str]
    removes: t.Tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Effect:
    """What a transaction would do to the node: versions by name."""

    installs: t.Mapping[str, str]
    removes: t.Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Refreshed:
    """``read``: the index was read just now. ``trouble``: what some repository had against it; where the lock's own are
    among those that failed, only what they had.
    """

    read: bool = False
    trouble: t.Optional[Trouble] = None
    own: bool = False  # one of the lock's own repositories is among them


class Manager(t.Protocol):
    """What a package manager must be able to do. Each call that fails raises PackageManagerError."""

    def state(self) -> State: ...

    def finish(self) -> None:
        """Finish what an interrupted installation left half done."""

    def refresh(self, again: bool = False) -> Refreshed:
        """Read the repositories' index, unless this was done a moment ago; ``again``: in any case."""

    def offers(self, names: t.Iterable[str]) -> t.Mapping[str, t.Tuple[str, ...]]:
        """Full versions that the repositories have, the newest first."""

    def simulate(self, order: Order) -> Effect: ...

    def fetch(self, order: Order) -> None:
        """Download everything, and see that there is room for it."""

    def install(self, order: Order, consent: t.Callable[[Effect], None]) -> str:
        """Do it, with what was fetched. Returns what it printed.

        :arg consent: raises where the effect may not be; asked directly before each attempt, as another process may
            have changed the node since it was found out first
        """

    def hold(self, names: t.Sequence[str]) -> None: ...

    def release(self, names: t.Sequence[str]) -> None: ...

    def let_go(self, names: t.Sequence[str]) -> None:
        """Nobody has asked for these packages any more: whoever clears up may remove them."""

    def files(self, packages: t.Sequence[t.Tuple[str, str]]) -> t.Mapping[str, Offered]:
        """See ``kept_packages.Source``."""

    def download(self, packages: t.Sequence[t.Tuple[str, str]], directory: str) -> None: ...


@dataclasses.dataclass(frozen=True)
class Request:
    """One axis. ``keep``: every package of the lock, whose files stay on the node; None keeps none.

    ``driver``: the version that a later axis of the same run installs. What is left unfinished since the driver that
    it replaces does not build is finished there.

    ``release``: packages of whatever axis, not wanted any more, whose holds this collection has set.
    """

    packages: t.Mapping[str, str]
    hold: bool = True
    may_remove: t.Tuple[str, ...] = ()
    keep: t.Optional[t.Mapping[str, str]] = None
    dkms: t.Optional[Dkms] = None
    driver: str = ""
    release: t.Tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """How messages call this set."""
        names = sorted(self.packages)
        return ", ".join(names[:3]) + (" and %d more" % (len(names) - 3) if len(names) > 3 else "")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """``before`` and ``after``: a line for each package that differs. ``warnings``: what did not stop the run."""

    changes: t.Tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    warnings: t.Tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.changes)
