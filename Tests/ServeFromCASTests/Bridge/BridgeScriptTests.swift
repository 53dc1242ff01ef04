import StorageTestSupport

@testable import ServeFromCAS

// The script as a browser runs it, in Node with what it needs of a page. A real browser runs it in Tests/Browser.
@Suite("The bridge's script", .enabled(if: NodeProgram.path != nil, "needs node"))
struct BridgeScriptTests {
    /// A page that has connected: `loads` counts its reloads, `posts` are its requests.
    private static let page = """
        let loads = 0, socket = null, answers = [], posts = [];
        const tab = {};
        globalThis.window = globalThis;
        globalThis.location = { origin: 'http://localhost:1', reload() { loads++; } };
        globalThis.frameElement = FRAME;
        const listeners = {};
        globalThis.addEventListener = (type, hear) => { listeners[type] = hear; };
        globalThis.document = { hidden: false, readyState: 'complete', baseURI: 'http://localhost:1/app/',
          addEventListener: globalThis.addEventListener };
        let shown = '2';
        Object.defineProperty(globalThis, 'sessionStorage', STORAGE);
        globalThis.WebSocket = class {
          constructor(address) { socket = this; this.address = address; }
          send() {}
          close() {}
        };
        // Of what the page itself asks for.
        let ownFields = {};
        globalThis.fetch = async (address, { method } = {}) => {
          if (method === 'HEAD') return {
            status: 200, headers: { get: name => ownFields[name] || null } };
          posts.push(address);
          const status = answers.shift() || 204;
          return { status, ok: status < 300, text: async () => `status ${status}`,
            json: async () => ({ version: shown }) };
        };
        // What has come since the script asked last; `see` gives it what it is told of meanwhile.
        let see = null;
        globalThis.PerformanceObserver = class {
          constructor(hear) { see = entries => hear({ getEntries: () => entries }); }
          observe() {}
          takeRecords() { return performance.getEntriesByType('resource'); }
        };
        const pause = () => new Promise(done => setTimeout(done, 5));
        const open = name => { socket.onopen(); socket.onmessage({ data: `W 1 ${name} 0` }); };
        const left = (number, own, at) => socket.onmessage({ data: `E ${number} 0 rolled-back\\n`
          + JSON.stringify({ version: '2', reason: 'r', at, own }) });
        const tell = (number, name, detail) => socket.onmessage({
          data: `E ${number} 0 ${name}\n` + JSON.stringify(detail) });
        // The script connects again, since its session has ended.
        const another = async () => { for (const old = socket; socket === old;) await pause(); };
        const first = 'a'.repeat(32), second = 'b'.repeat(32);
        """

    /// Runs the script in a page, then `steps`, and returns what they log.
    func run(
        _ steps: String, frame: String = "null", storage: String = "{ value: tab }"
    ) throws -> String {
        let page = Self.page.replacingOccurrences(of: "FRAME", with: frame)
            .replacingOccurrences(of: "STORAGE", with: storage)
        let script = String(decoding: BridgeScript.bytes, as: UTF8.self)
        let directory = TemporaryDirectory()
        let file = directory.appending("page.js")
        let text = "\(page)\n\(script)\n(async () => {\n\(steps)\nprocess.exit(0);\n})();\n"
        try Data(text.utf8).write(to: URL(filePath: file))
        let done = try OtherProgram(require(NodeProgram.path), file)
        expect(done.status, equals: 0)
        return done.text.trimmingCharacters(in: .newlines)
    }

    @Test func `loads a page again whose own version was left, once for each rollback`() throws {
        let steps = """
            open(first);
            left(1, true, 5);
            const one = loads;
            // The page that comes, if a service worker keeps it, is told the same when it connects.
            left(2, true, 5);
            left(3, true, 9);
            console.log(one, loads);
            """
        try expect(run(steps), equals: "1 2")
    }

    @Test func `leaves a page of another version, and one that says so, as they are`() throws {
        try expect(run("open(first); left(1, false, 5); console.log(loads);"), equals: "0")
        let prevented = """
            castree.bridge.addEventListener('rolled-back', event => event.preventDefault());
            open(first); left(1, true, 5); console.log(loads);
            """
        try expect(run(prevented), equals: "0")
    }

    @Test("leaves a frame to the page around it, and what has no memory of the tab as it is")
    func noLoop() throws {
        let steps = "open(first); left(1, true, 5); console.log(loads);"
        let inPage = "{}; globalThis.parent = { castree: { bridge: {} } }"
        try expect(run(steps, frame: inPage), equals: "0")
        let named = "null; globalThis.name = 'of the app'"
        try expect(run(steps, frame: named, storage: Self.blocked), equals: "0")
    }

