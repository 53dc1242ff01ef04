"""What belongs to the web origin survives a restart of the server."""

import json
import time

from place import demand

PAGE = """<!doctype html><title>Kept</title><h1 id="text"></h1><script>
const ready = navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready);
const ask = () => new Promise(done => {
  navigator.serviceWorker.onmessage = event => done(event.data);
  navigator.serviceWorker.controller.postMessage('who');
});
</script>"""
WORKER = """const mark = 'worker-of-the-first-run';
self.addEventListener('install', event => event.waitUntil(
  caches.open('shell').then(cache => cache.addAll(['/', '/content.json'])).then(() => skipWaiting())));
self.addEventListener('activate', event => event.waitUntil(clients.claim()));
self.addEventListener('message', event => event.source.postMessage(mark));
self.addEventListener('fetch', event => event.respondWith(
  fetch(event.request).catch(() => caches.match(event.request, { ignoreSearch: true }))));
"""


def checks(suite):
    suite.check(
        "restart",
        "localStorage, IndexedDB and the service worker survive a restart of the server.", restart)
    suite.check(
        "restart-tabs",
        "Tabs of one version that outlive the server are told apart from those of the next two.", tabs)
    suite.check(
        "restart-late",
        "A page that a worker keeps, loaded before the server runs, is told of what is shown then.", late)
    suite.check(
        "restart-retired", "A page whose version was retired while it was cut off loads itself again, once.", retired)
    for name, what, script in (
            ("", "", ""), ("-frame", ", with a frame", FRAME), ("-restless", ", and that asks for files all the time and goes without a word", RESTLESS)):
        suite.check(
            "restart-same-page" + name,
            f"A page whose bytes are the same in all versions, which a precache keeps{what}, is each version's in turn.",
            lambda suite, script=script: same(suite, script))


# Fetches only what has other bytes than what it has, as precaches do.
PRECACHE = """const all = %s, key = ([path, mark]) => path + '?' + mark;
const cache = caches.open('precache');
addEventListener('install', event => event.waitUntil((async () => {
  skipWaiting();
  for (const file of all) {
    if (await (await cache).match(key(file))) continue;
    await (await cache).put(key(file), await fetch(new Request(file[0], { cache: 'reload' })));
  }
})()));
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => {
  const { pathname } = new URL(event.request.url), file = all.find(([path]) => path === pathname);
  if (file) event.respondWith(cache.then(cache => cache.match(key(file))).then(kept => kept || fetch(event.request)));
});"""


BRIDGED = '<!doctype html><script src="/_castree/bridge.js"></script>'
FRAME = '<iframe src="/frame.html"></iframe>'
# The last words of a page are lost, as on a machine that has much to do.
RESTLESS = """<script>
setInterval(() => fetch('/data.txt').catch(() => {}), 200);
navigator.sendBeacon = (send => (address, body) => address.includes('&page=') || send(address, body))(
  navigator.sendBeacon.bind(navigator));
WebSocket.prototype.send = (send => function (frame) { if (frame !== 'C') send.call(this, frame); })(WebSocket.prototype.send);
</script>"""


