"""What a page does behind a web server, by a real Chromium and, beside it, by the very requests that one sends.

The bridge over a WebSocket and over held requests, a confirmation, a file of which a part is asked for, and an API
behind `castree serve --proxy`: a POST larger than what proxies take by default, and a WebSocket.
"""

import base64
import contextlib
import hashlib
import http.server
import json
import re
import socket
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Tests/Browser"))

import devtools  # noqa: E402

Refused = devtools.Refused
NAME = "kiosk.example"
FILM = bytes(range(256)) * 64
LARGE = 3 << 20  # nginx takes 1 MiB unless it is told otherwise


def demand(holds, message):
    if not holds:
        raise Refused(message)


def kinds():
    """Each way of driving a page: its name, and what takes a directory and a port and says what held."""
    yield "requests", by_requests
    if devtools.program():
        yield "chromium", by_chromium


def write_app(directory, version):
    (directory / "index.html").write_text(
        f"<!doctype html><title>{version}</title><script src=/_castree/bridge.js></script><script>"
        "castree.bridge.addEventListener('open', event => { window.way = event.detail.transport; });"
        "castree.bridge.addEventListener('close', () => { window.isBroken = true; });</script>")
    (directory / "film.bin").write_bytes(FILM)


# --- The API behind the server


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers a POST with its length and the Host it came with, and a WebSocket with its first message."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        size = len(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"bytes": size, "origin": self.headers["Origin"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        accept = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode())
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept.digest()).decode())
        self.end_headers()
        opening = self.rfile.read(2)
        if len(opening) < 2:  # who asked wanted to know only whether it comes through
            return
        size = opening[1] & 127
        mask, masked = self.rfile.read(4), self.rfile.read(size)
        self.wfile.write(bytes((129, size)) + bytes(byte ^ mask[at % 4] for at, byte in enumerate(masked)))
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def api():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


# --- A real browser


def by_chromium(place, port):
    browser = devtools.Chromium(place / "profile", f"--host-resolver-rules=MAP {NAME} 127.0.0.1")
    home = f"http://{NAME}:{port}/"
    try:
        tab = browser.tab()
        tab.go(home)
        demand(tab.run("document.title") == "2", "the version that waits is not shown")
        demand(tab.wait("window.way") == "websocket", "the bridge does not get its WebSocket")
        demand(tab.run("castree.confirm()"), "the page cannot confirm")
        part = tab.run(
            "fetch('/film.bin', { headers: { Range: 'bytes=5-9' } })"
            ".then(async a => [a.status, ...new Uint8Array(await a.arrayBuffer())])")
        demand(part == [206, *FILM[5:10]], f"a range is answered with {part}")
        posted = tab.run(
            f"fetch('/api/echo', {{ method: 'POST', body: new Uint8Array({LARGE}) }})"
            ".then(a => a.ok ? a.json() : { status: a.status })")
        demand(posted.get("bytes") == LARGE, f"a POST to the API is answered with {posted}")
        heard = tab.run(
            "new Promise((done, fail) => { const s = new WebSocket(`ws://${location.host}/api/socket`);"
            "s.onopen = () => s.send('hello'); s.onmessage = e => done(e.data); s.onerror = () => done('refused'); })")
        demand(heard == "hello", f"the API's WebSocket: {heard}")
        poll = browser.tab()
        poll.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.WebSocket")
        poll.go(home)
        demand(poll.wait("window.way") == "poll", "the bridge does not get through without a WebSocket")
        demand(poll.run("castree.confirm()"), "a page that polls cannot confirm")
        # A burst as pages send it, above what one held request carries.
        poll.run("for (let i = 0; i < 3; i++) castree.bridge.send('x'.repeat(1 << 20))")
        # The next confirmation goes behind it, on the same connections.
        demand(poll.run("castree.confirm()"), "a page that has sent a burst cannot confirm")
        demand(not poll.run("window.isBroken"), "a burst of messages breaks the bridge")
        demand(not poll.problems, f"the page has problems: {poll.problems}")
    finally:
        browser.close()
    return "Chromium: page, bridge both ways, confirm, range, POST and WebSocket of an API"


# --- The same by its requests


def by_requests(_, port):
    home = f"http://{NAME}:{port}"
    status, fields, body = ask(
        port, "/", Accept="text/html", **{"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document",
                                          "Sec-Fetch-Site": "none"})
    demand(status == 200 and b"<title>2<" in body, f"the page is answered with {status}")
    # As the browser names its page from here on.
    page = {"Cookie": (fields["Set-Cookie"] or "").split(";")[0], "Referer": home + "/", "Sec-Fetch-Site": "same-origin"}
    status, _, _ = ask(port, "/_castree/bridge.js", **page)
    demand(status == 200, f"the bridge's script is answered with {status}")
    head = upgrade(port, "/_castree/bridge", home)
    demand(head.startswith(b"HTTP/1.1 101"), f"the bridge's WebSocket is answered with {head[:60]!r}")
    page["Origin"] = home
    status, _, body = ask(port, "/_castree/bridge", b"5\nH 1 -", **page)
    welcome = re.search(rb"W 1 (\S+)", body)
    demand(status == 200 and welcome, f"the bridge's POST is answered with {status}")
    session = welcome[1].decode()
    status, fields, _ = ask(port, f"/_castree/confirm?session={session}", b"", **page)
    demand(status in (200, 204), f"a confirmation is answered with {status}")
    status, _, body = ask(port, "/film.bin", **page, Range="bytes=5-9")
    demand(status == 206 and body == FILM[5:10], f"a range is answered with {status}")
    status, _, body = ask(port, "/api/echo", bytes(LARGE), **page)
    demand(status == 200 and json.loads(body)["bytes"] == LARGE, f"a POST to the API is answered with {status}")
    head = upgrade(port, "/api/socket", home)
    demand(head.startswith(b"HTTP/1.1 101"), f"the API's WebSocket is answered with {head[:60]!r}")
    return "by requests as well"


def ask(port, path, body=None, **fields):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", body, headers={"Host": f"{NAME}:{port}", **fields})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def upgrade(port, path, origin):
    """The beginning of the answer to a WebSocket's request."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {NAME}:{port}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            .encode())
        return connection.recv(4096)
