import StorageTestSupport

@testable import ServeFromCAS

// A restore of a part of a store, or somebody with `rm -rf`, takes trees away and leaves the objects.
@Suite("A version whose tree is gone")
struct LostTreeTests {
    private func removeTree(_ version: String, of store: TemporaryStore) throws {
        let tree = store.path + "/versions/" + version
        // The files' modes are those of the objects.
        try shell("find '\(tree)' -type d -exec chmod u+w {} + && rm -rf '\(tree)'")
    }

    private func shell(_ words: String) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", words]
        try process.run()
        process.waitUntilExit()
        expect(process.terminationStatus == 0)
    }

    @Test(arguments: [false, true])
    func `is served, and has its tree again`(_ isWatching: Bool) throws {
        let store = try TemporaryStore.app(good: "1")
        try removeTree("1", of: store)
        let app = isWatching ? try TestApp(watching: store) : try TestApp(store)
        try expect(app.browser().navigate().text.contains("one"))
        try store.expectClean()
    }

    @Test func `is what another one that fails is left for`() throws {
        let store = try TemporaryStore.app(good: "1", waiting: "2")
        let app = try TestApp(watching: store)
        try expect(app.browser().navigate().text.contains("two"))
        try removeTree("1", of: store)
        app.look(after: .seconds(2001))
        try expect(app.browser().navigate().text.contains("one"))
        try store.expectClean()
    }

    @Test func `and whose object is gone too is not served, and says what to do`() throws {
        let store = try TemporaryStore.app(good: "1")
        let manifest = try store.versions.manifest(of: "1")
        try removeTree("1", of: store)
        let address = try require(manifest.entries.first { "\($0.path)" == "index.html" }).address
        try shell("rm -f '\(store.path)/objects/\(address.description.prefix(2))/'*")
        let app = try TestApp(store)
        for _ in 0..<3 { try expect(app.browser().navigate().status, equals: 503) }
        expect(app.notices.all.contains { $0.contains("castree") }, "\(app.notices.all)")
    }
}