def same(suite, script):
    store = suite.store()
    page = "<!doctype html>" + script + """<script src="/_castree/bridge.js"></script><script src="/app.js"></script>
<script src="/late.js"></script><script>
castree.bridge.addEventListener('version-ready', () => location.reload());
addEventListener('load', () => (window.fails ? Promise.resolve() : castree.confirm()).then(good => { window.good = good; }));
navigator.serviceWorker.register('/worker.js');
window.all = async () => app + late + await (await fetch('/data.txt')).text();</script>"""
    for version in "12345":
        # The last one has the same script, and a picture beside it: neither says a version.
        script = min(version, "4")
        kept = [["/", "1"], ["/frame.html", "1"], ["/app.js", script], ["/picture.svg", version]]
        store.add(version, {
            "index.html": page, "frame.html": BRIDGED, "worker.js": PRECACHE % json.dumps(kept), "late.js": f"window.late = '{script}'",
            "app.js": f"window.app = '{script}'; window.fails = {script} === 3",
            "data.txt": version, "picture.svg": f"<!--{version}-->"}, activate=version == "1")
    profile = f"profile-{suite.count}-same"
    options = ("--confirm-within", "15s", "--app-id", str(store.path))

    def shows(tab, version, within=60):
        script = min(version, "4")
        tab.wait(
            f"window.late === '{script}' && sessionStorage.castreeVersion === '&version={version}' "
            "&& document.readyState === 'complete'", within=within)
        got = tab.run("all()")
        demand(got == script + script + version, f"a page of {version} has {got}")

    with store.serve(*options) as server, suite.browser(profile=profile) as browser:
        tab = browser.tab()
        tab.go(server.url)
        tab.wait("!!navigator.serviceWorker.controller")
        tab.reload()
        tab.wait("window.good")
        store("activate", "2", "--at-next-boot")
        shows(tab, "2")
        tab.wait("window.good")
        # One that does not confirm is left again, and the next one is shown.
        store("activate", "3", "--at-next-boot")
        shows(tab, "3")
        demand(server.said("version 3 was rolled back", within=40), "the version is not left")
        shows(tab, "2")
        store("activate", "4", "--at-next-boot")
        shows(tab, "4")
        tab.wait("window.good")
        demand(server.stop() == 0, "the server did not end as it should")
    with store.serve(*options) as server, suite.browser(profile=profile) as browser:
        tab = browser.tab()
        tab.go(server.url)
        # Where pages went without a word, the cookie still names them: for a minute they may be open.
        shows(tab, "4", within=90 if RESTLESS in page else 5)
        store("activate", "5", "--at-next-boot")
        shows(tab, "5")
        tab.wait("fetch('/picture.svg').then(answer => answer.text()).then(text => text === '<!--5-->')")
        tab.wait("window.good")
        good = json.loads(store("lifecycle", "--json"))["knownGood"]
        demand(good == ["5", "4", "2", "1"], f"known good are {good}")


def retired(suite):
    store = suite.store()
    for version in "12":
        store.add(version, {"index.html": BRIDGED + f"""<script>window.version = '{version}';
sessionStorage.loads = 1 + +(sessionStorage.loads || 0);
castree.bridge.addEventListener('open', () => {{ window.isOpen = true; }});</script>"""}, activate=version == "1")
    options = ("--app-id", str(store.path))
    with suite.browser() as browser:
        person = browser.person()
        tabs = [browser.tab(person) for _ in range(2)]
        with store.serve(*options) as server:
            for tab in tabs:
                tab.go(server.url)
                tab.wait("window.isOpen")
            demand(server.stop() == 0, "the server did not end as it should")
        store("activate", "2")
        store("retire", "1")
        with store.serve(*options):
            for tab in tabs:
                tab.wait("window.version === '2' && window.isOpen", within=40)
            time.sleep(2)
            loads = [tab.run("+sessionStorage.loads") for tab in tabs]
            demand(loads == [2, 2], f"the pages were loaded {loads} times")


def late(suite):
    store = suite.store()
    page = """<!doctype html><script src="/_castree/bridge.js"></script><script>window.version = '%s';
castree.bridge.addEventListener('version-ready', () => location.reload());
addEventListener('load', () => { window.good = castree.confirm(); });
navigator.serviceWorker.register('/worker.js');</script>"""
    worker = """const mark = '%s';
addEventListener('install', event => event.waitUntil(
  caches.open(mark).then(cache => cache.add('/')).then(() => skipWaiting())));
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => {
  if (event.request.mode === 'navigate') event.respondWith(caches.open(mark).then(cache => cache.match('/')));
});"""
    for version in "12":
        store.add(version, {"index.html": page % version, "worker.js": worker % version},
                  activate=version == "1")
    profile = f"profile-{suite.count}-late"
    options = ("--confirm-within", "60s", "--app-id", str(store.path))
    with store.serve(*options) as server:
        url = server.url
        with suite.browser(profile=profile) as browser:
            tab = browser.tab()
            tab.go(url)
            tab.wait("!!navigator.serviceWorker.controller")
            tab.reload()
            demand(tab.run("window.good"), "the page confirms nothing")
        demand(server.stop() == 0, "the server did not end as it should")
    store("activate", "2")
    with suite.browser(profile=profile) as browser:
        tab = browser.tab()
        tab.go(url)
        demand(tab.run("window.version") == "1", "the worker's page is not shown")
        with store.serve(*options):
            tab.wait("window.version === '2' && window.good", within=60)
            demand(tab.run("window.good"), "the page of the second version confirms nothing")


