"""The bridge in a real browser: nothing lost, nothing twice, order kept, on a bad connection too."""

import http.server
import threading
import time

from place import Relay, Repeating, demand

MESSAGES = 1000
PAGE = """<!doctype html><title>Bridge %s</title><h1>%s</h1>
<script src="/_castree/bridge.js"></script><script>
const version = '%s', got = [], events = [], transports = [];
const total = %d;
const { bridge } = castree;
const show = x => typeof x === 'string' ? x : 'bytes ' + new TextDecoder().decode(x);
bridge.addEventListener('message', ({ detail }) => got.push(show(detail)));
bridge.addEventListener('open', ({ detail }) => transports.push(detail.transport + (detail.resumed ? '+' : '')));
for (const name of ['version-ready', 'rolled-back', 'progress'])
  bridge.addEventListener(name, ({ detail }) => events.push([name, detail]));
// It wants to tell of it first; without this the script would load the page again.
bridge.addEventListener('rolled-back', event => event.preventDefault());
const pause = time => new Promise(done => setTimeout(done, time));
// Every tenth message is binary; some are long; they leave in spurts.
const text = n => 'message ' + n + (n %% 50 ? '' : ' ' + 'x'.repeat(20000));
const talk = async () => {
  for (let n = 1; n <= total;) {
    try {
      bridge.send(n %% 10 ? text(n) : new TextEncoder().encode(text(n)));
      n++;
    } catch (error) { await pause(50); }
    if (n %% 20 === 0) await pause(100);
  }
  return true;
};
const wanted = () => {
  const list = [];
  for (let n = 1; n <= total; n++) list.push((n %% 10 ? '' : 'bytes ') + text(n));
  return list;
};
const verdict = () => {
  const list = wanted();
  const wrong = got.findIndex((x, n) => x !== list[n]);
  if (wrong >= 0) return 'at ' + (wrong + 1) + ' came ' + got[wrong].slice(0, 40);
  return got.length === list.length ? '' : 'only ' + got.length + ' came';
};
</script>"""


# As README has it: a page that takes what is ready at once.
EAGER = """<!doctype html><title>Eager %s</title>
<script src="/_castree/bridge.js"></script><script>
window.version = '%s';
sessionStorage.loads = 1 + +(sessionStorage.loads || 0);
castree.bridge.addEventListener('open', () => { window.isOpen = true; });
addEventListener('load', () => castree.confirm());
castree.bridge.addEventListener('version-ready', () => location.reload());
</script>"""


# A page that starts badly: it never confirms.
BAD = EAGER.replace("addEventListener('load', () => castree.confirm());", "")
# And another that leaves all to the script.
PASSIVE = BAD.replace("castree.bridge.addEventListener('version-ready', () => location.reload());", "")


# What an app does that keeps its cache in the tab's storage until there is no room left.
FULL = """<script>
for (let size = 1 << 20; size;) {
  try { sessionStorage['c' + sessionStorage.length] = 'x'.repeat(size); } catch (error) { size >>= 1; }
}
</script>"""


# A page of the same origin around the other; and a worker that answers every navigation with what it had first.
AROUND = """<!doctype html><title>Around %s</title>
<script src="/_castree/bridge.js"></script><script>
window.heard = [];
castree.bridge.addEventListener('version-ready', ({ detail }) => heard.push(detail.version));
</script><iframe src="/inner.html"></iframe>"""
WORKER = """
addEventListener('install', e => {
  skipWaiting();
  e.waitUntil(caches.open('first').then(c => c.add('/kept.html')));
});
addEventListener('activate', e => e.waitUntil(clients.claim()));
addEventListener('fetch', e => { if (e.request.mode === 'navigate') e.respondWith(caches.match('/kept.html')); });
"""


def site(version):
    return {"index.html": PAGE % (version, version, version, MESSAGES)}


