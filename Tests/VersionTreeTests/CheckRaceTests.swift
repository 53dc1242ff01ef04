import StorageTestSupport

/// What a healthy writer, pinner or retirement looks like at one moment of a look that takes many.
@Suite("A look") struct CheckRaceTests {
    /// A writer with a lease, for as long as a test keeps it.
    private final class Writer: Sendable {
        let lease: Lease
        init(_ versions: VersionStore) throws { lease = try versions.store.makeLease() }
    }

    // MARK: Leases and hidden trees

    @Test(arguments: [true, false])
    func `leaves the hidden tree of a writer alone that has just begun`(repairs: Bool) throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one"])
        let (disk, looking) = try temporary.openedOnFaultyDisk()
        let second = try temporary.reopened()
        let writer = Shared<Writer?>(nil)
        disk.on(.before, .list, path: "/versions") {
            #expect(throws: Never.self) {
                let new = try Writer(second)
                try writeTree(temporary.tree(".2.\(new.lease.name)"), ["a": "two"])
                writer.with { $0 = new }
            }
        }
        try expect(looking.check(repairing: repairs).findings, equals: [])
        disk.onEach(nil)
        let name = try require(writer.with { $0 }).lease.name
        try expect(readTree(temporary.tree(".2.\(name)")), equals: ["a": "two"])
    }

    @Test(arguments: ["staging", "versions"])
    func `finds nothing of a writer that has just ended`(place: String) throws {
        let temporary = try TemporaryStore()
        let second = try temporary.reopened()
        let writer = Shared<Writer?>(try Writer(second))
        let name = try require(writer.with { $0 }).lease.name
        let left = temporary.path + "/\(place)/" + (place == "staging" ? name : ".2.\(name)")
        try writeTree(left, ["a": "two"])
        let (disk, looking) = try temporary.openedOnFaultyDisk()
        disk.on(.after, .list, path: "/" + place) {
            Damage.remove(left)
            writer.with { $0 = nil }
        }
        try expect(looking.check().findings, equals: [])
        expect(writer.with { $0 == nil })
    }

    @Test func `finds nothing of a tree that is just gone`() throws {
        let temporary = try TemporaryStore()
        let hidden = temporary.tree(".1.0123456789abcdef")
        try writeTree(hidden, ["a": "one"])
        let (disk, looking) = try temporary.openedOnFaultyDisk()
        disk.on(.before, .lock, path: hidden) { Damage.remove(hidden) }
        try expect(looking.check().findings, equals: [])
        expect(!FileManager.default.fileExists(atPath: hidden))
    }

    // MARK: The index, the lifecycle, executable copies

    @Test(.timeLimit(.minutes(60)))
    func `finds nothing of a revision that has not committed yet`() throws {
        let temporary = try TemporaryStore()
        try temporary.versions.register(makeManifest("1", ["a": "one"]))
        // A whole revision after the first look at the manifest, held up before it commits.
        let slow = FaultyFileSystem()
        let second = try temporary.opened(on: slow, isDurable: true)
        _ = try second.versions()
        let hasReplaced = DispatchSemaphore(value: 0)
        let mayCommit = DispatchSemaphore(value: 0)
        let isReplaced = Shared(false)
        slow.onEach { timing, operation in
            if timing == .after, operation.verb == .rename,
                operation.path.hasSuffix("/manifests/1.json")
            {
                isReplaced.with { $0 = true }
            }
            guard timing == .before, operation.verb == .sync,
                operation.path.hasSuffix("/manifests"), isReplaced.with({ $0 })
            else { return }
            hasReplaced.signal()
            mayCommit.wait()
        }
        let (disk, looking) = try temporary.openedOnFaultyDisk()
        _ = try looking.versions()
        let group = DispatchGroup()
        let failure = Shared<String?>(nil)
        let locks = Shared(0)
        disk.onEach { timing, operation in
            guard timing == .before else { return }
            if operation.verb == .open, operation.path.hasSuffix("/manifests/1.json"),
                !isReplaced.with({ $0 })
            {
                group.enter()
                let thread = Thread {
                    do {
                        _ = try second.revise(makeManifest("1", ["a": "one", "b": "two"]))
                    } catch { failure.with { $0 = "\(error)" } }
                    group.leave()
                }
                thread.stackSize = 4 << 20
                thread.start()
                hasReplaced.wait()
            }
            // Whoever waits for writers lets this one end.
            if operation.verb == .lock, operation.path.hasSuffix("/.writer"),
                isReplaced.with({ $0 })
            {
                locks.with { $0 += 1 }
                if locks.with({ $0 }) > 1 { mayCommit.signal() }
            }
        }
        let found = try looking.check().findings
        disk.onEach(nil)
        mayCommit.signal()
        group.wait()
        expect(failure.with { $0 } == nil)
        expect(isReplaced.with { $0 })
        expect(found, equals: [])
        try temporary.expectClean()
    }

    @Test(arguments: [true, false])
    func `finds nothing of a retirement or an activation that is under way`(repairs: Bool) throws {
        // The other stops before every one of its operations in turn, and the look begins.
        let tried = try TestShare(oneIn: 3).count { passed in
            let position = passed + 1
            let temporary = try TemporaryStore()
            for name in ["1", "2", "3"] { try temporary.add(name, ["a": name]) }
            for name in ["1", "2", "3"] {
                try temporary.versions.activate(name)
                let report = try temporary.versions.boot()
                try temporary.versions.confirm(name, token: report.token)
            }
            let looking = try temporary.reopened()
            _ = try looking.versions()
            let count = Shared(0)
            let found = Shared<[Finding]>([])
            let failure = Shared<String?>(nil)
            let group = DispatchGroup()
            let step = Shared("")
            let (disk, second) = try temporary.openedOnFaultyDisk()
            _ = try second.versions()
            disk.onEach { timing, operation in
                guard timing == .before else { return }
                let at = count.with { count in
                    count += 1
                    return count
                }
                guard at == position else { return }
                step.with { $0 = "operation \(at), before \(operation)" }
                let isDone = DispatchSemaphore(value: 0)
                group.enter()
                let thread = Thread {
                    do {
                        let report = try looking.check(repairing: repairs)
                        found.with { $0 = report.findings }
                    } catch { failure.with { $0 = "\(error)" } }
                    isDone.signal()
                    group.leave()
                }
                thread.stackSize = 4 << 20
                thread.start()
                // What waits for a lock of the other continues when that has ended.
                _ = isDone.wait(timeout: .now() + .milliseconds(40))
            }
            try second.retire("1")
            try second.activate("2")
            let total = count.with { $0 }
            disk.onEach(nil)
            group.wait()
            expect(failure.with { $0 } == nil, "\(step.with { $0 })")
            expect(found.with { $0 }, equals: [], "\(step.with { $0 })")
            try temporary.expectClean()
            return total >= position && position < 400
        }
        expect(tried < 400, "the verbs have too many operations to try them all")
    }

    @Test func `finds nothing of an executable copy that is collected while it is looked at`()
        throws
    {
        let temporary = try TemporaryStore(adding: "1", ["run": "#!one"])
        try temporary.versions.retire("1")
        let twin = temporary.objectPath(try address(of: "#!one"), executable: true)
        let (disk, looking) = try temporary.openedOnFaultyDisk()
        let second = try temporary.reopened()
        disk.on(.before, .open, path: twin) {
            #expect(throws: Never.self) { _ = try second.store.collect() }
        }
        try expect(looking.check().findings, equals: [])
        expect(!FileManager.default.fileExists(atPath: twin))
    }

    // MARK: Pins

    @Test func `at what a retirement would free takes no pin away that is being made`() throws {
        let temporary = try TemporaryStore()
        for name in ["1", "2"] { try temporary.add(name, ["a": name]) }
        let (disk, pinning) = try temporary.openedOnFaultyDisk()
        let second = try temporary.reopened()
        disk.on(.before, .lock, path: "/leases/.pin-") {
            #expect(throws: Never.self) { _ = try second.retirement(of: ["1"]) }
        }
        let pin = try pinning.pin("1")
        try expect(second.pinnedVersions(), equals: ["1"])
        expectRefusal(.versionInUse) { try second.retire("1") }
        withExtendedLifetime(pin) {}
    }

    @Test func `at the pin of a dead process is no hold on it`() throws {
        let temporary = try TemporaryStore()
        for name in ["1", "2"] { try temporary.add(name, ["a": name]) }
        try writeFile(temporary.path + "/leases/.pin-0123456789abcdef-1", "")
        let (disk, looking) = try temporary.openedOnFaultyDisk()
        let second = try temporary.reopened()
        disk.on(.after, .lock, path: "/leases/.pin-") {
            #expect(throws: Never.self) { try second.retire("1") }
        }
        try expect(looking.pinnedVersions(), equals: [])
        try expect(second.versions().map(\.version), equals: ["2"])
    }
}
