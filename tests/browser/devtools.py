"""Chromium without a window, told what to do through a pipe (the DevTools protocol)."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

_SECONDS = 30  # for an answer


def find_chromium():
    """The path of Debian's Chromium, or None."""
    return shutil.which("chromium")


class Browser:
    """One page. Use as a context manager."""

    def __init__(self, chromium):
        self._profile = tempfile.TemporaryDirectory()
        # The protocol wants descriptors 3 and 4; the pipes' own must not be these.
        to_browser, self._commands = os.pipe()
        self._answers, from_browser = os.pipe()
        high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)
                for descriptor in (to_browser, from_browser)]

        def place():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-background-networking",
             "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(3, 4), preexec_fn=place, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for descriptor in (to_browser, from_browser, *high):
            os.close(descriptor)
        self._received = b""
        self._count = 0
        self._session = None
        self.events = []
        target = next(target for target in self._ask("Target.getTargets")["targetInfos"]
                      if target["type"] == "page")
        self._session = self._ask("Target.attachToTarget", targetId=target["targetId"],
                                  flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        os.close(self._commands)
        os.close(self._answers)
        self._process.terminate()
        self._process.wait()
        self._profile.cleanup()

    def ask(self, method, **parameters):
        """What the page answers to a command."""
        return self._ask(method, **parameters)

    def _ask(self, method, **parameters):
        self._count += 1
        command = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._receive()
            if message.get("id") == self._count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def _receive(self):
        deadline = time.monotonic() + _SECONDS
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._answers], [], [], deadline - time.monotonic())
            part = os.read(self._answers, 1 << 16) if ready else b""
            if not part:
                raise RuntimeError("Chromium does not answer")
            self._received += part
        message, _, self._received = self._received.partition(b"\0")
        return json.loads(message)

    def show(self, path, width, height=900, scheme="light", scripts=True):
        """Opens a file, in a window of that size."""
        self.events.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme},
                           {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.ask("Page.navigate", url=f"file://{path}")
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, key, code, text=None):
        """Presses a key and lets it go."""
        down = {"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code}
        if text:
            down["text"] = text
        self.ask("Input.dispatchKeyEvent", **down)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=key,
                 windowsVirtualKeyCode=code)

    def complaints(self):
        """What the page said on the console, and the errors that it had."""
        return [json.dumps(event["params"]) for event in self.events
                if event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown",
                                       "Log.entryAdded")]

    def requests(self):
        """The addresses of everything that the page wanted."""
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]

    def screenshot(self, path, whole=False):
        answer = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))