def checks(suite):
    suite.check(
        "bridge-socket",
        f"{MESSAGES} messages go both ways over a WebSocket that is cut again and again.",
        lambda suite: both_ways(suite, blocked=False))
    suite.check(
        "bridge-poll",
        f"{MESSAGES} messages go both ways over requests, WebSockets refused, connections cut.",
        lambda suite: both_ways(suite, blocked=True))
    suite.check(
        "bridge-blocked",
        "Where WebSockets are refused the bridge takes to requests within two seconds, uncut.",
        refused)
    suite.check(
        "bridge-events", "A page learns of a version that is ready, and confirms it.", events)
    suite.check(
        "bridge-eager",
        "A page that loads itself again when a version is ready does so once, or never where none starts.",
        eager)
    suite.check(
        "bridge-frame",
        "A frame inside a page of its origin is not told of a version that it cannot get: the page is.",
        frame)
    suite.check(
        "bridge-frame-alone",
        "A frame around which no page has the bridge has that loaded again when their version is rolled back.",
        frame_alone)
    suite.check(
        "bridge-odd",
        "A page with another server's base, a long address, an element of the bridge's name and an emptied list of files works.",
        odd)
    suite.check(
        "bridge-first",
        "A browser that came before the first version shows it once it is there.", first)
    suite.check(
        "bridge-worker",
        "A page that a service worker keeps is told of a version once, and does not load itself for ever.",
        worker)
    suite.check(
        "bridge-rollback",
        "A version that never confirms is rolled back: a page that asks to stay is told, the next one is the old.",
        rollback)
    suite.check(
        "bridge-left",
        "A page whose version is rolled back loads itself again, once, and is the old version's.",
        left)
    suite.check(
        "bridge-full",
        "A page whose tab's storage is full loads itself again, once, all the same.",
        lambda suite: left(suite, FULL, PASSIVE))


def through(relay, server):
    """The option by which the browser reaches the server's own address through a relay."""
    return f"--host-resolver-rules=MAP localhost:{server.port} 127.0.0.1:{relay.port}"


def both_ways(suite, blocked):
    store = suite.store()
    store.add("v1", site("v1"), activate=True)
    with store.serve_echo() as server:
        relay = Relay(server.port, refuses_upgrade=blocked)
        with suite.browser(through(relay, server)) as browser:
            tab = browser.tab()
            tab.go(server.url)
            demand(relay.connection_count > 0, "the browser does not go through the relay")
            if not blocked:
                # On a busy machine it takes to requests first, and tries again after a while.
                tab.wait("transports.some(each => each.startsWith('websocket'))", within=120)
            cutting = Repeating(lambda: relay.cut(0.7), 0.02, 0.2)
            began = time.monotonic()
            tab.run("talk()", within=120)
            deadline = began + 180
            while tab.run("got.length") < MESSAGES and time.monotonic() < deadline:
                time.sleep(0.2)
            cutting.stop()
            took = time.monotonic() - began
            opened = tab.run("transports")
            suite.say(
                f"{took:.1f} s, {relay.cut_count} connections cut, the link was opened {len(opened)} "
                f"times ({', '.join(sorted(set(opened)))})")
            # Anything that came twice would come now.
            time.sleep(1)
            verdict = tab.run("verdict()")
            demand(verdict == "", f"the echo is not what was sent: {verdict}")
            demand(relay.cut_count >= 10, f"only {relay.cut_count} connections were cut")
            wanted = "poll" if blocked else "websocket"
            demand(any(each.startswith(wanted) for each in opened), f"never over {wanted}: {opened}")
            demand(
                not any(each.startswith("poll" if not blocked else "websocket") for each in opened)
                or not blocked, f"a WebSocket through a relay that refuses them: {opened}")
            demand(
                sum(not each.endswith("+") for each in opened) == 1,
                f"the session was not kept: {opened}")
        relay.close()


def refused(suite):
    store = suite.store()
    store.add("v1", site("v1"), activate=True)
    with store.serve_echo() as server:
        relay = Relay(server.port, refuses_upgrade=True)
        with suite.browser(through(relay, server)) as browser:
            tab = browser.tab()
            began = time.monotonic()
            tab.go(server.url)
            tab.wait("transports.length", within=20)
            took = time.monotonic() - began
            began = time.monotonic()
            tab.run("talk()", within=60)
            tab.wait("got.length === total", within=60)
            suite.say(
                f"open after {took:.2f} s and {relay.refused_count} refusals; {MESSAGES} messages there "
                f"and back in {time.monotonic() - began:.2f} s")
            demand(tab.run("verdict()") == "", "the echo is not what was sent")
            demand(took < 2, f"it took {took:.1f} s")
        relay.close()


