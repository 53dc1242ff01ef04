import StorageTestSupport

@testable import ServeFromCAS

@Suite("A server among slow clients")
struct SlowClientTests {
    @Test func `cuts a head that is not complete at its deadline, however it drips`() throws {
        // Time enough to send a few bytes on a machine that has other work.
        let server = try TestServer { $0.connection.headDeadline = 5000 }
        let begun = try server.client(sending: "GET / HTTP/1.1\r\nHos")
        let dripping = try server.client()
        // Every byte is progress, and none of it counts.
        for byte in "GET / HTTP/1.1\r\nX: ".utf8 { dripping.send([byte]) }
        let silent = try server.client()
        expect(begun.response()?.status, equals: 408)
        expect(dripping.response()?.status, equals: 408)
        expect(silent.isAtEnd())
    }

    @Test func `closes a connection that is idle between requests, without a word`() throws {
        let server = try TestServer { $0.connection.idle = 100 }
        let client = try server.client()
        expect(client.status(get("/text")), equals: 200)
        expect(client.isAtEnd())
    }

    @Test func `cuts a body that does not come`() throws {
        let server = try TestServer { $0.connection.progressWindow = 100 }
        let client = try server.client(
            sending: "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\nhello")
        expect(client.readAll().isEmpty)
    }

    @Test func `cuts a reader that reads nothing`() throws {
        let server = try TestServer { $0.connection.progressWindow = 200 }
        let client = try server.client(sending: get("/huge") + get("/huge") + get("/huge"))
        // The object has been verified, and the first of it is there.
        expect(!client.receive().isEmpty)
        // Others live through windows enough for the first to be cut.
        for _ in 0..<4 {
            let other = try server.client(
                sending: "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
            _ = other.readAll()
        }
        expect(client.readAll().count < 3 * (8 << 20))
    }

    #if os(Linux)
        @Test("gives back place and file of readers that stop in the middle of a large object")
        func stopped() throws {
            let server = try TestServer {
                $0.connection.progressWindow = 200
                $0.loop.maximumConnections = 4
            }
            let file = server.file("/huge")
            let stuck = try (0..<4).map { _ in try server.client() }
            for client in stuck {
                client.send(get("/huge") + get("/huge") + get("/huge"))
                expect(!client.receive().isEmpty)
            }
            // Collected meanwhile; only who reads it has it yet.
            Damage.remove(file)
            // There is no place for a fifth until one of the others is cut. The server sees that the object
            // is gone, and keeps it for nobody who comes later.
            try expect(server.client().status(get("/huge")), equals: 500)
            for client in stuck { expect(client.readAll().count < 3 * (8 << 20)) }
            let end = ContinuousClock.now + .seconds(60)
            while try openCount(of: file) > 0, ContinuousClock.now < end { sched_yield() }
            try expect(openCount(of: file), equals: 0)
        }

        /// How many descriptors of this process lead to a file, removed or not.
        private func openCount(of path: String) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
                // One that has been closed meanwhile leads nowhere.
                let target = try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/self/fd/" + name)
                return target?.hasPrefix(path) == true
            }
        }
    #endif

    @Test func `serves everybody else while 200 of 1,000 connections are stuck`() throws {
        // Both ends are in this process.
        FileLimit.raise()
        let server = try TestServer(loops: 2)
        let stuck = try (0..<200).map { _ in try server.client() }
        for (number, client) in stuck.enumerated() {
            client.send(number % 2 == 0 ? "GET /small HTTP/1.1\r\nHo" : get("/huge"))
        }
        let others = try (0..<800).map { _ in try server.client() }
        for client in others { client.send(get("/small")) }
        for client in others {
            expect(client.response()?.has(server.objects["/small"]), equals: true)
        }
        for client in others { client.send(get("/text")) }
        for client in others { expect(client.response()?.status, equals: 200) }
    }

    @Test func `lets connections over the cap wait until one ends`() throws {
        let server = try TestServer {
            $0.loop.maximumConnections = 2
            $0.loop.timeout = 3_600_000
        }
        let first = try server.client()
        var second: TestClient? = try server.client()
        for client in [first, second].compactMap({ $0 }) {
            expect(client.status(get("/text")), equals: 200)
        }
        let third = try server.client(sending: get("/small"))
        second = nil
        expect(third.response()?.has(server.objects["/small"]), equals: true)
        expect(first.status(get("/text")), equals: 200)
    }
}
