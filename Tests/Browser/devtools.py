"""A headless Chromium, driven over the DevTools protocol with the standard library only.

The protocol is JSON over one WebSocket (https://chromedevtools.github.io/devtools-protocol/); tabs are
sessions on it ("flat" mode). The WebSocket client speaks what RFC 6455 asks of one and no more.
"""

import base64
import json
import os
import queue
import shutil
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def program():
    """Where Chromium is; None if it is not there. $CHROMIUM names another one."""
    given = os.environ.get("CHROMIUM")
    if given:
        return shutil.which(given)
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Refused(Exception):
    """Chromium did not do as told, or a page's script threw."""


class Socket:
    """One WebSocket, as its client: text messages out, text messages in."""

    def __init__(self, port, path):
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.stream.settimeout(None)
        key = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
            .encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise Refused(f"no DevTools connection: {head[:100]!r}")

    def more(self):
        received = self.stream.recv(1 << 16)
        if not received:
            raise ConnectionError("Chromium has closed the DevTools connection")
        self.buffer += received

    def take(self, count):
        while len(self.buffer) < count:
            self.more()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def receive(self):
        """The next message."""
        message = b""
        while True:
            first, second = self.take(2)
            size = second & 127
            if size == 126:
                (size,) = struct.unpack(">H", self.take(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self.take(8))
            payload = self.take(size)
            kind = first & 15
            if kind == 8:
                raise ConnectionError("Chromium has closed the DevTools connection")
            if kind < 8:
                message += payload
                if first & 128:
                    return message.decode()

    def send(self, text):
        payload, mask = text.encode(), os.urandom(4)
        size = len(payload)
        if size < 126:
            head = struct.pack(">BB", 129, 128 | size)
        elif size < 1 << 16:
            head = struct.pack(">BBH", 129, 128 | 126, size)
        else:
            head = struct.pack(">BBQ", 129, 128 | 127, size)
        key = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
        masked = (int.from_bytes(payload, "big") ^ key).to_bytes(size, "big")
        self.stream.sendall(head + mask + masked)


class Chromium:
    """A running browser with a profile of its own."""

    def __init__(self, directory, *options):
        self.profile = Path(directory)
        self.profile.mkdir(parents=True, exist_ok=True)
        # Of an earlier run with this profile: it names a port that nobody has any more.
        (self.profile / "DevToolsActivePort").unlink(missing_ok=True)
        self.log = open(self.profile / "chromium.log", "wb")
        self.process = subprocess.Popen(
            [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-component-update",
             "--autoplay-policy=no-user-gesture-required", "--mute-audio",
             "--remote-debugging-port=0", f"--user-data-dir={self.profile}", *options,
             "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.ids, self.answers, self.tabs = iter(range(1, 1 << 60)), {}, {}
        self.lock = threading.Lock()
        self.socket = Socket(*self.address())
        threading.Thread(target=self.read, daemon=True).start()

    def address(self):
        file = self.profile / "DevToolsActivePort"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            lines = file.read_text().split("\n") if file.exists() else []
            if len(lines) >= 2:
                return int(lines[0]), lines[1].strip()
            time.sleep(0.05)
        raise Refused(f"Chromium did not start; see {self.log.name}")

    def read(self):
        try:
            while True:
                message = json.loads(self.socket.receive())
                if "id" in message:
                    waiting = self.answers.pop(message["id"], None)
                    if waiting:
                        waiting.put(message)
                else:
                    tab = self.tabs.get(message.get("sessionId"))
                    if tab:
                        tab.heard(message["method"], message["params"])
        except (ConnectionError, OSError):
            for waiting in list(self.answers.values()):
                waiting.put({"error": {"message": "Chromium is gone"}})

    def call(self, method, session=None, within=60, **parameters):
        """Calls a method and returns its result."""
        waiting = queue.Queue()
        message = {"method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        with self.lock:
            message["id"] = next(self.ids)
            self.answers[message["id"]] = waiting
            self.socket.send(json.dumps(message))
        try:
            answer = waiting.get(timeout=within)
        except queue.Empty:
            raise Refused(f"{method} was not answered within {within} s") from None
        if "error" in answer:
            raise Refused(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def person(self):
        """A browser context: cookies, caches and storage of its own, as another user has them."""
        return self.call("Target.createBrowserContext")["browserContextId"]

    def tab(self, person=None):
        """A new tab."""
        where = {"browserContextId": person} if person else {}
        target = self.call("Target.createTarget", url="about:blank", **where)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Tab(self, target, session)

    def close(self):
        try:
            self.call("Browser.close", within=10)
            self.process.wait(15)
        except (Refused, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.log.close()


class Tab:
    """A tab: goes to pages, runs scripts in them, hears what they load."""

    def __init__(self, browser, target, session):
        self.browser, self.target, self.session = browser, target, session
        self.changed = threading.Condition()
        self.responses, self.problems, self.loads = [], [], 0
        # What a console would show in red or yellow; the log is heard once "Log.enable" was called.
        self.complaints, self.dialogs = [], []
        browser.tabs[session] = self
        for domain in ("Page", "Network", "Runtime"):
            self.call(domain + ".enable")

    def call(self, method, within=60, **parameters):
        return self.browser.call(method, self.session, within, **parameters)

    def heard(self, method, parameters):
        with self.changed:
            if method == "Page.loadEventFired":
                self.loads += 1
            elif method == "Network.responseReceived":
                self.responses.append(parameters)
            elif method == "Runtime.exceptionThrown":
                self.problems.append(parameters["exceptionDetails"])
            elif method == "Runtime.consoleAPICalled":
                if parameters["type"] in ("error", "warning", "assert"):
                    self.complaints.append(parameters["args"])
            elif method == "Log.entryAdded":
                if parameters["entry"]["level"] in ("error", "warning"):
                    self.complaints.append(parameters["entry"]["text"])
            elif method == "Page.javascriptDialogOpening":
                self.dialogs.append(parameters["message"])
            self.changed.notify_all()

    def go(self, address, within=30):
        """Goes to a page and waits until it has loaded; a reload if it is the page's own address."""
        self.leave_for(lambda: self.call("Page.navigate", url=address), within)

    def reload(self, within=30):
        self.leave_for(lambda: self.call("Page.reload"), within)

    def back(self, within=30):
        """Goes back in the tab's history, and waits until the page has loaded."""
        history = self.call("Page.getNavigationHistory")
        entry = history["entries"][history["currentIndex"] - 1]
        self.leave_for(lambda: self.call("Page.navigateToHistoryEntry", entryId=entry["id"]), within)

    def follow(self, expression, within=30):
        """Runs a script that makes the page go somewhere, and waits until it has loaded."""
        self.leave_for(lambda: self.run(expression), within)

    def leave_for(self, act, within):
        with self.changed:
            before = self.loads
        answer = act()
        if isinstance(answer, dict) and answer.get("errorText"):
            raise Refused(answer["errorText"])
        with self.changed:
            if not self.changed.wait_for(lambda: self.loads > before, within):
                raise Refused(f"the page had not loaded within {within} s")

    def run(self, expression, within=60):
        """The value of an expression in the page; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", within, expression=expression, awaitPromise=True,
            returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Refused(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, expression, within=30):
        """Waits until an expression is true in the page, and returns its value."""
        deadline = time.monotonic() + within
        while True:
            try:
                value = self.run(expression)
            except Refused as refusal:
                # The page goes somewhere while it is asked.
                if "navigated or closed" not in str(refusal) and "context was destroyed" not in str(refusal):
                    raise
                value = None
            if value:
                return value
            if time.monotonic() > deadline:
                raise Refused(f"after {within} s still not true: {expression}")
            time.sleep(0.05)

    def screenshot(self, path):
        picture = self.call("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(picture))

    def resize(self, width, height, theme="light"):
        """A window of another size, on a system that prefers light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=width < 600)
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": theme}])

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            count = 0 if kind == "mouseMoved" else 1
            self.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, clickCount=count,
                button="left" if count else "none")

    def press(self, key, code=0):
        """A key by its DOM name, and its Windows key code where Chromium wants one."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def close(self):
        self.browser.tabs.pop(self.session, None)
        self.browser.call("Target.closeTarget", targetId=self.target)
