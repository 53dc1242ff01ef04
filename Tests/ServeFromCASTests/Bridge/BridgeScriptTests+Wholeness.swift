import Expectations

@testable import ServeFromCAS

// Pages that have files of another version, or are of one that was left.
extension BridgeScriptTests {
    /// What a page of version 2 has of its own server, and whether any of it may be of another version.
    private static let files: [(file: String, isOther: Bool)] = [
        ("name: 'http://localhost:1/app.js', \(says("1"))", true),
        ("name: 'http://localhost:1/app.js', \(says("2"))", false),
        ("name: 'http://other:1/app.js', \(says("1"))", false),
        ("name: 'http://localhost:1/app.js', serverTiming: []", false),
        ("name: 'http://localhost:1/app.js'", false),
        ("name: 'http://localhost:1/f', initiatorType: 'iframe', \(says("1"))", false),
    ]

    /// A page as one that it has made sees it.
    private static func maker(_ says: String, since: Int = 1, more: String = "") -> String {
        "{ performance: { timeOrigin: \(since), getEntriesByType: () => "
            + "[{ name: 'http://localhost:1/', \(says) }] }\(more) }"
    }

    /// Documents without an address of their own: what one is called, who has made it, and what it may say.
    private static let addressless: [(name: String, maker: String, said: String)] = {
        let one = maker(says("1"))
        let inFrame =
            "{ performance: { timeOrigin: 1, getEntriesByType: () => [{ name: 'about:srcdoc' }] }, "
            + "frameElement: {}, parent: \(one) }"
        let stranger = "{ get performance() { throw new Error('of another origin'); } }"
        var all = [
            ("about:srcdoc", "frameElement = {}; globalThis.parent = \(one)", "&version=1"),
            ("about:srcdoc", "frameElement = {}; globalThis.parent = \(inFrame)", "&version=1"),
            ("about:blank", "frameElement = {}; globalThis.parent = \(stranger)", "&version="),
            ("http://localhost:1/", "opener = \(one)", "&version=2"),
            ("http://localhost:1/", "frameElement = {}; globalThis.parent = \(one)", "&version=2"),
        ]
        for name in ["about:blank", "blob:http://localhost:1/x"] {
            all += [
                (name, "opener = \(one)", "&version=1"), (name, "opener = null", "&version="),
                (name, "opener = \(stranger)", "&version="),
                (name, "opener = \(maker("workerStart: 1, serverTiming: []"))", "&version="),
                // Over plain http to a name, browsers say nothing.
                (name, "opener = \(maker("x: 1"))", ""),
                // It has been loaded again since.
                (name, "opener = \(maker(says("1"), since: 3))", "&version="),
            ]
        }
        return all.map { (name: $0.0, maker: $0.1, said: $0.2) }
    }()

    @Test(
        "says of a document without an address the version of the page that made it, or that it does not know"
    )
    func addressless() throws {
        for (name, maker, said) in Self.addressless {
            let own = name.hasPrefix("http") ? Self.says("2") : "serverTiming: []"
            let page = """
                null; globalThis.\(maker);
                Object.defineProperty(globalThis, 'performance', { value: { timeOrigin: 2, getEntriesByType: kind =>
                  kind === 'navigation' ? [{ name: '\(name)', \(own) }] : [] } });
                """
            let steps = """
                open(first);
                await castree.confirm();
                console.log(posts.map(p => p.replace(/.*session=a+/, '')).join());
                """
            try expect(run(steps, frame: page), equals: said, "\(name), \(maker)")
        }
    }