    /// Site data is blocked.
    private static let blocked = "{ get() { throw new Error('blocked'); } }"

    @Test(
        "remembers by the tab's name where site data is blocked, once for each version and rollback"
    )
    func blockedStorage() throws {
        let told = "tell(1, 'version-ready', { version: '2', reload: true });"
        for (news, others) in [(told, "castreeReady"), ("left(1, true, 5);", "castreeLeft")] {
            // The page that comes has the name that this one had.
            let steps = """
                open(first); \(news)
                const kept = name;
                console.log(loads, kept.startsWith('castree tab {'), kept.includes('\(others)'));
                """
            let first = try run(steps, storage: Self.blocked)
            expect(first, equals: "1 true true")
            let own = try run("open(first); \(news) console.log(name);", storage: Self.blocked)
            for name in [own, "of the app", "castree tab {"] {
                let page = "null; globalThis.name = '\(name)'"
                // It counts how often that page came again.
                let then = name.replacingOccurrences(of: "Again\":0", with: "Again\":1")
                try expect(
                    run(
                        "open(first); \(news) console.log(loads, name);", frame: page,
                        storage: Self.blocked), equals: "0 \(then)")
            }
        }
    }

    @Test("loads a page again that another run of the server cannot know: site data is blocked")
    func unknown() throws {
        for (storage, session, count) in [
            (Self.blocked, "second", 1), (Self.blocked, "first", 0),
            ("{ value: tab }", "second", 0),
        ] {
            let steps = """
                open(first); socket.onclose(); await another(); open(\(session));
                console.log(loads);
                """
            try expect(run(steps, storage: storage), equals: "\(count)", "\(storage) \(session)")
        }
    }

