"""The page of `castree du --html` in a real browser: it loads, zooms, searches, and obeys nobody's names."""

import json
import random
import time

from place import demand

FILES = 100_000
HOSTILE = "</script><script>alert(1)</script>"
SIZES = ((390, 844), (1024, 768), (1920, 1080))


def checks(suite):
    suite.check(
        "usage-large", f"The usage page of {FILES:,} files loads, zooms and searches at three sizes.",
        large)
    suite.check(
        "usage-hostile", "Markup in the names of files and versions stays text, and nothing is loaded.",
        hostile)
    suite.check(
        "usage-search", "Searching finds every path, also of content that the map shows elsewhere.",
        elsewhere)
    suite.check(
        "usage-sizes", "Sizes are on disk or of content, as one chooses, and each view keeps its place; commands can be copied.",
        sizes)
    suite.check(
        "usage-reader", "All that can be used on the usage page has a name, and tables say the same.",
        reader)
    suite.check(
        "usage-seen", "Labels have a contrast of 4.5, all columns are there at 390 px, and 0 B are offered to nobody.", seen)


def page(store, name, *arguments):
    target = store.path.parent / f"{name}.html"
    store("du", "--html", str(target), *arguments)
    return target


def open_page(tab, file):
    tab.call("Log.enable")
    tab.go(file.as_uri(), within=60)
    settle(tab)


def settle(tab):
    """Waits for two frames: what was to be drawn is drawn."""
    tab.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def quiet(tab):
    demand(not tab.problems, f"the page's script threw: {tab.problems[:1]}")
    demand(not tab.complaints, f"the console complains: {tab.complaints[:2]}")
    demand(not tab.dialogs, f"a dialog was opened: {tab.dialogs}")


def took(tab, expression):
    """What an expression takes with the frame after it, in milliseconds."""
    return tab.run(
        f"(async () => {{ const began = performance.now(); {expression};"
        " await new Promise(done => requestAnimationFrame(() => setTimeout(done)));"
        " return performance.now() - began; })()")


def crumbs(tab):
    return tab.run("[...document.querySelectorAll('#crumbs li')].map(each => each.textContent)")


def colours(tab):
    """How many colours the map has, looked at every few pixels."""
    return tab.run(
        "(() => { const map = document.getElementById('map');"
        " const { data } = map.getContext('2d').getImageData(0, 0, map.width, map.height);"
        " const seen = new Set();"
        " for (let at = 0; at < data.length; at += 4 * 97)"
        " seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);"
        " return seen.size; })()")


def fill(source):
    """A directory of many small files, some of them the same."""
    chance = random.Random(5)
    for number in range(FILES):
        directory = source / f"part-{number % 13}" / f"set-{number // 13 % 40:02}"
        if number < 13 * 40:
            directory.mkdir(parents=True)
        content = f"{number % 90_000} " * chance.randrange(1, 40 if number % 1000 else 4000)
        (directory / f"file-{number}.{('js', 'png', 'json')[number % 3]}").write_text(content)


def large(suite):
    store = suite.store()
    source = store.path.parent / "many"
    fill(source)
    store("add", "--version", "v1", "--no-sync", str(source))
    for number in range(0, FILES, 50):
        (next(source.glob(f"part-{number % 13}/set-{number // 13 % 40:02}/file-{number}.*"))
         ).write_text(f"changed {number} " * 50)
    store("add", "--version", "v2", "--no-sync", "--activate", str(source))
    file = page(store, "large")
    suite.say(f"{file.stat().st_size:,} bytes of page")
    with suite.browser() as browser:
        for width, height in SIZES:
            for theme in ("light", "dark"):
                look(suite, browser, file, width, height, theme)


