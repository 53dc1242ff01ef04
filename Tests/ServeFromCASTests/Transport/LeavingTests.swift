import StorageTestSupport

@testable import ServeFromCAS

// In a process of its own: what other tests open and take is not counted.
@Suite("Two thousand clients that leave in the middle of a body")
struct LeavingTests {
    #if os(Linux)
        @Test func `cost neither descriptors nor memory`() async throws {
            let result = try await #require(
                processExitsWith: .success, observing: [\.standardOutputContent]
            ) {
                let server = try TestServer()
                // So that what is made once, and kept, is made.
                try leave(200, server)
                let before = try Footprint()
                try leave(2000, server)
                var after = try Footprint()
                let end = ContinuousClock.now + .seconds(60)
                while after.descriptorCount > before.descriptorCount, ContinuousClock.now < end {
                    sched_yield()
                    after = try Footprint()
                }
                print("leavers, before: \(before), after: \(after)")
                expect(after.descriptorCount <= before.descriptorCount)
                // With a buffer of 64 KiB for each of them it would be 125 MiB.
                expect(Sanitizer.isPresent || after.byteCount - before.byteCount < 64 << 20)
                let other = try server.client(sending: get("/huge"))
                expect(other.response()?.has(server.objects["/huge"]), equals: true)
            }
            let text = String(decoding: result.standardOutputContent, as: UTF8.self)
            for line in text.split(separator: "\n") where line.contains("leavers,") { print(line) }
        }
    #endif
}

#if os(Linux)
    /// Fifty at a time ask for 8 MiB, get the first of it, and are gone.
    private func leave(_ count: Int, _ server: TestServer) throws {
        for _ in 0..<count / 50 {
            let clients = try (0..<50).map { _ in try server.client() }
            for client in clients { client.send(get("/huge")) }
            for client in clients { expect(!client.receive().isEmpty) }
        }
    }

    /// What this process has open, and takes of memory that is its own.
    private struct Footprint {
        var descriptorCount: Int
        var byteCount: Int

        init() throws {
            descriptorCount = try FileManager.default.contentsOfDirectory(
                atPath: "/proc/self/fd"
            ).count
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
            let kibibytes = line?.split { !$0.isNumber }.first.flatMap { Int($0) }
            byteCount = try require(kibibytes) << 10
        }
    }
#endif
