import WebTestSupport

@testable import ServeFromCAS

/// Both ends of the bridge over a network that breaks at any byte, seeded.
///
/// A link is a real pair of WebSocket state machines; when it breaks, what was under way in it is lost.
/// Between links the page sometimes polls, with requests and answers that are lost or sent twice.
@Suite("The bridge over a bad network")
struct BridgeSimulationTests {
    struct World {
        var random: SeededRandom
        let bridge = Bridge()
        var page = BridgeClient()
        var now = Duration.zero
        var server: BridgeLink?
        var socket: WebSocketClient?
        var pageSent: [String] = []
        var appSent: [String] = []
        var pageGot: [String] = []
        var appGot: [String] = []
        var openings: [Bool] = []

        init(seed: UInt64) { random = SeededRandom(seed: seed) }

        mutating func chance(_ percent: Int) -> Bool {
            Int.random(in: 0..<100, using: &random) < percent
        }

        mutating func sendSome() throws {
            if chance(40) {
                let text = "p\(pageSent.count)"
                let bytes = Array(text.utf8)[...]
                try page.send(chance(50) ? .text(bytes) : .binary(bytes))
                pageSent.append(text)
            }
            if chance(40), let session = page.session {
                let text = "a\(appSent.count)"
                if chance(50) {
                    try bridge.send(text, to: session)
                } else {
                    try bridge.send(Array(text.utf8), to: session)
                }
                appSent.append(text)
            }
        }

        mutating func take(percent: Int) {
            while chance(percent), let message = bridge.takeMessage() {
                appGot.append(String(decoding: message.bytes, as: UTF8.self))
                expect(!message.mayRepeat)
            }
        }

        mutating func handle(_ frame: BridgeFrame) throws {
            for event in try page.receive(frame, now: now) {
                switch event {
                case .opened(let resumed): openings.append(resumed)
                case .message(let content):
                    pageGot.append(String(decoding: content.payload, as: UTF8.self))
                }
            }
        }

        // MARK: The WebSocket

        mutating func connect() {
            server = BridgeLink(bridge: bridge, now: now) {}
            socket = WebSocketClient(now: now)
            socket?.send(.text, page.greeting.bytes)
        }

        mutating func disconnect() {
            server?.receiveEnd(now: now)
            server = nil
            socket = nil
            page.disconnect()
        }

        /// Moves some bytes each way, cut anywhere.
        mutating func exchange() throws {
            while let frame = page.nextFrame(now: now) {
                let isBinary = if case .numbered(_, _, .binary, _) = frame { true } else { false }
                socket?.send(isBinary ? .binary : .text, frame.bytes)
            }
            server?.pump(now: now)
            let up = Int.random(in: 0...300, using: &random)
            let down = Int.random(in: 0...300, using: &random)
            var bytes: [UInt8] = []
            socket?.withOutput {
                bytes = Array($0.prefix(up)); return bytes.count
            }
            bytes.withUnsafeBytes { server?.receive($0, now: now) }
            bytes = []
            server?.withOutput(now: now) {
                bytes = Array($0.prefix(down)); return bytes.count
            }
            for event in socket?.receive(bytes, now: now) ?? [] {
                switch event {
                case .message(let message):
                    try handle(BridgeFrame(message.bytes[...], isBinary: message.kind == .binary))
                case .closed(let reason): Issue.record("closed: \(reason)")
                }
            }
        }

        // MARK: Requests

        mutating func request(
            _ method: String, _ query: String, _ body: [UInt8]
        ) throws -> [BridgeFrame] {
            let head = try RequestHead(method: method, target: "/_castree/bridge" + query)
            var answer = bridge.answer(to: head, body: body, now: now) {}
            // Sent again by the browser after a reset: the first answer is lost.
            if chance(10) { answer = bridge.answer(to: head, body: body, now: now) {} }
            switch answer {
            case .response(let response):
                expect(response.head.values("Cache-Control"), equals: ["no-store"])
                guard response.head.status == 200, case .piece(.bytes(let bytes)) = response.body
                else {
                    Issue.record("\(method) \(query): \(response.head.status)")
                    return []
                }
                return try BridgeBatch.frames(bytes[...])
            case .hold(let poll):
                bridge.unlink(poll.session, ticket: poll.ticket, now: now)
                return []
            }
        }

        mutating func pollOnce() throws {
            guard page.session != nil else { return }
            let welcome = try request("POST", "", BridgeBatch.bytes([page.greeting]))
            if chance(20) { return }
            for frame in welcome { try handle(frame) }
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                guard let session = page.session else { return }
                try sendSome()
                var frames: [BridgeFrame] = []
                while let frame = page.nextFrame(now: now) { frames.append(frame) }
                if !frames.isEmpty, chance(90) {
                    let answer = try request(
                        "POST", "?session=\(session)", BridgeBatch.bytes(frames))
                    if chance(20) { break }
                    for frame in answer { try handle(frame) }
                } else if !frames.isEmpty {
                    break
                }
                take(percent: 70)
                let got = try request("GET", "?session=\(session)&ack=\(page.received)", [])
                if chance(20) { break }
                for frame in got { try handle(frame) }
                now += .milliseconds(10)
            }
            page.disconnect()
        }
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `loses nothing, repeats nothing and keeps the order`(_ seed: UInt64) throws {
        var world = World(seed: seed)
        for _ in 0..<3000 {
            world.now += .milliseconds(Int.random(in: 0...15, using: &world.random))
            if world.server == nil {
                if world.chance(30) { try world.pollOnce() }
                world.connect()
            }
            if world.page.queuedCount < 200, world.pageSent.count - world.appGot.count < 200 {
                try world.sendSome()
            }
            try world.exchange()
            world.take(percent: 60)
            if world.chance(6) { world.disconnect() }
        }
        // The network is mended: everything arrives.
        for _ in 0..<4000 where !world.isQuiet {
            if world.server == nil { world.connect() }
            world.now += .milliseconds(30)
            try world.exchange()
            world.take(percent: 100)
        }
        expect(world.appGot, equals: world.pageSent)
        expect(world.pageGot, equals: world.appSent)
        expect(world.page.queuedCount, equals: 0)
        expect(world.pageSent.count > 500 && world.appSent.count > 500)
        expect(world.openings.dropFirst().allSatisfy { $0 } && world.openings.count > 50)
        expect(world.bridge.sessions.contains { $0 == world.page.session })
    }
}

extension BridgeSimulationTests.World {
    var isQuiet: Bool {
        appGot.count == pageSent.count && pageGot.count == appSent.count && page.queuedCount == 0
    }
}
