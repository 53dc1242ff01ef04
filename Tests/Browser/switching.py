"""Pages and switches: a page is of one version, whatever becomes current while it loads."""

import json
import random
import threading
import time

from devtools import Refused
from place import Broken, Repeating, demand

SWITCHES = 200
SCRIPTS, MODULES, STYLES, PICTURES, DOCUMENTS = 8, 10, 6, 5, 5
LATE = ("late.js", "late.mjs", "late.json", "late.svg")
# Of the page, its frame and what both bring; the HTML itself comes on top.
EARLY = SCRIPTS + MODULES + 2 * STYLES + 1 + PICTURES + DOCUMENTS + 4
FILES = 1 + EARLY + len(LATE)


def picture(version):
    """A picture whose width says the version."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{10 * version}" height="10">'
            f'<rect width="99" height="10" fill="{"teal" if version == 1 else "orange"}"/></svg>')


def page(version):
    """The HTML: notes what each file says of itself, and what failed."""
    lines = [
        "<!doctype html><html><head><meta charset=utf-8><title>Version", str(version), "</title>",
        '<link rel="icon" href="data:,">',
        "<script>const seen = [], failed = [], waits = [];  // the frame sees what is var",
        "var note = (file, version) => seen.push(file + '=' + version);",
        "var fail = file => failed.push(file);",
        "var framed; waits.push(new Promise(done => framed = done));",
        "let moduled; waits.push(new Promise(done => moduled = done));",
        "if (location.search.includes('bridge'))",
        """  document.write('<script src="/_castree/bridge.js"></' + 'script>');</script>""",
    ]
    for number in range(STYLES):
        lines.append(f'<link rel="stylesheet" href="c{number}.css" onerror="fail(\'c{number}.css\')">')
    for number in range(SCRIPTS):
        lines.append(f'<script src="s{number}.js" onerror="fail(\'s{number}.js\')"></script>')
    lines.append('<script type="module" src="m0.mjs" onerror="fail(\'modules\'); moduled()"></script>')
    lines.append("</head><body><h1>Version " + str(version) + "</h1>")
    for number in range(PICTURES):
        lines.append(
            f'<img src="p{number}.svg" onload="note(\'p{number}.svg\', this.naturalWidth / 10)" '
            f'onerror="fail(\'p{number}.svg\')">')
    for number in range(STYLES):
        lines.append(f'<i id="b{number}"></i>')
    lines.append('<iframe src="frame.html" width="300" height="60"></iframe>')
    lines.append("""<script>
        const version = %d, styles = %d, documents = %d;
        const json = file => fetch(file).then(answer => {
          if (!answer.ok) throw answer.status;
          return answer.json();
        }).then(content => note(file, content.version)).catch(() => fail(file));
        for (let n = 0; n < documents; n++) waits.push(json('j' + n + '.json'));
        const pause = time => new Promise(done => setTimeout(done, time));
        const look = () => {
          const said = (element, name) =>
            getComputedStyle(element).getPropertyValue(name).trim().replace(/"/g, '');
          for (let n = 0; n < styles; n++) {
            const told = said(document.documentElement, '--c' + n);
            if (told) note('c' + n + '.css', told);
            const width = document.getElementById('b' + n).offsetWidth;
            if (told && (width === 10 || width === 20)) note('b' + n + '.svg', width / 10);
            else fail('b' + n + '.svg');
          }
          const told = said(document.documentElement, '--imported');
          if (told) note('imported.css', told); else fail('imported.css');
        };
        const result = () => ({ version, seen, failed });
        const early = new Promise(done => addEventListener('load', done))
          .then(() => Promise.all(waits)).then(look).then(result);
        const latecomers = [
          () => new Promise(done => {
            const script = document.createElement('script');
            script.src = 'late.js';
            script.onload = done;
            script.onerror = () => { fail('late.js'); done(); };
            document.body.append(script);
          }),
          () => import('./late.mjs').catch(() => fail('late.mjs')),
          () => json('late.json'),
          () => new Promise(done => {
            const image = new Image();
            image.onload = () => { note('late.svg', image.naturalWidth / 10); done(); };
            image.onerror = () => { fail('late.svg'); done(); };
            image.src = 'late.svg';
          }),
        ];
        const finished = location.search.includes('late') ? early.then(() => Promise.all(
          latecomers.map(come => pause(2000 + 3000 * Math.random()).then(come)))).then(result) : early;
        </script></body></html>""" % (version, STYLES, DOCUMENTS))
    return "\n".join(lines)


def site(version):
    """All files of a version; the same names in each."""
    files = {"index.html": page(version), "other.html": page(version)}
    for number in range(SCRIPTS):
        files[f"s{number}.js"] = f"note('s{number}.js', {version});"
    for number in range(MODULES):
        if number + 1 < MODULES:
            files[f"m{number}.mjs"] = (
                f"import './m{number + 1}.mjs'; note('m{number}.mjs', {version});"
                + ("moduled();" if number == 0 else ""))
        else:
            files[f"m{number}.mjs"] = f"note('m{number}.mjs', {version});"
    for number in range(STYLES):
        files[f"c{number}.css"] = (
            ('@import "imported.css";\n' if number == 0 else "")
            + f':root {{ --c{number}: "{version}"; }}\n'
            + f"#b{number} {{ content: url(b{number}.svg); }}\n")
        files[f"b{number}.svg"] = picture(version).replace("99", str(90 + number))
    files["imported.css"] = f':root {{ --imported: "{version}"; }}'
    for number in range(PICTURES):
        files[f"p{number}.svg"] = picture(version).replace("99", str(80 + number))
    for number in range(DOCUMENTS):
        files[f"j{number}.json"] = f'{{"version":{version},"number":{number}}}'
    files["frame.html"] = (
        "<!doctype html><link rel=stylesheet href=frame.css><body>"
        f"<script>parent.note('frame.html', {version})</script>"
        "<script src=frame.js onerror=\"parent.fail('frame.js')\"></script><script>\n"
        "const told = getComputedStyle(document.documentElement).getPropertyValue('--frame').trim();\n"
        "if (told) parent.note('frame.css', told); else parent.fail('frame.css');\n"
        "fetch('frame.json').then(a => a.ok ? a.json() : Promise.reject(a.status))\n"
        ".then(x => parent.note('frame.json', x.version)).catch(() => parent.fail('frame.json'))\n"
        ".then(() => parent.framed());</script>")
    files["frame.js"] = f"parent.note('frame.js', {version});"
    files["frame.css"] = f":root {{ --frame: {version}; }}"
    files["frame.json"] = f'{{"version":{version}}}'
    files["late.js"] = f"note('late.js', {version});"
    files["late.mjs"] = f"note('late.mjs', {version});"
    files["late.json"] = f'{{"version":{version},"late":true}}'
    files["late.svg"] = picture(version).replace("99", "70")
    return files


class Reader(threading.Thread):
    """Somebody who loads pages in a tab, over and over, until told to stop."""

    def __init__(self, name, tab, url, query, moves, over):
        super().__init__(daemon=True)
        self.name, self.tab, self.url, self.query, self.moves = name, tab, url, query, moves
        self.over = over
        self.pages, self.mixed, self.whole, self.versions, self.failure = 0, [], 0, {1: 0, 2: 0}, None
        self.refused = 0

    def run(self):
        try:
            self.tab.go(self.url + "?" + self.query)
            while not self.over.is_set():
                self.note(self.tab.run("finished"))
                self.move()
        except (Refused, Broken) as error:
            self.failure = error

    def move(self):
        move = random.choice(self.moves)
        if move == "reload":
            self.tab.reload()
        elif move == "type":
            self.tab.go(self.url + "?" + self.query)
        else:  # A link to the other page, or back by a link.
            self.tab.follow(
                "location = (location.pathname === '/' ? '/other.html' : '/') + location.search")

    def note(self, result):
        self.pages += 1
        versions = {str(result["version"])} | {each.split("=")[1] for each in result["seen"]}
        if len(versions) > 1:
            self.mixed.append(sorted(result["seen"]))
        self.versions[result["version"]] += 1
        wanted = EARLY + (len(LATE) if "late" in self.query else 0)
        if not result["failed"] and len(set(result["seen"])) == wanted:
            self.whole += 1
        elif not result["failed"]:
            raise Broken(f"{self.name}: only {len(set(result['seen']))} of {wanted} files noted")

    def summary(self):
        statuses = [each["response"]["status"] for each in self.tab.responses]
        self.refused = statuses.count(409)
        return (f"{self.name}: {self.pages} pages ({self.versions[1]} of one version, "
                f"{self.versions[2]} of the other), {len(self.mixed)} mixed, "
                f"{self.refused} answers of 409 in {len(statuses)}")


def checks(suite):
    suite.check(
        "switching",
        f"In {SWITCHES} switches by another process no page of {FILES} files has files of two versions.",
        switching)
    suite.check(
        "older-page",
        "A frame without an address confirms its page's version, and one in an older tab makes it no newer.",
        older_page)


def older_page(suite):
    def site(version, script):
        page = f"<!doctype html><!-- /_castree/bridge.js -->{script}<script>var version = '{version}'</script>"
        return {
            "index.html": page, "frame.html": f"<script>var version = '{version}'</script>",
            "worker.js": f"postMessage('{version}')"}

    bridge = '<script src="/_castree/bridge.js"></script>'
    store = suite.store()
    store.add("1", site("1", bridge), activate=True)
    # It is tried, and its page loads no bridge.
    store.add("2", site("2", ""))
    with store.serve("--confirm-within", "60s") as server, suite.browser() as browser:
        old, new = browser.tab(), browser.tab()
        old.go(server.url)
        demand(old.run("castree.confirm()"), "the first version's page confirms nothing")
        store("activate", "2", "--at-next-boot")
        new.go(server.url)
        demand(new.run("version") == "2", "the second version does not start")
        text = repr(bridge).replace("</", "<\\/")
        absolute = text.replace("/_castree", server.url + "_castree")
        for source in (f"srcdoc = {text}",
                       f"src = URL.createObjectURL(new Blob([{absolute}], {{type: 'text/html'}}))"):
            old.run("new Promise(done => { const frame = document.createElement('iframe');"
                    f" frame.{source}; frame.onload = done; document.body.append(frame);"
                    " window.made = frame; }).then(() => made.contentWindow.castree.confirm())")
            good = json.loads(store("lifecycle", "--json"))["knownGood"]
            demand(good == ["1"], f"a frame of a page of version 1 has confirmed {good}")
        time.sleep(5)
        found = old.run("new Promise(done => { const frame = document.createElement('iframe');"
                        " frame.src = '/frame.html'; document.body.append(frame);"
                        " frame.onload = () => done(frame.contentWindow.version); })")
        demand(found == "1", f"a frame of a page of version 1 is of {found}")
        found = new.run("new Promise(done => { const worker = new Worker('/worker.js');"
                        " worker.onmessage = event => done(event.data);"
                        " worker.onerror = () => done('none'); })")
        demand(found != "1", "the newer tab's worker is of the older version")


def switching(suite):
    store = suite.store()
    store.add("v1", site(1), activate=True)
    store.add("v2", site(2))
    demand(FILES == 50, f"the page has {FILES} files")
    with store.serve() as server, suite.browser() as browser:
        over = threading.Event()
        pair = browser.person()
        anywhere = ("reload", "type", "link")
        readers = [
            Reader("one tab, over and over", browser.tab(browser.person()), server.url, "", anywhere,
                   over),
            Reader("one tab, late files, links", browser.tab(browser.person()), server.url, "late",
                   ("link",), over),
            Reader("one tab, late files, reloads", browser.tab(browser.person()), server.url, "late",
                   ("reload",), over),
            Reader("one tab, late files, links, bridge", browser.tab(browser.person()), server.url,
                   "late&bridge", ("link",), over),
            Reader("first of two tabs, late files", browser.tab(pair), server.url, "late", anywhere,
                   over),
            Reader("second of two tabs, late files", browser.tab(pair), server.url, "late", anywhere,
                   over),
        ]
        for reader in readers:
            reader.start()
            time.sleep(0.3)
        for number in range(SWITCHES):
            time.sleep(random.uniform(0.1, 0.6))
            store("activate", f"v{2 - number % 2}")
        over.set()
        for reader in readers:
            reader.join(60)
        # A tab that is on its way somewhere has no picture.
        readers[0].tab.screenshot(suite.directory / "page.png")
        for reader in readers:
            suite.say(reader.summary())
        for reader in readers:
            demand(reader.failure is None, f"{reader.name}: {reader.failure}")
            demand(not reader.mixed, f"{reader.name}: mixed pages, the first: {reader.mixed[:1]}")
            demand(min(reader.versions.values()) > 0, f"{reader.name} has seen one version only")
            demand(reader.whole > 0, f"{reader.name} has seen no page without failures")
            # Chromium's requests say which page they are of, so there is nothing to refuse.
            demand(reader.refused == 0, f"{reader.name}: {reader.refused} answers of 409")
        demand(server.stop() == 0, "the server did not end as it should")
