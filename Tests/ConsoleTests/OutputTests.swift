import Expectations

@testable import Console

/// Streams over real descriptors.
@Suite struct OutputTests {
    @Test func `everything arrives in order, however much it is`() throws {
        let path = "/tmp/console-output-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
        try require(descriptor >= 0)
        defer { unlink(path) }
        let output = Output(descriptor: descriptor, isTerminal: false, usesColour: false)
        for number in 0..<30_000 { output.print("\(number)") }
        try output.write([0, 255, 10])
        try output.flush()
        let expected = (0..<30_000).map { "\($0)\n" }.joined().utf8 + [0, 255, 10]
        var bytes = [UInt8](repeating: 0, count: expected.count + 1)
        expect(pread(descriptor, &bytes, bytes.count, 0), equals: expected.count)
        expect(bytes.dropLast(), equals: expected[...])
        try output.close()
    }

    @Test func `a reader that is slow gets everything`() async throws {
        // The writing end does not wait, like a pipe that another program has made so.
        let ends = try System.makePipe()
        async let count = onOwnThread {
            var count = 0
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let received = read(ends.source, &buffer, buffer.count)
                if received <= 0 { return count }
                count += received
            }
        }
        try await onOwnThread {
            let output = Output(descriptor: ends.target, isTerminal: false, usesColour: false)
            try output.write([UInt8](repeating: 7, count: 1_000_000))
            try output.flush()
            try output.close()
        }
        try await expect(count, equals: 1_000_000)
        try System.close(ends.source)
    }

    @Test func `a terminal gets every line at once, styled if it wants colour`() throws {
        let ends = try System.makePipe()
        let output = Output(descriptor: ends.target, isTerminal: true, usesColour: true)
        output.print("\("done", .green)")
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(ends.source, &buffer, buffer.count)
        expect(
            String(decoding: buffer.prefix(count), as: UTF8.self),
            equals: "\u{1B}[32mdone\u{1B}[0m\n")
        try output.close()
        try System.close(ends.source)
    }

    @Test func `printing on a terminal clears the progress line first`() throws {
        let ends = try System.makePipe()
        let line = StatusLine(descriptor: ends.target)
        let output = Output(
            descriptor: ends.target, isTerminal: true, usesColour: false, statusLine: line)
        line.draw { _ in "50%" }
        output.print("a warning")
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(ends.source, &buffer, buffer.count)
        let text = String(decoding: buffer.prefix(count), as: UTF8.self)
        expect(text, equals: "\r50%\u{1B}[K\r\u{1B}[Ka warning\n")
        try output.close()
        try System.close(ends.source)
    }
}
