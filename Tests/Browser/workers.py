"""Service workers: pages that they keep confirm nothing but themselves."""

import hashlib
import json
import subprocess
import time

from devtools import Refused
from place import demand

PAGE = """<!doctype html><title>%s</title>
<script src="/_castree/bridge.js"></script><script>
window.version = '%s';
castree.bridge.addEventListener('open', () => { window.isOpen = true; });
addEventListener('load', () => castree.confirm().then(good => { window.isGood = good; }));
// What was rolled back may be looked at for longer.
castree.bridge.addEventListener('rolled-back', event => event.preventDefault());
</script>"""

# A worker that answers every navigation with what it had first.
KEEPING = """
addEventListener('install', event => {
  skipWaiting();
  event.waitUntil(caches.open('first').then(cache => cache.add('/')));
});
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => {
  if (event.request.mode === 'navigate') event.respondWith(caches.match('/'));
});
"""
# The same, but it makes its answer anew, without the fields that came with the page.
MAKING = KEEPING.replace(
    "caches.match('/')",
    "caches.match('/').then(kept => kept.text()).then("
    "text => new Response(text, { headers: { 'Content-Type': 'text/html' } }))")


def site(version, worker):
    return {"index.html": PAGE % (version, version), "worker.js": worker}


def register(tab, url, options="{}"):
    """Shows a page, registers its worker, and waits until that controls the page."""
    tab.go(url)
    tab.wait("window.isGood")
    tab.run(f"navigator.serviceWorker.register('/worker.js', {options}).then(() => true)")
    tab.wait("!!navigator.serviceWorker.controller")


def lifecycle(store):
    return json.loads(store("lifecycle", "--json"))


def status(store):
    """What castree status says, well or not."""
    done = subprocess.run(
        [store.castree, "--store", str(store.path), "status", "--json"], capture_output=True, text=True)
    return json.loads(done.stdout)


def checks(suite):
    for name, worker, what in (
            ("keeping", KEEPING, "keeps"), ("making", MAKING, "makes anew")):
        suite.check(
            f"worker-dropped-{name}",
            f"After a restart of the browser, the page that a worker {what} confirms no version but its own.",
            lambda suite, worker=worker: dropped(suite, worker))
    suite.check(
        "worker-by-address",
        "A worker that asks by addresses gets the open page's files, or refusals, while the next worker waits.",
        by_address)
    suite.check(
        "worker-by-address-only",
        "A worker that asks for pages by their addresses, and never changes, shows an update at once.",
        by_address_only)
    strategy_checks(suite)


# A worker that sends everything on by its address, and keeps nothing.
SENDING = """
addEventListener('install', () => skipWaiting());
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => {
  if (new URL(event.request.url).pathname.startsWith('/_castree')) return;
  event.respondWith(fetch(event.request.url));
});
"""


def by_address_only(suite):
    store = suite.store()
    for version in ("v1", "v2"):
        store.add(
            version, {
                "index.html": EAGER.replace("</script>", "</script><script src=\"/app.js\"></script>", 1)
                % (version, version),
                "app.js": f"window.app = '{version}'", "worker.js": SENDING},
            activate=version == "v1")
    with store.serve("--confirm-within", "20s") as server, suite.browser() as browser:
        tab = browser.tab()
        register(tab, server.url)
        tab.reload()
        tab.wait("window.isGood")
        store("activate", "v2", "--at-next-boot")
        tab.wait("window.version === 'v2' && window.app === 'v2' && window.isGood")
        seen = lifecycle(store)
        demand(seen["knownGood"] == ["v2", "v1"] and not seen["bad"], f"the lifecycle is {seen}")
        suite.say(f"updated after {tab.run('+sessionStorage.loads')} loads")
        demand(not server.said("a service worker shows", within=1), "the worker is blamed")


# A worker that passes on what pages want by its address, and navigations not at all.
PASSING = """// %s
addEventListener('install', event => event.waitUntil(
  caches.open('%s').then(cache => cache.addAll(['/data.json', '/more.json']))));
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => {
  const url = new URL(event.request.url);
  if (url.pathname.startsWith('/_castree') || event.request.mode === 'navigate') return;
  event.respondWith(fetch(event.request.url));
});
"""


