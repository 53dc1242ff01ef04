import Expectations

@testable import ServeFromCAS

// What an app's page may be like: its own addresses, frames, lists and storage are its business.
extension BridgeScriptTests {
    /// A page of version 2 with a file of version 1.
    private static let mixed = second.replacingOccurrences(
        of: ": []", with: ": [{ name: 'http://localhost:1/app.js', \(says("1")) }]")

    @Test func `asks its own server alone, whatever the page's base is`() throws {
        let all = """
            document.baseURI = 'http://other:2/';
            globalThis.localStorage = { castreeToken: 'name=value' };
            Object.defineProperty(globalThis, 'navigator', { value: {
              sendBeacon(address) { posts.push(address); } } });
            open(first);
            answers = [409];
            await castree.confirm();
            answers = [409];
            await castree.check().catch(() => {});
            listeners.visibilitychange({});
            listeners.pageshow({ persisted: true });
            await pause();
            listeners.pagehide({ persisted: true });
            socket.onclose();
            await another();
            socket.onclose();
            const asked = posts.concat(socket.address);
            console.log(asked.filter(each => !/^(http|ws):..localhost:1[/]/.test(each)).length);
            console.log(asked.map(each => each.replace(/^.*(castree|:1).|[?].*/g, '')).join());
            """
        try expect(
            run(all, frame: Self.mixed),
            equals: "0\nmixed,app.js,check,visible,status,bridge,status,bridge")
        // Nothing else in it is an address.
        let script = String(decoding: BridgeScript.bytes, as: UTF8.self)
        expect(
            script.split(separator: "_castree", omittingEmptySubsequences: false).count, equals: 2)
    }

    @Test
    func
        `presents the token in the page's address, and the one that it keeps, when it is not let in`()
        throws
    {
        let cases = [
            ("?a=1&castree_token_1=ab&b=2", "null", "castree_token_1=ab"),
            ("?castree_token_1=ab", "{ castreeToken: 'n=v' }", "castree_token_1=ab,n=v"),
            ("?xcastree_token_1=ab", "{ castreeToken: 'n=v' }", "n=v"), ("", "{}", ""),
        ]
        for (search, kept, presented) in cases {
            let page = "null; location.search = '\(search)'; globalThis.localStorage = \(kept)"
            // What the app makes of its address later does not count.
            let steps = """
                location.search = '';
                for (let count = 0; count < 2; count++) { socket.onclose(); if (!count) await another(); }
                console.log(posts.map(each => each.replace('http://localhost:1/_castree/status?', '')).join());
                """
            try expect(run(steps, frame: page), equals: presented)
        }
    }

    @Test func `tells whoever listens late of what waits, and of what was left, once`() throws {
        let steps = """
            const heard = [];
            open(first);
            tell(1, 'version-ready', { version: '3' });
            tell(2, 'rolled-back', { version: '1', reason: 'r', at: 5, own: false });
            for (const type of ['version-ready', 'rolled-back']) for (const name of ['a', 'b']) {
              castree.bridge.addEventListener(type, event => heard.push(name + event.detail.version));
            }
            await pause();
            tell(3, 'version-ready', { version: '4' });
            castree.bridge.addEventListener('version-ready', () => heard.push('never'));
            await pause();
            console.log(heard.join(' '), loads);
            """
        try expect(run(steps), equals: "a3 b3 a1 b1 a4 b4 0")
    }

