"""One page, one version: the way back, and frames that say little of themselves."""

import time

from place import demand, request

NAMES = ("index", "two", "three", "four", "five", "six", "seven", "eight")


def document(name, version, more=""):
    return (
        f"<!doctype html><meta charset=utf-8><title>{name}</title>"
        '<link rel="icon" href="data:,"><script>SCRIPT = OWN = "none"</script>'
        f'{more}<script src="app.js"></script><script src="{name}.js"></script>'
        f"<body>{version}<script>result = '{version} ' + SCRIPT + ' ' + OWN</script>")


def site(version, more=""):
    """Pages that share a script, and have one of their own."""
    files = {f"{name}.html": document(name, version, more) for name in NAMES}
    files |= {f"{name}.js": f"OWN = '{version}';" for name in NAMES}
    files["app.js"] = f"SCRIPT = '{version}';"
    files["frame.html"] = (
        f"<!doctype html><script src=/frame.js></script><script>parent.postMessage('{version} ' + FRAME, '*')"
        "</script>")
    files["frame.js"] = f"FRAME = '{version}';"
    files["data.json"] = f'"{version}"'
    return files


def checks(suite):
    for bridge in (False, True):
        suite.check(
            "back-bridge" if bridge else "back",
            "Back across a switch shows the new version's page and " + (
                "what belongs to it, by the bridge." if bridge else "the script that pages share."),
            lambda suite, bridge=bridge: back(suite, bridge))
    suite.check(
        "frames", "Frames and requests that keep cookie or Referer to themselves are of their page's version.",
        frames)
    for way in ("tabs", "history"):
        suite.check(
            f"lost-cookies-{way}",
            "Cookies are cleared while a page is open, and it keeps its version, beside a newer page "
            + ("in another tab." if way == "tabs" else "and out of the history."),
            lambda suite, way=way: lost_cookies(suite, way))
    suite.check(
        "lost-cookies-restart",
        "Cookies are cleared while pages are open, the server is restarted, and each page has its version's files.",
        lost_cookies_restart)
    suite.check(
        "name-again",
        "A script's name that was kept for a year comes back with other bytes: the page has those, and nobody is blamed.",
        name_again)
    suite.check(
        "pictures", "A window of a newer version leaves the pictures of the page that opened it as they are.", pictures)
    suite.check(
        "fragments", "Over plain http a page asks for HTML, as Turbo does: it starts nothing and stays as it is.",
        fragments)


