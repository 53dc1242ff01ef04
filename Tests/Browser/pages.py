"""One page, one version: the way back, and frames that say little of themselves."""

import time

from place import demand

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
