import StorageTestSupport

@testable import HotPush

@Suite("An embedded version") struct AdoptingTests {
    private let store: TemporaryStore

    init() throws { store = try TemporaryStore() }

    /// The files of release `number`: all but one are those of every release.
    static func files(_ number: String) -> [String: String] {
        var files = ["index.html": "<p>\(number)</p>"]
        for index in 0..<19 { files["js/part\(index).js"] = "part \(index)" }
        return files
    }

    static func ship(
        _ name: String, in store: TemporaryStore, _ files: [String: String]? = nil,
        order: Int64? = nil
    ) throws -> EmbeddedVersion {
        let path = store.directory.appending("app-\(UUID().uuidString)")
        try writeTree(path, files ?? Self.files(name))
        return EmbeddedVersion(directory: path, version: name, order: order)
    }

    /// A version as a download leaves it: registered with its terms, complete, shown, confirmed.
    static func push(
        _ name: String, to store: TemporaryStore, order: Int64? = nil, compatibility: String? = nil,
        files: [String: String]? = nil, isConfirmed: Bool = true
    ) throws {
        let path = store.directory.appending("pushed-\(UUID().uuidString)")
        try writeTree(path, files ?? Self.files(name))
        var terms = ReleaseTerms(order: order)
        if let compatibility {
            terms.requirements = [
                Requirement(kind: Requirement.compatibility, value: compatibility)
            ]
        }
        var options = AddOptions()
        options.foreign = [terms.member].compactMap { $0 }
        try store.versions.add(directory: path, version: name, options: options)
        try store.versions.activate(name)
        if isConfirmed { try store.versions.confirm(name, token: store.versions.boot().token) }
    }

    @Test func `of no files, which an older castree took, is not done by its name`() throws {
        let embedded = try Self.ship("1", in: store)
        let nothing = store.directory.appending("nothing")
        try Damage.makeDirectory(nothing)
        try store.versions.add(directory: nothing, version: "1")
        try store.versions.markEmbedded("1") { (_) throws(StoreError) -> EmbeddedChange in
            var change = EmbeddedChange()
            change.becomesCurrent = true
            return change
        }
        let report = try store.versions.adopt(embedded)
        expect(report.isNew && report.becameCurrent && report.version == "1+shipped.1")
        try expect(!store.versions.adopt(embedded).isNew)
    }

    @Test("of an app update costs only what is new in it, and nothing downloaded is thrown away")
    func update() throws {
        try store.versions.adopt(Self.ship("1", in: store))
        try Self.push("2", to: store)
        try Self.push("3", to: store)
        let report = try store.versions.adopt(Self.ship("4", in: store))
        // 95 % of the files are the same.
        expect(report.newObjects, equals: 1)
        expect(report.becameCurrent)
        let lifecycle = try store.versions.lifecycle()
        expect(lifecycle.embedded == "4" && lifecycle.current == "4")
        expect(lifecycle.knownGood, equals: ["3", "2"])
        expect(Set(try store.versions.versions().map(\.version)), equals: ["1", "2", "3", "4"])
        // What was pushed before is there to go back to.
        try expect(store.versions.rollback().current, equals: "3")
    }

    @Test
    func `with the content of a download costs nothing, and the download stays current`() throws {
        try store.versions.adopt(Self.ship("1", in: store))
        try Self.push("abc", to: store, files: Self.files("2"))
        let report = try store.versions.adopt(Self.ship("2.0", in: store, Self.files("2")))
        expect(report.newObjects == 0 && !report.becameCurrent)
        try expect(store.versions.lifecycle().current, equals: "abc")
        // The same name, too.
        let other = try TemporaryStore()
        try Self.push("2", to: other)
        let same = try other.versions.adopt(Self.ship("2", in: other))
        expect(same.newObjects == 0 && same.isNew && same.version == "2")
        try expect(other.versions.lifecycle().knownGood, equals: ["2"])
    }

    @Test func `that is older than a download leaves the download current`() throws {
        try store.versions.adopt(Self.ship("1", in: store, order: 1))
        try Self.push("9", to: store, order: 9)
        let report = try store.versions.adopt(Self.ship("5", in: store, order: 5))
        expect(!report.becameCurrent && report.isNew)
        let lifecycle = try store.versions.lifecycle()
        expect(lifecycle.current == "9" && lifecycle.embedded == "5")
        try expect(store.versions.adopt(Self.ship("10", in: store, order: 10)).becameCurrent)
    }

