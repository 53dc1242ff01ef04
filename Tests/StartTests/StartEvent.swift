import StorageTestSupport

@testable import ServeFromCAS
@testable import VersionTree
@testable import WebServer

/// What is asked of a server.
enum StartVisit: String, Hashable, CaseIterable {
    case navigation, head, range, notModified, notFound, preview, otherSite, linked

    var request: (line: String, fields: [String: String]) {
        let line = self == .head ? "HEAD /" : self == .notFound ? "GET /none.js" : "GET /"
        var fields = ["Accept": "text/html"]
        switch self {
        case .range: fields["Range"] = "bytes=0-0"
        case .notModified: fields["If-None-Match"] = "*"
        case .preview: fields["Purpose"] = "prefetch"
        case .otherSite: fields["Sec-Fetch-Site"] = "cross-site"
        case .linked: fields["Referer"] = "https://other.example/"
        case .navigation, .head, .notFound: break
        }
        return (line, fields)
    }

    var status: Int {
        switch self {
        case .navigation, .head, .preview, .otherSite, .linked: 200
        case .range: 206
        case .notModified: 304
        case .notFound: 404
        }
    }

    func head() throws -> RequestHead {
        let (line, fields) = request
        let lines = fields.map { "\($0.key): \($0.value)\r\n" }.joined()
        let bytes = Array("\(line) HTTP/1.1\r\nHost: localhost:1\r\n\(lines)\r\n".utf8)
        var parser = RequestParser()
        guard case .head = parser.parse(bytes.span) else {
            throw StoreError(.io, "the request of a test cannot be read")
        }
        return parser.head
    }
}

/// Something that happens.
enum StartEvent: Hashable {
    case begin(Int)
    case visit(StartVisit, Int)
    /// A navigation whose page cannot be sent, or is not there.
    case unshown(Int)
    /// A navigation that is answered, and whose browser shows an older page that a service worker keeps; that page
    /// says that it works.
    case kept(Int)
    /// A navigation that a page of another site may have made.
    case stranger(Int)
    /// The first request with the cookie of what is current.
    case cookie(Int)
    case confirm(Int)
    case lateConfirm(Int)
    case stop(Int)
    case kill(Int)
    case freeze(Int)
    case thaw(Int)
    case time(Int)
    case reboot
    case boot
    case bootConfirm
    /// The start before the app's last one says that it works.
    case earlierConfirm
    case activate(String)
    case rollback
    case pull(String)

    /// Also what no way of real processes has.
    static func allOfModel(_ versions: [String]) -> [StartEvent] {
        all(versions) + [0, 1].flatMap { [.unshown($0), .stranger($0), .cookie($0)] }
    }

    static func all(_ versions: [String]) -> [StartEvent] {
        var events: [StartEvent] = [.reboot, .boot, .bootConfirm, .earlierConfirm, .rollback]
        for process in 0...1 {
            events += [
                .begin(process), .confirm(process), .lateConfirm(process), .stop(process),
                .kill(process), .freeze(process), .thaw(process), .time(process), .kept(process),
            ]
            events += StartVisit.allCases.map { .visit($0, process) }
        }
        for version in versions { events += [.activate(version), .pull(version)] }
        return events
    }
}

/// The rules by which a world continues: real ones but for what is planted.
struct StartModel {
    var bug: PlantedBug?
    /// Whether what is pending waits for the first page of the next process.
    let defersPending: Bool
    /// Which visits start a version, by the rule of the server over a real site.
    let starting: Set<StartVisit>

    init(bug: PlantedBug? = nil, defersPending: Bool = false) throws {
        self.bug = bug
        self.defersPending = defersPending
        let store = try TemporaryStore(adding: "1", ["index.html": "one"])
        let site = Site(try store.versions.registeredManifest(of: "1"), options: SiteOptions())
        var starting: Set<StartVisit> = []
        for visit in StartVisit.allCases
        where try StartRule.start(visit.head(), site) != nil { starting.insert(visit) }
        if bug == .headStarts { starting.insert(.head) }
        self.starting = starting
    }

