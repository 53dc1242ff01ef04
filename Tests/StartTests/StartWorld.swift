import CASStore

@testable import VersionTree

// The model of starts: the real lifecycle and the real judges of two processes, over no disk.

/// A process of the model that serves pages.
struct StartProcess: Hashable {
    var judge: StartJudge
    var isFrozen = false
    /// The version of the page that it showed last.
    var page: String?
    /// A confirmation that came while it was frozen.
    var waiting: String?
}

/// Everything that decides about starts, and what the invariants remember.
struct StartWorld: Hashable {
    var lifecycle = Lifecycle()
    var lock: Int?
    var isOddBoot = false
    var processes: [StartProcess?] = [nil, nil]
    /// The start that the app has made by the command.
    var app: Lifecycle.Confirmation?
    /// The one that it made before, which may still run.
    var earlier: Lifecycle.Confirmation?
    /// Contents that somebody has confirmed, by the first name of each.
    var confirmed: Set<String> = []
    /// How often each content was really started since it was confirmed or somebody asked for another.
    var starts: [String: Int] = [:]
    /// Contents that were banned by request.
    var unwanted: Set<String> = []

    /// The same with the servers exchanged: what can follow is the same, too.
    var mirrored: StartWorld {
        var world = self
        world.processes.reverse()
        world.lock = lock.map { 1 - $0 }
        return world
    }

    /// Whether a token that the app was given still counts.
    func isBelieved(_ given: Lifecycle.Confirmation?) -> Bool {
        guard let given else { return false }
        return ([lifecycle.boot] + lifecycle.unheard).contains { $0?.token == given.token }
    }

    var freshToken: String {
        var used = Set([
            lifecycle.boot?.token, lifecycle.confirmed?.token, app?.token, earlier?.token,
        ])
        for process in processes {
            used.insert(process?.judge.watchedToken)
            used.insert(process?.judge.abandoned)
        }
        for number in 0... where !used.contains("\(number)") { return "\(number)" }
        preconditionFailure("there are endless numbers")
    }

    /// Forgets what can decide nothing any more, so that equal states are equal.
    mutating func commit() {
        for index in processes.indices {
            processes[index]?.judge.lastLook = .zero
            if let held = processes[index]?.judge.heldBack, held != lifecycle {
                processes[index]?.judge.heldBack = nil
            }
            if let token = processes[index]?.judge.abandoned, token != lifecycle.boot?.token {
                processes[index]?.judge.abandoned = nil
            }
        }
        if !isBelieved(app) { app = nil }
        if !isBelieved(earlier) || earlier == app { earlier = nil }
        lifecycle.unheard.removeAll { ![app?.token, earlier?.token].contains($0.token) }
        // Twice the same confirmation is no matter here.
        lifecycle.confirmed = nil
    }
}

/// The versions of the model: all whole, each of its own content but for the other names of some.
struct StartVersions: StartableVersions {
    /// Other names, and whose content they have.
    static let aliases = ["a": "1", "b": "2"]

    static func firstName(_ version: String) -> String { aliases[version] ?? version }

    func content(of version: String) throws(StoreError) -> ObjectID? {
        ObjectID(String(repeating: Self.firstName(version), count: 64))
    }

    func isUsable(_ version: String, _ lifecycle: Lifecycle) throws(StoreError) -> Bool {
        guard let content = try content(of: version) else { return false }
        return lifecycle.ban(of: content) == nil
    }
}

/// What a bug that is planted breaks.
enum PlantedBug: Hashable {
    case headStarts, stopCountsAsFailure, lockIsNotAsked, pendingIsNotDeferred, tokensAreForgotten
    case keptPagesConfirm, strangersCount
}

/// The store and the lock, as one process of the model sees them.
///
/// `@unchecked Sendable`: the model is one thread.
final class StartModelLedger: StartLedger, @unchecked Sendable {
    var world: StartWorld
    let process: Int
    let bug: PlantedBug?
    private let versions = StartVersions()

    init(_ world: StartWorld, _ process: Int, _ bug: PlantedBug?) {
        (self.world, self.process, self.bug) = (world, process, bug)
    }

    func request(failedAttempts: Int = 2) -> StartRequest {
        StartRequest(
            token: world.freshToken, time: 0, system: world.isOddBoot ? "odd" : "even",
            failedAttempts: failedAttempts)
    }

    func lifecycle() throws(StoreError) -> Lifecycle { world.lifecycle }

    func takeLock() throws(StoreError) -> Bool {
        guard world.lock == nil || world.lock == process || bug == .lockIsNotAsked else {
            return false
        }
        world.lock = process
        return true
    }

    func releaseLock() { if world.lock == process { world.lock = nil } }

    func begin(_ request: StartRequest) throws(StoreError) -> Begun {
        let own = self.request(failedAttempts: request.failedAttempts)
        var request = request
        (request.token, request.time, request.system) = (own.token, own.time, own.system)
        request.canShow = own.canShow
        if bug == .pendingIsNotDeferred { request.takesPending = true }
        return try world.lifecycle.begin(request, versions)
    }

    func leave(_ departure: Departure, failedAttempts: Int) throws(StoreError) -> LeftVersion? {
        var departure = departure
        if case .stopped(let version, let token) = departure, bug == .stopCountsAsFailure {
            departure = .unconfirmed(version, token: token, reason: "stopped")
        }
        if case .unconfirmed(let version, let token, _) = departure {
            departure = .unconfirmed(version, token: token, reason: "late")
        }
        return try world.lifecycle.leave(
            departure, request(failedAttempts: failedAttempts), versions)
    }

    func confirm(_ version: String, token: String) throws(StoreError) {
        _ = try world.lifecycle.acceptConfirmation(version, token: token)
    }

    func boot() throws(StoreError) -> Begun {
        var request = request()
        request.isLockTaken = world.lock != nil && bug != .lockIsNotAsked
        let begun = try world.lifecycle.begin(request, versions)
        if bug == .tokensAreForgotten { world.lifecycle.unheard = [] }
        return begun
    }

    func rollback() throws(StoreError) {
        _ = try world.lifecycle.leaveOrRefuse("by request", request(failedAttempts: 0), versions)
    }
}
