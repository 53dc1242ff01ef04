"""Pages that nobody sees, or that were away: hidden, frozen, in the browser's memory, cut off from the server."""

import contextlib
import functools
import http.server
import json
import threading
import time

from place import demand, request

PAGE = """<!doctype html><title>VERSION</title><link rel="icon" href="data:,">FIRST
<script src="/_castree/bridge.js"></script><script>
window.version = 'VERSION';
window.confirmed = () => castree.confirm().then(good => window.isGood = good);
castree.bridge.addEventListener('open', () => { window.isOpen = true; });
</script>MORE"""
CONFIRMING = "<script>confirmed()</script>"
DATA = "fetch('data.json').then(answer => answer.ok ? answer.json() : answer.status)"


# Without a WebSocket the bridge polls.
POLLING = "<script>WebSocket = class { constructor() { throw 0; } }</script>"


def site(version, more=CONFIRMING, first=""):
    """A page, files that say the version, and what shared workers and frames are made of."""
    page = PAGE.replace("VERSION", version).replace("FIRST", first)
    asking = ("fetch('/data.json').then(answer => answer.ok ? answer.json() : answer.status)"
              f".then(got => port.postMessage('{version} ' + got))")
    return {
        "index.html": page.replace("MORE", more),
        "next.html": page.replace("MORE", ""),
        "data.json": f'"{version}"',
        "shared.js": f"onconnect = ({{ ports: [port] }}) => {{ port.onmessage = () => {asking}; }};",
        "bare.html": "<!doctype html><script>setInterval(() => fetch('/data.json'), 300)</script>",
        "bridged.html": page.replace("MORE", "<script>setInterval(() => fetch('/data.json'), 300)</script>"),
    }


def show(tab):
    """Brings a tab to the front of its window: the others are hidden."""
    tab.call("Page.bringToFront")


def lifecycle(store):
    return json.loads(store("lifecycle", "--json"))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def origin(suite, store):
    """An origin: its address, and a function that makes it offer a version of the store."""
    suite.count += 1
    place = suite.directory / f"origin-{suite.count}"
    place.mkdir()
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(place)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", lambda version: store(
            "publish", version, str(place), "--no-packs")
    finally:
        server.shutdown()
        server.server_close()


def checks(suite):
    for name, more in FRAMES.items():
        suite.check(
            f"hidden-{name}", f"With background an update comes to a hidden page with {WORDS[name]}.",
            lambda suite, more=more: background(suite, more))
    suite.check(
        "hidden-trial", "A version whose page is hidden has its whole time when it is seen, and is then judged.",
        hidden_trial)
    for name in ("socket", "polling"):
        suite.check(
            f"absent-{name}",
            f"update() and confirm() work after the session has ended meanwhile, by {name}.",
            lambda suite, name=name: absent(suite, POLLING if name == "polling" else ""))
    suite.check(
        "memory", "A page out of the browser's memory loads itself again if the server shows another version.",
        memory)
    suite.check(
        "shared-worker", "A page of a new version has a shared worker of its own; each answers for its version.",
        shared_worker)


FRAME = "<script>document.write('<iframe src=/%s></iframe>')</script>"
FRAMES = {
    "alone": "",
    "bare-frame": FRAME % "bare.html",
    "bridged-frame": FRAME % "bridged.html",
    "many-frames": FRAME % "bridged.html" * 3 + FRAME % "bare.html" * 2,
    "own-frame": FRAME % "?framed",
    "rewritten": "<script>confirmed().then(() => fetch('next.html')).then(got => got.text())"
                 ".then(text => { document.open(); document.write(text); document.close(); })</script>",
    "sandboxed-frame": "<script>document.write('<iframe sandbox=allow-scripts src=/bare.html></iframe>')</script>",
}
WORDS = {
    "alone": "nothing beside it", "bare-frame": "a frame that polls without the bridge",
    "bridged-frame": "a frame that has the bridge", "many-frames": "frames of both kinds",
    "own-frame": "a frame of its own address", "rewritten": "a document that it has written anew",
    "sandboxed-frame": "a sandboxed frame that polls",
}


def background(suite, more):
    if more:
        more = "<script>if (self === top) " + more.removeprefix("<script>")
    for first in ("", POLLING):
        store, source = suite.store(), suite.store()
        for version in ("v1", "v2"):
            source.add(version, site(version, CONFIRMING + more, first))
        options = ("--every", "1s", "--switch", "background:3s")
        with origin(suite, source) as (address, offer):
            offer("v1")
            with store.serve("--updates", address, *options) as server, suite.browser() as browser:
                demand(server.said("version v1 is downloaded", within=20), f"v1 has not come: {server.notices}")
                person = browser.person()
                tab = browser.tab(person)
                tab.go(server.url)
                tab.wait("window.isGood")
                offer("v2")
                demand(server.said("version v2 is downloaded", within=20), f"v2 has not come: {server.notices}")
                time.sleep(5)
                demand(tab.run("version") == "v1", "a page that is seen was loaded again")
                browser.tab(person)
                demand(tab.run("document.hidden"), "the page is not hidden")
                tab.wait("window.version === 'v2'", within=20)
                tab.wait("window.isGood", within=40)


