import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "Limits": what is retired and collected gives its space back while the server runs.
@Suite("An object that is collected")
struct CollectedObjectTests {
    private static let bytes = [UInt8](repeating: 7, count: 100_000)

    private func stored(_ store: TemporaryStore, _ bytes: [UInt8]) throws -> ObjectID {
        let lease = try store.versions.store.makeLease()
        return try store.versions.store.put(bytes, protectedBy: lease)
    }

    @Test func `is closed when it is asked for and not there any more`() throws {
        let store = try TemporaryStore()
        let object = try stored(store, Self.bytes)
        let cache = ContentCache(store.versions.store)
        _ = try cache.content(of: object, size: 100_000)
        expect(cache.openCount, equals: 1)
        Damage.remove(store.objectPath(object))
        #expect(throws: StoreError.self) { try cache.content(of: object, size: 100_000) }
        expect(cache.openCount, equals: 0)
    }

    @Test func `is closed at the next look, and others stay open and known`() throws {
        let store = try TemporaryStore()
        let (gone, kept) = (try stored(store, Self.bytes), try stored(store, Self.bytes + [1]))
        let cache = ContentCache(store.versions.store)
        _ = try cache.content(of: gone, size: 100_000)
        _ = try cache.content(of: kept, size: 100_001)
        Damage.remove(store.objectPath(gone))
        cache.close()
        expect(cache.openCount, equals: 1)
        guard case .file = try cache.content(of: kept, size: 100_001) else {
            throw Unexpected("it is not served from its file")
        }
    }

    @Test
    func `that a look closed although it is there is not read again before it is served`() throws {
        let store = try TemporaryStore()
        var limits = ContentCache.Limits()
        limits.verifiedAtOnce = 10
        let object = try stored(store, Self.bytes)
        let cache = ContentCache(store.versions.store, limits: limits)
        guard case .unverified(let verify) = try cache.content(of: object, size: 100_000) else {
            throw Unexpected("it was verified in passing")
        }
        let calls = Sink<Int>()
        verify { calls.add(1) }
        while calls.all.isEmpty { sched_yield() }
        cache.close { _ in false }
        expect(cache.openCount, equals: 0)
        guard case .file = try cache.content(of: object, size: 100_000) else {
            throw Unexpected("it is not known as verified")
        }
        expect(cache.openCount, equals: 1)
    }

    #if os(Linux)
        /// Files of a store that are gone and that this process has open.
        private func deletedFiles(of store: TemporaryStore) -> [String] {
            var found: [String] = []
            for number in 0..<FileLimit.current {
                guard let path = linkTarget("/proc/self/fd/\(number)") else { continue }
                if path.hasPrefix(store.path), path.hasSuffix(" (deleted)") { found.append(path) }
            }
            return found.filter { $0.contains("/objects/") || $0.contains("/versions/") }
        }

        private func linkTarget(_ path: String) -> String? {
            // Most numbers are no file.
            try? FileManager.default.destinationOfSymbolicLink(atPath: path)
        }

        @Test("gives its space back once no page has its version, retired while the server runs")
        func retired() throws {
            let store = try TemporaryStore()
            let large = String(repeating: "one", count: 50_000)
            try store.add("1", ["index.html": "one", "large.txt": large, "same.txt": large + "s"])
            try store.add("2", ["index.html": "two", "same.txt": large + "s"])
            try store.versions.activate("1")
            let app = try TestApp(store)
            do {
                let browser = try app.visitor()
                try expect(browser.load("/large.txt").status, equals: 200)
                try expect(browser.load("/same.txt").status, equals: 200)
            }
            let other = try store.reopened()
            try other.activate("2")
            try app.browser().navigate()
            try app.waitUntilUnpinned("1")
            try other.retire("1")
            _ = try other.store.collect()
            expect(deletedFiles(of: store), equals: [])
            // What the other version has, too, was not closed.
            expect(app.server.handler.objects.openCount, equals: 1)
        }
    #endif
}
