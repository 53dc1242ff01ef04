import Expectations

@testable import Console

/// A program that this one has started and follows to its end, whatever it does.
@Suite struct ChildProgramTests {
    private func child(_ script: String, hasInput: Bool = true) throws -> ChildProgram {
        try ChildProgram("/bin/sh", ["-c", script], hasInput: hasInput)
    }

    /// Follows it with patience.
    private func follow(
        _ child: ChildProgram, silence: Duration = .seconds(60), grace: Duration = .seconds(60)
    ) -> (lines: [String], end: ChildProgram.End) {
        var lines: [String] = []
        let end = child.follow(silence: silence, grace: grace, stopped: { _ in }) {
            lines.append(String(decoding: $0, as: UTF8.self))
        }
        return (lines, end)
    }

    @Test
    func `its lines come as it prints them, also one without an end, then its status`() throws {
        let (lines, end) = follow(try child("echo one; echo two >&2; printf '\\nthree'; exit 3"))
        expect(lines, equals: ["one", "two", "", "three"])
        expect(end, equals: .init(status: 3))
        let killed = follow(try child("echo here; kill -KILL $$"))
        expect(killed.lines == ["here"] && killed.end == .init(status: nil))
    }

    @Test func `one that has closed its output is waited for`() throws {
        let (lines, end) = follow(try child("echo one; exec >&- 2>&-; sleep 0.3; exit 5"))
        expect(lines == ["one"] && end == .init(status: 5))
    }

    @Test(arguments: ["exec sleep 300", "trap '' TERM; exec sleep 300", "kill -STOP $$"])
    func `one that says nothing for too long is asked to end, then ended`(_ script: String) throws {
        let (_, end) = follow(
            try child(script), silence: .milliseconds(10), grace: .milliseconds(10))
        expect(end, equals: .init(status: nil, wasSilent: true))
    }

    @Test func `one that nobody wants any longer is ended at once, whatever it does`() throws {
        let stubborn = try child("trap '' TERM; echo on; exec sleep 300")
        var isUnwanted = false
        let end = stubborn.follow(
            silence: .seconds(600), grace: .seconds(600), isUnwanted: { isUnwanted },
            stopped: { _ in }, heard: { _ in isUnwanted = true })
        expect(end, equals: .init(status: nil))
    }

    @Test func `its input lasts as long as this process, or has ended when it begins`() throws {
        expect(follow(try child("cat; echo end", hasInput: false)).lines, equals: ["end"])
    }
}
