"""Another site in the same browser can do nothing here."""

import functools
import http.server
import threading

from place import demand, request

SECRET = "only for the app's own pages"
ATTACK = """<!doctype html><title>Another site</title><script>
const socket = address => new Promise(done => {
  const socket = new WebSocket(address);
  socket.onopen = () => done('open');
  socket.onerror = () => done('refused');
});
const read = (address, options) =>
  fetch(address, options).then(answer => answer.text(), () => 'refused');
const blind = (address, options) =>
  fetch(address, { ...options, mode: 'no-cors' }).then(answer => answer.type, () => 'refused');
const script = address => new Promise(done => {
  const element = document.createElement('script');
  element.src = address;
  element.onload = () => done('loaded');
  element.onerror = () => done('refused');
  document.head.append(element);
});
const frame = address => new Promise(done => {
  const element = document.createElement('iframe');
  element.src = address;
  element.onload = () => {
    try { done('read: ' + element.contentDocument.body.textContent); } catch (e) { done('refused'); }
    if (!element.contentDocument) done('refused');
  };
  document.documentElement.append(element);
});
</script>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def checks(suite):
    suite.check(
        "cross-site",
        "A page of another origin connects no WebSocket, polls nothing, confirms nothing, reads no file.",
        foreign_page)
    suite.check(
        "logout", "A logout of the API behind the server takes no cookie of the server's own away.", logout)
    suite.check(
        "rebinding", "A foreign name that resolves to this machine gets 421 for everything.", rebinding)


def served(suite, content):
    """A web server of another origin with one page; returns it and its port."""
    directory = suite.directory / "another-site"
    directory.mkdir(exist_ok=True)
    (directory / "index.html").write_text(content)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(directory)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_address[1]


def app(suite):
    store = suite.store()
    store.add(
        "v1", {"index.html": f"<p>{SECRET}</p>", "content.json": f'"{SECRET}"',
               "secret.js": f"window.secret = '{SECRET}';"}, activate=True)
    return store


def foreign_page(suite):
    store = app(suite)
    other, port = served(suite, ATTACK)
    with store.serve("--confirm-within", "60s") as server, suite.browser(
            "--host-resolver-rules=MAP another.example 127.0.0.1") as browser:
        person = browser.person()
        home = browser.tab(person)
        home.go(server.url)
        demand(SECRET in home.run("document.body.textContent"), "the app's own page is not shown")
        for origin in (f"http://localhost:{port}/", f"http://another.example:{port}/"):
            tab = browser.tab(person)
            tab.go(origin)
            for host in ("localhost", "127.0.0.1"):
                base = f"http://{host}:{server.port}"
                asked = {
                    "the WebSocket": f"socket('ws://{host}:{server.port}/_castree/bridge')",
                    "a greeting": f"read('{base}/_castree/bridge', {{method: 'POST', body: '5\\nH 1 -'}})",
                    "a poll": f"read('{base}/_castree/bridge?session={'0' * 32}&ack=0')",
                    "confirm": f"read('{base}/_castree/confirm', {{method: 'POST'}})",
                    "confirm with cookies":
                        f"read('{base}/_castree/confirm', {{method: 'POST', credentials: 'include'}})",
                    "the status": f"read('{base}/_castree/status')",
                    "the page": f"read('{base}/')",
                    "a file": f"read('{base}/content.json', {{credentials: 'include'}})",
                    "a frame's text": f"frame('{base}/')",
                }
                for what, script in asked.items():
                    got = tab.run(script)
                    demand(got == "refused", f"{origin} gets {what} of {base}: {got[:80]!r}")
                tab.run(f"blind('{base}/_castree/confirm', {{method: 'POST', credentials: 'include'}})")
                tab.run(f"blind('{base}/_castree/bridge', {{method: 'POST', body: '5\\nH 1 -'}})")
        demand(
            '"knownGood":[]' in store("lifecycle", "--json").replace(" ", "").replace("\n", ""),
            "another site has confirmed the version")
        demand(
            home.run("fetch('/_castree/confirm', {method: 'POST'}).then(a => a.status)") == 403,
            "a confirmation without a session is taken")
        demand(
            home.run(
                "fetch('/_castree/bridge', {method: 'POST', body: '5\\nH 1 -'}).then(a => a.text())"
                ".then(t => fetch('/_castree/confirm?session=' + t.split(' ')[2], {method: 'POST'}))"
                ".then(a => a.status)") == 204,
            "the app's own page cannot confirm")
    other.shutdown()


class Leaving(Quiet):
    def do_POST(self):
        self.send_response(200)
        self.send_header("Set-Cookie", "session=1; Path=/")
        self.send_header("Clear-Site-Data", self.path.partition("?")[2].replace("%22", '"'))
        self.send_header("Content-Length", "0")
        self.end_headers()


def logout(suite):
    store = app(suite)
    api = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Leaving)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    route = f"/api=http://127.0.0.1:{api.server_address[1]}"
    with store.serve("--token", "--proxy", route) as server, suite.browser() as browser:
        tab = browser.tab()
        tab.go(server.url)
        for data in ('"cookies"', '"*"', '"cache", "cookies"'):
            tab.run("localStorage.kept = 1")
            status = tab.run(f"fetch('/api/logout?{data}', {{method: 'POST'}}).then(a => a.status)")
            demand(status == 200, f"the logout is answered with {status}")
            tab.go(f"http://localhost:{server.port}/")
            demand(SECRET in tab.run("document.body.textContent"), f"after {data} the page is gone")
            kept = tab.run("localStorage.kept === undefined")
            demand(kept == (data == '"*"'), f"after {data} the app's data is gone: {kept}")
        suite.say("the page is there after three ways to log out")
    api.shutdown()


def rebinding(suite):
    store = app(suite)
    with store.serve() as server, suite.browser(
            "--host-resolver-rules=MAP rebound.example 127.0.0.1") as browser:
        tab = browser.tab()
        tab.go(f"http://rebound.example:{server.port}/")
        demand(SECRET not in tab.run("document.documentElement.textContent"), "the page is shown")
        for target in ("/", "/content.json", "/_castree/status", "/_castree/bridge.js"):
            got = tab.run(f"fetch('{target}').then(a => a.status)")
            demand(got == 421, f"{target} is answered with {got}")
        for target in ("/_castree/confirm", "/_castree/bridge"):
            got = tab.run(f"fetch('{target}', {{method: 'POST'}}).then(a => a.status)")
            demand(got == 421, f"POST {target} is answered with {got}")
        demand(
            tab.run(f"""new Promise(done => {{
                const socket = new WebSocket('ws://rebound.example:{server.port}/_castree/bridge');
                socket.onopen = () => done('open');
                socket.onerror = () => done('refused');
            }})""") == "refused", "a WebSocket is accepted")
        for host in (
                "rebound.example", f"rebound.example:{server.port}", "localhost.rebound.example",
                f"localhost:{server.port + 1}", f"127.0.0.2:{server.port}", "localhost@rebound.example",
                f"localhost:{server.port}.rebound.example"):
            status, _, body = request(server.port, "/content.json", host=host)
            demand(status in (400, 421), f"Host {host} is answered with {status}")
            demand(SECRET.encode() not in body, f"Host {host} reads the file")
