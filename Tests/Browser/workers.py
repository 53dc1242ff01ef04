"""Service workers: pages that they keep confirm nothing but themselves."""

import json
import time

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


def register(tab):
    """Registers the worker, and waits until it controls the page."""
    tab.run("navigator.serviceWorker.register('/worker.js').then(() => true)")
    tab.wait("!!navigator.serviceWorker.controller")


def lifecycle(store):
    return json.loads(store("lifecycle", "--json"))


def checks(suite):
    for name, worker, what in (
            ("keeping", KEEPING, "keeps"), ("making", MAKING, "makes anew")):
        suite.check(
            f"worker-dropped-{name}",
            f"After a restart of the browser, the page that a worker {what} confirms no version but its own.",
            lambda suite, worker=worker: dropped(suite, worker))


def dropped(suite, worker):
    store = suite.store()
    store.add("v1", site("v1", worker), activate=True)
    store.add("v2", site("v2", worker))
    profile = f"profile-{suite.count}-kept"
    with store.serve("--confirm-within", "20s") as server:
        with suite.browser(profile=profile) as browser:
            tab = browser.tab()
            tab.go(server.url)
            tab.wait("window.isGood")
            register(tab)
        store("activate", "v2", "--at-next-boot")
        # The browser asks for the page while the worker starts, and drops the answer.
        with suite.browser(profile=profile) as browser:
            tab = browser.tab()
            tab.go(server.url)
            tab.wait("window.isGood !== undefined")
            demand(tab.run("window.version") == "v1", "the worker's page is not shown")
            started = server.said("rolled back", within=3)
            seen = lifecycle(store)
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
