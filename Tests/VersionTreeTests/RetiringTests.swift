import StorageTestSupport

@testable import VersionTree

// Forgetting versions: what may not be forgotten, and what is left when it is.

@Suite struct RetiringTests {
    @Test func `forgets a version and keeps what others need`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "shared", "b": "own", "run": "#!x"])
        try temporary.add("2", ["a": "shared"])
        try expect(temporary.versions.retire("1"), equals: 3)
        try expect(status(temporary.tree("1")) == nil)
        try expect(status(temporary.path + "/manifests/1.json") == nil)
        expectRefusal(.noVersion) { try temporary.versions.retire("1") }
        expectRefusal(.noVersion) { try temporary.versions.manifest(of: "1") }
        try expect(temporary.versions.store.planCollection().objectCount, equals: 2)
        let collected = try temporary.versions.store.collect()
        expect(collected.objectCount, equals: 2)
        expect(collected.byteCount, equals: 6)
        try expect(snapshot(temporary.path + "/objects").count, equals: 1)
        try expect(readTree(temporary.tree("2")), equals: ["a": "shared"])
        try expect(temporary.versions.store.collect().objectCount, equals: 0)
        try temporary.expectClean()
    }

    // docs/maintenance.md, "What stays".
    private static let advice: [(need: Lifecycle.Need, advice: String)] = [
        (.current, "activate another one first"),
        (
            .pending,
            "let another one wait first (castree activate VERSION --at-next-boot; if that is the current one, "
                + "none waits)"
        ), (.protected, "unprotect it first (castree unprotect it)"),
        (.wayBack, "confirm version other first (castree lifecycle shows the token)"),
        (.embedded, "adopt a newer one first (castree adopt)"),
        (.lastKnownGood, "start another one and confirm it first (castree boot, castree confirm)"),
    ]

    @Test func `each reason to refuse comes with what ends it`() throws {
        expect(Self.advice.map(\.need), equals: Lifecycle.Need.allCases)
        for (need, advice) in Self.advice {
            let temporary = try TemporaryStore()
            let versions = temporary.versions
            for name in ["first", "it", "other"] { try temporary.add(name, ["f": name]) }
            func start(_ name: String) throws {
                try versions.makeKnownGood(name)
            }
            func expectRefused(_ advice: String) {
                let refused = expectRefusal(.versionInUse) { try versions.retire("it") }
                expect(
                    refused?.message,
                    equals: "version it cannot be retired: \(need.rawValue); \(advice)")
            }
            try start(need == .wayBack || need == .lastKnownGood ? "it" : "first")
            switch need {
            case .current: try versions.activate("it")
            case .pending: try versions.activateAtNextBoot("it")
            case .protected: _ = try versions.protect("it")
            case .wayBack:
                try versions.activateAndBoot("other")
            case .embedded: try versions.embed("it")
            case .lastKnownGood: try versions.activate("other")
            }
            expectRefused(advice)
            switch need {
            case .current: try versions.activate("other")
            case .pending: try versions.activateAtNextBoot("first")
            case .protected: try versions.unprotect("it")
            case .wayBack:
                // As after a start that was stopped in good order.
                try versions.changeLifecycle { (lifecycle) throws(StoreError) in
                    lifecycle.boot = nil
                }
                expectRefused(
                    "start version other and confirm it first (castree boot, castree confirm)")
                try versions.confirm("other", token: versions.boot().token)
            case .embedded: try versions.embed("other")
            case .lastKnownGood: try versions.confirm("other", token: versions.boot().token)
            }
            try versions.retire("it")
        }
    }

    @Test func `forgets an older known good version`() throws {
        let temporary = try TemporaryStore()
        let versions = temporary.versions
        for name in ["1", "2", "3"] {
            try temporary.add(name, ["f": name])
            try versions.makeKnownGood(name)
        }
        try versions.retire("1")
        try expect(versions.lifecycle().knownGood, equals: ["3", "2"])
        try temporary.expectClean()
    }

    // What counts is the last version that could be gone back to.
    @Test func `refuses to forget the last known good version that is not banned`() throws {
        let temporary = try TemporaryStore()
        let versions = temporary.versions
        // A and A2 are the same content.
        for (name, text) in [("A", "a"), ("A2", "a"), ("B", "b"), ("C", "c")] {
            try temporary.add(name, ["f": text])
        }
        for name in ["A", "A2", "B", "A2"] {
            try versions.makeKnownGood(name)
        }
        _ = try versions.rollback(reason: "bad after all")
        try expect(versions.lifecycle().current, equals: "B")
        try versions.activate("C")
        expectRefusal(.versionInUse) { try versions.retire("B") }
        try expect(versions.rollback().current, equals: "B")
    }

    @Test func `forgets an incomplete version, and one whose manifest is damaged`() throws {
        let temporary = try TemporaryStore()
        try temporary.versions.register(makeManifest("1", ["a": "missing"]))
        try expect(temporary.versions.retire("1"), equals: 1)
        try temporary.add("2", ["a": "x"])
        try writeFile(temporary.path + "/manifests/2.json", "{")
        expectRefusal(.index) { try temporary.versions.store.collect() }
        try temporary.versions.retire("2")
        try expect(temporary.versions.store.collect().objectCount, equals: 1)
        try expect(temporary.versions.versions().isEmpty)
        try temporary.expectClean()
    }

    @Test func `takes the same name again for other content`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "x"])
        try temporary.versions.retire("1")
        try temporary.add("1", ["a": "y"])
        try expect(readTree(temporary.tree("1")), equals: ["a": "y"])
        try temporary.expectClean()
    }

    @Test func `nobody waits for the lifecycle while a retired tree is deleted`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "x", "d/b": "y"])
        let (disk, versions) = try temporary.openedOnFaultyDisk()
        let deletions = Shared<[Bool]>([])
        disk.onEach { timing, operation in
            guard timing == .before, operation.verb == .remove,
                operation.path.contains("/versions/.1.")
            else { return }
            // Another process could take the lock at this moment.
            let posix = POSIXFileSystem()
            let path = temporary.path + "/leases/.lifecycle"
            guard let file = try? posix.open(working, path, .updating, mode: 0o644) else { return }
            let isFree = (try? posix.lock(file.raw, exclusive: true)) ?? false
            deletions.with { $0.append(isFree) }
        }
        try versions.retire("1")
        // Two files and two directories, of each of which is asked first whether it is empty.
        expect(deletions.with { $0 }, equals: Array(repeating: true, count: 6))
        try temporary.expectClean()
    }

    @Test func `the next writer deletes what a killed retirement has left of a tree`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "x", "d/b": "y"])
        do {
            let (disk, versions) = try temporary.openedOnFaultyDisk()
            disk.arm(.stop(after: 1, of: [.remove], path: "/versions/.1."))
            _ = try? versions.retire("1")
            expect(disk.hasFired)
        }
        try expect(temporary.reopened().versions().isEmpty)
        try temporary.waitForDeadLease()
        _ = try temporary.reopened().store.makeLease()
        expect(Damage.names(temporary.path + "/versions"), equals: [])
        try temporary.expectClean()
    }
}