    @Test func `says no more of a long address than an address may hold`() throws {
        for (length, isSaid) in [(100, true), (2000, true), (2100, false), (7000, false)] {
            let long = """
                null;
                Object.defineProperty(globalThis, 'performance', { value: { getEntriesByType: kind =>
                  kind === 'navigation' ? [{ \(Self.says("2")), name: 'http://localhost:1/'
                    + 'x'.repeat(\(length)) }] : [] } });
                """
            let steps = """
                Object.defineProperty(globalThis, 'navigator', { value: {
                  sendBeacon(address) { posts.push(address); } } });
                const frame = { performance };
                globalThis[Symbol.iterator] = function* () {
                  for (let count = 0; count < 30; count++) yield { performance, [Symbol.iterator]: function* () {} };
                };
                open(first);
                listeners.pagehide({ persisted: false });
                const asked = posts.concat(socket.address);
                console.log(asked.every(each => each.length < 8000), socket.address.includes('&from='),
                  posts[0].includes('&page=%2Fx'));
                """
            try expect(run(steps, frame: long), equals: "true \(isSaid) \(isSaid)", "\(length)")
        }
    }

    @Test func `waits longer and longer where each connection breaks at once`() throws {
        let steps = """
            const waits = [], later = setTimeout;
            globalThis.setTimeout = (act, time, ...rest) => act.name === 'connect'
              ? waits.push(Math.round(Math.log2(time / 100))) && later(act) : later(act, time, ...rest);
            Math.random = () => 0.5;
            for (let count = 0; count < 5; count++) {
              open(`${count}`.repeat(32));
              socket.onclose();
              await another();
            }
            console.log(waits.join());
            """
        try expect(run(steps), equals: "1,2,3,4,5")
    }

    @Test("finds files of another version also where the browser's list is short or emptied")
    func shortList() throws {
        let steps = """
            see([{ name: 'http://localhost:1/app.js', \(Self.says("1")) }]);
            open(first);
            answers = [409];
            console.log(await castree.confirm(), loads, posts[0].includes('/mixed?'));
            """
        try expect(run(steps, frame: Self.second), equals: "false 1 true")
        // However many there are, each is compared, and once.
        let many = """
            see(Array.from({ length: 100 }, (none, count) =>
              ({ name: `http://localhost:1/${count}.js`, \(Self.says("1")) })));
            open(first);
            answers = [204, 204, LAST];
            console.log(await castree.confirm(), loads, posts.filter(each => each.includes('/mixed?')).length);
            await castree.confirm();
            console.log(posts.filter(each => each.includes('/mixed?')).length);
            """
        for (last, expected) in [("409", "false 1 3\n3"), ("204", "true 0 4\n4")] {
            let steps = many.replacingOccurrences(of: "LAST", with: last)
            try expect(run(steps, frame: Self.second), equals: expected)
        }
    }

    @Test func `is there beside an element of its name`() throws {
        let steps = "open(first); console.log(await castree.confirm());"
        try expect(
            run(steps, frame: "null; globalThis.castree = { id: 'castree' }"), equals: "true")
    }

    /// What makes a page load itself again.
    private static let reasons = [
        "tell(1, 'version-ready', { version: '3', reload: true });", "left(1, true, 5);",
        "answers = [409]; await castree.confirm();",
        "shown = '3'; listeners.pageshow({ persisted: true });",
    ]

    // docs/serving.md, "Starting a new version, and going back".
    @Test(
        "has the page around a frame loaded again where that has no bridge, or the one around that")
    func frames() throws {
        let page = "location: { reload() { outer++; } }"
        for (parent, isAround) in [
            ("\(page)", true), ("castree: { id: 'castree' }, \(page)", true),
            ("castree: { bridge: {} }, \(page)", false),
            ("frameElement: {}, parent: { \(page) }", true),
            ("frameElement: {}, parent: { castree: { bridge: {} }, \(page) }", false),
        ] {
            for reason in Self.reasons {
                let frame = Self.mixed.replacingOccurrences(
                    of: "null;", with: "{}; let outer = 0; globalThis.parent = { \(parent) };")
                let steps = "open(first); \(reason) await pause(); console.log(outer, loads);"
                try expect(
                    run(steps, frame: frame), equals: isAround ? "1 0" : "0 0",
                    "\(parent) \(reason)")
            }
            // Whatever it loads itself, it stays of the version of the page around it.
            let told =
                "let count = 0; castree.bridge.addEventListener('version-ready', () => count++);"
            try expect(
                run(
                    "\(told) open(first); tell(1, 'version-ready', { version: '3' }); console.log(count);",
                    frame: "{}; globalThis.parent = { \(parent) }; let outer = 0;"), equals: "0")
        }
    }

