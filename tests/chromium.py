"""Chromium without a window, driven through a pair of pipes by its DevTools protocol."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time

PROGRAM = next(
    filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), ""
)
"""Path of the browser; empty if it is not installed."""
MISSING = "no Chromium here: apt-get install chromium"
PATIENCE_S = 60.0
"""For an answer; a busy machine takes seconds to start a browser."""
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update",
    "--remote-debugging-pipe", "--hide-scrollbars", "--force-color-profile=srgb",
]  # fmt: skip


CODES = {
    "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip
"""Numbers of keys, by which the browser acts itself."""
PLACE_PIPES = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
"""Becomes the browser, which reads from 3 and writes to 4."""


class Browser:
    """A browser with one page; what the page logs and loads is kept."""

    def __init__(self, folder, size=(1280, 720)):
        here, there = os.pipe(), os.pipe()
        # Neither may be 3 or 4 already.
        given = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (here[0], there[1])]
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-c", PLACE_PIPES, *map(str, given), PROGRAM, *FLAGS),
                f"--window-size={size[0]},{size[1]}",
                f"--user-data-dir={folder}",
            ],
            pass_fds=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in (*given, here[0], there[1]):
            os.close(fd)
        self._write, self._read = here[1], there[0]
        self._numbers, self._rest, self._answers = itertools.count(1), b"", {}
        self.problems: list[str] = []
        """Errors that the page logged or threw."""
        self.requests: list[str] = []
        """Addresses that the page loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = None
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = session["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(*size)

    _session = None

    def close(self):
        """End the browser."""
        self._session = None
        with contextlib.suppress(OSError, EOFError):  # it is gone already
            self.call("Browser.close")
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._write)
        os.close(self._read)

    def call(self, method, **parameters):
        """Return the answer of the browser to a command."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE_S
        while number not in self._answers:
            self._receive(until)
        answer = self._answers.pop(number)
        assert "error" not in answer, f"{method}: {answer.get('error')}"
        return answer["result"]

    def _receive(self, until):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._read, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self._rest += data
        text, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(text)
        if "id" in message:
            self._answers[message["id"]] = message
        else:
            self._event(message["method"], message["params"])

    def _event(self, method, found):
        if method == "Runtime.exceptionThrown":
            details = found["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and found["type"] in ("error", "assert"):
            self.problems.append(str(found["args"]))
        elif method == "Log.entryAdded" and found["entry"]["level"] == "error":
            self.problems.append(found["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(found["request"]["url"])

    def forget(self):
        """Forget problems and requests so far."""
        self.problems.clear()
        self.requests.clear()

    def resize(self, width, height):
        """Give the page a size in pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip

    def show(self, url):
        """Load a page."""
        self.call("Page.navigate", url="about:blank")  # an address that only differs in its hash
        self.call("Page.navigate", url=url)
        self.wait(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def open(self, url):
        """Load a page and wait until it shows runs, or says why not."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.wait("globalThis.tasksimPage || document.querySelector('.failed')")

    def evaluate(self, expression):
        """Return the value of an expression of JavaScript; promises are waited for."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                          awaitPromise=True, userGesture=True)  # fmt: skip
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

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

    def mouse(self, kind, x, y, **more):
        """Move, press, release or turn the wheel: "Moved", "Pressed", "Released", "Wheel"."""
        self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **more)

    def click(self, x, y, modifiers=0):
        """Click with the left button."""
        self.mouse("Moved", x, y)
        for kind in ("Pressed", "Released"):
            self.mouse(kind, x, y, button="left", clickCount=1, modifiers=modifiers)
        self.settle()

    def double_click(self, x, y):
        """Click twice, at once."""
        for count in (1, 2):
            for kind in ("Pressed", "Released"):
                self.mouse(kind, x, y, button="left", clickCount=count)
        self.settle()

    def drag(self, start, end, modifiers=0):
        """Press at a place, move to another, release."""
        self.mouse("Pressed", *start, button="left", clickCount=1, modifiers=modifiers)
        middle = [(a + b) / 2 for a, b in zip(start, end, strict=True)]
        for place in (middle, end):
            self.mouse("Moved", *place, button="left", buttons=1, modifiers=modifiers)
        self.mouse("Released", *end, button="left", clickCount=1, modifiers=modifiers)
        self.settle()

    def key(self, name, modifiers=0):
        """Press a key: a letter, or a name such as "Escape"."""
        text = {"text": name} if len(name) == 1 else {"text": "\r"} if name == "Enter" else {}
        code = CODES.get(name, 0)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, modifiers=modifiers,
                  windowsVirtualKeyCode=code, **text)  # fmt: skip
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, modifiers=modifiers)
        self.settle()

    def prefer(self, scheme="light", motion="no-preference"):
        """Let the system be "dark" or "light", and ask to "reduce" motion or not."""
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": motion},
        ]
        self.call("Emulation.setEmulatedMedia", features=features)

    def download_to(self, folder):
        """Save files in a folder, without asking."""
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