    @Test(
        "loads a page again that has files of another version, once in a tab, and confirms nothing")
    func mixed() throws {
        for (file, isOther) in Self.files {
            let timing = """
                null;
                Object.defineProperty(globalThis, 'performance', { value: { getEntriesByType: kind =>
                  kind === 'navigation' ? [{ \(Self.says("2")) }] : [{ \(file) }] } });
                """
            let steps = """
                open(first);
                answers = [409, 409];
                const good = [await castree.confirm(), await castree.confirm()];
                const names = posts.map(p => p.replace(/.*castree.|.*:1.|\\?.*/g, ''));
                console.log(good.join(), loads, names.join());
                """
            let expected =
                isOther ? "false,false 1 mixed,app.js" : "false,false 0 confirm,confirm"
            try expect(run(steps, frame: timing), equals: expected, "\(file)")
            guard isOther else { continue }
            // The server finds the same bytes; and another page of the tab is mixed again.
            let same = "open(first); console.log(await castree.confirm(), loads);"
            try expect(run(same, frame: timing), equals: "true 0")
            let again = """
                tab.castreeMixed = '&version=2';
                open(first);
                answers = [409];
                console.log(await castree.confirm(), loads);
                """
            try expect(run(again, frame: timing), equals: "false 0")
        }
    }

    @Test(
        "has the browser fetch files of another version anew, once in a tab, and says if that was in vain or a worker has them"
    )
    func anew() throws {
        let timing = Self.second.replacingOccurrences(
            of: ": []", with: ": [{ name: 'http://localhost:1/app.js', \(Self.says("1")) }]")
        let worker = """

            Object.defineProperty(globalThis, 'navigator', { value: { serviceWorker: {
              controller: {}, addEventListener() {}, getRegistration: async () => null } } });
            """
        // The server leaves the version, too, if that was in vain, and says so first.
        let steps = """
            open(first);
            answers = [409];
            const good = castree.confirm();
            await pause();
            LEFT
            await good;
            await pause();
            console.log(posts.map(p => p.replace(/.*(mixed|&version=2|:1)/, '')).join(), loads);
            """
        for (before, with, left, expected) in [
            ("", "", "", ",/app.js 1"), ("", "", "left(1, true, 5);", ",/app.js 1"),
            ("", worker, "", "&worker=1,/app.js 1"),
            ("castreeMixed: '&version=2'", "", "", "&again=1 0"),
            ("castreeMixed: '&version=2'", "", "left(1, true, 5);", "&again=1 1"),
            ("castreeMixed: '&version=1'", "", "", ",/app.js 1"),
        ] {
            let storage = "{ value: Object.assign(tab, { \(before) }) }"
            try expect(
                run(
                    steps.replacingOccurrences(of: "LEFT", with: left), frame: timing + with,
                    storage: storage),
                equals: expected, "\(before) \(left) \(with)")
        }
    }

    @Test("loads a page again that is shown after its version was left, three times and ever later")
    func leftAgain() throws {
        let waits = """
            null;
            const waits = [], later = setTimeout;
            globalThis.setTimeout = (act, time, ...rest) =>
              `${act}`.includes('reload') ? waits.push(time) && act() : later(act, time, ...rest);
            """
        for (count, expected) in [(0, "1 "), (1, "1 2000"), (2, "1 10000"), (3, "0 ")] {
            let storage =
                count == 0
                ? "{ value: tab }"
                : "{ value: Object.assign(tab, { castreeLeft: '2 5', castreeLeftAgain: \(count - 1) }) }"
            let steps = "open(first); left(1, true, 5); console.log(loads, waits.join() + '|');"
            try expect(
                run(steps, frame: waits, storage: storage), equals: expected + "|", "\(count)")
        }
    }

    @Test("says what it has of another version in another session, too, before it confirms")
    func mixedAgain() throws {
        let timing = Self.second.replacingOccurrences(
            of: ": []", with: ": [{ name: 'http://localhost:1/app.js', \(Self.says("1")) }]")
        let steps = """
            open(first);
            answers = [410, 409];
            const good = castree.confirm();
            await another();
            open(second);
            console.log(await good, loads, posts.map(p => p.replace(/.*castree.|.*:1.|\\?.*/g, '')).join());
            """
        try expect(run(steps, frame: timing), equals: "false 1 mixed,mixed,app.js")
    }