def by_address(suite):
    store = suite.store()
    for version in ("v1", "v2"):
        store.add(
            version, site(version, PASSING % (version, version))
            | {"data.json": f'"{version}"', "more.json": f'"more of {version}"'}, activate=version == "v1")
    data = "fetch('data.json').then(answer => answer.ok ? answer.json() : answer.status)"
    with store.serve() as server, suite.browser() as browser:
        tab = browser.tab()
        register(tab, server.url)
        demand(tab.run(data) == "v1", "the page is not v1")
        store("activate", "v2")
        time.sleep(2)
        tab.run("navigator.serviceWorker.getRegistration().then(found => found.update()).then(() => true)")
        tab.wait(
            "navigator.serviceWorker.getRegistration().then(found => found.waiting?.state === 'installed')")
        kept = tab.run(
            "caches.open('v2').then(cache => cache.match('/data.json')).then(answer => answer.json())")
        demand(kept == "v2", f"the worker of v2 has kept {kept}")
        time.sleep(1.5)
        got = tab.run(data)
        demand(got in ("v1", 409), f"the page v1 gets {got}")
        suite.say(f"while the worker of v2 waits, the page v1 gets {got}")
        time.sleep(60)
        demand(tab.run(data) == "v1", f"a minute later the page v1 gets {tab.run(data)}")
        tab.reload()
        demand(tab.run(data) == "v2", f"the page v2 gets {tab.run(data)}")


def dropped(suite, worker):
    store = suite.store()
    store.add("v1", site("v1", worker), activate=True)
    store.add("v2", site("v2", worker))
    profile = f"profile-{suite.count}-kept"
    with store.serve("--confirm-within", "20s") as server:
        with suite.browser(profile=profile) as browser:
            tab = browser.tab()
            register(tab, server.url)
        store("activate", "v2", "--at-next-boot")
        # The browser asks for the page while the worker starts, and drops the answer.
        with suite.browser(profile=profile) as browser:
            tab = browser.tab()
            tab.go(server.url)
            tab.wait("window.isGood !== undefined")
            demand(tab.run("window.version") == "v1", "the worker's page is not shown")
            # It may come after the page has said what it is: then its start is taken back when its time is over.
            started = server.said("version v2 has started", within=3)
            deadline = time.monotonic() + 30
            while (seen := lifecycle(store))["current"] == "v2":
                demand(time.monotonic() < deadline, f"the start is not taken back: {seen}")
                time.sleep(0.2)
            suite.say(f"the dropped navigation started v2: {started}; known good: {seen['knownGood']}")
            demand(seen["current"] == "v1" and seen["pending"] == "v2", f"the lifecycle is {seen}")
            demand(seen["knownGood"] == ["v1"], f"what was not shown is known good: {seen}")
            demand(not seen["bad"], f"what was not shown is banned: {seen}")
            demand(not seen.get("trials"), f"what was not shown counts: {seen}")
            # Without the worker it is shown, and works.
            tab.run(
                "navigator.serviceWorker.getRegistrations()"
                ".then(all => Promise.all(all.map(each => each.unregister()))).then(() => true)")
            tab.reload()
            tab.wait("window.isGood")
            demand(tab.run("window.version") == "v2", "the new version is not shown without a worker")
            demand("v2" in lifecycle(store)["knownGood"], "the new version is not known good")