    /// The cookie was deleted before the server was restarted.
    @Test func `loads a page again whose requests another run of the server refuses`() throws {
        let (unknown, own) = ("'castree-unknown': '1'", #"'server-timing': 'castree;desc="2"'"#)
        let other = own.replacing("2", with: "3")
        for (fields, session, count) in [
            (unknown, "second", 1), (own, "second", 0), ("", "second", 0), (other, "second", 1),
            ("\(unknown), \(own)", "second", 1), (unknown, "first", 0), (other, "first", 0),
        ] {
            let steps = """
                open(first); socket.onclose(); await another();
                ownFields = { \(fields) };
                let heard = '';
                castree.bridge.addEventListener('version-ready', ({ detail }) => { heard = detail.version; });
                open(\(session)); await pause();
                console.log(loads, heard);
                """
            let answer = try run(steps, frame: Self.second)
            expect(answer, equals: count == 1 ? "1 2" : "0 ", "\(fields) \(session)")
        }
    }

    @Test func `confirms with its session, as soon as it has one`() throws {
        let steps = """
            const confirmed = castree.confirm();
            await pause();
            const early = posts.length;
            open(first);
            console.log(early, await confirmed, posts.join() === 'http://localhost:1/_castree/confirm?session=' + first);
            """
        try expect(run(steps), equals: "0 true true")
    }

    @Test("confirms with the next session where its own has ended, and takes a refusal for one")
    func confirmAgain() throws {
        let steps = """
            open(first);
            answers = [410];
            const confirmed = castree.confirm();
            await pause();
            await another();
            open(second);
            const good = await confirmed;
            answers = [409];
            console.log(good, posts.map(p => p.slice(-1)).join(''), await castree.confirm());
            """
        try expect(run(steps), equals: "true ab false")
    }

    @Test(
        "loads a page again for a version that is to be shown at once, once, unless a listener prevents it"
    )
    func reloads() throws {
        let steps = """
            open(first);
            tell(1, 'version-ready', { version: '2' });
            console.log(loads);
            tell(2, 'version-ready', { version: '2', reload: true });
            tell(3, 'version-ready', { version: '2', reload: true });
            console.log(loads);
            castree.bridge.addEventListener('version-ready', event => event.preventDefault());
            tell(4, 'version-ready', { version: '3', reload: true });
            console.log(loads);
            """
        try expect(run(steps), equals: "0\n1\n1")
    }

    /// A page of version 2.
    static let second = """
        null;
        Object.defineProperty(globalThis, 'performance', { value: { getEntriesByType: kind =>
          kind === 'navigation' ? [{ \(says("2")) }] : [] } });
        """

    @Test(
        "asks again in another session for what was asked in one that ended, before and after it was taken"
    )
    func asksAgain() throws {
        for wish in ["check", "update"] {
            for isTaken in [true, false] {
                let steps = """
                    open(first);
                    answers = [\(isTaken ? 202 : 410), 202];
                    const done = castree.\(wish)();
                    await pause();
                    if (\(isTaken)) socket.onclose();
                    await another();
                    open(second);
                    await pause();
                    tell(1, 'up-to-date', { reasons: [], codes: [] });
                    console.log((await done).type, posts.map(p => p.slice(-1)).join(''));
                    // It is over: another session asks for nothing.
                    socket.onclose();
                    await another();
                    open(first);
                    await pause();
                    console.log(posts.length);
                    """
                try expect(run(steps), equals: "up-to-date ab\n2", "\(wish) \(isTaken)")
            }
        }
    }

    @Test("loads a page again out of the browser's memory, if the server shows another version")
    func memory() throws {
        for (version, isKept, prevents, count) in [
            ("3", true, false, 1), ("2", true, false, 0), ("3", false, false, 0),
            ("3", true, true, 0),
        ] {
            let steps = """
                open(first);
                shown = '\(version)';
                if (\(prevents)) castree.bridge.addEventListener('version-ready', event => event.preventDefault());
                listeners.pageshow({ persisted: \(isKept) });
                await pause();
                console.log(loads);
                """
            try expect(run(steps, frame: Self.second), equals: "\(count)", "\(version) \(isKept)")
        }
    }

    @Test
    func `is told of a version again that was shown in the tab meanwhile, and was left`() throws {
        for (mark, count) in [("2", 1), ("2 reload", 1), ("3 reload", 0), ("22 reload", 1)] {
            let steps = """
                open(first);
                tell(1, 'version-ready', { version: '3', reload: true });
                console.log(loads);
                """
            let before = "null; setTimeout(() => {}); globalThis.mark = '\(mark)';"
            let frame = Self.second.replacingOccurrences(of: "null;", with: before)
            try expect(
                run(
                    steps, frame: frame,
                    storage: "{ value: Object.assign(tab, { castreeReady: mark }) }"),
                equals: "\(count)", "\(mark)")
        }
        let steps = "console.log(tab.castreeReady);"
        let storage = "{ value: Object.assign(tab, { castreeReady: '2 reload' }) }"
        try expect(run(steps, frame: Self.second, storage: storage), equals: "")
    }

    @Test("gives the workers that pages share an address for each version, and no other anything")
    func shares() throws {
        let own = "http://localhost:1"
        for (address, expected) in [
            ("'w.js'", own + "/app/w.js?castree_version=2"),
            ("'/w.js?a=b+c#d'", own + "/w.js?a=b+c&castree_version=2#d"),
            ("new URL('\(own)/w.js')", own + "/w.js?castree_version=2"),
            ("'http://other:1/w.js'", "http://other:1/w.js"), ("'data:,1'", "data:,1"),
            ("{ toString: () => 'trusted' }", "trusted"),
        ] {
            let frame =
                Self.second
                + "\nglobalThis.SharedWorker = class { constructor(...all) { this.all = all; } };"
            let steps = """
                const worker = new SharedWorker(\(address), 'name');
                console.log(String(worker.all[0]), worker.all[1], worker instanceof SharedWorker);
                """
            try expect(run(steps, frame: frame), equals: "\(expected) name true")
            // A page that does not know its version leaves all as it is.
            let bare = frame.replacingOccurrences(of: Self.says("2"), with: "")
            if address == "'w.js'" { try expect(run(steps, frame: bare), equals: "w.js name true") }
        }
    }

    static func says(_ version: String) -> String {
        "serverTiming: [{ name: 'castree', description: '\(version)' }]"
    }

    @Test func `asks for updates with its session, and gives what comes of it`() throws {
        let steps = """
            open(first);
            answers = [202];
            const found = castree.check();
            await pause();
            tell(1, 'checking', {});
            tell(2, 'available', { version: '2', bytes: 5, mandatory: false });
            console.log(JSON.stringify(await found), posts[0].split(/:1|[?]/)[1]);
            answers = [202];
            const ready = castree.update();
            await pause();
            tell(3, 'available', { version: '2', bytes: 5, mandatory: false });
            tell(4, 'ready', { version: '2', mandatory: false });
            console.log((await ready).type);
            answers = [202];
            const failed = castree.update();
            await pause();
            tell(5, 'update-failed', { message: 'away' });
            console.log(await failed.catch(error => error.message));
            answers = [404];
            console.log(await castree.check().catch(error => error.message));
            """
        let said =
            "{\"type\":\"available\",\"version\":\"2\",\"bytes\":5,\"mandatory\":false} /_castree/check"
        try expect(run(steps), equals: "\(said)\nready\naway\nstatus 404")
    }
}

private enum NodeProgram {
    static let path: String? = {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return directories.map { $0 + "/node" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()
}