    /// What a browser may know of a worker whose page came again, and whether the page is loaded once more.
    private static let takeovers: [(worker: String, tab: String, loads: Int)] = [
        ("getRegistration: async () => ({ update() {} })", "", 1),
        ("getRegistration: async () => ({ update() { throw 1; } })", "", 1),
        ("getRegistration: async () => ({ update() {} })", "castreeKept: '&version=2'", 0),
        ("getRegistration: async () => ({ update() {} })", "castreeKept: '&version=1'", 1),
        ("getRegistration: async () => ({ update() {}, installing: {} })", "", 0),
        ("getRegistration: async () => ({ update() {}, waiting: {} })", "", 0),
        ("getRegistration: async () => null", "", 1),
    ]

    @Test(
        "loads a page once more in a tab where a worker keeps it and no newer one is on its way: that has taken over, or it is gone"
    )
    func takenOver() throws {
        for (worker, tab, loads) in Self.takeovers {
            let page =
                Self.second + """

                    Object.defineProperty(globalThis, 'navigator', { value: { serviceWorker: {
                      controller: {}, addEventListener() {}, \(worker) } } });
                    """
            let storage =
                "{ value: Object.assign(tab, { castreeReady: '3 reload', castreeVersion: '&version=2', \(tab) }) }"
            let steps = """
                open(first);
                tell(1, 'version-ready', { version: '3', reload: true });
                await pause();
                console.log(loads, posts.slice(0, 1).map(p => p.replace(/.*castree.|[?].*/g, '')).join());
                """
            try expect(
                run(steps, frame: page, storage: storage), equals: "\(loads) stale-page",
                "\(worker) \(tab)")
        }
    }

    @Test(
        "is loaded again a few times at most, however often workers take over and what it waits for is taken back"
    )
    func rests() throws {
        let page =
            Self.second + """

                const workers = {};
                Object.defineProperty(globalThis, 'navigator', { value: { sendBeacon() {}, serviceWorker: {
                  controller: {}, addEventListener(type, act) { workers[type] = act; },
                  getRegistration: async () => ({ update() {}, installing: {} }) } } });
                """
        for isFlipping in [false, true] {
            var (tab, all) = ("{}", 0)
            for turn in 0..<10 {
                let reload = isFlipping && turn % 2 == 1 ? "" : ", reload: true"
                let steps = """
                    open(first);
                    tell(1, 'version-ready', { version: '3'\(reload) });
                    await pause();
                    if (!loads && workers.controllerchange) workers.controllerchange();
                    console.log(loads + '\\n' + JSON.stringify(tab));
                    """
                let storage = "{ value: Object.assign(tab, \(tab)) }"
                let lines = try run(steps, frame: page, storage: storage).split(separator: "\n")
                all += try require(Int(lines[0]))
                tab = String(lines[1])
            }
            // When it hears of the version, and three times since a worker keeps the page.
            expect(all, equals: 4, "\(isFlipping)")
        }
    }

    @Test func `may do so again once another version, or another start, is told of`() throws {
        let (ready, left) = ("tell(1, 'version-ready', { version: '3' });", "left(1, true, 5);")
        for (news, before, isAgain) in [
            (ready, "castreeReady: '3'", false), (ready, "castreeReady: '4'", true),
            (left, "castreeLeft: '2 5'", false), (left, "castreeLeft: '2 4'", true),
        ] {
            let tab = "castreeVersion: '&version=2', castreeKept: '&version=2', \(before)"
            try expect(
                run(
                    "open(first); \(news) console.log(`${tab.castreeKept}|`);", frame: Self.second,
                    storage: "{ value: Object.assign(tab, { \(tab) }) }"),
                equals: isAgain ? "|" : "&version=2|", "\(before)")
        }
    }