# The usual strategies, as Workbox has them, for navigations; %s is the version, by which the scripts differ.
HEAD = """const VERSION = '%s', NAME = 'pages-' + VERSION;
const pages = () => caches.open(NAME);
addEventListener('activate', event => event.waitUntil(caches.keys()
  .then(all => Promise.all(all.filter(each => each !== NAME).map(each => caches.delete(each))))
  .then(() => clients.claim())));
const fresh = async request => {
  const answer = await fetch(request);
  if (answer.ok) await (await pages()).put('/', answer.clone());
  return answer;
};
const kept = async () => (await pages()).match('/');
addEventListener('fetch', event => {
  if (event.request.mode === 'navigate') event.respondWith(answer(event));
  else if (new URL(event.request.url).pathname === '/kept.js') {
    event.respondWith(pages().then(cache => cache.match('/kept.js')).then(own => own || fetch(event.request)));
  }
});
addEventListener('install', event => { skipWaiting(); event.waitUntil(prepare()); });
"""
STRATEGIES = {
    "precache": """
const prepare = async () => (await pages()).addAll(
  ['/', '/kept.js'].map(path => new Request(path, { cache: 'reload' })));
const answer = async event => await kept() || fetch(event.request);
""",
    "cache-first": """
const prepare = async () => {};
const answer = async event => await kept() || fresh(event.request);
""",
    "network-first": """
const prepare = async () => {};
const answer = event => fresh(event.request).catch(kept);
""",
    "stale-while-revalidate": """
const prepare = async () => {};
const answer = async event => {
  const old = await kept(), news = fresh(event.request);
  event.waitUntil(news.catch(() => {}));
  return old || news;
};
""",
}

# Workers that are the same in all releases, but for a script that they import.
IMPORTS = {"imports": "importScripts('/version.js');", "module": "import '/version.js';"}

# A page that takes what is ready, as README has it, and says that it works; and one that never does.
EAGER = """<!doctype html><title>%s</title>
<script src="/_castree/bridge.js"></script><script>
window.version = '%s';
sessionStorage.loads = 1 + +(sessionStorage.loads || 0);
castree.bridge.addEventListener('open', () => { window.isOpen = true; });
addEventListener('load', () => castree.confirm().then(good => { window.isGood = good; }));
castree.bridge.addEventListener('version-ready', () => location.reload());
</script>"""
# What a page has besides, which its worker may keep and may not: all of one version, or refused.
WHOLE = """(async () => {
  if (document.readyState !== 'complete') await new Promise(done => addEventListener('load', done));
  const data = async options => {
    const answer = await fetch('/data.txt?' + Math.random(), options);
    return answer.ok ? answer.text() : answer.status;
  };
  return [window.version, window.app, window.kept, await data(), await data({ credentials: 'omit' })];
})()"""
SILENT = EAGER.replace(
    "addEventListener('load', () => castree.confirm().then(good => { window.isGood = good; }));", "")


# A page that registers its worker as early as it can, and again and again.
REGISTERING = """<script>
const again = () => navigator.serviceWorker.register('/worker.js').catch(() => {});
again();
setInterval(again, 50);
</script>"""

# As Angular's worker: the same in every release. A list says which files the newest one has, and by which digests.
LISTING = """
const name = 'release-';
const unkept = path => new Request(`${path}?ngsw-cache-bust=${Math.random()}`);
const digest = async answer => Array.from(
  new Uint8Array(await crypto.subtle.digest('SHA-1', await answer.clone().arrayBuffer())),
  byte => byte.toString(16).padStart(2, '0')).join('');
const newest = async () => caches.open((await caches.keys()).find(each => each.startsWith(name)) || 'none');
const check = async () => {
  const answer = await fetch(unkept('ngsw.json'));
  if (!answer.ok) return;
  const list = await answer.text();
  if (await caches.has(name + list)) return;
  const files = [];
  for (const [path, wanted] of Object.entries(JSON.parse(list).hashTable)) {
    let file = await fetch(new Request(path));
    if (await digest(file) !== wanted) file = await fetch(unkept(path));
    if (await digest(file) !== wanted) return;
    files.push([path, file]);
  }
  for (const each of await caches.keys()) await caches.delete(each);
  const release = await caches.open(name + list);
  for (const [path, file] of files) await release.put(path, file);
  for (const page of await clients.matchAll()) page.postMessage('ready');
};
const releases = new Map();
addEventListener('install', () => skipWaiting());
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('message', event => event.waitUntil(check()));
addEventListener('fetch', event => event.respondWith((async () => {
  const isPage = event.request.mode === 'navigate', id = event.resultingClientId || event.clientId;
  if (isPage) releases.set(id, await newest());
  const path = isPage ? '/index.html' : new URL(event.request.url).pathname;
  return await releases.get(id)?.match(path) || fetch(event.request);
})()));
"""
# What an Angular app does when it has loaded, and when a version is ready.
LISTENING = """<script>
navigator.serviceWorker.ready.then(worker => setTimeout(() => worker.active.postMessage('check'), 300));
navigator.serviceWorker.addEventListener('message', () => location.reload());
</script>"""


