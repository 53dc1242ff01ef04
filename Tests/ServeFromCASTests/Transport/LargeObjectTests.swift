import StorageTestSupport

@testable import ServeFromCAS

@Suite("A large object")
struct LargeObjectTests {
    @Test func `reaches a reader that is slower than the server, whole`() throws {
        let server = try TestServer()
        let clients = try (0..<20).map { _ in try server.client() }
        for client in clients { client.send(get("/huge") + get("/small")) }
        // None has read anything: all are stuck, and another is served.
        let other = try server.client(sending: get("/small"))
        expect(other.response()?.has(server.objects["/small"]), equals: true)
        for client in clients {
            expect(client.response()?.has(server.objects["/huge"]), equals: true)
            expect(client.response()?.has(server.objects["/small"]), equals: true)
        }
    }

    @Test func `whose client leaves in the middle disturbs nobody`() throws {
        let server = try TestServer()
        for _ in 0..<30 {
            let client = try server.client()
            client.send(get("/huge"))
        }
        let other = try server.client(sending: get("/huge"))
        expect(other.response()?.has(server.objects["/huge"]), equals: true)
    }

    @Test(arguments: [true, false])
    func `that has changed on disk is not served, and is reported`(_ wasServedBefore: Bool) throws {
        let server = try TestServer()
        let client = try server.client()
        if wasServedBefore {
            expect(client.status(get("/large")), equals: 200)
        }
        try Damage.overwrite(server.file("/large"), with: [1, 2, 3])
        client.send(get("/large"))
        let response = try require(client.response())
        expect(response.status, equals: 500)
        expect(response.value("Connection"), equals: "close")
        expect(response.body.count < 200)
        expect(client.isAtEnd())
        expect(server.damageSink.all.map(\.code), equals: [.damagedObject])
        expect(server.damageSink.all.first?.object, equals: server.ids["/large"])
    }

    @Test("with a flipped bit is not served again once it was open, even with its old times")
    func flipped() throws {
        let server = try TestServer()
        let client = try server.client()
        expect(client.status(get("/large")), equals: 200)
        try Damage.keepingTimes(of: server.file("/large")) {
            try Damage.flip(server.file("/large"), at: 500_000)
        }
        expect(client.status(get("/large")), equals: 500)
    }

    @Test(
        "with a flipped bit is not served the first time either, even with its old times",
        arguments: ["/large", "/huge"])
    func flippedBefore(_ path: String) throws {
        let server = try TestServer()
        try Damage.keepingTimes(of: server.file(path)) {
            try Damage.flip(server.file(path), at: 500_000)
        }
        let client = try server.client()
        expect(client.status(get(path)), equals: 500)
        expect(server.damageSink.all.map(\.code), equals: [.damagedObject])
        // Told each time, and other content is served.
        let other = try server.client(sending: get("/small") + get(path))
        expect(other.response()?.has(server.objects["/small"]), equals: true)
        expect(other.response()?.status, equals: 500)
        expect(server.damageSink.all.count, equals: 2)
    }

    @Test(
        "that is too large to verify in passing is verified elsewhere, once for all who wait",
        arguments: [(128 << 10) + 1, 3 << 20])
    func verifiedElsewhere(_ byteCount: Int) throws {
        let store = try TemporaryStore()
        let lease = try store.versions.store.makeLease()
        let bytes = [UInt8](repeating: 7, count: byteCount)
        let id = try store.versions.store.put(bytes, protectedBy: lease)
        let cache = ContentCache(store.versions.store)
        let size = Int64(byteCount)
        guard case .unverified(let verify) = try cache.content(of: id, size: size) else {
            throw Unexpected("it was verified in passing")
        }
        let calls = Sink<Int>()
        for number in 0..<10 { verify { calls.add(number) } }
        while calls.all.count < 10 { sched_yield() }
        guard case .file = try cache.content(of: id, size: size) else {
            throw Unexpected("it is not known as verified")
        }
    }

    @Test func `is served again once a sound file stands in the place of a damaged one`() throws {
        let server = try TestServer()
        let sound = try require(server.objects["/large"])
        try Damage.flip(server.file("/large"), at: 500_000)
        let client = try server.client()
        expect(client.status(get("/large")), equals: 500)
        Damage.remove(server.file("/large"))
        let lease = try server.store.versions.store.makeLease()
        _ = try server.store.versions.store.put(sound, protectedBy: lease)
        let other = try server.client(sending: get("/large"))
        expect(other.response()?.has(sound), equals: true)
    }

    @Test func `is served on when only its links change`() throws {
        let server = try TestServer()
        let client = try server.client()
        expect(client.status(get("/large")), equals: 200)
        try Damage.setMode(server.file("/large"), 0o400)
        client.send(get("/large"))
        expect(client.response()?.has(server.objects["/large"]), equals: true)
        expect(server.damageSink.all.isEmpty)
    }

    @Test func `that gets shorter while it is sent is cut, never made up`() throws {
        let server = try TestServer()
        try expect(server.client().status(get("/huge")), equals: 200)
        let client = try server.client(sending: get("/huge"))
        // The client reads nothing, so most of the object is still in the file.
        try expect(server.client().status(get("/text")), equals: 200)
        try Damage.overwrite(server.file("/huge"), with: [UInt8](repeating: 1, count: 10))
        let all = client.readAll()
        expect(all.count < server.objects["/huge"]?.count ?? 0)
        expect(server.damageSink.all.map(\.code), equals: [.damagedObject])
    }

    @Test(arguments: ["/small", "/large"])
    func `that is missing is not served, whatever its size`(_ path: String) throws {
        let server = try TestServer()
        Damage.remove(server.file(path))
        try expect(server.client().status(get(path)), equals: 500)
        expect(server.damageSink.all.map(\.code), equals: [.missingObject])
    }

    @Test func `and a small one: what does not match its address never enters memory`() throws {
        let server = try TestServer()
        try Damage.flip(server.file("/small"), at: 7)
        try expect(server.client().status(get("/small")), equals: 500)
        expect(server.damageSink.all.map(\.code), equals: [.damagedObject])
    }
}
