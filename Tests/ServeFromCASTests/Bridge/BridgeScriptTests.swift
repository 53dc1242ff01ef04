import Expectations
import Foundation
import StorageTestSupport
import StrictJSON
import Testing

@testable import ServeFromCAS
@testable import WebServer

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
        globalThis.addEventListener = () => {};
        globalThis.document = { hidden: false, addEventListener() {} };
        Object.defineProperty(globalThis, 'sessionStorage', STORAGE);
        globalThis.WebSocket = class {
          constructor() { socket = this; }
          send() {}
          close() {}
        };
        globalThis.fetch = async address => {
          posts.push(address);
          const status = answers.shift() || 204;
          return { status, ok: status < 300, text: async () => `status ${status}` };
        };
        const pause = () => new Promise(done => setTimeout(done, 5));
        const open = name => { socket.onopen(); socket.onmessage({ data: `W 1 ${name} 0` }); };
        const left = (number, own, at) => socket.onmessage({ data: `E ${number} 0 rolled-back\\n`
          + JSON.stringify({ version: '2', reason: 'r', at, own }) });
        const tell = (number, name, detail) => socket.onmessage({
          data: `E ${number} 0 ${name}\n` + JSON.stringify(detail) });
        const first = 'a'.repeat(32), second = 'b'.repeat(32);
        """

    /// Runs the script in a page, then `steps`, and returns what they log.
    private func run(
        _ steps: String, frame: String = "null", storage: String = "{ value: tab }"
    ) throws -> String {
        let page = Self.page.replacingOccurrences(of: "FRAME", with: frame)
            .replacingOccurrences(of: "STORAGE", with: storage)
        let script = String(decoding: BridgeScript.bytes, as: UTF8.self)
        let directory = TemporaryDirectory()
        let file = directory.appending("page.js")
        let text = "\(page)\n\(script)\n(async () => {\n\(steps)\nprocess.exit(0);\n})();\n"
        try Data(text.utf8).write(to: URL(filePath: file))
        let process = Process()
        process.executableURL = URL(filePath: try require(NodeProgram.path))
        process.arguments = [file]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        expect(process.terminationStatus, equals: 0)
        return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    @Test("loads a page again whose own version was left, once for each rollback")
    func reload() throws {
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

    @Test("leaves a page of another version, and one that says so, as they are")
    func noReload() throws {
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
        try expect(run(steps, frame: "{}"), equals: "0")
        try expect(run(steps, storage: "{ get() { throw new Error('blocked'); } }"), equals: "0")
    }

    @Test("confirms with its session, as soon as it has one")
    func confirm() throws {
        let steps = """
            const confirmed = castree.confirm();
            await pause();
            const early = posts.length;
            open(first);
            console.log(early, await confirmed, posts.join() === '/_castree/confirm?session=' + first);
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
            const old = socket;
            old.onclose();
            while (socket === old) await pause();
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
        let blocked = "{ get() { throw new Error('blocked'); } }"
        let told =
            "open(first); tell(1, 'version-ready', { version: '2', reload: true }); console.log(loads);"
        try expect(run(told, storage: blocked), equals: "0")
    }

    /// What a page of version 2 has of its own server, and whether any of it may be of another version.
    private static let files: [(file: String, isOther: Bool)] = [
        ("name: 'http://localhost:1/app.js', \(says("1"))", true),
        ("name: 'http://localhost:1/app.js', \(says("2"))", false),
        ("name: 'http://other:1/app.js', \(says("1"))", false),
        ("name: 'http://localhost:1/app.js', serverTiming: []", false),
        ("name: 'http://localhost:1/app.js'", false),
        ("name: 'http://localhost:1/f', initiatorType: 'iframe', \(says("1"))", false),
    ]

    private static func says(_ version: String) -> String {
        "serverTiming: [{ name: 'castree', description: '\(version)' }]"
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
                const names = posts.map(p => p.replace(/.*castree.|\\?.*/g, ''));
                console.log(good.join(), loads, names.join());
                """
            let expected = isOther ? "false,false 1 mixed" : "false,false 0 confirm,confirm"
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

    @Test("tells a page of no version that it cannot get: in a frame of another site's page")
    func foreign() throws {
        for (parent, all, count) in [
            ("{}", "undefined", 0), ("{}", "['http://other:1']", 0),
            ("{}", "['http://localhost:9']", 1),
            ("{}", "['http://localhost:9', 'http://other']", 0), ("undefined", "undefined", 1),
            ("globalThis", "[]", 1),
        ] {
            let around = """
                null;
                globalThis.parent = \(parent);
                location.hostname = 'localhost';
                location.ancestorOrigins = \(all);
                """
            let steps = """
                let count = 0;
                castree.bridge.addEventListener('version-ready', () => count++);
                open(first);
                tell(1, 'version-ready', { version: '2' });
                console.log(count);
                """
            try expect(run(steps, frame: around), equals: "\(count)", "\(parent) \(all)")
        }
    }

    @Test("asks for updates with its session, and gives what comes of it")
    func asks() throws {
        let steps = """
            open(first);
            answers = [202];
            const found = castree.check();
            await pause();
            tell(1, 'checking', {});
            tell(2, 'available', { version: '2', bytes: 5, mandatory: false });
            console.log(JSON.stringify(await found), posts[0].split('?')[0]);
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