    /// Version 1 is known good; or it is current, and nobody has ever confirmed anything.
    static func start(isFirstDay: Bool) throws -> StartWorld {
        var world = StartWorld()
        world.lifecycle.activate("1")
        if !isFirstDay {
            world.lifecycle.knownGood = ["1"]
            world.confirmed = ["1"]
        }
        world.commit()
        return world
    }

    static var rules: StartJudge.Rules {
        var rules = StartJudge.Rules(allowed: .seconds(1))
        rules.rest = .seconds(2)
        rules.pace = .seconds(1)
        return rules
    }

    /// The world after an event; `nil` if it cannot happen.
    func next(_ world: StartWorld, _ event: StartEvent) throws -> StartWorld? {
        let result =
            switch event {
            case .begin(let process): begin(world, process)
            case .visit(_, let process), .unshown(let process), .kept(let process),
                .stranger(let process), .cookie(let process), .confirm(let process),
                .lateConfirm(let process),
                .stop(let process), .kill(let process), .freeze(let process), .thaw(let process),
                .time(let process):
                try ofProcess(world, event, process)
            case .reboot, .boot, .bootConfirm, .earlierConfirm, .activate, .rollback, .pull:
                try elsewhere(world, event)
            }
        guard var result else { return nil }
        note(world, &result, event)
        result.commit()
        return result
    }

    private func begin(_ world: StartWorld, _ process: Int) -> StartWorld? {
        guard world.processes[process] == nil else { return nil }
        let ledger = StartModelLedger(world, process, bug)
        var judge = StartJudge(Self.rules, ledger)
        judge.defersPending = defersPending
        ledger.world.processes[process] = StartProcess(judge: judge)
        return ledger.world
    }

    private func ofProcess(
        _ world: StartWorld, _ event: StartEvent, _ number: Int
    ) throws -> StartWorld? {
        guard var process = world.processes[number] else { return nil }
        let ledger = StartModelLedger(world, number, bug)
        switch (event, process.isFrozen) {
        case (.kill, _):
            ledger.releaseLock()
            ledger.world.processes[number] = nil
            return ledger.world
        case (.visit(let visit, _), false):
            guard starting.contains(visit) else { break }
            _ = try process.judge.pageBegins(world.lifecycle, ledger, now: .zero)
            process.page = ledger.world.lifecycle.current
        case (.kept, false):
            _ = try process.judge.pageBegins(world.lifecycle, ledger, now: .zero)
            // The tab's page has gone. The one that is shown is no witness for what is current.
            process.page = nil
            guard let current = ledger.world.lifecycle.current else { break }
            if bug == .keptPagesConfirm {
                _ = try process.judge.confirm(current, ledger)
            } else {
                _ = try process.judge.takeBackUnshown(current, "kept", ledger)
            }
        case (.stranger, false):
            _ = try process.judge.pageBegins(
                world.lifecycle, ledger, now: .zero, isCounted: bug == .strangersCount)
        case (.cookie, false):
            guard let current = world.lifecycle.current else { break }
            try process.judge.count(current, ledger)
        case (.unshown, false):
            // As the server has it: what waits is passed over, what is current is left.
            let lifecycle = world.lifecycle
            guard process.judge.isDue(lifecycle), let current = lifecycle.current,
                process.judge.candidate(lifecycle) == current
            else { break }
            _ = try process.judge.leaveUnshown(current, "no page", ledger)
        case (.confirm, false):
            guard let page = process.page else { return nil }
            _ = try process.judge.confirm(page, ledger)
        case (.lateConfirm, true):
            guard let page = process.page, process.waiting == nil else { return nil }
            process.waiting = page
        case (.stop, false):
            try process.judge.end(ledger)
            ledger.world.processes[number] = nil
            return ledger.world
        case (.freeze, false): process.isFrozen = true
        case (.thaw, true):
            process.isFrozen = false
            // It looks first, an hour late, and reads then.
            try look(&process, ledger, now: .seconds(3600))
            if let page = process.waiting { _ = try process.judge.confirm(page, ledger) }
            process.waiting = nil
        case (.time, false): try look(&process, ledger, now: .seconds(1))
        default: return nil
        }
        ledger.world.processes[number] = process
        return ledger.world
    }

