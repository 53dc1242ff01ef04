"""The app in frames of another origin's page."""

import contextlib

from crosssite import served
from place import demand


def checks(suite):
    for name, what in SHELLS:
        suite.check(
            "frames-" + name,
            f"Two of the app in another port's page{what} are told of each version, once, and load it after a restart.",
            lambda suite, name=name: told(suite, name))
    for name, what in SITES:
        suite.check(
            "frames-elsewhere" + name,
            f"Two in another site's page{what} keep their version after a restart, and load what is current when they"
            " must.",
            lambda suite, name=name: elsewhere(suite, name))


HEARD = "<!doctype html><script>const heard = []; addEventListener('message', e => heard.push(e.data))</script>"
TOLD = """<!doctype html><script src="/_castree/bridge.js"></script><script>
const say = text => parent.postMessage(location.search + text, '*');
castree.bridge.addEventListener('version-ready', ({ detail }) => {
  say(' hears ' + detail.version);
  if (detail.version === 'v3') setTimeout(() => location.reload(), 500);
});
castree.bridge.addEventListener('open', () => say(' is VERSION'));</script>"""
SHELLS = (
    ("plain", ""), ("shadow", ", in shadow trees,"),
    ("castree-1", " of another castree server, whose mark leaves one hint,"),
    ("castree-2", " of another castree server, whose mark leaves two hints,"))
SITES = (("", ""), ("-castree-1", " of another castree server"))


@contextlib.contextmanager
def shown(suite, content, name):
    """The port of a server with a page: of another castree server, the version's name decides the mark."""
    if "castree" not in name:
        other, port = served(suite, content)
        yield port
        other.shutdown()
        return
    shell = suite.store()
    shell.add({"1": "v2", "2": "v1"}[name[-1]], {"index.html": content}, activate=True)
    with shell.serve() as server:
        yield server.port


def hear(tab, *words):
    """Waits for what both frames say."""
    tab.wait(f"heard.length >= {2 * len(words)}", within=15)
    expected = sorted(f"?{name} {word}" for name in "ab" for word in words)
    heard = tab.run("heard.splice(0)")
    demand(sorted(heard) == expected, f"the frames say {heard}, not {expected}")


def told(suite, shell):
    store = suite.store()
    for version in ("v1", "v2", "v3"):
        store.add(version, {"index.html": TOLD.replace("VERSION", version)}, activate=version == "v1")
    options = ("--app-id", str(store.path), "--next-port")
    with contextlib.ExitStack() as open, suite.browser() as browser:
        tab = browser.tab()
        with store.serve(*options) as server:
            around = ("<p><template shadowrootmode=open>", "</template>") if shell == "shadow" else ("", "")
            content = HEARD + "".join(f'<iframe src="{server.url}?{name}"></iframe>'.join(around) for name in "ab")
            port = open.enter_context(shown(suite, content, shell))
            tab.go(f"http://localhost:{port}/")
            hear(tab, "is v1")
            store("activate", "v2")
            hear(tab, "hears v2")
        with store.serve(*options):
            hear(tab, "is v1")
            store("activate", "v3")
            hear(tab, "hears v3", "is v3")
            store("rollback")
            hear(tab, "hears v1", "is v1")


KEEPING = """<!doctype html><script src="/_castree/bridge.js"></script><script>
const say = text => parent.postMessage(location.search + text, '*');
addEventListener('message', ({ data }) => data === 'reload' ? location.reload()
  : fetch('/file.txt').then(async answer => say(' got ' + (answer.ok ? await answer.text() : answer.status))));
castree.bridge.addEventListener('open', () => say(' is VERSION'));</script>"""


def elsewhere(suite, shell):
    store = suite.store()
    for version in ("v1", "v2", "v3"):
        files = {"index.html": KEEPING.replace("VERSION", version), "file.txt": version}
        store.add(version, files, activate=version == "v1")
    options = ("--app-id", str(store.path), "--next-port")

    def tell(word):
        tab.run(f"Array.from(frames).forEach(frame => frame.postMessage('{word}', '*'))")

    with contextlib.ExitStack() as open, suite.browser() as browser:
        tab = browser.tab()
        with store.serve(*options) as server:
            content = HEARD + "".join(f'<iframe src="{server.url}?{name}"></iframe>' for name in "ab")
            port = open.enter_context(shown(suite, content, shell))
            tab.go(f"http://127.0.0.1:{port}/")
            hear(tab, "is v1")
            store("activate", "v2")
            tell("file")
            hear(tab, "got v1")
        with store.serve(*options):
            hear(tab, "is v1")
            tell("file")
            hear(tab, "got v1")
            suite.say("each has kept its version")
            tell("reload")
            hear(tab, "is v2")
            tell("file")
            hear(tab, "got v2")
            suite.say("its own reload has brought the one that is current")
            store("rollback")
            hear(tab, "is v1")
            tell("file")
            hear(tab, "got v1")
            suite.say("a rollback has reached it")
        store("activate", "v3")
        store("retire", "v1")
        with store.serve(*options):
            hear(tab, "is v1", "is v3")
            tell("file")
            hear(tab, "got v3")
