import ProgramTestSupport

@testable import VersionTree

/// What a step must have led to: of the model, or read from a store.
struct StartPicture: Hashable {
    struct Boot: Hashable {
        var version: String
        var isWatched: Bool
        var isCounted: Bool
        /// Whether the system has not started anew since.
        var isOfThisSystem: Bool
    }
    struct Attempt: Hashable {
        var version: String
        var content: String
        var failedAttempts: Int
        var takenBack: Int
    }

    var current: String?
    var pending: String?
    var before: String?
    var knownGood: [String]
    var bans: [String]
    var boot: Boot?
    var attempts: [Attempt]
    var lock: Int?
    /// The content that each server has shown last, by its first name.
    var pages: [String?]

    /// - Parameters:
    ///   - content: the version that has a content.
    ///   - system: what names the time since the system started.
    init(
        _ lifecycle: Lifecycle, lock: Int?, pages: [String?], system: String,
        _ content: (ObjectID) -> String
    ) {
        current = lifecycle.current
        pending = lifecycle.pending
        before = lifecycle.before
        knownGood = lifecycle.knownGood
        bans = lifecycle.bad.map { "\($0.version) \(content($0.content)) \($0.count)" }
        boot = lifecycle.boot.map {
            Boot(
                version: $0.version, isWatched: $0.isWatched, isCounted: $0.content != nil,
                isOfThisSystem: $0.system == system)
        }
        attempts = lifecycle.attempts.map {
            Attempt(
                version: $0.version, content: content($0.content),
                failedAttempts: $0.failedAttempts,
                takenBack: $0.takenBack)
        }
        self.lock = lock
        self.pages = pages
    }

    init(_ world: StartWorld) {
        self.init(
            world.lifecycle, lock: world.lock,
            pages: world.processes.map { $0?.page.map(StartVersions.firstName) },
            system: world.isOddBoot ? "odd" : "even"
        ) { String($0.description.prefix(1)) }
    }
}

/// A store, two servers and the commands: what the model is a model of.
final class RealStarts {
    /// A page that a server has shown.
    private struct Page {
        /// The first name of its version's content.
        var content: String
        var cookie: [String: String]
        var session: String
    }

    /// A server and what came of it.
    private struct Process {
        let served: Served
        let input: Pipe
        var page: Page?
        /// The confirmation that was sent while it stood still.
        var waiting: Int32?
    }

    private let place: Workplace
    private let store: String
    private let versions: VersionStore
    private var processes: [Process?] = [nil, nil]
    /// What `castree boot` said last.
    private var app: (version: String, token: String)?
    /// What it said before.
    private var earlier: (version: String, token: String)?
    /// The version that has a content.
    private let names: [ObjectID: String]
    private let system: String
    private static let otherSystem = "another time"

    /// Makes a store that shows version 1; it is known good, but on the first day.
    init(isFirstDay: Bool) throws {
        place = Workplace(inMemory: true)
        let store = place.directory.appending(path: ".castree").path
        self.store = store
        versions = try VersionStore.create(
            at: store, options: StoreOptions(isDurable: false, reservedByteCount: 1 << 20)
        ).versions
        var names: [ObjectID: String] = [:]
        for version in ["1", "2", "a", "b"] {
            let source = place.directory.appending(path: "source-" + version).path
            try writeTree(source, ["index.html": StartVersions.firstName(version)])
            _ = try versions.add(directory: source, version: version)
            if let content = try versions.content(of: version), names[content] == nil {
                names[content] = version
            }
        }
        self.names = names
        let boot = try POSIXFileSystem().systemBoot()
        system = try require(boot)
        try versions.activate("1")
        if !isFirstDay { try versions.confirm("1", token: versions.boot().token) }
    }

    func picture() throws -> StartPicture {
        try StartPicture(
            versions.lifecycle(), lock: lock(), pages: processes.map { $0?.page?.content },
            system: system
        ) { names[$0] ?? "?" }
    }

    /// The server that has the lock, as the kernel tells; who asks by trying would have it for a moment.
    private func lock() throws -> Int? {
        var status = stat()
        let lock = place.directory.appending(
            path: ".castree/\(StoreLayout.leasePath(StoreLayout.startLock))"
        ).path
        guard stat(lock, &status) == 0 else { return nil }
        return try processes.firstIndex { process in
            guard let process else { return false }
            // By descriptor (proc(5), fdinfo): of /proc/locks the kernel leaves out lines while others lock.
            let files = "/proc/\(process.served.processIdentifier)/fdinfo"
            return try FileManager.default.contentsOfDirectory(atPath: files).contains { file in
                // It may have been closed meanwhile.
                let text = try? String(contentsOfFile: "\(files)/\(file)", encoding: .utf8)
                return text?.split(separator: "\n").contains {
                    $0.hasPrefix("lock:") && $0.contains(":\(status.st_ino) ")
                } ?? false
            }
        }
    }

