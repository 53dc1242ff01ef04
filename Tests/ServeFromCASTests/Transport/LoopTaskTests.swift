import Expectations

@testable import ServeFromCAS
@testable import WebServer

@Suite("A task on a loop")
struct LoopTaskTests {
    private static func thread() -> UInt { LoopThread.current }

    @Test func `runs each of its steps on the loop's thread`() async throws {
        let server = try TestServer()
        let loop = server.server.loops[0]
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let seen = Sink<UInt>()
        loop.submit { _ in seen.add(Self.thread()) }
        let task = Task {
            await withTaskExecutorPreference(loop) {
                for await number in stream {
                    seen.add(Self.thread())
                    if number % 2 == 0 { await Task.yield() }
                    seen.add(Self.thread())
                }
            }
        }
        for number in 0..<100 { continuation.yield(number) }
        continuation.finish()
        await task.value
        expect(seen.all.count, equals: 201)
        expect(Set(seen.all).count, equals: 1)
    }

    @Test func `lets others be served, however often it continues`() async throws {
        let server = try TestServer()
        let loop = server.server.loops[0]
        let served = Sink<Bool>()
        let task = Task {
            await withTaskExecutorPreference(loop) {
                while served.all.isEmpty { await Task.yield() }
            }
        }
        let client = try server.client(sending: get("/small"))
        expect(client.response()?.has(server.objects["/small"]), equals: true)
        served.add(true)
        await task.value
    }

    @Test func `ends although the loop has ended`() async throws {
        let server = try TestServer()
        let loop = server.server.loops[0]
        server.server.stop(within: 0)
        await server.server.waitUntilStopped()
        let sum = await withTaskExecutorPreference(loop) {
            await Task.yield()
            return 2
        }
        expect(sum, equals: 2)
    }
}
