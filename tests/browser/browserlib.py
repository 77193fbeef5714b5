# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium that is told what to do over a pipe, by the DevTools protocol; the standard library is enough."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import time
import typing as t

#: The first that is there is taken. BROWSER_PROGRAM names another one.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PACKAGE = "chromium-headless-shell"

#: It asks nobody for updates, and its state is thrown away.
_FLAGS = (
    *("--headless", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run"),
    *("--disable-component-update", "--disable-sync", "--disable-quic", "--remote-debugging-pipe"),
)

#: Seconds that a command may take; the largest page is drawn in one or two.
LIMIT = 60.0


class BrowserError(RuntimeError):
    """No browser, or one that does not do what it is told."""


def find() -> str:
    """The browser's program; installed when it is missing, and this is root on Debian."""
    named = os.environ.get("BROWSER_PROGRAM")
    for program in (named,) if named else PROGRAMS:
        found = shutil.which(program)
        if found:
            return found
    if named or os.geteuid() != 0 or shutil.which("apt-get") is None:
        what = named or " and ".join(PROGRAMS)
        fix = "install one (Debian: apt-get install %s), or name it by BROWSER_PROGRAM" % PACKAGE
        raise BrowserError("there is no %s: %s" % (what, fix))
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ("apt-get", "install", "--yes", "--no-install-recommends", PACKAGE)
    for command in (("apt-get", "update"), install):
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, timeout=540)
    found = shutil.which(PACKAGE)
    if not found:
        raise BrowserError("%s was installed and has no program of that name" % PACKAGE)
    return found


class Browser:
    """One process. ``events``: what it has told and nobody has taken yet."""

    def __init__(self, program: str, directory: pathlib.Path) -> None:
        self.events: t.List[t.Dict[str, t.Any]] = []
        self._buffer, self._last = b"", 0
        theirs_in, self._out = (_high(fd) for fd in os.pipe())
        self._in, theirs_out = (_high(fd) for fd in os.pipe())
        # No sandbox of its own: root has none, and only pages of ours are opened.
        argv = [program, *_FLAGS, "--no-sandbox", "--user-data-dir=%s" % (directory / "profile"), "about:blank"]
        script = 'exec "$@" 3<&%d 4>&%d' % (theirs_in, theirs_out)
        with (directory / "browser.log").open("wb") as log:
            self._process = subprocess.Popen(
                ["bash", "-c", script, "browser", *argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs_in, theirs_out),
            )
        os.close(theirs_in)
        os.close(theirs_out)

    def call(self, method: str, session: t.Optional[str] = None, **params: t.Any) -> t.Dict[str, t.Any]:
        """:raises BrowserError: with what the browser says against it"""
        self._last += 1
        message: t.Dict[str, t.Any] = {"id": self._last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode("ascii") + b"\0")
        deadline = time.monotonic() + LIMIT
        while True:
            told = self._next(deadline, method)
            if told.get("id") == self._last:
                if "error" in told:
                    raise BrowserError("%s: %s" % (method, told["error"]["message"]))
                return t.cast(t.Dict[str, t.Any], told["result"])
            self.events.append(told)

    def wait(self, event: str, session: str) -> t.Dict[str, t.Any]:
        """The next event of that name, if it was not told already; it stays among the events."""
        deadline = time.monotonic() + LIMIT
        while True:
            for told in self.events:
                if told.get("method") == event and told.get("sessionId") == session:
                    return told
            self.events.append(self._next(deadline, event))

    def close(self) -> None:
        try:
            self.call("Browser.close")
            self._process.wait(10)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def _next(self, deadline: float, waited_for: str) -> t.Dict[str, t.Any]:
        while b"\0" not in self._buffer:
            ready, _writable, _odd = select.select([self._in], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise BrowserError("%s: nothing was heard within %d s" % (waited_for, LIMIT))
            piece = os.read(self._in, 1 << 20)
            if not piece:
                raise BrowserError("%s: the browser has ended" % waited_for)
            self._buffer += piece
        message, _nul, self._buffer = self._buffer.partition(b"\0")
        return t.cast(t.Dict[str, t.Any], json.loads(message))


class Page:
    """A tab of its own. ``width`` in CSS pixels; a height of 800."""

    def __init__(self, browser: Browser, width: int = 1280, scripts: bool = True, dark: bool = False) -> None:
        self._browser = browser
        self._target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Audits"):
            self.call(domain + ".enable")
        mobile = width < 500
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=mobile)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)

    def call(self, method: str, **params: t.Any) -> t.Dict[str, t.Any]:
        return self._browser.call(method, self._session, **params)

    def open(self, path: pathlib.Path) -> None:
        self.call("Page.navigate", url=path.as_uri())
        self._browser.wait("Page.loadEventFired", self._session)

    def js(self, expression: str) -> t.Any:
        """The value of an expression, as if a person had asked for it; what it throws is raised."""
        settings = {"returnByValue": True, "awaitPromise": True, "userGesture": True}
        found = self.call("Runtime.evaluate", expression=expression, **settings)
        if "exceptionDetails" in found:
            raise BrowserError("%s: %s" % (expression, found["exceptionDetails"]["exception"].get("description")))
        return found["result"].get("value")

    def told(self, *methods: str) -> t.List[t.Dict[str, t.Any]]:
        """What the page's events of these names said."""
        mine = (one for one in self._browser.events if one.get("sessionId") == self._session)
        return [one["params"] for one in mine if one["method"] in methods]

    def requests(self) -> t.List[str]:
        return [one["request"]["url"] for one in self.told("Network.requestWillBeSent")]

    def complaints(self) -> t.List[t.Dict[str, t.Any]]:
        """Errors of scripts, what went to the console, and what a policy has refused."""
        return self.told("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Audits.issueAdded")

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def picture(self, whole: bool = False) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)


def _high(fd: int) -> int:
    """The same pipe by a number that the shell does not give to another before it is used."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(fd)
    return moved