    @Test func `that is newer drops an older version that waits for the next start`() throws {
        try store.versions.adopt(Self.ship("1", in: store, order: 1))
        try Self.push("2", to: store, order: 2)
        try store.versions.activate("1")
        try store.versions.activateAtNextBoot("2")
        try store.versions.adopt(Self.ship("3", in: store, order: 3))
        try expect(store.versions.boot().version, equals: "3")
        // And keeps a newer one.
        try Self.push("5", to: store, order: 5)
        try store.versions.activate("3")
        try store.versions.activateAtNextBoot("5")
        try store.versions.adopt(Self.ship("4", in: store, order: 4))
        try expect(store.versions.lifecycle().current, equals: "4")
        try expect(store.versions.boot().version, equals: "5")
    }

    @Test("takes the place of what the updated app cannot run, and that is not gone back to")
    func unfit() throws {
        var app = AppTraits()
        app.compatibility = "old"
        try store.versions.adopt(Self.ship("1", in: store), app: app)
        try store.versions.confirm("1", token: store.versions.boot().token)
        try Self.push("2", to: store, order: 90, compatibility: "old")
        try Self.push("3", to: store, order: 91, compatibility: "new")
        try Self.push("4", to: store, order: 92, compatibility: "old")
        try store.versions.activateAtNextBoot("2")
        app.compatibility = "new"
        try store.versions.adopt(Self.ship("5", in: store, order: 5), app: app)
        let lifecycle = try store.versions.lifecycle()
        expect(lifecycle.current == "5" && lifecycle.pending == nil)
        expect(lifecycle.knownGood, equals: ["3"])
        try expect(store.versions.versions().count, equals: 5)
    }

    /// Ships the content of version 2, which was banned, with an app of that compatibility.
    private func shipBanned(with compatibility: String) throws -> EmbeddedReport {
        var app = AppTraits()
        app.compatibility = "old"
        try store.versions.adopt(Self.ship("1", in: store), app: app)
        try store.versions.confirm("1", token: store.versions.boot().token)
        try Self.push("2", to: store, isConfirmed: false)
        _ = try store.versions.boot()
        _ = try store.versions.rollback(reason: "white page")
        app.compatibility = compatibility
        return try store.versions.adopt(Self.ship("2.0", in: store, Self.files("2")), app: app)
    }

    @Test("keeps bans, and is not shown if its own content is banned and there is something better")
    func bans() throws {
        let report = try shipBanned(with: "old")
        expect(!report.becameCurrent && report.reason.contains("banned"))
        try expect(store.versions.lifecycle().current, equals: "1")
        try expect(store.versions.lifecycle().bad.map(\.version), equals: ["2"])
        try expect(store.versions.boot().version, equals: "1")
    }

    @Test
    func `is shown although its content is banned when there is nothing else to show`() throws {
        try expect(shipBanned(with: "new").becameCurrent)
        try expect(store.versions.lifecycle().bad.isEmpty)
        try expect(store.versions.boot().version, equals: "2.0")
    }

    @Test func `whose name is taken by other content gets a longer one, once`() throws {
        try Self.push("5", to: store, files: ["index.html": "pushed"])
        let embedded = try Self.ship("5", in: store)
        let report = try store.versions.adopt(embedded)
        expect(report.version == "5+shipped.1" && report.becameCurrent)
        try expect(store.versions.adopt(embedded).isNew, equals: false)
        try expect(store.versions.versions().count, equals: 2)
    }

    @Test
    func `of a developer, who builds without counting, is compared if that is asked for`() throws {
        var embedded = try Self.ship("dev", in: store)
        embedded.comparesContent = true
        try expect(store.versions.adopt(embedded).isNew)
        try expect(!store.versions.adopt(embedded).isNew)
        try writeTree(embedded.directory, ["index.html": "changed"])
        let report = try store.versions.adopt(embedded)
        expect(report.isNew && report.becameCurrent && report.newObjects == 1)
        try expect(
            Damage.contents(store.path + "/current/index.html"), equals: Array("changed".utf8))
        try expect(!store.versions.adopt(embedded).isNew)
    }