    func run(_ event: StartEvent) throws {
        switch event {
        case .begin(let number): processes[number] = try begin()
        case .visit(let visit, let number): try self.visit(visit, number)
        // What a server has in memory it shows, whatever happens to the disk.
        case .unshown, .stranger, .cookie: Issue.record("no way of real processes has this")
        case .kept(let number): try visitKept(number)
        case .confirm(let number):
            let (path, fields) = try confirmation(number)
            _ = try served(number).post(path, "", fields)
        case .lateConfirm(let number):
            let (path, fields) = try confirmation(number)
            let waiting = try served(number).beginPost(path, "", fields)
            processes[number]?.waiting = waiting
        case .stop(let number): try expect(end(number, SIGTERM).status, equals: 0)
        case .kill(let number): _ = try end(number, SIGKILL)
        case .freeze(let number): try freeze(served(number))
        case .thaw(let number):
            try served(number).signal(SIGCONT)
            if let waiting = processes[number]?.waiting { _ = try Served.answer(waiting) }
            processes[number]?.waiting = nil
            try step(number, "late")
        case .time(let number): try step(number, "look")
        case .reboot: try reboot()
        case .boot:
            let begun = try castree(["boot", "--json"]).document(["version token": "text"])
            earlier = app
            app = (begun.version.text, begun.token.text)
        case .bootConfirm, .earlierConfirm:
            let app = try require(event == .bootConfirm ? app : earlier)
            let done = try place.run(.castree, ["confirm", app.version, "--token", app.token])
            expect([0, 1].contains(done.status), "\(done)")
        case .activate(let version): try castree(["activate", version])
        case .rollback: try castree(["rollback"])
        case .pull(let version): try castree(["activate", version, "--at-next-boot"])
        }
    }

    @discardableResult
    private func castree(_ arguments: [String]) throws -> Finished {
        try place.done(words: arguments)
    }

    // MARK: Servers

    private func served(_ number: Int) throws -> Served { try require(processes[number]).served }

    private func begin() throws -> Process {
        let input = Pipe()
        let program = ProgramUnderTest.castree.url.deletingLastPathComponent()
            .appending(path: "SteppedServer").path
        let served = try Served([program, store], in: place.directory, input: input)
        return Process(served: served, input: input)
    }

    private func end(_ number: Int, _ signal: Int32) throws -> Finished {
        let process = try require(processes[number])
        if let waiting = process.waiting { close(waiting) }
        processes[number] = nil
        return try process.served.end(signal)
    }

    private func step(_ number: Int, _ how: String) throws {
        try processes[number]?.input.fileHandleForWriting.write(contentsOf: Data((how + "\n").utf8))
        try expect(served(number).readLine(), equals: how + "\n")
    }

    /// Stops a process, and returns when it stands still.
    private func freeze(_ served: Served) throws {
        served.signal(SIGSTOP)
        let file = "/proc/\(served.processIdentifier)/stat"
        while try !String(contentsOfFile: file, encoding: .utf8).contains(") T ") { sched_yield() }
    }

    /// The tab of a server goes somewhere else.
    private func leavePage(_ number: Int) throws {
        guard let page = processes[number]?.page else { return }
        let path = "/_castree/bridge?session=\(page.session)"
        _ = try served(number).post(path, "1\nC", page.cookie)
        processes[number]?.page = nil
    }

    /// A navigation whose answer the browser drops, since a service worker has a page; that page confirms.
    private func visitKept(_ number: Int) throws {
        try visit(.navigation, number)
        let (path, fields) = try confirmation(number)
        let answer = try served(number).post(path + "&version=", "", fields)
        expect(answer.status, equals: 409, "\(answer.head)")
        try leavePage(number)
    }

    private func visit(_ visit: StartVisit, _ number: Int) throws {
        // A page that has gone says nothing more.
        if visit == .navigation { try leavePage(number) }
        let (line, fields) = visit.request
        let words = line.split(separator: " ").map(String.init)
        let answer = try served(number).ask(words[0], words[1], fields)
        expect(answer.status, equals: visit.status, "\(visit): \(answer.head)")
        guard visit == .navigation else { return }
        let cookie = answer.head.split(separator: "\r\n").first { $0.hasPrefix("Set-Cookie: ") }
        let value = cookie?.dropFirst("Set-Cookie: ".count).prefix { $0 != ";" }
        let own = value.map { ["Cookie": String($0)] } ?? [:]
        let page = Page(
            content: answer.body.trimmingCharacters(in: .whitespacesAndNewlines), cookie: own,
            session: try served(number).beginSession(own))
        processes[number]?.page = page
    }

    private func confirmation(_ number: Int) throws -> (path: String, fields: [String: String]) {
        let page = try require(processes[number]?.page)
        return ("/_castree/confirm?session=\(page.session)", page.cookie)
    }

    // MARK: The system

    /// Ends all processes at once; what was started before is of another time from here on.
    private func reboot() throws {
        for number in processes.indices where processes[number] != nil {
            _ = try end(number, SIGKILL)
        }
        let (system, other) = (system, Self.otherSystem)
        try versions.changeLifecycle { (lifecycle) throws(StoreError) in
            guard let then = lifecycle.boot?.system else { return }
            lifecycle.boot?.system = then == system ? other : system
        }
    }
}
