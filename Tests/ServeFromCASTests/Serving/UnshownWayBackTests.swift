import StorageTestSupport

@testable import ServeFromCAS
@testable import VersionTree

// docs/serving.md, "What counts as a start, and the failed attempts": nobody goes back to what cannot be shown.
@Suite("A way back that no page can be shown of")
struct UnshownWayBackTests {
    /// Why version 1 is a way back.
    enum Kind: CaseIterable {
        case knownGood, before, embedded
    }

    /// How the start of version 2 fails.
    enum Failure: CaseIterable {
        case late, killed, stopped
    }

    /// Version 1, a way back, and 2, which is current and being tried.
    private func store(_ kind: Kind, _ lack: Lack) throws -> TemporaryStore {
        let store = try TemporaryStore.app(current: nil)
        if lack == .index { try store.loseIndex(of: "1", named: "one") }
        switch kind {
        case .knownGood: try store.makeKnownGood("1")
        case .before: try store.versions.activate("1")
        case .embedded: try store.versions.markEmbedded("1") { _ in EmbeddedChange() }
        }
        try store.versions.activate("2")
        try store.breakPage(of: "1", lack)
        return store
    }

    /// A server to which one failed start is enough.
    private func app(_ store: TemporaryStore) throws -> TestApp {
        try TestApp(store) {
            $0.confirmation = .seconds(2000)
            $0.failedAttempts = 1
        }
    }

    /// Has version 2 fail, and returns the server that is there then.
    private func fail(_ failure: Failure, _ store: TemporaryStore) async throws -> TestApp {
        switch failure {
        case .late:
            let app = try app(store)
            try expect(app.browser().navigate().text.contains("two"))
            app.look(after: .seconds(2001))
            return app
        case .killed:
            do {
                let dead = TestWatch(try store.reopened(), allowed: .seconds(20))
                _ = try dead.pageBegins(store.versions.lifecycle(), now: .zero)
            }
            // A process that another test starts has the lock, too, for the moment between fork and exec.
            while try store.versions.takeStartLock() == nil { sched_yield() }
        case .stopped:
            for _ in 1...3 {
                let app = try app(store)
                try expect(app.browser().navigate().text.contains("two"))
                await app.stop()
            }
        }
        return try app(store)
    }

    @Test(
        "is none: what is shown stays, is not banned, and may be confirmed late",
        arguments: Kind.allCases, Failure.allCases)
    func stays(_ kind: Kind, _ failure: Failure) async throws {
        for lack in Lack.allCases {
            let store = try store(kind, lack)
            let app = try await fail(failure, store)
            for _ in 1...2 { try expect(app.browser().navigate().text.contains("two")) }
            let lifecycle = try store.reopened().lifecycle()
            expect(lifecycle.current == "2" && lifecycle.bad.isEmpty, "\(lack): \(lifecycle)")
            if failure == .late {
                let isTold = app.notices.all.contains { $0.contains("no version to go back to") }
                expect(isTold, "\(app.notices.all)")
            }
            try expect(app.visitor().confirm(), equals: 204)
            try expect(store.reopened().lifecycle().knownGood.first, equals: "2")
        }
    }

    @Test(arguments: Lack.allCases, Failure.allCases)
    func `is passed over for the next one`(_ lack: Lack, _ failure: Failure) async throws {
        let store = try store(.knownGood, lack)
        try store.add("3", ["index.html": "<title>three</title>"])
        try store.versions.changeLifecycle { $0.knownGood.append("3") }
        let app = try await fail(failure, store)
        try expect(app.browser().navigate().text.contains("three"))
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current == "3" && lifecycle.bad.map(\.version) == ["2"])
    }

    @Test func `is one all the same where what is left has no such page either`() throws {
        let store = try store(.knownGood, .index)
        try store.add("3", ["about.html": "<title>about three</title>"])
        try store.versions.activate("3")
        let app = try app(store)
        try expect(app.browser().navigate("/about.html").text.contains("about three"))
        app.look(after: .seconds(2001))
        try expect(app.browser().navigate("/about.html").text.contains("about one"))
    }

    @Test func `is one where its tree still has the page`() throws {
        let store = try store(.knownGood, .index)
        try store.add("3", ["index.html": "<title>three</title>"])
        try store.versions.changeLifecycle { $0.knownGood = ["3"] }
        try store.losePage(of: "3")
        let app = try app(store)
        try expect(app.browser().navigate().text.contains("two"))
        app.look(after: .seconds(2001))
        try expect(app.browser().navigate().text.contains("three"))
    }
}

// docs/serving.md, "What counts as a start, and the failed attempts": a start counts once, whoever judges it.
@Suite("A start of boot that no page can be shown of")
struct UnshownBootTests {
    @Test(arguments: [0, 1])
    func `does not count, however often boot makes it`(failedAttempts: Int) async throws {
        let store = try TemporaryStore.app(good: "1")
        let versions = store.versions
        try versions.activateAtNextBoot("2")
        // It really fails so often.
        for _ in 0..<failedAttempts {
            for version in ["2", "1"] { try expect(versions.boot().version, equals: version) }
        }
        try store.rot("2")
        for _ in 1...3 {
            try expect(versions.boot().version, equals: "2")
            let app = try TestApp(watching: store)
            try expect(app.browser().navigate().text.contains("one"))
            await app.stop()
            let lifecycle = try store.reopened().lifecycle()
            expect(lifecycle.current == "1" && lifecycle.pending == "2" && lifecycle.bad.isEmpty)
            expect((lifecycle.attempts.first?.failedAttempts ?? 0), equals: failedAttempts)
        }
        try store.rot("2")
        for _ in failedAttempts..<2 {
            for version in ["2", "1"] { try expect(versions.boot().version, equals: version) }
        }
        try expect(versions.lifecycle().bad.map(\.version), equals: ["2"])
    }
}

/// Why no page of a version can be shown.
enum Lack: CaseIterable {
    case damaged, missing, index
}

extension TemporaryStore {
    /// Has a version have other pages than the first one.
    func loseIndex(of version: String, named name: String) throws {
        try versions.retire(version)
        try FileManager.default.removeItem(atPath: directory.appending("source-\(version)"))
        let files = ["app.js": "run('\(name)')", "about.html": "<title>about \(name)</title>"]
        try add(version, files)
    }

    /// Damages the start page of a version, or takes it away.
    func breakPage(of version: String, _ lack: Lack) throws {
        switch lack {
        case .damaged: try Damage.flip(page(of: version), at: 0)
        case .missing:
            try losePage(of: version)
            let tree = "\(path)/\(StoreLayout.treePath(version))"
            chmod(tree, 0o755)
            unlink(page(of: version))
            chmod(tree, 0o555)
        case .index: break
        }
    }

    /// Changes the start page of a version as a disk does, without a trace that a start could see; or back.
    fileprivate func rot(_ version: String) throws {
        try Damage.keepingTimes(of: page(of: version)) { try Damage.flip(page(of: version), at: 0) }
    }

    /// The start page in a version's tree: one inode with the object.
    fileprivate func page(of version: String) -> String {
        "\(path)/\(StoreLayout.treePath(version))/index.html"
    }

    /// Takes the object of a version's start page away.
    fileprivate func losePage(of version: String) throws {
        unlink(try objectPath(of: "index.html", in: version))
    }
}