def events(suite):
    store = suite.store()
    store.add("v1", site("v1"), activate=True)
    with store.serve("--confirm-within", "30s") as server, suite.browser() as browser:
        tab = browser.tab()
        tab.go(server.url)
        demand(tab.run("castree.confirm()") is True, "confirm() of the first version is not true")
        tab.wait("transports.length")
        store.add("v2", site("v2"), activate=True)
        tab.wait("events.length")
        demand(
            tab.run("events") == [["version-ready", {"version": "v2"}]],
            f"the page heard {tab.run('events')}")
        demand(tab.run("version") == "v1", "the page changed by itself")
        tab.reload()
        demand(tab.run("version") == "v2", "the next navigation does not show the new version")
        demand(tab.run("castree.confirm()") is True, "confirm() of the new version is not true")
        lifecycle = store("lifecycle")
        suite.say("castree lifecycle: " + " | ".join(lifecycle.split("\n")[:4]))


def rollback(suite):
    store = suite.store()
    store.add("v1", site("v1"), activate=True)
    with store.serve("--confirm-within", "2s") as server, suite.browser() as browser:
        tab = browser.tab()
        tab.go(server.url)
        demand(tab.run("castree.confirm()") is True, "confirm() of the first version is not true")
        store.add("v2", site("v2"), activate=True)
        tab.reload()
        demand(tab.run("version") == "v2", "the next navigation does not show the new version")
        tab.wait("transports.length")
        tab.wait("events.some(([name]) => name === 'rolled-back')", within=10)
        heard = [detail for name, detail in tab.run("events") if name == "rolled-back"]
        suite.say(f"the page heard: {heard[0]['reason']}")
        demand([each["version"] for each in heard] == ["v2"], f"the page heard {heard}")
        demand(server.said("rolled back"), "nothing on stderr")
        tab.reload()
        demand(tab.run("version") == "v1", "the next navigation does not show the old version")
        demand(
            tab.run("castree.confirm()") is True, "the old version is not known good any more")


def left(suite, more="", bad=BAD):
    store = suite.store()
    store.add("v1", {"index.html": EAGER % ("v1", "v1") + more}, activate=True)
    store.add("v2", {"index.html": bad % ("v2", "v2")})
    with store.serve("--confirm-within", "3s") as server, suite.browser() as browser:
        tab = browser.tab()
        tab.go(server.url)
        tab.wait("window.isOpen")
        store("activate", "v2", "--at-next-boot")
        tab.wait("window.version === 'v2'")
        tab.wait("window.version === 'v1' && window.isOpen", within=20)
        # A loop would have come round many times.
        time.sleep(3)
        seen = tab.run("[window.version, +sessionStorage.loads]")
        suite.say(f"the page is {seen[0]} after {seen[1]} loads")
        demand(seen in (["v1", 3], ["v1", 4]), f"the page is {seen}")
        demand(tab.run("+sessionStorage.loads") == seen[1], "the page loads itself for ever")
        demand(server.said("rolled back"), "nothing on stderr")


def eager(suite):
    for options, wanted, loads in (((), "v1", 1), (("--confirm-within", "30s"), "v2", 2)):
        store = suite.store()
        store.add("v1", {"index.html": EAGER % ("v1", "v1")}, activate=True)
        store.add("v2", {"index.html": EAGER % ("v2", "v2")})
        with store.serve(*options) as server, suite.browser() as browser:
            tab = browser.tab()
            tab.go(server.url)
            tab.wait("window.isOpen")
            store("activate", "v2", "--at-next-boot")
            tab.wait(f"window.version === '{wanted}' && window.isOpen")
            # A loop would have come round many times.
            time.sleep(3)
            seen = tab.run("[window.version, +sessionStorage.loads]")
            suite.say(f"{' '.join(options) or 'no options'}: {seen[0]} after {seen[1]} loads")
            demand(seen == [wanted, loads], f"the page is {seen}, not {[wanted, loads]}")


def frame(suite):
    store = suite.store()
    for version in ("v1", "v2"):
        store.add(
            version,
            {"index.html": AROUND % version, "inner.html": EAGER % (version, version)},
            activate=version == "v1")
    with store.serve() as server, suite.browser() as browser:
        tab = browser.tab()
        tab.go(server.url)
        tab.wait("frames[0] && frames[0].isOpen")
        store("activate", "v2")
        tab.wait("heard.length")
        time.sleep(3)
        seen = tab.run("[heard, frames[0].version, +sessionStorage.loads]")
        suite.say(f"the page heard {seen[0]}, the frame is {seen[1]} after {seen[2]} loads")
        demand(seen == [["v2"], "v1", 1], f"the frame is {seen}")


