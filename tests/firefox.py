"""Firefox without a window, driven through a socket by its own protocol, Marionette.

The class has the methods of :class:`chromium.Browser`, so that a test can drive either.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket
import subprocess
import time

PROGRAM = next(filter(None, map(shutil.which, ["firefox-esr", "firefox"])), "")
"""Path of the browser; empty if it is not installed."""
MISSING = "no Firefox here: apt-get install firefox-esr"
PATIENCE_S = 120.0
"""For an answer; a busy machine takes seconds to start a browser."""
PREFERENCES = {
    "marionette.port": 0,
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "browser.download.folderList": 2,
    "browser.download.useDownloadDir": True,
    "browser.download.always_ask_before_handling_new_types": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.disable_open_during_load": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "remote.prefs.recommended": True,
    "toolkit.telemetry.enabled": False,
}
"""Preferences without background activity and network."""
KEYS = {
    "Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Home": "\ue011", "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015",
}  # fmt: skip
SHIFT, SHIFT_KEY = 8, "\ue008"
"""The modifier, and its key."""


class Browser:
    """A browser with one page; what the page logs is kept."""

    def __init__(self, folder, size=(1280, 720)):
        lines = (f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in PREFERENCES.items())
        (folder / "user.js").write_text("".join(lines))
        self.process = subprocess.Popen(
            [
                PROGRAM,
                "--headless",
                "--marionette",
                "--remote-allow-system-access",
                "--no-remote",
                "--profile",
                str(folder),
            ],
            env={**os.environ, "MOZ_CRASHREPORTER_DISABLE": "1", "HOME": str(folder)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._numbers, self._rest = itertools.count(1), b""
        self._socket = None
        try:
            self._socket = self._connected(folder / "MarionetteActivePort")
            self._message()  # it says who it is
            self.call("WebDriver:NewSession", {"capabilities": {}})
            self.call("WebDriver:SetTimeouts", {"script": int(1000 * PATIENCE_S)})
            self.resize(*size)
        except BaseException:
            self.close()
            raise

    def _connected(self, place):
        """Wait for the file that names the port; return a connection to it."""
        until = time.monotonic() + PATIENCE_S
        while not (place.exists() and place.read_text().strip()):
            assert self.process.poll() is None, "the browser has ended"
            assert time.monotonic() < until, "the browser does not start"
            time.sleep(0.05)
        return socket.create_connection(("127.0.0.1", int(place.read_text())), PATIENCE_S)

    def close(self):
        """End the browser."""
        if self._socket is None:
            self.process.kill()
        else:
            with contextlib.suppress(OSError, EOFError, AssertionError):  # it is gone already
                self.call("Marionette:Quit", {"flags": ["eForceQuit"]})
            self._socket.close()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def call(self, method, parameters=None):
        """Return the answer of the browser to a command."""
        number = next(self._numbers)
        text = json.dumps([0, number, method, parameters or {}]).encode()
        self._socket.sendall(b"%d:%s" % (len(text), text))
        _, answered, error, result = self._message()
        assert answered == number
        assert error is None, f"{method}: {error}"
        return result

    def _message(self):
        while b":" not in self._rest:
            self._receive()
        length, self._rest = self._rest.split(b":", 1)
        while len(self._rest) < int(length):
            self._receive()
        text, self._rest = self._rest[: int(length)], self._rest[int(length) :]
        return json.loads(text)

    def _receive(self):
        data = self._socket.recv(1 << 20)
        if not data:
            raise EOFError("the browser has ended")
        self._rest += data

    def privileged(self, script, *arguments):
        """Run a script with the rights of the browser itself; return what it returns."""
        self.call("Marionette:SetContext", {"value": "chrome"})
        try:
            given = {"script": script, "args": arguments, "sandbox": "system"}
            return self.call("WebDriver:ExecuteScript", given)["value"]
        finally:
            self.call("Marionette:SetContext", {"value": "content"})

    @property
    def problems(self):
        """Errors that pages logged or threw."""
        return self.privileged(
            "return Services.console.getMessageArray().filter((m) => m instanceof Ci.nsIScriptError"
            " && !(m.flags & 1) && /^(file|blob):/.test(m.sourceName)).map((m) => String(m));"
        )

    @property
    def requests(self):
        """The resources that the page has loaded."""
        return self.evaluate(
            "[location.href, ...performance.getEntriesByType('resource').map(({ name }) => name)]"
        )

    def forget(self):
        """Forget the problems so far."""
        self.privileged("Services.console.reset();")

    def resize(self, width, height):
        """Give the page a size in pixels; a window has a least one, its page has not."""
        self.call("WebDriver:SetWindowRect", {"width": max(width, 600), "height": height + 200})
        self.privileged(
            "const [width, height] = arguments, { style } = gBrowser.selectedBrowser;"
            "for (const name of ['min-width', 'max-width']) style.setProperty(name, `${width}px`);"
            "for (const name of ['min-height', 'max-height'])"
            " style.setProperty(name, `${height}px`);",
            width,
            height,
        )
        self.wait(f"innerWidth === {width} && innerHeight === {height}")

    def show(self, url):
        """Load a page."""
        self.call("WebDriver:Navigate", {"url": "about:blank"})
        self.call("WebDriver:Navigate", {"url": url})

    def open(self, url):
        """Load a page and wait until it shows runs, or says why not."""
        self.show(url)
        self.wait("globalThis.tasksimPage || document.querySelector('.failed')")

    def evaluate(self, expression):
        """Return the value of an expression of JavaScript; promises are waited for."""
        script = (
            "const done = arguments[0];"
            f"(async () => ({expression}))().then((value) =>"
            " done({ value: JSON.stringify(value) ?? 'null' }),"
            " (error) => done({ error: `${error}\\n${error.stack}` }));"
        )
        given = {"script": script, "args": [], "sandbox": None}
        found = self.call("WebDriver:ExecuteAsyncScript", given)["value"]
        assert "error" not in found, found["error"]
        return json.loads(found["value"])

    def wait(self, expression):
        """Wait until an expression is true; return it."""
        until = time.monotonic() + PATIENCE_S
        while not (value := self.evaluate(f"Boolean({expression})")):
            assert time.monotonic() < until, f"never true: {expression}"
            time.sleep(0.02)
        return value

    def settle(self):
        """Wait until what was asked for is painted."""
        self.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def _act(self, *sources):
        self.call("WebDriver:PerformActions", {"actions": list(sources)})

    def _point(self, *actions):
        self._act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                   "actions": list(actions)})  # fmt: skip

    def _type(self, *actions):
        self._act({"type": "key", "id": "keys", "actions": [
            {"type": kind, "value": value} for kind, value in actions]})  # fmt: skip

    @contextlib.contextmanager
    def _holding(self, modifiers):
        if modifiers == SHIFT:
            self._type(("keyDown", SHIFT_KEY))
        yield
        if modifiers == SHIFT:
            self._type(("keyUp", SHIFT_KEY))

    def mouse(self, kind, x, y, deltaX=0, deltaY=0, modifiers=0, **_):
        """Move, press, release or turn the wheel: "Moved", "Pressed", "Released", "Wheel"."""
        x, y = round(x), round(y)
        with self._holding(modifiers):
            if kind == "Wheel":
                scroll = {"type": "scroll", "x": x, "y": y, "deltaX": deltaX, "deltaY": deltaY}
                self._act({"type": "wheel", "id": "wheel", "actions": [scroll]})
                return
            act = {"Pressed": "pointerDown", "Released": "pointerUp"}.get(kind)
            then = [{"type": act, "button": 0}] if act else []
            self._point({"type": "pointerMove", "x": x, "y": y}, *then)

    def click(self, x, y, modifiers=0):
        """Click with the left button."""
        for kind in ("Moved", "Pressed", "Released"):
            self.mouse(kind, x, y, modifiers=modifiers if kind == "Pressed" else 0)
        self.settle()

    def double_click(self, x, y):
        """Click twice, at once."""
        place = {"type": "pointerMove", "x": round(x), "y": round(y)}
        once = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        self._point(place, *once, *once)
        self.settle()

    def drag(self, start, end, modifiers=0):
        """Press at a place, move to another, release."""
        middle = [(a + b) / 2 for a, b in zip(start, end, strict=True)]
        with self._holding(modifiers):
            self.mouse("Pressed", *start)
            for place in (middle, end):
                self.mouse("Moved", *place)
            self.mouse("Released", *end)
        self.settle()

    def key(self, name, modifiers=0):
        """Press a key: a letter, or a name such as "Escape"."""
        value = KEYS.get(name, name)
        with self._holding(modifiers):
            self._type(("keyDown", value), ("keyUp", value))
        self.settle()

    def prefer(self, scheme="light", motion="no-preference"):
        """Let the system be "dark" or "light", and ask to "reduce" motion or not."""
        self._set("layout.css.prefers-color-scheme.content-override", int(scheme == "light"))
        self._set("ui.prefersReducedMotion", int(motion == "reduce"))

    def download_to(self, folder):
        """Save files in a folder, without asking."""
        self.privileged(
            "Services.prefs.setStringPref('browser.download.dir', arguments[0]);", str(folder)
        )

    def _set(self, name, value):
        self.privileged("Services.prefs.setIntPref(...arguments);", name, value)
