import Expectations
import Synchronization

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

    @Test
    func `are dropped where nobody reads, and counted where they are missing once somebody does`() {
        let pipe = SmallPipe()
        let queue = queue(pipe, byteCountMax: 20_000)
        let line = Array((String(repeating: "x", count: 99) + "\n").utf8)
        for _ in 0..<1000 { queue.add(line) }
        // Nobody has read; neither adding nor ending waits for that.
        queue.end()
        // The thread may have written in between: then they are missing in more than one place.
        func count(_ text: String) -> (lines: Int, lost: Int) {
            let parts = text.split(separator: "\n")
            let lost = parts.compactMap { $0.hasPrefix("lost ") ? Int($0.dropFirst(5)) : nil }
            return (parts.count { $0.utf8.count == 99 }, lost.reduce(0, +))
        }
        let text = pipe.read { text in
            let (lines, lost) = count(text)
            return text.hasSuffix("\n") && lines + lost >= 1000
        }
        let (lines, lost) = count(text)
        expect(lost > 500)
        expect(lines + lost, equals: 1000)
        expect(
            text.split(separator: "\n").allSatisfy { $0.utf8.count == 99 || $0.hasPrefix("lost ") })
        queue.add(Array("after\n".utf8))
        expect(pipe.read { $0.hasSuffix("after\n") }, equals: "after\n")
    }

    @Test func `that are long go in pieces, none of which a pipe with room refuses`() {
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

    @Test func `are all in a file when the program ends`() throws {
        let path = NSTemporaryDirectory() + "castree-lines-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        defer { close(file) }
        let queue = LineQueue(descriptor: file, onLoss: { _ in nil })
        for number in 1...5000 { queue.add(Array("\(number)\n".utf8)) }
        queue.end()
        let text = try String(contentsOfFile: path, encoding: .utf8)
        expect(text, equals: (1...5000).map { "\($0)\n" }.joined())
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
