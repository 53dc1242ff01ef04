import HotPush
import StorageTestSupport

/// A store, an origin, a clock, and processes that use them one after the other.
struct UpdatingFixture {
    let store: TemporaryStore
    let source: ScriptedSource
    let clock = ManualClock()

    init() throws {
        store = try TemporaryStore()
        source = ScriptedSource(store)
    }

    /// One whose store has a version that is known good, and whose origin offers another one.
    init(live version: String, offering next: String? = nil) async throws {
        try self.init()
        try await live(version)
        if let next { try offer(next) }
    }

    static func files(_ number: String) -> [String: String] {
        ["index.html": "<p>\(number)</p>", "app.js": "the same in all", "style.css": "p {}"]
    }

    /// A manager as a process of the app makes it.
    func process(_ set: (inout UpdateOptions) -> Void = { _ in }) throws -> UpdateManager {
        var options = UpdateOptions()
        set(&options)
        return UpdateManager(try store.reopened(), source: source, options: options, clock: clock)
    }

    func started(_ set: (inout UpdateOptions) -> Void = { _ in }) async throws -> UpdateManager {
        let manager = try process(set)
        _ = try await manager.start()
        return manager
    }

    @discardableResult
    func offer(
        _ version: String, content: String? = nil, saysAddresses: Bool = true,
        _ set: (inout Release) -> Void = { _ in }
    ) throws -> Release {
        var release = try source.release(
            version, Self.files(content ?? version), saysAddresses: saysAddresses)
        set(&release)
        source.answer(.release(release))
        return release
    }

    /// Brings a release into the store, as one process after the other does, until it is known good.
    func live(_ version: String) async throws {
        try offer(version)
        _ = try await started().update()
        let second = try process()
        let boot = try require(try await second.start())
        expect(boot.version, equals: version)
        try await second.confirm(version, token: boot.token)
    }

    var lifecycle: Lifecycle { get throws { try store.versions.lifecycle() } }

    func logged() throws -> [String] { try EventLog(store.versions).entries().map(\.event.name) }
}

/// What an update came to; a test that expects anything else ends.
extension UpdateOutcome {
    /// - Returns: what the version waits for.
    @discardableResult
    func expectReady(_ version: String? = nil) throws -> String {
        guard case .ready(let found, let reason) = self, found == version ?? found else {
            return try require(nil, "\(self)")
        }
        return reason
    }

    @discardableResult
    func expectStarted() throws -> BootReport {
        guard case .started(let boot) = self else { return try require(nil, "\(self)") }
        return boot
    }

    @discardableResult
    func expectRefused(_ version: String? = nil) throws -> [String] {
        guard case .refused(let found, let reasons) = self, found == version ?? found else {
            return try require(nil, "\(self)")
        }
        return reasons
    }

    func expectUpToDate() throws {
        guard case .upToDate = self else { return try require(nil, "\(self)") }
    }
}
