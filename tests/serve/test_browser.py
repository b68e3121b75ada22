"""The board in a real browser, where one is installed: by keyboard, on a phone, in the dark, with names that attack it."""

import contextlib
import json
import os
import shutil
import subprocess
import time

import pytest

from bandstrap import live
from bandstrap.live.store import Store
from bandstrap.serve.app import make_app
from bandstrap.serve.board import make_board
from bandstrap.serve.hub import Hub, ServiceOptions
from bandstrap.serve.tokens import create_token
from serve.serving import serving

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"><svg onload=alert(3)>',
    "javascript:alert(4)",
]


class AnotherPage(Exception):
    """The page that was asked is gone."""


class Browser:
    """Chromium without a window, asked by its DevTools protocol through two pipes."""

    def __init__(self, folder):
        ours, theirs = os.pipe(), os.pipe()  # what it reads, and what it writes
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        command += [f"--user-data-dir={folder}", "--no-first-run", "about:blank"]

        def place():
            """It reads from 3 and writes to 4."""
            kept = os.dup(theirs[1])
            os.dup2(ours[0], 3)
            os.dup2(kept, 4)

        self.process = subprocess.Popen(
            command, preexec_fn=place, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.write, self.read = os.fdopen(ours[1], "wb"), os.fdopen(theirs[0], "rb")
        self.number, self.session, self.events, self.left = 0, None, [], b""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        message |= {"sessionId": self.session} if self.session else {}
        self.write.write(json.dumps(message).encode() + b"\0")
        self.write.flush()
        while True:
            while b"\0" not in self.left:
                part = self.read.read1(65536)
                assert part, "the browser ended"
                self.left += part
            text, _, self.left = self.left.partition(b"\0")
            found = json.loads(text)
            if found.get("id") == self.number:
                if "navigated" in found.get("error", {}).get("message", ""):
                    raise AnotherPage
                assert "error" not in found, found
                return found["result"]
            self.events.append(found)

    def run(self, code):
        found = self.ask("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, code):
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(AnotherPage):
                if self.run(code):
                    return
            assert time.monotonic() < deadline, code
            time.sleep(0.05)

    def open(self, address):
        self.ask("Page.navigate", url=address)
        self.until(f"location.href === {json.dumps(address)} && document.readyState === 'complete'")

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def look(self, width, scheme):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def spoken(self):
        """Roles and names, as a screen reader is told them."""
        nodes = self.ask("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]

    def complaints(self):
        """What was logged as an error, thrown, or shown by alert()."""
        names = ("Runtime.exceptionThrown", "Page.javascriptDialogOpening")
        logged = [event for event in self.events if event.get("method") == "Log.entryAdded"]
        bad = [event["params"]["entry"] for event in logged if event["params"]["entry"]["level"] == "error"]
        return bad + [event for event in self.events if event.get("method") in names]

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.write.close()
        self.read.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def shop(tmp_path):
    target = str(tmp_path / "shop.db")
    for name in ("checkout", *ATTACKS):
        live.create(target, name, policy="ucb1", arms=["red", *ATTACKS], seed=7, refresh=0, actor=ATTACKS[1]).close()
    with live.open(target, "checkout") as experiment:
        made = experiment.decide_many([ATTACKS[0]] * 200)
        experiment.reward_many([(one.id, i % 2) for i, one in enumerate(made)])
        experiment.change(floor=0.05, actor=ATTACKS[0])
    return target


def test_the_board_is_used_by_keyboard_on_any_screen(browser, shop):
    hub = Hub(ServiceOptions(shop))
    hub.open(create=False)
    with serving(make_board(hub)) as client:
        home = f"{client.base_url}/ui/".replace("//ui", "/ui")
        colours = set()
        for width in (1280, 390):
            for scheme in ("light", "dark"):
                browser.look(width, scheme)
                for address in (home, home + "experiments/checkout"):
                    browser.open(address)
                    assert browser.run("document.documentElement.scrollWidth <= innerWidth"), (width, address)
                    if address == home:  # nothing of the list is out of sight
                        table = "document.querySelector('.wide')"
                        assert browser.run(f"{table}.scrollWidth <= {table}.clientWidth"), width
                colours.add(browser.run("getComputedStyle(document.body).backgroundColor"))
        assert len(colours) == 2
        spoken = browser.spoken()
        assert {"main", "navigation"} <= {role for role, _ in spoken}
        assert [name for role, name in spoken if role == "heading"][:2] == ["checkout", "Readout"]
        assert all(name for role, name in spoken if role in ("region", "image", "link", "button"))
        browser.open(home)
        assert ("region", "All experiments") in browser.spoken()
        places = []
        for _ in range(6):
            browser.press("Tab", 9)
            places.append(browser.run("document.activeElement.textContent.trim().slice(0, 40)"))
        names = sorted(["checkout", *ATTACKS])
        assert places[1:] == names
        assert browser.run("getComputedStyle(document.activeElement).outlineStyle") != "none"
        for _ in range(5 - names.index("checkout") - 1):
            browser.ask("Input.dispatchKeyEvent", type="keyDown", key="Tab", windowsVirtualKeyCode=9, modifiers=8)
        # The page brings itself up to date, and what has the focus keeps it.
        with live.open(shop, "checkout") as experiment:
            experiment.decide_many([None] * 34)
        deadline = time.monotonic() + 60
        while "234" not in browser.run("renew().then(() => document.body.textContent)"):
            assert time.monotonic() < deadline
        assert browser.run("document.activeElement.textContent") == "checkout"
        # A page that cannot be brought up to date says so, until it can.
        notice = "renew().then(() => document.querySelector('[role=alert]')?.textContent ?? '')"
        browser.run("window.fetched = window.fetch; window.fetch = () => Promise.reject(new Error('down')); 0")
        assert (
            browser.run(notice)
            == browser.run(notice)
            == ("Not up to date: the service does not answer. Reload the page to try again.")
        )
        browser.run("window.fetch = () => Promise.resolve({ ok: false, status: 401 }); 0")
        assert "the token is not valid any more" in browser.run(notice)
        browser.run("window.fetch = window.fetched; 0")
        assert browser.run(notice) == ""
        browser.run("[...document.querySelectorAll('a')].find((a) => a.textContent === 'checkout').focus()")
        browser.press("Enter", 13)
        browser.until("document.querySelector('h1')?.textContent === 'checkout'")
        assert browser.complaints() == []


def test_a_reader_signs_in_and_out(browser, shop):
    with Store.open(shop) as store:
        token = create_token(store, "read")
    with serving(make_app(ServiceOptions(shop))) as client:
        browser.events.clear()
        home = f"{client.base_url}/ui/".replace("//ui", "/ui")
        browser.open(home)
        assert ("textbox", "Token with the scope read") in browser.spoken()
        browser.run("document.querySelector('input').focus()")
        browser.ask("Input.insertText", text=token)
        browser.press("Enter", 13)
        browser.until("document.querySelector('h1')?.textContent === 'Experiments'")
        assert browser.run("document.cookie") == ""
        assert browser.run("document.querySelectorAll('tbody tr').length") == 5
        browser.run("document.querySelector('form.leave button').click()")
        browser.until("document.querySelector('h1')?.textContent === 'Sign in'")
        unauthorised = [one for one in browser.complaints() if "401" not in json.dumps(one)]
        assert unauthorised == []