def strategic(version, strategy, page=EAGER):
    page = page.replace(
        "</title>", "</title><script src=\"/app.js\"></script><script src=\"/kept.js\"></script>", 1)
    files = {
        "index.html": page % (version, version), "data.txt": version,
        "app.js": f"window.app = '{version}'", "kept.js": f"window.kept = '{version}'"}
    if strategy in IMPORTS:
        same = HEAD.replace("const VERSION = '%s', NAME", "const NAME", 1) + STRATEGIES["precache"]
        return files | {"worker.js": IMPORTS[strategy] + same, "version.js": f"self.VERSION = '{version}'"}
    if strategy != "angular":
        return files | {"worker.js": HEAD % version + STRATEGIES[strategy]}
    files["index.html"] += LISTENING
    table = {f"/{name}": hashlib.sha1(files[name].encode()).hexdigest() for name in ("index.html", "kept.js")}
    return files | {"worker.js": LISTING, "ngsw.json": json.dumps({"hashTable": table})}


def strategy_checks(suite):
    for name in [*STRATEGIES, *IMPORTS, "angular"]:
        suite.check(
            f"worker-{name}",
            f"With {name}, pages come over an update, a rollback and restarts of browser and server.",
            lambda suite, name=name: strategy(suite, name))
    suite.check(
        "worker-left",
        "With a worker that is the same in all versions, and gives what it has while it fetches, a bad version goes by itself.",
        left)
    suite.check(
        "worker-forgetting",
        "An app that deletes what the tab remembers, and keeps its pages in a worker, loads them a few times, and shows an update.",
        forgetting)
    suite.check(
        "worker-first",
        "The first release with a worker goes like any other: back to one that has none, and on to another.",
        first)
    suite.check(
        "worker-beside",
        "A version whose page is broken is left at its first failed start, though a tab with an older page is open.",
        beside)
    suite.check(
        "worker-stuck",
        "A worker whose script never changes keeps its page: status says so, and a server that refuses it frees the page.",
        stuck)


def strategy(suite, name):
    store = suite.store()
    store.add("v1", strategic("v1", name), activate=True)
    store.add("v2", strategic("v2", name))
    store.add("v3", strategic("v3", name, SILENT))
    options = ("--confirm-within", "15s", "--app-id", str(store.path), "--next-port")
    profile = f"profile-{suite.count}-kept"

    def show(tab, version, within=40):
        """Waits until the page is a version."""
        deadline, seen = time.monotonic() + within, None
        while seen != version:
            demand(time.monotonic() < deadline, f"the page is {seen}, not {version}: {lifecycle(store)}")
            time.sleep(0.5)
            try:
                seen = tab.run("window.version")
            except Refused:
                # It is loading another page.
                continue

    def whole(tab, when):
        """Demands that the page is of one version and stays so, also when it was loaded again.

        A worker that takes over while a page loads mixes it; such a page confirms nothing and is loaded again.
        """
        for _ in range(2):
            deadline, turns, seen = time.monotonic() + 20, 0, []
            while turns < 3:
                demand(time.monotonic() < deadline, f"{when}, the page has {seen}")
                time.sleep(1)
                try:
                    seen = tab.run(WHOLE)
                except Refused:
                    # It is loading another page.
                    continue
                turns = turns + 1 if len(set(seen)) == 1 else 0
                demand(turns or tab.run("!window.isGood"), f"{when}, a page is confirmed that has {seen}")
            tab.reload()
            tab.wait("window.isOpen")

    with suite.browser(profile=profile) as browser:
        tab = browser.tab()
        with store.serve(*options) as server:
            url = server.url
            register(tab, url, "{ type: 'module' }" if name == "module" else "{}")
            tab.reload()
            # Update: the page reloads itself when it hears of it.
            store("activate", "v2", "--at-next-boot")
            show(tab, "v2")
            tab.wait("window.isGood")
            seen = lifecycle(store)
            demand(seen["knownGood"] == ["v2", "v1"] and not seen["bad"], f"after the update: {seen}")
            suite.say(f"updated after {tab.run('+sessionStorage.loads')} loads")
            whole(tab, "after the update")
            # The way back, and forth.
            for version in ("v1", "v2"):
                store("activate", version, "--at-next-boot")
                show(tab, version)
                tab.wait("window.isGood")
                whole(tab, f"on the way to {version}")
            # Rollback: nobody confirms v3, and the page is v2 again.
            store("activate", "v3", "--at-next-boot")
            show(tab, "v3")
            show(tab, "v2", within=60)
            seen = lifecycle(store)
            demand(
                seen["current"] == "v2" and "v3" not in seen["knownGood"], f"after the rollback: {seen}")
            loads = tab.run("+sessionStorage.loads")
            time.sleep(3)
            suite.say(f"gone back after {loads} loads in all")
            demand(tab.run("+sessionStorage.loads") <= loads + 1, "the page loads itself for ever")
            whole(tab, "after the rollback")
            demand(server.stop() == 0, "the server did not end as it should")
        with store.serve(*options):
            tab.wait("window.isOpen")
            whole(tab, "after the server's restart")
    with store.serve(*options), suite.browser(profile=profile) as browser:
        tab = browser.tab()
        tab.go(url)
        tab.wait("window.isOpen")
        time.sleep(1)
        seen = lifecycle(store)
        whole(tab, "after both restarts")
        suite.say(f"after restarts the page is {tab.run('window.version')}, the store's {seen['current']}")
        demand("v3" not in seen["knownGood"], f"what was never confirmed is known good: {seen}")
        demand("v2" in seen["knownGood"], f"what was confirmed is not known good: {seen}")