def site(version):
    """A page that says its version, with the bridge, and a module that says it, too."""
    page = f"""<!doctype html><script src="/_castree/bridge.js"></script>
<script>const version = '{version}', good = castree.confirm();</script>"""
    return {"index.html": page, "module.js": f"export default '{version}';"}


def tabs(suite):
    store = suite.store()
    store.add("1", site("1"), activate=True)
    for version in "23":
        store.add(version, site(version))
    with suite.browser() as browser:
        first, second = browser.tab(), browser.tab()
        with store.serve("--confirm-within", "60s") as server:
            for tab in (first, second):
                tab.go(server.url)
                demand(tab.run("good"), "a page of the first version confirms nothing")
            demand(server.stop() == 0, "the server did not end as it should")
        with store.serve("--confirm-within", "60s"):
            store("activate", "2", "--at-next-boot")
            for tab in (first, second):
                tab.reload()
                demand(tab.run("good"), "a page of the second version confirms nothing")
            store("activate", "3")
            second.reload()
            demand(second.run("good"), "a page of the third version confirms nothing")
            for number in range(3):
                for tab, version in ((first, "2"), (second, "3")):
                    found = tab.run(f"import('/module.js?{number}').then(m => version + m.default)")
                    demand(found == 2 * version, f"a page of {version} has a module of {found[1:]}")
                time.sleep(1)


def restart(suite):
    store = suite.store()
    store.add("v1", {"index.html": PAGE, "worker.js": WORKER, "content.json": '"one"'}, activate=True)
    with suite.browser() as browser:
        tab = browser.tab()
        with store.serve("--app-id", "org.example.kept") as server:
            url = server.url
            tab.go(url)
            tab.run("ready.then(() => true)")
            tab.wait("!!navigator.serviceWorker.controller")
            tab.run("localStorage.setItem('kept', 'as long as the origin')")
            tab.run("""new Promise((done, fail) => {
                const opening = indexedDB.open('kept', 1);
                opening.onupgradeneeded = () => opening.result.createObjectStore('things');
                opening.onerror = fail;
                opening.onsuccess = () => {
                  const change = opening.result.transaction('things', 'readwrite');
                  change.objectStore('things').put('also', 'key');
                  change.oncomplete = done;
                };
            }).then(() => true)""")
            demand(tab.run("ask()") == "worker-of-the-first-run", "the service worker does not answer")
            demand(server.stop() == 0, "the server did not end as it should")
        tab.go(url)
        demand(
            tab.run("fetch('/content.json').then(a => a.json())") == "one",
            "without the server the service worker does not answer from its cache")
        store.add("v2", {"index.html": PAGE, "worker.js": WORKER, "content.json": '"two"'},
                  activate=True)
        with store.serve("--app-id", "org.example.kept") as server:
            demand(server.url == url, f"the origin was {url} and is {server.url} now")
            tab.go(url)
            demand(
                tab.run("localStorage.getItem('kept')") == "as long as the origin",
                "localStorage did not survive")
            demand(
                tab.run("""new Promise((done, fail) => {
                    const opening = indexedDB.open('kept', 1);
                    opening.onerror = fail;
                    opening.onsuccess = () => {
                      const asking = opening.result.transaction('things').objectStore('things').get('key');
                      asking.onsuccess = () => done(asking.result);
                    };
                })""") == "also", "IndexedDB did not survive")
            demand(
                tab.run("!!navigator.serviceWorker.controller && ask()") == "worker-of-the-first-run",
                "the service worker did not survive")
            demand(
                tab.run("fetch('/content.json').then(a => a.json())") == "two",
                "the page does not get the new version's file after the restart")
            suite.say(f"the origin {url.rstrip('/')} was the same at the second start")
