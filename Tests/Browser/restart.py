"""What belongs to the web origin survives a restart of the server."""

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