    @Test(
        "is told of a version in each frame that a page of another origin, or of ours without the bridge, holds"
    )
    func siblings() throws {
        let shells = [
            "null; let outer = 0;", "{}; let outer = 0;",
        ]
        for shell in shells {
            var tab = "{}"
            // The last of each are the first one again, which knows it; in a shadow tree they have no number.
            let places = ["0", "1", "2", "0", "'a'", "'b'", "'a'"]
            for (place, count) in zip(places, [1, 1, 1, 0, 1, 1, 0]) {
                let frame = """
                    \(shell)
                    globalThis.parent = Object.assign([{}, {}, {}], { location: { reload() { outer++; } } });
                    if (isFinite(\(place))) parent[\(place)] = globalThis;
                    globalThis.navigation = { entries: () => [{ key: \(place) }] };
                    Object.assign(tab, \(tab));
                    """
                let steps = """
                    let count = 0;
                    castree.bridge.addEventListener('version-ready', () => count++);
                    open(first);
                    tell(1, 'version-ready', { version: '3', reload: true });
                    console.log(count, loads + outer);
                    console.log(JSON.stringify(tab));
                    """
                let lines = try run(steps, frame: frame).split(separator: "\n").map(String.init)
                expect(lines[0], equals: "\(count) \(count)", "\(shell) \(place)")
                tab = lines[1]
            }
        }
    }

    @Test(
        "does once what it hears at once, where a worker has the page and the app deletes what the tab remembers"
    )
    func forgets() throws {
        let page = """
            null;
            Object.defineProperty(globalThis, 'navigator', { value: { sendBeacon() {}, serviceWorker: {
              controller: CONTROLLER, addEventListener() {}, getRegistration: async () => null } } });
            Object.defineProperty(globalThis, 'performance', { value: { now: () => AGE, timeOrigin: 90000,
              getEntriesByType: kind => kind === 'navigation' ? [{ \(Self.says("2")), type: 'TYPE' }]
                : [{ name: 'http://localhost:1/app.js', \(Self.says("1")) }] } });
            """
        for (reason, worker) in zip(Self.reasons.dropLast(), ["{}", "null", "null"]) {
            for (type, age, remembers, isLoaded) in [
                ("navigate", 10, false, true), ("reload", 10, false, false),
                ("reload", 20_000, false, false), ("reload", 10, true, true),
            ] {
                let frame = page.replacingOccurrences(of: "CONTROLLER", with: worker)
                    .replacingOccurrences(of: "AGE", with: "\(age)")
                    .replacingOccurrences(of: "TYPE", with: type)
                let tab = remembers ? "castreeVersion: '&version=2'" : ""
                try expect(
                    run(
                        "open(first); \(reason) await pause(); console.log(loads);", frame: frame,
                        storage: "{ value: Object.assign(tab, { \(tab) }) }"),
                    equals: isLoaded ? "1" : "0", "\(reason) \(type) \(age) \(remembers)")
            }
        }
        // Without a worker the next page is another one; and what comes, or was left, since this one came is news.
        let later = "const now = Date.now(); Date.now = () => now + 3000; \(Self.reasons[0])"
        for (worker, news) in [
            ("null", Self.reasons[0]), ("{}", later),
            ("null", Self.reasons[1].replacingOccurrences(of: "5", with: "90")),
        ] {
            let frame = page.replacingOccurrences(of: "CONTROLLER", with: worker)
                .replacingOccurrences(of: "AGE", with: "10")
                .replacingOccurrences(of: "TYPE", with: "reload")
            try expect(run("open(first); \(news) console.log(loads);", frame: frame), equals: "1")
        }
    }
}
