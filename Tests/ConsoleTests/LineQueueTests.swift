import Expectations

@testable import Console

@Suite("Lines for a reader that may not read")
struct LineQueueTests {
    /// A pipe of one page, so that it is full soon where the system lets it be so small.
    private final class SmallPipe {
        var ends: [Int32] = [0, 0]

        init() {
            pipe(&ends)
            #if os(Linux)
                _ = fcntl(ends[1], 1031, 4096)  // F_SETPIPE_SZ
            #endif
        }

        deinit { for end in ends { close(end) } }

        func read(until isEnough: (String) -> Bool) -> String {
            var text = ""
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while !isEnough(text) {
                let count = Foundation.read(ends[0], &chunk, chunk.count)
                if count <= 0 { break }
                text += String(decoding: chunk[..<count], as: UTF8.self)
            }
            return text
        }
    }

    private func queue(_ pipe: SmallPipe, byteCountMax: Int = 1 << 20) -> LineQueue {
        LineQueue(
            descriptor: pipe.ends[1], byteCountMax: byteCountMax,
            onLoss: { Array("lost \($0)\n".utf8) })
    }

    @Test func `arrive in order`() {
        let pipe = SmallPipe()
        let queue = queue(pipe)
        let lines = (1...2000).map { "line \($0)\n" }
        for line in lines { queue.add(Array(line.utf8)) }
        expect(pipe.read { $0.hasSuffix("line 2000\n") }, equals: lines.joined())
    }

    @Test func `that are long go in pieces, none of which a pipe with space refuses`() {
        let pipe = SmallPipe()
        let queue = queue(pipe)
        let line = Array((String(repeating: "y", count: 50_000) + "\n").utf8)
        queue.add(line)
        queue.end()
        expect(pipe.read { $0.hasSuffix("\n") }.utf8.count, equals: line.count)
    }

    @Test func `leave the pipe blocking, as it was inherited`() {
        let pipe = SmallPipe()
        let queue = queue(pipe)
        queue.add(Array("a\n".utf8))
        _ = pipe.read { $0.hasSuffix("a\n") }
        expect(fcntl(pipe.ends[1], F_GETFL) & O_NONBLOCK, equals: 0)
    }

    @Test func `for a reader that has gone are dropped without a word`() {
        signal(SIGPIPE, SIG_IGN)
        let pipe = SmallPipe()
        let failures = Atomic<Int>(0)
        close(pipe.ends[0])
        pipe.ends[0] = -1
        let queue = LineQueue(
            descriptor: pipe.ends[1], onLoss: { _ in nil },
            onFailure: { _ in failures.add(1, ordering: .relaxed) })
        for _ in 0..<100 { queue.add(Array("nobody\n".utf8)) }
        queue.end()
        expect(failures.load(ordering: .relaxed), equals: 0)
    }
}