def first(suite):
    store = suite.store()
    for version in ("v1", "v3"):
        store.add(version, {"index.html": EAGER % (version, version)}, activate=version == "v1")
    page = SILENT + "<script>navigator.serviceWorker.register('/worker.js')</script>"
    store.add("v2", strategic("v2", "precache", page))
    store.add("v4", strategic("v4", "precache", page.replace(SILENT, EAGER)))
    store.add("v5", {"index.html": EAGER % ("v5", "v5")})
    with store.serve("--confirm-within", "8s") as server, suite.browser() as browser:
        tab = browser.tab()
        tab.go(server.url)
        tab.wait("window.isGood")
        store("activate", "v2", "--at-next-boot")
        tab.reload()
        tab.wait("window.version === 'v2' && !!navigator.serviceWorker.controller || window.version === 'v1'")
        for version in ("v1", "v3"):
            if version == "v3":
                store("activate", "v3", "--at-next-boot")
            tab.wait(f"window.version === '{version}'", within=60)
        tab.wait("window.isGood")
        demand(lifecycle(store)["knownGood"] == ["v3", "v1"], f"the lifecycle is {lifecycle(store)}")
        tab.wait("navigator.serviceWorker.getRegistrations().then(all => !all.length)")
        # One that works is left, too, for one that has none and waits.
        store("activate", "v4", "--at-next-boot")
        tab.wait("window.version === 'v4' && window.isGood && !!navigator.serviceWorker.controller")
        tab.reload()
        store("activate", "v5", "--at-next-boot")
        tab.wait("window.version === 'v5' && window.isGood", within=60)
        tab.wait("navigator.serviceWorker.getRegistrations().then(all => !all.length)")


def left(suite):
    store = suite.store()
    for version, page in (("v1", EAGER), ("v2", SILENT)):
        store.add(version, {
            "index.html": page % (version, version),
            "worker.js": HEAD % "all" + STRATEGIES["stale-while-revalidate"]},
            activate=version == "v1")
    with store.serve("--confirm-within", "8s") as server, suite.browser() as browser:
        tab = browser.tab()
        register(tab, server.url)
        tab.reload()
        store("activate", "v2", "--at-next-boot")
        deadline = time.monotonic() + 30
        while tab.run("window.version") != "v2":
            demand(time.monotonic() < deadline, "the new version is not shown")
            time.sleep(0.5)
            tab.reload()
        before = tab.run("+sessionStorage.loads")
        # From here on nobody touches the page.
        tab.wait("window.version === 'v1' && window.isGood", within=60)
        seen = lifecycle(store)
        demand(seen["current"] == "v1" and seen["knownGood"] == ["v1"], f"the lifecycle is {seen}")
        suite.say(f"gone back after {tab.run('+sessionStorage.loads') - before} loads")