def pictures(suite):
    def files(width):
        return {
            "index.html": '<!doctype html><link rel="icon" href="data:,"><img src="/logo.svg">',
            "logo.svg": f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="10"/>'}

    store = suite.store()
    store.add("v1", files(10), activate=True)
    store.add("v2", files(20))
    with store.serve() as server, suite.browser() as browser:
        tab = browser.tab()
        tab.go(server.url)
        tab.wait("document.images[0].naturalWidth === 10")
        store("activate", "v2")
        tab.run("newer = window.open('/?window', '', 'width=200,height=200'); 0")
        tab.wait("newer.document.images[0]?.naturalWidth === 20")
        # The window shows its own: a picture that is shared was replaced by then.
        width = tab.run("document.images[0].naturalWidth")
        demand(width == 10, f"the page's picture has become {width} wide")


def bundled(version, script):
    return {
        "index.html": '<!doctype html><script src="/_castree/bridge.js"></script>'
        f'<script src="/js/{script}"></script><script>addEventListener("load", () => castree.confirm().then('
        f'good => {{ window.result = `{version} ${{window.SCRIPT}} ${{good}}`; }}));'
        'castree.bridge.addEventListener("version-ready", () => location.reload())</script>',
        f"js/{script}": f"SCRIPT = '{version}'"}


def name_again(suite):
    store = suite.store()
    store.add("v1", bundled("v1", "app.3f2a9c1b.js"), activate=True)
    store.add("v2", bundled("v2", "app.77aa12cd.js"))
    with store.serve("--confirm-within", "20s") as server, suite.browser() as browser:
        fields = request(server.port, "/js/app.3f2a9c1b.js")[1]
        demand("immutable" in fields["cache-control"], f"the script may not be kept: {fields}")
        tab = browser.tab()
        tab.go(server.url)
        tab.wait("window.result === 'v1 v1 true'")
        store.add("v3", bundled("v3", "app.3f2a9c1b.js"))
        store("activate", "v3", "--at-next-boot")
        tab.wait("window.result === 'v3 v3 true'")
        demand(server.said("the browser's cache showed files of version v1"), "it was not mixed")
        demand(not any("service worker" in line for line in server.notices), "a worker is blamed")


def back(suite, bridge):
    # A page with an unload handler is not kept alive in the history; one that many pages have followed is not either.
    more = '<script>addEventListener("unload", () => {})</script>'
    if bridge:
        more += '<script src="/_castree/bridge.js"></script>'
    store = suite.store()
    store.add("v1", site("v1", more), activate=True)
    store.add("v2", site("v2", more))
    with store.serve() as server, suite.browser() as browser:
        for count in (1, len(NAMES) - 1):
            store("activate", "v1")
            tab = browser.tab(browser.person())
            time.sleep(1)
            tab.go(server.url)
            demand(tab.run("result") == "v1 v1 v1", "the first page is not v1")
            store("activate", "v2")
            time.sleep(1)
            for name in NAMES[1:count + 1]:
                tab.go(f"{server.url}{name}.html")
                demand(tab.run("result") == "v2 v2 v2", f"{name} is {tab.run('result')}")
            for number in range(count):
                tab.back()
                if bridge:
                    # What the browser had in memory it may have shown for a moment.
                    said = tab.wait("result === 'v2 v2 v2' && result")
                else:
                    said = tab.run("result")
                    demand(said.startswith("v2 v2"), f"a mixed page after {number + 1} steps back: {said}")
            suite.say(f"after {count} pages and as many steps back: {said}")


def frames(suite):
    store = suite.store()
    store.add("v1", site("v1"), activate=True)
    store.add("v2", site("v2"))
    script = "<script src={}/frame.js></script><script>parent.postMessage('v1 ' + FRAME, '*')</script>"
    with store.serve() as server, suite.browser() as browser:
        person = browser.person()
        tab = browser.tab(person)
        tab.go(server.url)
        store("activate", "v2")
        time.sleep(1)
        inline = script.format(server.url.rstrip("/")).replace("</", "<\\/")
        ways = {
            "a frame": "f.src = '/frame.html'",
            "a frame without Referer": "f.referrerPolicy = 'no-referrer'; f.src = '/frame.html?1'",
            "a sandboxed frame": "f.sandbox = 'allow-scripts'; f.src = '/frame.html?2'",
            "a sandboxed srcdoc": f"f.sandbox = 'allow-scripts'; f.srcdoc = `{inline}`",
            "a data: frame": f"f.src = 'data:text/html,' + encodeURIComponent(`{inline}`)",
        }
        for state in ("alone", "beside a page of v2"):
            if state != "alone":
                browser.tab(person).go(server.url)
            for what, way in ways.items():
                said = tab.run(
                    "new Promise(done => { const f = document.createElement('iframe');"
                    "onmessage = ({ data }) => { f.remove(); done(data); };"
                    f"{way}; document.body.append(f); setTimeout(done, 10000, 'nothing'); }})")
                demand(said == "v1 v1", f"{what}, {state}: {said}")
            for options in ("{}", "{credentials: 'omit'}", "{referrerPolicy: 'no-referrer'}",
                            "{credentials: 'omit', referrerPolicy: 'no-referrer'}"):
                said = tab.run(f"fetch('data.json', {options}).then(answer => answer.json())")
                demand(said == "v1", f"fetch with {options}, {state}: {said}")
        suite.say(f"{len(ways)} kinds of frames and 4 of fetch() were v1 in a page v1")


CONFIRMING = (
    '<script src="/_castree/bridge.js"></script><script>'
    "addEventListener('load', () => castree.confirm().then(good => { window.isGood = good; }))</script>")
DATA = "fetch('data.json').then(answer => answer.ok ? answer.json() : answer.status)"


def lost_cookies(suite, way):
    store = suite.store()
    store.add("v1", site("v1", CONFIRMING), activate=True)
    store.add("v2", site("v2", CONFIRMING))
    with store.serve() as server, suite.browser() as browser:
        person = browser.person()
        tab = browser.tab(person)
        tab.go(server.url)
        tab.wait("window.isGood")
        store("activate", "v2")
        time.sleep(1)
        browser.call("Storage.clearCookies", browserContextId=person)
        demand(tab.run(DATA) == "v1", "the page without a cookie is not v1")
        if way == "tabs":
            other = browser.tab(person)
            other.go(server.url)
            for seconds in (0, 5):
                time.sleep(seconds)
                said = tab.run(DATA), other.run(DATA)
                demand(said == ("v1", "v2"), f"the pages get {said}")
            suite.say("a page v1 beside one of v2 gets v1")
        else:
            tab.go(f"{server.url}two.html")
            demand(tab.run(DATA) == "v2", "the next page is not v2")
            history = tab.call("Page.getNavigationHistory")
            entry = history["entries"][history["currentIndex"] - 1]
            # Out of memory it has not loaded again.
            tab.call("Page.navigateToHistoryEntry", entryId=entry["id"])
            for _ in range(3):
                time.sleep(1)
                shown, got = tab.run("document.body.textContent.slice(0, 2)"), tab.run(DATA)
                demand(got in (shown, 409), f"a page {shown} gets {got}")
            suite.say(f"the page out of the history is {shown}, and gets {got}")


def lost_cookies_restart(suite):
    store = suite.store()
    counting = CONFIRMING + "<script>sessionStorage.loads = 1 + +(sessionStorage.loads || 0)</script>"
    for version in ("v1", "v2"):
        store.add(version, site(version, counting), activate=version == "v1")
    options = ("--app-id", str(store.path))
    with suite.browser() as browser:
        person = browser.person()
        tabs = [browser.tab(person) for _ in range(2)]
        with store.serve(*options) as server:
            for tab, version in zip(tabs, ("v1", "v2")):
                store("activate", version)
                time.sleep(1)
                tab.go(server.url)
                tab.wait("window.isGood")
            browser.call("Storage.clearCookies", browserContextId=person)
            demand([tab.run(DATA) for tab in tabs] == ["v1", "v2"], "the pages without a cookie are mixed")
            demand(server.stop() == 0, "the server did not end as it should")
        with store.serve(*options):
            for tab in tabs:
                tab.wait("document.body?.textContent.startsWith('v2') && window.isGood", within=40)
            time.sleep(2)
            for tab in tabs:
                shown, got = tab.run("document.body.textContent.slice(0, 2)"), tab.run(DATA)
                loads = tab.run("+sessionStorage.loads")
                demand(shown == got == "v2" and loads <= 2, f"a page {shown}, loaded {loads} times, gets {got}")
            suite.say("pages that no run of the server knew loaded themselves again, once at most")


def fragments(suite):
    store = suite.store()
    store.add("v1", site("v1", CONFIRMING), activate=True)
    store.add("v2", site("v2", CONFIRMING))
    options = ("--host", "kiosk.example", "--confirm-within", "30s")
    with store.serve(*options) as server, suite.browser(
            "--host-resolver-rules=MAP kiosk.example 127.0.0.1") as browser:
        tab = browser.tab()
        tab.go(f"http://kiosk.example:{server.port}/")
        tab.wait("window.isGood")
        store("activate", "v2", "--at-next-boot")
        time.sleep(1)
        asking = (
            "fetch('/three.html', { headers: { Accept: 'text/html, application/xhtml+xml' } })"
            ".then(answer => answer.text()).then(text => /<body>(v.)/.exec(text)[1])")
        for _ in range(2):
            demand(tab.run(asking) == "v1", "the fragment is not of the page's version")
            demand(tab.run(DATA) == "v1", "the page is taken to another version")
        demand(not server.said("v2 has started", within=1), "a fragment has started v2")
        tab.go(f"http://kiosk.example:{server.port}/two.html")
        demand(tab.run("result") == "v2 v2 v2", f"the next page is {tab.run('result')}")
        tab.wait("window.isGood")
        suite.say("two fragments started nothing, and the next page did")