    private func look(
        _ process: inout StartProcess, _ ledger: StartModelLedger, now: Duration
    ) throws {
        try process.judge.follow(ledger.world.lifecycle, ledger, now: .zero)
        guard process.judge.tick(now: now) else { return }
        if let boot = ledger.world.lifecycle.unconfirmed, boot.isUncounted,
            try ledger.world.lifecycle.findWayBack(StartVersions()) != nil
        {
            _ = try process.judge.takeBackUnshown(boot.version, "a stranger's", ledger)
            return
        }
        do throws(StoreError) {
            _ = try process.judge.judge(ledger)
        } catch {
            guard error.code == .nothingToRollBackTo else { throw error }
        }
    }

    private func elsewhere(_ world: StartWorld, _ event: StartEvent) throws -> StartWorld? {
        let ledger = StartModelLedger(world, 2, bug)
        let versions = StartVersions()
        switch event {
        case .reboot:
            ledger.world.processes = [nil, nil]
            ledger.world.lock = nil
            ledger.world.isOddBoot.toggle()
        case .boot:
            let begun = try ledger.boot()
            ledger.world.earlier = ledger.world.app
            ledger.world.app = .init(version: begun.version, token: begun.token)
        case .bootConfirm, .earlierConfirm:
            guard let app = event == .bootConfirm ? world.app : world.earlier else { return nil }
            do throws(StoreError) {
                try ledger.confirm(app.version, token: app.token)
            } catch {
                guard error.code == .wrongToken else { throw error }
                if event == .bootConfirm {
                    ledger.world.app = nil
                } else {
                    ledger.world.earlier = nil
                }
            }
        case .activate(let version):
            guard try versions.isUsable(version, world.lifecycle) else { return nil }
            try ledger.world.lifecycle.activate(version, versions)
            // They came in the order of their names; what is older waits no longer.
            if let waits = ledger.world.lifecycle.pending, waits < version {
                ledger.world.lifecycle.pending = nil
            }
        case .rollback:
            do throws(StoreError) {
                try ledger.rollback()
            } catch {
                guard error.code == .nothingToRollBackTo else { throw error }
                return nil
            }
        case .pull(let version):
            guard version != world.lifecycle.current,
                try versions.isUsable(version, world.lifecycle)
            else { return nil }
            ledger.world.lifecycle.pending = version
        default: return nil
        }
        return ledger.world
    }

    /// Keeps what the invariants remember.
    private func note(_ before: StartWorld, _ after: inout StartWorld, _ event: StartEvent) {
        for version in after.lifecycle.knownGood where !before.lifecycle.knownGood.contains(version)
        {
            let content = StartVersions.firstName(version)
            after.confirmed.insert(content)
            after.starts[content] = nil
        }
        let counted = { (boot: Lifecycle.Boot?) -> String? in
            guard let boot, boot.content != nil else { return nil }
            return StartVersions.firstName(boot.version)
        }
        switch event {
        case .rollback:
            if let left = before.lifecycle.current {
                after.unwanted.insert(StartVersions.firstName(left))
            }
        case .activate(let version):
            // A start that is left by request is none.
            guard before.lifecycle.boot?.version != version,
                let content = counted(before.lifecycle.boot), let count = after.starts[content]
            else { return }
            after.starts[content] = max(0, count - 1)
        case .unshown where after.lifecycle != before.lifecycle:
            // Nor is a start of the command's that a server finds unshowable.
            guard let boot = before.lifecycle.unconfirmed, !boot.isWatched,
                boot.system == (before.isOddBoot ? "odd" : "even"),
                let content = counted(boot), let count = after.starts[content]
            else { return }
            after.starts[content] = max(0, count - 1)
        case .kept where after.lifecycle.boot?.token != before.lifecycle.boot?.token:
            // A start that was taken back is none, be it this navigation's or an earlier one's.
            guard let boot = before.lifecycle.boot, let content = boot.content,
                after.lifecycle.failedAttempts(of: content)
                    < before.lifecycle.failedAttempts(of: content),
                let taken = counted(boot), let count = after.starts[taken]
            else { break }
            after.starts[taken] = max(0, count - 1)
        default:
            let (then, now) = (before.lifecycle.boot, after.lifecycle.boot)
            guard then?.token != now?.token || then?.content == nil, let content = counted(now)
            else { return }
            after.starts[content] = min(9, (after.starts[content] ?? 0) + 1)
        }
    }
}