def hidden_trial(suite):
    store = suite.store()
    store.add("v1", site("v1"), activate=True)
    store.add("v2", site("v2", ""))
    with store.serve("--confirm-within", "4s") as server, suite.browser() as browser:
        person = browser.person()
        tab = browser.tab(person)
        tab.go(server.url)
        tab.wait("window.isGood")
        store("activate", "v2", "--at-next-boot")
        other = browser.tab(person)
        demand(tab.run("document.hidden"), "the page is not hidden")
        tab.reload()
        tab.wait("window.version === 'v2' && window.isOpen")
        time.sleep(10)
        demand(lifecycle(store)["current"] == "v2", f"a hidden version was left: {lifecycle(store)}")
        # Seen for a moment, the time has not passed meanwhile.
        show(tab)
        time.sleep(1)
        show(other)
        time.sleep(5)
        demand(lifecycle(store)["current"] == "v2", f"a version seen for a second was left: {lifecycle(store)}")
        tab.run("castree.bridge.addEventListener('rolled-back', event => event.preventDefault())")
        show(tab)
        demand(server.said("rolled back", within=10), "a version that is seen and does not confirm stays")
        demand(lifecycle(store)["current"] == "v1", f"it is still shown: {lifecycle(store)}")
        suite.say("left when it was seen for its time")


# The session in what the page asks next.
SESSION = """new Promise(done => {
  const real = window.fetch;
  window.fetch = (address, options) => {
    const found = /session=([0-9a-f]{32})/.exec(address);
    if (found) {
      window.fetch = real;
      done(found[1]);
    }
    return real(address, options);
  };
  castree.confirm();
})"""


def end(tab, port):
    """Ends the session of a page, as the server does after a long absence."""
    session = tab.run(SESSION)
    status, _, _ = request(
        port, f"/_castree/bridge?session={session}", "POST",
        fields=[("Origin", f"http://localhost:{port}")], body=b"1\nC")
    demand(status == 200, f"the session did not end: {status}")


def absent(suite, first):
    store, source = suite.store(), suite.store()
    for version in ("v1", "v2"):
        source.add(version, site(version, CONFIRMING, first))
    with origin(suite, source) as (address, offer):
        offer("v1")
        with store.serve("--updates", address, "--every", "1h") as server, suite.browser() as browser:
            demand(server.said("version v1 is downloaded", within=20), f"v1 has not come: {server.notices}")
            tab = browser.tab()
            tab.go(server.url)
            tab.wait("window.isGood")
            wish = "Promise.race([castree.update(), new Promise(done => setTimeout(done, 30000, 'nothing'))])" \
                ".then(x => x.type || x, String)"
            demand(tab.run(wish) == "up-to-date", "nothing is up to date")
            end(tab, server.port)
            demand(tab.run(wish) == "up-to-date", "update() does not work in another session")
            demand(tab.run("castree.confirm()"), "confirm() does not work in another session")
            # The session ends while update() waits for what comes of it.
            offer("v2")
            tab.run(f"window.came = 'nothing'; {wish}.then(x => window.came = x); 1")
            end(tab, server.port)
            said = tab.wait("window.came !== 'nothing' && window.came", within=40)
            demand(said in ("ready", "up-to-date"), f"update() says {said}")
            suite.say(f"what was asked for in a session that ended is {said}")


def memory(suite):
    for away in ("plain", "told", "elsewhere"):
        store = suite.store()
        store.add("v1", site("v1"), activate=True)
        store.add("v2", site("v2"))
        with store.serve() as server, suite.browser() as browser:
            tab = browser.tab()
            tab.go(server.url)
            tab.wait("window.isGood")
            tab.run("addEventListener('pageshow', e => { if (e.persisted) sessionStorage.kept = away; });"
                    f"window.away = '{away}'; 1")
            if away == "told":
                store("activate", "v2")
                time.sleep(1)
            if away == "elsewhere":
                tab.go(server.url.replace("localhost", "127.0.0.1"))
            else:
                tab.go(server.url + "next.html")
            if away != "told":
                store("activate", "v2")
                time.sleep(1)
            history = tab.call("Page.getNavigationHistory")
            entry = history["entries"][history["currentIndex"] - 1]
            tab.call("Page.navigateToHistoryEntry", entryId=entry["id"])
            tab.wait("window.version === 'v2'", within=10)
            demand(tab.run("sessionStorage.kept") == away, f"the page came from elsewhere: {away}")
            demand(tab.run(DATA) == "v2", f"a page v2 gets {tab.run(DATA)}")


ASK = ("new Promise(done => { window.shared = window.shared || new SharedWorker('/shared.js');"
       "shared.port.onmessage = ({ data }) => done(data); shared.port.postMessage(1);"
       "setTimeout(done, 5000, 'nothing'); })")


def shared_worker(suite):
    store = suite.store()
    store.add("v1", site("v1"), activate=True)
    store.add("v2", site("v2"))
    with store.serve() as server, suite.browser() as browser:
        person = browser.person()
        old, new = browser.tab(person), browser.tab(person)
        old.go(server.url)
        old.wait("window.isGood")
        demand(old.run(ASK) == "v1 v1", "the worker is not v1")
        store("activate", "v2")
        time.sleep(1)
        new.go(server.url)
        for pause in (0, 4):
            time.sleep(pause)
            said = new.run(ASK), old.run(ASK), new.run(DATA), old.run(DATA)
            suite.say(f"the workers say {said}")
            demand(said == ("v2 v2", "v1 v1", "v2", "v1"), f"new and old workers, new and old pages: {said}")
        # One that begins while the newer page loads, and one whose page has gone while another of its version is there.
        new.reload()
        late = ASK.replace("shared", "late").replace("/late.js'", "/shared.js?a=b', 'late'")
        demand(old.run(late) == "v1 v1", f"a worker that begins later says {old.run(late)}")
        same = browser.tab(person)
        same.go(server.url)
        demand(same.run(ASK) == "v2 v2", "the worker of two pages is not v2")
        new.close()
        demand(same.run(ASK) == "v2 v2" and old.run(ASK) == "v1 v1", "the workers are others")