def frame_alone(suite):
    store = suite.store()
    for version, page in (("v1", EAGER), ("v2", BAD)):
        store.add(
            version, {
                "index.html": f"<!doctype html><script>version = '{version}'</script><iframe src=inner.html></iframe>",
                "inner.html": page % (version, version)},
            activate=version == "v1")
    with store.serve("--confirm-within", "4s") as server, suite.browser() as browser:
        tab = browser.tab()
        tab.go(server.url)
        tab.wait("frames[0] && frames[0].isOpen")
        store("activate", "v2", "--at-next-boot")
        tab.reload()
        tab.wait("window.version === 'v2' && frames[0] && frames[0].version === 'v2'")
        tab.wait("window.version === 'v1' && frames[0] && frames[0].version === 'v1'", within=20)
        demand(server.said("rolled back"), "nothing on stderr")


# A page with a base of another server, an element of the bridge's name, and no list of what it has loaded.
ODD = """<!doctype html><title>%s</title><div id="castree"></div><script src="/_castree/bridge.js"></script>
<base href="http://127.0.0.1:%d/"><script>
window.version = '%s';
performance.clearResourceTimings();
addEventListener('load', () => castree.confirm().then(good => { window.isGood = good; }));
</script>"""


class Strange(http.server.BaseHTTPRequestHandler):
    asked = []

    def do_GET(self):
        Strange.asked.append(self.path)
        self.send_error(404)

    do_POST = do_GET

    def log_message(self, *_):
        pass


def odd(suite):
    store = suite.store()
    strange = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Strange)
    threading.Thread(target=strange.serve_forever, daemon=True).start()
    for version in ("v1", "v2"):
        page = ODD % (version, strange.server_port, version)
        store.add(version, {"index.html": page}, activate=version == "v1")
    with store.serve("--confirm-within", "20s") as server, suite.browser() as browser:
        tab = browser.tab()
        tab.go(server.url)
        tab.wait("window.isGood")
        store("activate", "v2", "--at-next-boot")
        tab.go(server.url + "a/" + "%E4%BD%A0" * 700)
        tab.wait("window.version === 'v2' && window.isGood")
        time.sleep(3)
        demand(tab.run("castree.confirm()") is True, "the bridge is not there any more")
        suite.say(f"the other server was asked for {Strange.asked or 'nothing'}")
        demand(not [each for each in Strange.asked if "castree" in each], f"it was asked for {Strange.asked}")
    strange.shutdown()


def first(suite):
    store = suite.store()
    with store.serve("--confirm-within", "20s") as server, suite.browser() as browser:
        tab = browser.tab()
        tab.go(server.url)
        demand("No version is current" in tab.run("document.body.innerText"), "there is a page")
        store.add("v1", {"index.html": EAGER % ("v1", "v1")}, activate=True)
        tab.wait("window.version === 'v1'")
        demand(tab.run("castree.confirm()") is True, "the first version is not confirmed")


def worker(suite):
    store = suite.store()
    for version in ("v1", "v2"):
        page = EAGER % (version, version)
        store.add(
            version, {"index.html": page, "kept.html": page, "worker.js": WORKER},
            activate=version == "v1")
    with store.serve() as server, suite.browser() as browser:
        tab = browser.tab()
        tab.go(server.url)
        tab.run(
            "navigator.serviceWorker.register('/worker.js')"
            ".then(() => navigator.serviceWorker.ready).then(() => true)")
        tab.wait("navigator.serviceWorker.controller && window.isOpen")
        store("activate", "v2")
        # Once because it is told, once because the server learns only then that a worker keeps it, and perhaps once more,
        # since another worker may have taken over meanwhile.
        tab.wait("+sessionStorage.loads >= 3")
        time.sleep(3)
        seen = tab.run("[window.version, +sessionStorage.loads]")
        time.sleep(3)
        suite.say(f"the worker's page is {seen[0]} after {seen[1]} loads")
        demand(seen in (["v1", 3], ["v1", 4]), f"the page is {seen}")
        demand(tab.run("+sessionStorage.loads") == seen[1], "the page loads itself for ever")