    @Test func `is made whole again from the app's own directory`() throws {
        let embedded = try Self.ship("1", in: store)
        try store.versions.adopt(embedded)
        try Damage.flip(store.path + "/versions/1/index.html", at: 3)
        _ = try store.versions.check(repairing: true)
        try expect(store.versions.versions().first?.state, equals: .incomplete)
        try store.versions.adopt(embedded)
        try expect(store.versions.versions().first?.state, equals: .materialized)
        try expect(store.versions.boot().version, equals: "1")
    }

    // Meteor reads an unreadable record as an absent one, and wipes all downloads.
    @Test func `changes nothing while the lifecycle cannot be read`() throws {
        try store.versions.adopt(Self.ship("1", in: store))
        try Self.push("2", to: store)
        try Damage.overwrite(store.path + "/lifecycle.json", with: Array("{".utf8))
        let before = try readTree(store.path + "/manifests")
        let embedded = try Self.ship("3", in: store)
        #expect(throws: StoreError.self) { try store.versions.adopt(embedded) }
        try expect(Damage.contents(store.path + "/lifecycle.json"), equals: Array("{".utf8))
        try expect(readTree(store.path + "/manifests"), equals: before)
    }

    @Test func `is adopted by one of two starts at once, and both continue`() async throws {
        let embedded = try Self.ship("1", in: store)
        let stores = try (0..<2).map { _ in try store.reopened() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for versions in stores { group.addTask { _ = try versions.adopt(embedded) } }
            try await group.waitForAll()
        }
        try expect(store.versions.lifecycle().current, equals: "1")
        try expect(store.versions.check().findings.isEmpty)
    }

    @Test func `forgets no good version whose manifest cannot be read for the moment`() throws {
        let first = try Self.ship("1", in: store, ["f": "1"], order: 1)
        let second = try Self.ship("2", in: store, ["f": "2"], order: 2)
        let pushed = try Self.ship("good", in: store, ["f": "pushed"])
        var failures = 0
        let count = try TestShare(oneIn: 3).count { call in
            let (versions, disk) = try shown(first, at: "store\(call)")
            try versions.add(directory: pushed.directory, version: "good")
            try versions.makeKnownGood("good")
            disk.arm(.fail(EMFILE, at: call + 1))
            if code({ try versions.adopt(second) }) != nil { failures += 1 }
            let hasFired = disk.hasFired
            let again = try VersionStore.open(versions.store.path, options: Self.options)
            try expect(again.lifecycle().knownGood.contains("good"), "call \(call + 1)")
            return hasFired
        }
        expect(failures > 1 && count < 400)
    }

    private static let options = StoreOptions(isDurable: false, reservedByteCount: 1 << 20)

    /// A store on a disk that can be armed, which shows what came with the app.
    private func shown(
        _ embedded: EmbeddedVersion, at name: String
    ) throws -> (VersionStore, FaultyFileSystem) {
        let disk = FaultyFileSystem()
        let versions = try VersionStore.create(
            at: store.directory.appending(name), options: Self.options, fileSystem: disk)
        try versions.adopt(embedded)
        return (versions, disk)
    }

    @Test("whose link a kill has left behind follows at the next start, though nothing is new")
    func laggingLink() throws {
        let embedded = try Self.ship("1", in: store)
        try store.versions.adopt(embedded)
        Damage.remove(store.path + "/current")
        try expect(!store.reopened().adopt(embedded).isNew)
        try expect(readTree(store.path + "/current/"), equals: Self.files("1"))
    }

    @Test func `interrupted at any step is adopted by the next start`() throws {
        let first = try Self.ship("1", in: store, ["f": "1", "g": "both"])
        let second = try Self.ship("2", in: store, ["f": "2", "g": "both"])
        var stops = 0
        for position in stride(from: 1, through: 400, by: 3) {
            let (versions, disk) = try shown(first, at: "store\(position)")
            disk.arm(.stop(after: position))
            let failure = code { try versions.adopt(second) }
            let hasStopped = disk.hasFired
            let path = versions.store.path
            let again = try VersionStore.open(path, options: Self.options)
            let name = try again.lifecycle().current
            expect(name == "1" || name == "2", "\(position)")
            try again.adopt(second)
            try expect(again.boot().version, equals: "2", "\(position)")
            try expect(Damage.contents(path + "/current/f"), equals: Array("2".utf8))
            try expect(readTree(path + "/versions/2"), equals: ["f": "2", "g": "both"])
            guard hasStopped else {
                expect(failure == nil)
                break
            }
            stops += 1
        }
        expect(stops > 5)
    }
}