def look(suite, browser, file, width, height, theme):
    tab = browser.tab()
    tab.resize(width, height, theme)
    began = time.monotonic()
    open_page(tab, file)
    loaded = time.monotonic() - began
    where = f"{width} px, {theme}"
    demand(tab.run("castreeUsage.page.model.files[0]") == FILES + FILES // 50, "files are missing")
    over = tab.run("document.documentElement.scrollWidth - innerWidth")
    demand(over <= 0, f"{where}: the page is {over} px too wide")
    demand(colours(tab) >= 4, f"{where}: the map is not drawn")
    ground = tab.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    demand((sum(ground) < 200) == (theme == "dark"), f"{where}: the ground is {ground}")
    tab.screenshot(suite.directory / f"usage-{width}-{theme}.png")
    zoom = by_mouse(tab, where)
    by_keys(tab, where)
    search = searches(tab, where)
    tab.run("document.getElementById('where-card').scrollIntoView()")
    settle(tab)
    tab.screenshot(suite.directory / f"usage-{width}-{theme}-search.png")
    versions(tab, where)
    quiet(tab)
    demand(
        [each["response"]["url"] for each in tab.responses] == [file.as_uri()],
        "the page has loaded something else")
    suite.say(f"{where}: loaded in {loaded:.2f} s, zoom {zoom:.0f} ms, search {search:.0f} ms")
    tab.close()


def by_mouse(tab, where):
    tab.run("document.getElementById('map').scrollIntoView({ block: 'center' })")
    settle(tab)
    before = crumbs(tab)
    demand(len(before) == 1, f"{where}: it begins at {before}")
    spot = tab.run(
        "(() => { const { map } = castreeUsage.page;"
        " const box = map.boxes.find(each => each.isOpen && each.depth === 0);"
        " const frame = map.canvas.getBoundingClientRect();"
        " return [frame.left + box.x + box.w / 2, frame.top + box.y + box.header / 2 + 1,"
        " castreeUsage.page.model.label(box.node)]; })()")
    tab.click(spot[0], spot[1])
    settle(tab)
    demand(crumbs(tab) == before + [spot[2]], f"{where}: a click leads to {crumbs(tab)}")
    zoom = took(tab, "document.querySelector('#crumbs button').click()")
    demand(crumbs(tab) == before, f"{where}: the way back leads to {crumbs(tab)}")
    return zoom


def by_keys(tab, where):
    tab.run("document.getElementById('map').focus()")
    before = crumbs(tab)
    tab.press("ArrowRight", 39)
    said = tab.run("document.getElementById('map-says').textContent")
    tab.press("Enter", 13)
    settle(tab)
    inside = crumbs(tab)
    demand(len(inside) == 2, f"{where}: Enter leads to {inside}")
    demand(said.startswith(inside[1] + ":"), f"{where}: it said {said!r} and went to {inside[1]}")
    tab.press("Enter", 13)
    demand(len(crumbs(tab)) == 3, f"{where}: a second Enter leads to {crumbs(tab)}")
    tab.press("Escape", 27)
    tab.press("Escape", 27)
    demand(crumbs(tab) == before, f"{where}: Escape leads to {crumbs(tab)}")
    tab.press("ArrowDown", 40)
    deeper = tab.run("document.getElementById('map-says').textContent")
    demand("/" in deeper, f"{where}: down leads to {deeper!r}")
    tab.press("Home", 36)


def searches(tab, where):
    tab.run("document.getElementById('search').focus()")
    tab.call("Input.insertText", text="FILE-4321.")
    tab.wait("document.getElementById('found').textContent")
    settle(tab)
    found = tab.run("document.getElementById('found').textContent")
    demand(found.startswith("1 file found"), f"{where}: searching says {found!r}")
    row = tab.run("document.querySelector('#list tbody td').textContent")
    demand(row.endswith("file-4321.png"), f"{where}: searching lists {row!r}")
    milliseconds = took(
        tab, "castreeUsage.page.query = 'json'; castreeUsage.page.match();"
        " castreeUsage.page.map.draw(); castreeUsage.page.list()")
    tab.press("Escape", 27)
    tab.wait("document.getElementById('found').textContent === ''")
    return milliseconds


def versions(tab, where):
    tab.run("document.querySelector('#versions tbody tr:last-child button').click()")
    settle(tab)
    demand(crumbs(tab) == ["v1"], f"{where}: a version leads to {crumbs(tab)}")
    demand(tab.run("castreeUsage.page.model.files[0]") == FILES, f"{where}: files of v1 are missing")
    tab.run("document.querySelector('#versions tbody tr:last-child input').click()")
    told = tab.run("document.getElementById('together').textContent")
    demand(told.startswith("Retiring v1 would free"), f"{where}: choosing says {told!r}")


def hostile(suite):
    store = suite.store()
    store.add("version-1", {HOSTILE: "x" * 5000, "a/<img src=x onerror=alert(3)>": "y" * 4000, "b": "z"})
    file = page(store, "hostile")
    # No version can be called so; a page must not depend on it.
    text = file.read_text()
    name = "\\u003c/script\\u003e\\u003cscript\\u003ealert(2)\\u003c/script\\u003e"
    demand(text.count("version-1") > 3, "the version is not in the page")
    file.write_text(text.replace("version-1", name))
    with suite.browser() as browser:
        tab = browser.tab()
        tab.resize(1024, 768)
        open_page(tab, file)
        quiet(tab)
        demand(tab.run("document.scripts.length") == 2, "there is another script in the page")
        demand(tab.run("document.images.length") == 0, "there is an image in the page")
        shown = tab.run("document.querySelector('#versions tbody th button').textContent")
        demand(shown == "</script><script>alert(2)</script>", f"the version is called {shown!r}")
        listed = tab.run("document.getElementById('list').textContent")
        demand("</" in listed, f"the list has {listed!r}")
        largest = tab.run("document.getElementById('largest').textContent")
        demand(HOSTILE in largest, f"the largest objects are {largest!r}")
        tab.screenshot(suite.directory / "usage-hostile.png")
        refused = tab.run(
            "new Promise(done => { const seen = [];"
            " document.addEventListener('securitypolicyviolation',"
            " event => seen.push(event.effectiveDirective));"
            " const script = document.createElement('script'); script.textContent = 'window.bad = 1';"
            " document.body.append(script);"
            " const image = new Image(); image.src = 'http://127.0.0.1:9/'; document.body.append(image);"
            " fetch('http://127.0.0.1:9/').catch(() => setTimeout(() => done(seen), 200)); })")
        demand(tab.run("window.bad") is None, "a script that is not the page's has run")
        wanted = {"script-src-elem", "img-src", "connect-src"}
        demand(wanted <= set(refused), f"the policy has refused only {refused}")
        tab.close()


def elsewhere(suite):
    store = suite.store()
    store.add("v1", {"old/x.js": "moved" * 400, "one.txt": "twice" * 300, "two.txt": "twice" * 300, "empty.txt": ""})
    store.add("v2", {"new/x.js": "moved" * 400, "one.txt": "twice" * 300, "two.txt": "twice" * 300}, activate=True)
    wanted = {
        "old/x": ("1 file found, 2.0 KiB", "old/x.js", "2.0 KiB"),
        "new/x": ("1 file found, 2.0 KiB", "new/x.js", "2.0 KiB"),
        "X.JS": ("2 files found, 2.0 KiB", "new/x.js", "2.0 KiB"),
        "two.": ("1 file found, 1.5 KiB", "two.txt", "1.5 KiB"),
        "empty": ("1 file found, 0 B", "empty.txt", "0 B"),
        "three": ("Nothing is called so.", "Nothing is called so.", None),
    }
    with suite.browser() as browser:
        tab = browser.tab()
        tab.resize(1024, 768)
        open_page(tab, page(store, "elsewhere"))
        choose_sizes(tab, "content")
        for words, (found, first, size) in wanted.items():
            told = tab.run(
                f"(() => {{ const search = document.getElementById('search'); search.value = '{words}';"
                " castreeUsage.page.search();"
                " const cells = [...document.querySelectorAll('#list tbody tr:first-child td')];"
                " return [document.getElementById('found').textContent,"
                " (cells[0].querySelector('button') ?? cells[0]).textContent,"
                " cells[1] ? cells[1].textContent : null]; })()")
            demand(told == [found, first, size], f"searching for {words} says {told}")
        tab.run("document.getElementById('search').value = 'old/x'; castreeUsage.page.search();"
                " document.querySelector('#list tbody button').click()")
        settle(tab)
        demand(crumbs(tab)[1:] == ["old"], f"what was found leads to {crumbs(tab)}")
        said = tab.run("document.getElementById('map-says').textContent")
        demand(said.startswith("old/x.js: 2.0 KiB"), f"what was found is {said!r}")
        # Nothing in the map is beside it; the keys go on working.
        tab.run("document.getElementById('map').focus()")
        tab.press("ArrowRight", 39)
        tab.press("Home", 36)
        demand(len(crumbs(tab)) == 1, f"Home leads to {crumbs(tab)}")
        quiet(tab)
        tab.close()


def choose_sizes(tab, sizes):
    tab.run(
        f"(() => {{ const select = document.getElementById('sizes'); select.value = '{sizes}';"
        " select.dispatchEvent(new Event('change')); })()")
    settle(tab)


def sizes(suite):
    store = suite.store()
    files = {f"part-{number // 20}/{number}.txt": f"{number}" for number in range(400)}
    for version in ("v1", "v2", "v3"):
        store.add(version, files | {"index.html": version, f"own-{version}.bin": version * 30000})
    store("activate", "v2")
    usage = json.loads(store("du", "--json"))
    disk = usage["store"]["diskBytes"]
    with suite.browser() as browser:
        tab = browser.tab()
        tab.resize(1200, 800)
        open_page(tab, page(store, "sizes"))
        weight = "castreeUsage.page.model.weight[0]"
        demand(tab.run("document.getElementById('sizes').value") == "disk", "it does not begin with the disk")
        demand(abs(tab.run(weight) - disk) <= 1 << 16, f"the map has {tab.run(weight)} of {disk} bytes on disk")
        says = tab.run("document.getElementById('composition').getAttribute('aria-label')")
        for part in ("used by several versions", "with its directories", "the reserve", "the index"):
            demand(part in says, f"the bar has no {part!r}: {says!r}")
        grey = tab.run(
            "(() => { const rest = document.querySelector('#composition .c-rest');"
            " return rest ? rest.offsetWidth / rest.parentElement.offsetWidth : 0; })()")
        demand(grey < 0.05, f"{grey:.0%} of the bar is grey")
        titles = tab.run("[...document.querySelectorAll('#list .link')].map(each => each.textContent)")
        wanted = {f"index.html ({version})" for version in ("v1", "v2", "v3")}
        demand(wanted <= set(titles), f"the list has {titles}")
        # v3 is the newest, v2 current: only v1 is left.
        back = tab.run("document.getElementById('back').textContent")
        demand("retiring v1" in back and "retire v1 && " in back, f"it proposes {back!r}")
        commands = tab.run("[...document.querySelectorAll('#back code')].map(each => each.textContent)")
        tab.run(
            "window.copied = []; navigator.clipboard"
            " ? navigator.clipboard.writeText = async text => { window.copied.push(text); }"
            " : document.addEventListener('copy', () => window.copied.push(String(getSelection())))")
        for place in range(len(commands)):
            tab.run(f"document.querySelectorAll('#back button.copy')[{place}].click()")
        tab.wait("document.getElementById('copied').textContent.startsWith('Copied')")
        demand(tab.run("window.copied") == commands, f"copied were {tab.run('window.copied')}, not {commands}")
        # Where a page has no clipboard, what is to be copied is selected, and copied as a person would.
        tab.run(
            "window.selected = ''; navigator.clipboard.writeText = async () => { throw new Error('no'); };"
            " document.execCommand = () => { window.selected = document.activeElement.value; return true; };"
            " document.querySelector('#back button.copy').click()")
        tab.wait("window.selected !== ''")
        demand(tab.run("window.selected") == commands[0], f"selected was {tab.run('window.selected')!r}")

        tab.run("document.querySelector('#versions tbody tr:last-child input').click()")
        freed = tab.run("document.getElementById('together').textContent")
        row = tab.run("document.querySelector('#versions tbody tr:last-child td:nth-child(6)').textContent")
        demand(row in freed and "retire v1" in freed, f"the table says {row!r}, and choosing {freed!r}")
        place = "castreeUsage.page.map.zoom(castreeUsage.page.model.inside(0).find("
        tab.run(place + "each => castreeUsage.page.model.names[each] === 'part-3'))")
        choose_sizes(tab, "content")
        demand(crumbs(tab)[1:] == ["part-3"], f"with other sizes it shows {crumbs(tab)}")
        demand(
            tab.run("document.querySelector('#versions tbody tr:last-child input').checked"),
            "with other sizes the version is no longer chosen")
        content = usage["store"]["objectBytes"]
        demand(tab.run(weight) == content, f"the map has {tab.run(weight)} of {content} bytes")
        headline = tab.run("document.getElementById('headline').textContent")
        demand("of content" in headline, f"the first line says {headline!r}")
        demand(tab.run("!document.querySelector('#composition .c-rest, #composition .c-reserve')"),
               "the bar mixes content with blocks")
        tab.screenshot(suite.directory / "usage-content.png")
        choose_sizes(tab, "disk")
        tab.run("scrollTo(0, 0)")
        settle(tab)
        tab.screenshot(suite.directory / "usage-disk.png")
        quiet(tab)
        tab.close()


def seen(suite):
    """What is written can be read, at 390 px and in both themes, and nothing is promised that does not come."""
    store = suite.store()
    store.add("v1", {"index.html": "one", "js/app.js": "let a" * 9000, "img/a.png": "p" * 30000}, activate=True)
    # By the contrast that WCAG 2.2 defines, for every colour on which a label may stand.
    contrast = """(() => {
      const light = c => { const [r, g, b] = c.map(p => (p /= 255) <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      let least = 21;
      for (let r = 0; r < 256; r += 5) for (let g = 0; g < 256; g += 5) for (let b = 0; b < 256; b += 5) {
        const [one, other] = [light([r, g, b]), light(castreeUsage.page.map.ink([r, g, b]))].sort((a, b) => b - a);
        least = Math.min(least, (one + 0.05) / (other + 0.05));
      }
      return least;
    })()"""
    with suite.browser() as browser:
        tab = browser.tab()
        tab.resize(390, 844)
        open_page(tab, page(store, "seen"))
        least = tab.run(contrast)
        demand(least >= 4.5, f"a label has a contrast of {least:.2f}")
        hidden = tab.run("[...document.querySelectorAll('#versions thead th')].filter(each => !each.offsetWidth).length")
        demand(hidden == 0, f"{hidden} columns of the versions cannot be reached at 390 px")
        over = tab.run("document.documentElement.scrollWidth - innerWidth")
        demand(over <= 0, f"the page is {over} px too wide for 390 px")
        back = tab.run("document.getElementById('back').textContent")
        demand("0 B" not in back and "Copy" not in back, f"with nothing to get back it says {back!r}")
        # One version: its name stands under its dot.
        apart = tab.run(
            "(() => { const at = each => { const box = each.getBoundingClientRect(); return box.left + box.width / 2; };"
            " const svg = document.querySelector('#growth svg');"
            " return Math.abs(at(svg.querySelector('.dot')) - at([...svg.querySelectorAll('text')].pop())); })()")
        demand(apart < 3, f"the only label is {apart:.0f} px from its dot")
        quiet(tab)
        tab.close()


def reader(suite):
    store = suite.store()
    store.add("v1", {"index.html": "one", "js/app.js": "let a" * 900, "img/a.png": "p" * 3000})
    store.add("v2", {"index.html": "two", "js/app.js": "let a" * 900}, activate=True)
    with suite.browser() as browser:
        tab = browser.tab()
        tab.resize(1024, 768)
        open_page(tab, page(store, "reader"))
        tab.call("Accessibility.enable")
        nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
        usable = ("button", "checkbox", "combobox", "searchbox", "slider", "application", "gridcell",
                  "table", "grid", "region")
        count = 0
        for node in nodes:
            role = node.get("role", {}).get("value")
            if node.get("ignored") or role not in usable:
                continue
            name = node.get("name", {}).get("value", "")
            if role in ("table", "gridcell") and not name:
                # A table stands in a region that has its name; an empty corner is no cell to use.
                continue
            demand(name.strip(), f"something of the role {role} has no name")
            count += 1
        demand(count > 20, f"only {count} things can be used")
        level = tab.run("[...document.querySelectorAll('h1, h2')].map(each => each.tagName).join(' ')")
        demand(level.startswith("H1 H2") and level.count("H1") == 1, f"the headings are {level}")
        # The grid has one stop for the tabulator, and arrows go on from there.
        tab.run("document.querySelector('#sharing td[tabindex=\"0\"]').focus()")
        tab.press("ArrowRight", 39)
        said = tab.run("document.getElementById('sharing-says').textContent")
        demand(said.startswith("v2 and v1 have"), f"the matrix says {said!r}")
        tab.run("document.querySelector('#growth svg').focus()")
        tab.press("Home", 36)
        said = tab.run("document.querySelector('#growth svg').getAttribute('aria-valuetext')")
        demand(said.startswith("v1"), f"the time line says {said!r}")
        # New figures leave the page where it was.
        stays = tab.run(
            "(() => { const { page } = castreeUsage; page.look(0);"
            " page.map.zoom(page.model.inside(0).find(each => page.model.label(each) === 'img'));"
            " castreeUsage.show(JSON.parse(document.getElementById('usage').textContent));"
            " return castreeUsage.page !== page; })()")
        demand(stays, "the page did not take new figures")
        demand(crumbs(tab) == ["v1", "img"], f"after new figures it shows {crumbs(tab)}")
        tab.run("document.getElementById('theme').click(); document.getElementById('theme').click()")
        demand(
            tab.run("document.documentElement.dataset.theme") == "dark", "the theme does not change")
        settle(tab)
        tab.screenshot(suite.directory / "usage-reader.png")
        quiet(tab)
        suite.say(f"{count} things to use, all with names")
        tab.close()