    @Test func `remembers the sessions of its tab until that goes to another page`() throws {
        for (type, window, shown) in [
            ("reload", "globalThis", " b c A"), ("navigate", "globalThis", " A"),
            ("reload", "{}", " b c A"), ("navigate", "{}", " b c A"),
        ] {
            let page = """
                null;
                globalThis.parent = \(window);
                tab.castreeShown = ' b c';
                Object.defineProperty(globalThis, 'performance', { value: { getEntriesByType: kind =>
                  kind === 'navigation' ? [{ name: 'http://localhost:1/', type: '\(type)' }] : [] } });
                """
            let steps = "open(first); console.log(tab.castreeShown.replace(first, 'A') + '|');"
            try expect(run(steps, frame: page), equals: "\(shown)|", "\(type) \(window)")
        }
    }

    /// A page of version 2 that a worker keeps, with a script of version 3 and one of its own.
    private static let succeeding = """
        null;
        Object.defineProperty(globalThis, 'performance', { value: { getEntriesByType: kind =>
          kind === 'navigation' ? [{ name: 'http://localhost:1/?x', \(says("2")) }] : [
            { name: 'http://localhost:1/app.js', \(says("3")) },
            { name: 'http://localhost:1/same.js', \(says("2")) }] } });
        Object.defineProperty(globalThis, 'navigator', { value: { serviceWorker: {
          controller: CONTROLLER, addEventListener() {}, getRegistration: async () => ({ update() {} }) } } });
        globalThis.localStorage = {};
        """

    @Test("asks whether it is a later version's page as well, and is loaded again for it if so")
    func succeeds() throws {
        let kept =
            "castreeReady: '3 reload', castreeVersion: '&version=2', castreeKept: '&version=2'"
        let page = Self.succeeding.replacingOccurrences(of: "CONTROLLER", with: "{}")
        let mixed = "castreeMixed: '&version=2', "
        for (more, answers, expected) in [
            ("", "204, 204, 204, 205", "1 2 3 stale-page,mixed&worker=1,mixed&as=3,mixed&as=3"),
            (
                "", "204, 204, 204, 409",
                "0 undefined stale-page,mixed&worker=1,mixed&as=3,mixed&as=3"
            ),
            ("", "204, 204, 409", "0 undefined stale-page,mixed&worker=1,mixed&as=3"),
            ("", "204, 204, 500", "0 undefined stale-page,mixed&worker=1,mixed&as=3"),
            // It has files of another version as it is, and says so.
            (mixed, "204, 409, 204, 205", "1 2 3 stale-page,mixed&worker=1,stale-page,mixed&as=3"),
        ] {
            let steps = """
                open(first);
                answers = [\(answers)];
                tell(1, 'version-ready', { version: '3', reload: true });
                await pause();
                console.log(loads, tab.castreeSuccessor, posts.slice(0, 4)
                  .map(p => p.replace(/.*castree.|[?]session=a+&version=2/g, '')).join());
                """
            try expect(
                run(
                    steps, frame: page, storage: "{ value: Object.assign(tab, { \(more + kept) }) }"
                ),
                equals: expected, "\(more) \(answers)")
        }
    }

    @Test
    func `says the later version from then on, while a worker keeps it, and is judged by that`()
        throws
    {
        for (controller, stored, expected) in [
            ("{}", "castreeSuccessor: '2 3'", "mixed&version=3&worker=1,confirm&version=3"),
            ("{}", "castreeSuccessor: '1 3'", "mixed&version=2&worker=1,confirm&version=2"),
            ("{}", "", "mixed&version=2&worker=1,confirm&version=2"),
            ("null", "castreeSuccessor: '2 3'", "mixed&version=2,confirm&version=2"),
        ] {
            let page = Self.succeeding.replacingOccurrences(of: "CONTROLLER", with: controller)
            let steps = """
                open(first);
                const good = await castree.confirm();
                console.log(posts.map(p => p.replace(/.*castree.|[?]session=a+/g, '')).join());
                """
            try expect(
                run(
                    steps, frame: page, storage: "{ value: Object.assign(tab, { \(stored) }) }"),
                equals: expected, "\(controller) \(stored)")
        }
    }
}
