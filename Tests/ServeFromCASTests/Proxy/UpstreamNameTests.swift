import Expectations
import Platform

@testable import ServeFromCAS
@testable import WebServer

// docs/serving.md, "Proxy": a name may come to mean another address while the server runs.
@Suite("The name of a proxy's server")
struct UpstreamNameTests {
    /// What the look-ups find, and how many there were.
    private final class Names: Sendable {
        let found = Mutex<[SocketAddress]>([])
        let asked = Sink<String>()

        var function: NameLookUp.Function {
            { name, _ in
                self.asked.add(name)
                return self.found.withLock { $0 }
            }
        }
    }

    private func known(_ upstream: Upstream, _ loop: EventLoop) -> [SocketAddress] {
        upstream.addresses(for: loop) ?? []
    }

    @Test("is looked up again when the answer is older than a minute, and old ones serve meanwhile")
    func old() throws {
        let names = Names()
        let (first, second) = (SocketAddress.loopback4(1), SocketAddress.loopback4(2))
        names.found.withLock { $0 = [first] }
        let upstream = Upstream(
            UpstreamOrigin(
                host: "api.example", port: 80, authority: "api.example", isSecure: false), tls: nil,
            lookUp: names.function)
        let loop = try EventLoop()
        upstream.resolve()
        while known(upstream, loop) != [first] { sched_yield() }
        loop.now = SystemClock.milliseconds
        expect(known(upstream, loop), equals: [first])
        expect(names.asked.all.count, equals: 1)
        names.found.withLock { $0 = [second, first] }
        loop.now = SystemClock.milliseconds + 61_000
        expect(known(upstream, loop), equals: [first])
        // The one that was first is still one of them, and stays first.
        loop.now = SystemClock.milliseconds
        while known(upstream, loop) != [first, second] { sched_yield() }
        expect(names.asked.all, equals: ["api.example", "api.example"])
        names.found.withLock { $0 = [] }
        loop.now = SystemClock.milliseconds + 61_000
        expect(known(upstream, loop), equals: [first, second])
        while names.asked.all.count < 3 { sched_yield() }
        // Nothing found is no reason to forget.
        loop.now = SystemClock.milliseconds
        expect(known(upstream, loop), equals: [first, second])
    }

    @Test("is looked up again when who is there speaks no TLS as it should", arguments: [502, 504])
    func handshake(_ status: Int) throws {
        // One speaks http; connections to the other wait there, and nobody takes them.
        let plain = try TestServer()
        let silent = try Socket.listen(.loopback4(0))
        defer { Socket.close(silent) }
        let port = status == 502 ? plain.port : Socket.port(of: silent)
        let names = Names()
        names.found.withLock { $0 = [.loopback4(port)] }
        var options = ProxyOptions.patient
        if status == 504 { options.handshake = 100 }
        options.lookUp = names.function
        let table = try ProxyTable(
            [ProxyRoute("/api=https://api.example:\(port)")], options: options)
        let server = try TestServer.answering { _, head, _ in table.answer(head) }
        try expect(server.client().status(get("/api/hello")), equals: status)
        while names.asked.all.count < 2 { sched_yield() }
    }
}
