"""Another site in the same browser can do nothing here."""

import functools
import http.server
import threading
import urllib.parse

import workers
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
        "linked", "A kiosk that another site's page led to gets the version that waits by F5, and strangers get none banned.",
        linked)
    suite.check(
        "lost-token", "A kiosk whose token's cookie another port deletes or replaces comes back by itself.", lost_token)
    suite.check(
        "lost-token-worker", "A kiosk whose worker answers navigations comes back when its token's cookie is gone or renewed.",
        lost_token_worker)
    suite.check(
        "rendered", "A page that another server renders has files of one version, and the app in its frame is updated.",
        rendered)
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


def versions(suite, page="<script>castree.confirm().then(x => window.good = x)</script>"):
    """Two versions of an app that confirms; the first is known good, the second waits for nothing yet."""
    store = suite.store()
    for name in ("v1", "v2"):
        store.add(name, {
            "index.html": "<script src=/_castree/bridge.js></script><script src=/a.js></script>" + page,
            "a.js": f"window.a = '{name}'", "b.js": f"window.b = '{name}'", "other.html": f"<p>{name}</p>"})
    store("activate", "v1")
    return store


def confirmed(store, tab, name):
    tab.wait("window.good === true")
    demand(tab.run("a") == name, f"the page is of {tab.run('a')}, not of {name}")
    good = store("lifecycle", "--json").replace(" ", "").replace("\n", "")
    demand(f'"knownGood":["{name}"' in good, f"{name} is not known good: {good}")


class Stranger(Quiet):
    """Leads to the app: by a link, and by an answer to a reload. Its own answers set any cookie, if they are told to."""

    def do_GET(self):
        path, _, told = self.path.partition("?")
        aim = self.server.aim
        if path == "/again" and self.headers.get("Cache-Control"):
            self.send_response(302)
            self.send_header("Location", aim)
            self.end_headers()
            return
        body = f"<title>Stranger</title><a id=a href='{aim}'>app</a>".encode()
        self.send_response(200)
        for field in urllib.parse.unquote(told).split("|"):
            if field:
                self.send_header(*field.split(": ", 1))
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def stranger(aim):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    server.aim = aim
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_address[1]


def linked(suite):
    store = versions(suite)
    with store.serve("--confirm-within", "20s") as server, suite.browser(
            "--host-resolver-rules=MAP another.example 127.0.0.1") as browser:
        other, port = stranger(f"http://localhost:{server.port}/")
        tab = browser.tab()
        tab.go(f"http://another.example:{port}/")
        tab.go(f"http://localhost:{server.port}/")
        confirmed(store, tab, "v1")
        tab.go(f"http://another.example:{port}/")
        tab.follow("document.getElementById('a').click()")
        tab.wait("window.good === true")
        store("activate", "v2", "--at-next-boot")
        tab.reload()
        confirmed(store, tab, "v2")
        suite.say("F5 has brought the version that waited")
        other.shutdown()
    store = versions(suite, page="")
    with store.serve("--confirm-within", "2s") as server, suite.browser(
            "--host-resolver-rules=MAP another.example 127.0.0.1") as browser:
        other, port = stranger(f"http://localhost:{server.port}/")
        home = browser.tab()
        home.go(f"http://localhost:{server.port}/")
        demand(home.run("castree.confirm()"), "v1 is not confirmed")
        store("activate", "v2", "--at-next-boot")
        for _ in range(4):
            tab = browser.tab()
            tab.go(f"http://another.example:{port}/again")
            tab.follow("location.reload()")
            tab.run("castree.bridge && 1")
            tab.close()
            server.said("v2 was rolled back", 4)
        state = store("lifecycle", "--json").replace(" ", "").replace("\n", "")
        # A tab that is closed does not always say farewell: then it is hidden for minutes, and its start goes on.
        goes_on = '"current":"v2"' in state and '"strikes":1' in state
        demand(
            '"bad":[]' in state and (goes_on or '"trials"' not in state and '"pending":"v2"' in state),
            f"strangers: {state}")
        home.reload()
        demand(home.run("castree.confirm()") and home.run("a") == "v2", "the app's own reload does not bring v2")
        other.shutdown()


