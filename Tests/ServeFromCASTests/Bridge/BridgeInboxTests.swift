import Expectations

@testable import ServeFromCAS

// docs/bridge-protocol.md, "Limits": what waits for the app is bounded, whoever sent it.
@Suite("The bridge's inbox")
struct BridgeInboxTests {
    @Test("keeps no more messages than its bound, not even empty ones of pages that have gone")
    func emptyMessages() throws {
        var limits = BridgeLimits()
        limits.inboxByteCount = 1 << 20
        let bridge = Bridge(limits: limits)
        var sent = 0
        var reason: CloseReason?
        // Far more than a megabyte holds, whatever a message is thought to cost.
        while sent < 100_000, reason == nil {
            var page = try Page(bridge)
            for number in 1...200 where page.closed == nil {
                try page.send("M \(number) 0\n")
                sent += 1
            }
            reason = page.closed
            if reason == nil { try page.send("C") }
        }
        expect(reason?.code, equals: .tryAgainLater)
        // What was taken in is there, and frees space when it is read.
        while bridge.takeMessage() != nil {}
        var page = try Page(bridge)
        try page.send("M 1 0\nhello")
        expect(bridge.takeMessage()?.text, equals: "hello")
    }

    @Test func `keeps of a batch what the message is, not all that came with it`() throws {
        let bridge = Bridge()
        var page = try Page(bridge)
        try page.send("M 1 0\nhello")
        expect(bridge.takeMessage()?.bytes.indices, equals: 0..<5)
        try page.send(binary: Array("B 2 0\n".utf8) + [0, 255])
        expect(bridge.takeMessage()?.bytes.indices, equals: 0..<2)
    }

    @Test func `without a reader acknowledges what pages send, and keeps nothing`() throws {
        var limits = BridgeLimits()
        limits.inboxByteCount = 0
        let bridge = Bridge(limits: limits, keepsMessages: false)
        var page = try Page(bridge)
        for number in 1...1000 { try page.send("M \(number) 0\nhello") }
        expect(page.closed == nil)
        expect(bridge.takeMessage() == nil)
        try page.send("P")
        expect(page.lines.last, equals: "A 1000")
    }
}