def forgetting(suite):
    store = suite.store()
    page = EAGER.replace("<script src", "<script>sessionStorage.clear()</script><script src", 1).replace(
        "sessionStorage.loads = 1 + +(sessionStorage.loads || 0)",
        "localStorage.loads = 1 + +(localStorage.loads || 0)")
    for version in ("v1", "v2"):
        store.add(version, strategic(version, "precache", page), activate=version == "v1")
    with store.serve("--confirm-within", "20s") as server, suite.browser() as browser:
        tab = browser.tab()
        register(tab, server.url)
        tab.reload()
        tab.wait("window.isOpen")
        before = tab.run("+localStorage.loads")
        store("activate", "v2", "--at-next-boot")
        tab.wait("window.version === 'v2' && window.isGood", within=60)
        loads = tab.run("+localStorage.loads") - before
        suite.say(f"updated after {loads} loads")
        demand(loads < 6, f"the page was loaded {loads} times")
        demand(lifecycle(store)["knownGood"] == ["v2", "v1"], f"the lifecycle is {lifecycle(store)}")


def beside(suite):
    store = suite.store()
    worker = HEAD % "all" + STRATEGIES["network-first"]
    store.add("v1", site("v1", worker), activate=True)
    store.add("v2", site("v2", worker) | {"index.html": "<!doctype html><script>window.version = 'v2'</script>"})
    with store.serve("--confirm-within", "4s") as server, suite.browser() as browser:
        idle = browser.tab()
        register(idle, server.url)
        tab = browser.tab()
        tab.go(server.url)
        tab.wait("window.isOpen")
        # What has come a moment ago may be what a worker shows in place of the next page.
        time.sleep(31)
        store("activate", "v2", "--at-next-boot")
        tab.reload()
        demand(tab.run("window.version") == "v2", "v2 is not shown")
        demand(server.said("v2 was rolled back", within=20), f"v2 is not left: {server.notices}")
        tab.reload()
        demand(tab.run("window.version") == "v1", f"v2 is shown again: {lifecycle(store)}")
        demand(lifecycle(store)["trials"][0]["strikes"] == 1, f"the lifecycle is {lifecycle(store)}")


def stuck(suite):
    store = suite.store()
    for version in ("v1", "v2"):
        store.add(version, {
            "index.html": EAGER % (version, version) + REGISTERING,
            "kept.js": "", "worker.js": HEAD % "all" + STRATEGIES["precache"]},
            activate=version == "v1")
    options = ("--confirm-within", "20s", "--app-id", str(store.path), "--next-port")
    with suite.browser() as browser:
        tab = browser.tab()
        with store.serve(*options) as server:
            url = server.url
            register(tab, url)
            tab.reload()
            tab.run("localStorage.setItem('kept', 'the data of the app')")
            store("activate", "v2", "--at-next-boot")
            demand(server.said("a service worker shows version v1"), "the server says nothing")
            codes = [each["code"] for each in status(store)["problems"]]
            demand(codes == ["stalePage"], f"status names {codes}")
            seen = lifecycle(store)
            demand(
                seen["knownGood"] == ["v1"] and not seen["bad"] and not seen.get("trials"),
                f"the lifecycle is {seen}")
            demand(server.stop() == 0, "the server did not end as it should")
        with store.serve(*options, "--service-workers", "refuse"):
            tab.go(url)
            tab.wait("window.version === 'v2' && window.isGood")
            # The first pages may have the script that the browser has kept.
            tab.reload()
            tab.wait("window.isGood")
            tab.wait("navigator.serviceWorker.getRegistrations().then(all => !all.length)", within=5)
            demand(
                tab.run("navigator.serviceWorker.register('/worker.js').then(() => 'taken', () => 'refused')")
                == "refused", "a worker is taken")
            demand(
                tab.run("localStorage.getItem('kept')") == "the data of the app", "the app's data is gone")
            codes = [each["code"] for each in status(store)["problems"]]
            demand(codes == [], f"status still names {codes}")
