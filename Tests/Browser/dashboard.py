"""`castree serve --dashboard` in a real browser: what other processes do is shown without a reload."""

import functools
import http.server
import random
import re
import subprocess
import threading
import urllib.parse

from place import demand, request
from usage import quiet, settle


def checks(suite):
    suite.check(
        "dashboard", "The dashboard follows what other processes do, and is for its own browser alone.",
        follows)
    suite.check(
        "dashboard-pull", "A download by another process is shown with how far it is.", pulling)


def address(server):
    """The dashboard's address, which stands on the second line."""
    line = server.process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/_castree/dashboard/\?\S+", line)
    demand(found, f"the second line is {line!r}")
    return found.group(0)


def states(tab, version):
    """What the panel says of a version: its states and who keeps it."""
    return tab.run(
        "(() => { const row = [...document.querySelectorAll('#live-versions tbody tr')]"
        f".find(each => each.cells[0].textContent === '{version}');"
        " return row ? [[...row.querySelectorAll('.tag')].map(each => each.textContent),"
        " row.cells[2].textContent] : null; })()")


def is_state(version, state):
    return (
        "[...document.querySelectorAll('#live-versions tbody tr')].some(each =>"
        f" each.cells[0].textContent === '{version}' && each.textContent.includes('{state}'))")


def watch(browser, where, width=1280, height=900, theme="light"):
    tab = browser.tab()
    tab.resize(width, height, theme)
    tab.call("Log.enable")
    tab.go(where, within=60)
    tab.wait("Boolean(document.querySelector('#live-versions tbody tr'))", within=60)
    settle(tab)
    return tab


def follows(suite):
    store = suite.store()
    store.add("v1", {"index.html": "one", "js/app.js": "let a" * 900}, activate=True)
    source = store.add("v2", {"index.html": "two", "js/app.js": "let a" * 900})
    with store.serve("--dashboard") as server, suite.browser() as browser:
        where = address(server)
        tab = watch(browser, where)
        demand("?" not in tab.run("location.href"), "the token stays in the address")
        demand(tab.run("document.cookie") == "", "scripts can read the cookie")
        demand("current" in states(tab, "v1")[0], f"the panel says of v1 {states(tab, 'v1')}")
        demand("Never checked" in tab.run("document.getElementById('live-check').textContent"),
               "there was no check, and it does not say so")
        tab.run("document.querySelector('#versions tbody tr:last-child input').click()")
        tab.run("document.querySelector('#versions tbody tr:last-child input').focus()")
        loads = tab.loads
        store("activate", "v2")
        tab.wait(is_state("v2", "current"), within=60)
        demand("current" not in states(tab, "v1")[0], "two versions are current")
        tab.wait("document.getElementById('live-news').textContent === 'Version v2 is current now.'")
        store("protect", "v1")
        tab.wait(is_state("v1", "castree protect"), within=60)
        demand("castree protect" in states(tab, "v1")[1] and "castree protect" not in states(tab, "v2")[1],
               f"the panel says of v1 {states(tab, 'v1')}, of v2 {states(tab, 'v2')}")
        # The figures below follow, and what was chosen stays chosen.
        tab.wait("castreeUsage.page.usage.lifecycle.current === 'v2'", within=60)
        demand(tab.run("document.querySelector('#versions tbody tr:last-child input').checked"),
               "what was chosen is not chosen any more")
        demand(tab.run("document.activeElement.ariaLabel") == "Choose v1", "the focus is lost")
        (source / "more.txt").write_text("more")
        store("add", "--version", "v3", str(source))
        tab.wait(is_state("v3", "") + " && castreeUsage.page.usage.versions.length === 3", within=60)
        store("fsck")
        tab.wait("document.getElementById('live-check').textContent.includes('nothing wrong')", within=60)
        tab.run("scrollTo(0, 0)")
        tab.screenshot(suite.directory / "dashboard.png")
        damage(store)
        subprocess.run([store.castree, "--store", str(store.path), "fsck"], capture_output=True, timeout=120)
        tab.wait("Boolean(document.querySelector('#live-check li'))", within=60)
        found = tab.run("document.getElementById('live-check').textContent")
        demand("damagedObject" in found, f"the last check is {found!r}")
        hidden(tab)
        demand(tab.loads == loads, "the page was loaded again")
        quiet(tab)
        tab.run("scrollTo(0, 0)")
        tab.screenshot(suite.directory / "dashboard-found.png")
        tab.close()
        for width, theme in ((390, "dark"), (1024, "dark")):
            tab = watch(browser, where, width, 844, theme)
            over = tab.run("document.documentElement.scrollWidth - innerWidth")
            demand(over <= 0, f"{width} px: the page is {over} px too wide")
            tab.screenshot(suite.directory / f"dashboard-{width}-{theme}.png")
            quiet(tab)
            tab.close()
        strangers(browser, server, where)
        named(browser, where)