def lost_token(suite):
    store = versions(suite)
    with store.serve("--token", "--confirm-within", "20s") as server, suite.browser(
            "--host-resolver-rules=MAP another.example 127.0.0.1") as browser:
        other, port = stranger(f"http://localhost:{server.port}/")
        tab = browser.tab()
        tab.go(server.url)
        confirmed(store, tab, "v1")
        tab.wait("localStorage.castreeToken")
        plain, name = f"http://localhost:{server.port}/", f"castree_token_{server.port}"
        tab.go(plain + "#here")
        for field in (f"Set-Cookie: {name}=; Max-Age=0; Path=/", f"Set-Cookie: {name}=x; Path=/",
                      'Clear-Site-Data: "cookies"', 'Clear-Site-Data: "*"'):
            aside = browser.tab()
            aside.go(f"http://localhost:{port}/?{urllib.parse.quote(field)}")
            aside.close()
            demand(tab.run("fetch('/a.js').then(x => x.status)") == 403, f"{field} takes nothing away")
            tab.reload()
            tab.wait("window.a")
            demand(tab.run("location.href") == plain + "#here", f"the address is {tab.run('location.href')}")
            demand(tab.run("fetch('/a.js').then(x => x.status)") == 200, f"after {field} the page is not let in")
        # Nobody is led past SameSite=Strict: where another page leads here, a person goes on.
        browser.call("Storage.clearCookies")
        for host in ("localhost", "another.example"):
            tab.go(f"http://{host}:{port}/")
            tab.follow("document.getElementById('a').click()")
            demand("only to the app" in tab.run("document.body.textContent"), f"{host} leads past the token")
            demand(not tab.run("document.scripts.length"), f"{host} leads past the token by a script")
        tab.follow("document.links[0].click()")
        tab.wait("window.a")
        # One that never had the token gets nothing, nor one whose token is not valid any more.
        tab.go(plain + "other.html")  # without the bridge, which would put the right one there again
        tab.run(f"localStorage.castreeToken = '{name}=' + '0'.repeat(32)")
        browser.call("Storage.clearCookies")
        for each in (browser.tab(browser.person()), tab):
            each.go(plain)
            demand("only to the app" in each.run("document.body.textContent"), "a stranger is let in")
        tab.wait("!localStorage.castreeToken")
        other.shutdown()


def lost_token_worker(suite):
    store = suite.store()
    store.add("v1", workers.site("v1", workers.KEEPING), activate=True)
    asked = "fetch('/index.html?' + Math.random()).then(answer => answer.status)"
    options = ("--app-id", str(store.path), "--next-port", "--confirm-within", "20s")
    with suite.browser() as browser:
        tab = browser.tab()
        with store.serve("--token", *options) as server:
            workers.register(tab, server.url)
            tab.wait("localStorage.castreeToken")
            server.stop()
        with store.serve("--new-token", *options) as server:
            tab.reload()
            demand(tab.run(asked) == 403, "the old token is taken")
            demand(server.said("open the address with the token"), f"nothing is said: {server.notices}")
            tab.go(server.url)
            demand(tab.run("navigator.serviceWorker.controller && window.version") == "v1", "no worker shows the page")
            tab.wait("window.isOpen")
            demand(tab.run(asked) == 200, "the new address does not let the page in")
            browser.call("Storage.clearCookies")
            tab.go(server.url.split("?")[0])
            tab.wait("window.isOpen")
            demand(tab.run(asked) == 200, "after a lost cookie the page is not let in")


class Rendering(Quiet):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        tags = {"script": "<script src=/_castree/bridge.js></script><script src=/a.js></script>",
                "frame": "<iframe src=/></iframe>"}
        body = ("<!doctype html><title>Rendered</title>" + tags.get(query, "")).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def rendered(suite):
    upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Rendering)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    route = f"/shop=http://127.0.0.1:{upstream.server_address[1]}"
    load = "new Promise(done => { const s = document.createElement('script'); s.src = '/b.js'; s.onload = " \
        "() => done(window.b); s.onerror = () => done('refused'); document.head.append(s); })"
    store = versions(suite)
    with store.serve("--proxy", route) as server, suite.browser() as browser:
        base = f"http://localhost:{server.port}"
        for visits_app in (False, True):
            tab = browser.tab(browser.person())
            tab.go(base + ("/" if visits_app else "/shop/"))
            store("activate", "v1")
            tab.wait("fetch('/_castree/status').then(x => x.json()).then(x => x.version === 'v1')")
            tab.go(base + "/shop/?script")
            demand(tab.run("a") == "v1", f"the page begins with {tab.run('a')}")
            store("activate", "v2")
            tab.wait("fetch('/_castree/status').then(x => x.json()).then(x => x.version === 'v2')")
            got = tab.run(load)
            demand(got == "v1", f"a page of v1 that another server renders got a file of {got}")
            tab.reload()
            demand(tab.run("a") == "v2", f"after a reload it still has {tab.run('a')}")
            demand(tab.run(load) == "v2", "its files are of another version")
            tab.close()
    store = versions(suite)
    with store.serve("--proxy", route, "--confirm-within", "20s") as server, suite.browser() as browser:
        base = f"http://localhost:{server.port}"
        tab = browser.tab()
        tab.go(base + "/")
        confirmed(store, tab, "v1")
        tab.go(base + "/shop/?frame")
        tab.wait("frames[0].good === true")
        store("activate", "v2", "--at-next-boot")
        rest = browser.tab()
        rest.go(base + "/shop/?script")
        demand(rest.run("a") == "v1", "a page that another server renders starts a version")
        demand(not rest.run("castree.confirm()"), "a page that another server renders confirms")
        tab.reload()
        tab.wait("frames[0].good === true")
        demand(tab.run("frames[0].a") == "v2", f"the app in a frame is still {tab.run('frames[0].a')}")
        state = store("lifecycle", "--json").replace(" ", "").replace("\n", "")
        demand('"knownGood":["v2"' in state, f"the app in a frame cannot confirm: {state}")
    upstream.shutdown()


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
