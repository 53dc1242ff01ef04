"""A kiosk: a web server with an origin, castree serve --updates, and somebody who looks at the page."""

import contextlib
import functools
import http.cookiejar
import http.server
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from showing import Failure, demand, say, styled

PATIENCE = 60  # seconds until something must have happened


# --- A web server.


class Files(http.server.SimpleHTTPRequestHandler):
    """Plain files with entity tags, as any web server gives them away; counts what it sends."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return self.send_error(404)
        content = path.read_bytes()
        tag = f'"{len(content)}-{path.stat().st_mtime_ns}"'
        is_kept = self.headers.get("If-None-Match") == tag
        self.send_response(304 if is_kept else 200)
        self.send_header("ETag", tag)
        if not is_kept:
            self.send_header("Content-Type", self.guess_type(str(path)))
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if not is_kept:
            self.wfile.write(content)
            self.server.count(len(content))


class Origin(http.server.ThreadingHTTPServer):
    """Gives a directory away on loopback."""

    daemon_threads = True

    def __init__(self, directory):
        super().__init__(("127.0.0.1", 0), functools.partial(Files, directory=str(directory)))
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.lock = threading.Lock()
        self.sent = (0, 0)

    def count(self, byte_count):
        with self.lock:
            self.sent = (self.sent[0] + 1, self.sent[1] + byte_count)

    def handle_error(self, request, client_address):
        """A client that ends in the middle of an answer is none; anything else is told."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


# --- The kiosk.


class Kiosk:
    """castree serve --updates, and the lines in which it says what it does."""

    def __init__(self, castree, options):
        self.castree = castree
        self.lines = []
        self.heard = threading.Condition()
        words = ["castree", "--store", castree.env["CASTREE_STORE"], "serve", *options]
        say("  " + styled("$ " + shlex.join(words), "36"))
        self.process = subprocess.Popen(
            [str(castree.program), *words[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace")
        reader = threading.Thread(target=self.read, daemon=True)
        reader.start()
        line = self.process.stdout.readline()
        address = re.search(r"http://[^\s;]+", line)
        if address is None:
            self.end()
            reader.join(PATIENCE)
            raise Failure("castree serve did not start: " + " ".join(self.lines or [line or "it said nothing"]))
        self.url = address.group()

    def read(self):
        for line in self.process.stderr:
            with self.heard:
                self.lines.append(line.strip().removeprefix("castree: "))
                # That it switched is in the lines about its start, too.
                if " is current now" not in line:
                    say("    " + line.strip())
                self.heard.notify_all()
        with self.heard:
            self.heard.notify_all()

    def hear(self, words, does=lambda: None):
        """Waits for a line with these words; calls `does` again and again meanwhile."""
        deadline = time.monotonic() + PATIENCE
        while True:
            with self.heard:
                if any(words in line for line in self.lines):
                    return
                has_ended = self.process.poll() is not None
                trouble = next((line for line in self.lines if line.startswith("unable to")), None)
                self.heard.wait(0.1)
            demand(trouble is None, f"the kiosk is {trouble}")
            demand(not has_ended, f"castree serve ended with status {self.process.poll()}")
            demand(time.monotonic() < deadline,
                   f"the kiosk did not say \"{words}\" within {PATIENCE} seconds; it said: "
                   + ("; ".join(self.lines) or "nothing"))
            does()

    @property
    def shown_version(self):
        with opened(urllib.request.Request(self.url + "_castree/status")) as answer:
            return json.load(answer)["version"]

    def shows(self, version):
        """Waits until it shows a version: it tells of a switch a moment before it is one."""
        deadline = time.monotonic() + PATIENCE
        while (shown := self.shown_version) != version:
            demand(time.monotonic() < deadline, f"the kiosk shows {shown}, not {version}")
            time.sleep(0.05)

    def end(self):
        """Ends it in order; returns its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def opened(request, *handlers):
    # No proxy of the surroundings stands between this machine and itself.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), *handlers)
    return opener.open(request, timeout=20)


# --- Who looks at the page.


class Browser:
    """A headless Chromium with one tab: its page confirms, and loads itself again, by itself."""

    NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    name = "Chromium"

    def __init__(self, program):
        self.program = program
        self.process = None
        self.profile = tempfile.mkdtemp(prefix="castree-run-")

    @classmethod
    def program(cls):
        return next(filter(None, map(shutil.which, cls.NAMES)), None)

    def look(self, url, confirms):
        """Opens the page, once; what it does then is its own affair."""
        if self.process is None:
            self.process = subprocess.Popen(
                [self.program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                 "--remote-debugging-port=0", f"--user-data-dir={self.profile}", url],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        demand(self.process.poll() is None,
               f"{self.program} ended with status {self.process.poll()}; --no-browser goes without")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Requests:
    """The requests that a page makes, without a page: a navigation, then a confirmation (docs/bridge-protocol.md)."""

    name = "requests in place of a browser"

    def __init__(self):
        self.cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.page = None

    def ask(self, url, data=None, **fields):
        try:
            return opened(urllib.request.Request(url, data, fields), self.cookies)
        except urllib.error.HTTPError as error:
            error.msg = f"{error.msg} ({url.partition('?')[0]})"
            raise

    def look(self, url, confirms):
        """Loads the page; confirms that it works unless it is a page that never would."""
        with self.ask(url, Accept="text/html") as answer:
            self.page = answer.read()
        if not confirms:
            return
        own = {"Origin": url.rstrip("/"), "Referer": url}
        with self.ask(url + "_castree/bridge", b"5\nH 1 -", **own) as answer:
            session = re.search(rb"W 1 ([0-9a-f]{32})", answer.read())
        demand(session, "the bridge began no session")
        query = "?session=" + session.group(1).decode()
        try:
            self.ask(url + "_castree/confirm" + query, b"", **own).close()
        except urllib.error.HTTPError as error:
            # 409: another version has been started meanwhile, or this one was left; the next look will tell.
            demand(error.code == 409, f"the confirmation was answered {error.code}")
        self.ask(url + "_castree/bridge" + query, b"1\nC", **own).close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def viewer(without_browser):
    program = None if without_browser else Browser.program()
    return Browser(program) if program else Requests()