def damage(store):
    file = max((store.path / "objects").glob("*/*"), key=lambda each: each.stat().st_size)
    file.chmod(0o644)
    content = bytearray(file.read_bytes())
    content[7] ^= 1
    file.write_bytes(content)
    file.chmod(0o444)


def hidden(tab):
    """A page that nobody sees asks nothing."""
    tab.run("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    tab.run("document.dispatchEvent(new Event('visibilitychange'))")
    tab.wait("!castreeUsage.live.isAsking", within=60)
    asked = tab.run(
        "(async () => { const before = performance.getEntriesByType('resource').length;"
        " await new Promise(done => setTimeout(done, 5000));"
        " return performance.getEntriesByType('resource').length - before; })()")
    demand(asked == 0, f"hidden, it asked {asked} times")
    tab.run("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    tab.wait("performance.getEntriesByType('resource').length > " + str(asked), within=60)


def strangers(browser, server, where):
    """Who has not the cookie sees nothing; nor does the app, whose origin is another one."""
    plain = where.partition("?")[0]
    parts = urllib.parse.urlsplit(plain)
    status, _, _ = request(parts.port, parts.path, host=parts.netloc)
    demand(status == 403, f"without a cookie it is answered with {status}")
    app = browser.tab()
    app.go(server.url)
    for target in (plain + "status.json", "/_castree/dashboard/status.json"):
        got = app.run(
            f"fetch('{target}', {{ credentials: 'include' }}).then(each => each.status, () => 'refused')")
        demand(got in (403, "refused"), f"a script of the app gets {got} from {target}")
    app.close()


def named(browser, where):
    tab = watch(browser, where)
    tab.call("Accessibility.enable")
    for node in tab.call("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        if node.get("ignored") or role not in ("button", "checkbox", "region", "progressbar", "searchbox"):
            continue
        demand(node.get("name", {}).get("value", "").strip(), f"something of the role {role} has no name")
    tab.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


def pulling(suite):
    publisher = suite.store()
    # Noise: what compresses is in a pack of some kilobytes, and here before anybody has looked. One file is larger than
    # all others, so that for most of the time only a part of one frame has come.
    noise = random.Random(20)
    files = {f"part-{number}.bin": noise.randbytes(200_000) for number in range(4)}
    files["large.bin"] = noise.randbytes(6_000_000)
    publisher.add("v9", {"index.html": "nine", **files})
    origin = suite.directory / "origin"
    publisher("publish", "v9", str(origin))
    files = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(origin)))
    threading.Thread(target=files.serve_forever, daemon=True).start()
    store = suite.store()
    store.add("v1", {"index.html": "one"}, activate=True)
    pull = None
    try:
        with store.serve("--dashboard") as server, suite.browser() as browser:
            tab = watch(browser, address(server))
            demand("Nothing is being downloaded" in tab.run(
                "document.getElementById('live-downloads').textContent"), "it shows a download")
            pull = subprocess.Popen(
                [store.castree, "--store", str(store.path), "pull", "--limit-rate", "500K",
                 f"http://127.0.0.1:{files.server_address[1]}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            tab.wait("document.querySelector('#live-downloads progress')?.value > 0", within=60)
            first = tab.run("document.querySelector('#live-downloads progress').value")
            tab.wait(
                f"document.querySelector('#live-downloads progress')?.value > {first}"
                " && document.getElementById('live-downloads').textContent.includes('/s')", within=60)
            tab.screenshot(suite.directory / "dashboard-pull.png")
            suite.say(tab.run("document.getElementById('live-downloads').textContent"))
            pull.wait(120)
            demand(pull.returncode == 0, f"the download ended with {pull.returncode}: {pull.stderr.read()}")
            tab.wait("!document.querySelector('#live-downloads progress')", within=60)
            demand("incomplete" not in states(tab, "v9")[0], f"the panel says of v9 {states(tab, 'v9')}")
            quiet(tab)
            tab.close()
    finally:
        if pull and pull.poll() is None:
            pull.kill()
        files.shutdown()
