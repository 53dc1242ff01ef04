"""Pages that are left, in a browser that says neither hints nor what it loads: what comes in their place is refused nothing."""

from place import demand

PAUSE = "new Promise(done => setTimeout(done, 4000))"
PLAIN = "--host-resolver-rules=MAP kiosk.example 127.0.0.1"


def checks(suite):
    suite.check(
        "leaving", "Over plain http to a name a link, a reload and a page with frames refuse nothing across a switch.",
        leaving)
    suite.check(
        "outlived", "A page that outlives the server which started its version is started again, and confirmed.", outlived)


def site(version, late=""):
    page = (f'<!doctype html><title>{version}</title><script src="/_castree/bridge.js"></script>'
            '<link rel="icon" href="data:,"><iframe src="/frame.html"></iframe><a href="{link}">on</a>'
            f'<script>const version = "{version}"; let connected = false, good = null;'
            "castree.bridge.addEventListener('open', () => { connected = true; });"
            f"{late}</script>")
    return {
        "index.html": page.replace("{link}", "/more.html"), "more.html": page.replace("{link}", "/"),
        "frame.html": "a frame without the bridge", "data.json": f'"{version}"'}


def leaving(suite):
    store = suite.store()
    store.add("v1", site("v1"), activate=True)
    store.add("v2", site("v2"))
    ask = f"{PAUSE}.then(() => fetch('/data.json')).then(a => a.ok ? a.json() : a.status)"
    with store.serve("--host", "kiosk.example") as server, suite.browser(PLAIN) as browser:
        tab = browser.tab()
        tab.go(f"http://kiosk.example:{server.port}/")
        ways = {
            "a link": lambda: tab.follow("document.querySelector('a').click()"),
            "a link back": lambda: tab.follow("document.querySelector('a').click()"),
            "a reload": tab.reload,
            "location.reload()": lambda: tab.follow("location.reload()")}
        for number, (way, go) in enumerate(ways.items()):
            tab.wait("connected && frames[0].document.readyState === 'complete'")
            version = f"v{2 - number % 2}"
            store("activate", version)
            go()
            demand(tab.run("version") == version, f"after {way} the page is of {tab.run('version')}")
            got = tab.run(ask)
            demand(got == version, f"after {way} to {version} the page's file is {got}")


def outlived(suite):
    confirm = f"{PAUSE}.then(() => castree.confirm()).then(is => {{ good = is; }});"
    store = suite.store()
    store.add("v1", site("v1", "castree.confirm().then(is => { good = is; });"), activate=True)
    store.add("v2", site("v2", confirm))
    with suite.browser() as browser:
        tab = browser.tab()
        with store.serve("--confirm-within", "60s") as server:
            tab.go(server.url)
            tab.wait("good")
            store("activate", "v2")
            tab.reload()
            tab.wait("connected")
            demand(server.stop() == 0, "the server did not end as it should")
        with store.serve("--confirm-within", "60s"):
            tab.wait("typeof version === 'string' && version === 'v2' && good", within=60)
            demand("v2" in store("lifecycle").split("known good")[1].split("\n")[0], "v2 is not known good")
