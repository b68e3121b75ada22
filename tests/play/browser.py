"""A headless Chromium, spoken to through a pipe in its own protocol: no driver is needed."""

import json
import os
import select
import shutil
import subprocess
import sys
import time

# Chromium reads from file descriptor 3 and writes to 4; copies go beyond both first, so that neither overwrites the other.
LAUNCHER = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium():
    """Where it is installed, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for path in map(shutil.which, names) if path), None)


class Page:
    """A page of its own in a browser of its own."""

    def __init__(self, chromium, profile):
        from_page, self._write = os.pipe()
        self._read, to_page = os.pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions"]
        options += ["--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(from_page), str(to_page), chromium, *options],
            pass_fds=(from_page, to_page),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(from_page)
        os.close(to_page)
        self._buffer = b""
        self._last_id = 0
        self._session = None
        self.complaints = []
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **params):
        """The answer to a command of the protocol."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next(time.monotonic() + 300)
            if answer.get("id") == self._last_id:
                assert "error" not in answer, answer
                return answer["result"]
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.complaints.append(answer["params"])

    def _next(self, deadline):
        while b"\0" not in self._buffer:
            assert select.select([self._read], [], [], max(deadline - time.monotonic(), 0))[0], (
                "Chromium does not answer"
            )
            read = os.read(self._read, 1 << 16)
            assert read, "Chromium has ended"
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, script, seconds=60.0):
        """Wait until an expression in the page is true; returns its value."""
        deadline = time.monotonic() + seconds
        while not (value := self.run(script)):
            assert time.monotonic() < deadline, f"never came true: {script}"
            time.sleep(0.05)
        return value

    def open(self, address, width=1280, height=900, **features):
        """Load an address anew in a window of a size; ``features`` are media features, _ for -."""
        told = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.ask("Emulation.setEmulatedMedia", features=told)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        self.ask("Page.navigate", url="about:blank")
        self.wait_for("location.href === 'about:blank' && document.readyState === 'complete'")
        self.complaints.clear()
        self.ask("Page.navigate", url=address)
        self.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'")

    def press(self, key, text=None):
        """Press a key and let it go."""
        told = {"key": key, "text": text} if text else {"key": key}
        told |= {"windowsVirtualKeyCode": {"Tab": 9, "Enter": 13, "ArrowRight": 39}.get(key, 0)}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **told)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **told)

    def close(self):
        """End the browser."""
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
