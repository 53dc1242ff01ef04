import Expectations

@testable import Console
@testable import StoreCommands

/// Results, errors and exit statuses as scripts see them.
@Suite struct ReportingTests {
    private let program = Fixture.program

    @Test(arguments: [("failed", 1), ("usage", 2), ("notFound", 3), ("interrupted", 130)])
    func `every kind of error has its exit status`(kind: String, status: Int32) {
        let outcome = program.outcome(of: "fail \(kind)")
        expect(outcome.status, equals: status)
        expect(outcome.errors.hasPrefix("castree: no \(kind) at 'x'\n"))
        expect(outcome.output.isEmpty)
    }

    @Test(arguments: ["failed", "usage", "notFound", "interrupted"])
    func `with --json an error is one document on standard error`(kind: String) {
        for line in ["--json fail \(kind)", "fail --json \(kind)", "fail \(kind) --json"] {
            let outcome = program.outcome(of: line)
            let expected = #"{"error":{"code":"no-such-KIND","message":"no KIND at 'x'"}}"#
            expect(outcome.errors, equals: expected.replacing("KIND", with: kind) + "\n")
            expect(outcome.output.isEmpty)
        }
    }

    @Test func `with --json a usage error is a document too`() {
        let outcome = program.outcome(of: "--json chekcout")
        expect(
            outcome.errors,
            equals: #"{"error":{"code":"usage","message":"#
                + #""unknown command 'chekcout'; did you mean 'checkout'?"}}"# + "\n")
        expect(outcome.status, equals: 2)
    }

    @Test func `after two hyphens --json is an operand`() {
        expect(program.outcome(of: "fail -- --json").errors.hasPrefix("castree: unexpected error"))
    }

    @Test func `an error that nobody knows is reported as internal`() {
        let outcome = program.outcome(of: "fail boom --json")
        expect(outcome.errors.hasPrefix(#"{"error":{"code":"internal","message":""#))
        expect(outcome.errors.contains("boom"))
        expect(outcome.status, equals: 1)
    }

    @Test func `cancelled work counts as interrupted`() {
        let outcome = program.outcome(of: "fail cancelled")
        expect(outcome.errors, equals: "castree: interrupted\n")
        expect(outcome.status, equals: 130)
    }

    @Test func `checks have the exit statuses of fsck(8)`() {
        expect(program.outcome(of: "fsck --dep").status, equals: 16)
        expect(program.outcome(of: "fsck surplus").status, equals: 16)
        let statuses: [Console.ExitStatus] = [
            .clean, .repaired, .problemsLeft, .unchecked, .checkUsage,
        ]
        expect(statuses.map(\.rawValue), equals: [0, 1, 4, 8, 16])
        expect(ExitStatuses.check.status(for: .failed), equals: .unchecked)
        expect(ExitStatuses.check.status(for: .notFound), equals: .unchecked)
        expect(ExitStatuses.check.status(for: .interrupted).rawValue, equals: 130)
    }

    @Test func `a message with control characters is shown, not obeyed`() {
        let outcome = program.outcome(of: ["frob\u{1B}[2J\nnicate\u{202E}"])
        expect(
            outcome.errors.hasPrefix(#"castree: unknown command 'frob\u{1B}[2J\nnicate\u{202E}'"#))
    }

    @Test func `notes are silent with --quiet and --json, warnings are not`() {
        let command = Command("c", summary: "") { call in
            call.diagnostics.note("a note about \("x\ty")")
            call.diagnostics.warn(code: "odd", "an odd\nthing")
            return .done
        }
        let program = Program("p", version: "1", summary: "", commands: [command])
        let warning = #"p: warning: an odd\nthing"# + "\n"
        expect(program.outcome(of: "c").errors, equals: #"a note about x\ty"# + "\n" + warning)
        expect(program.outcome(of: "c --quiet").errors, equals: warning)
        expect(
            program.outcome(of: "c --json").errors,
            equals: #"{"warning":{"code":"odd","message":"an odd\nthing"}}"# + "\n")
    }

    @Test func `with --json everything on standard output is one document`() {
        for line in ["--version --json", "--json --help", "add --help --json", "--json help add"] {
            let outcome = program.outcome(of: line)
            expect(outcome.output.hasPrefix("{\""))
            expect(outcome.output.hasSuffix("}\n"))
            expect(outcome.output.utf8.count { $0 == UInt8(ascii: "\n") }, equals: 1)
        }
        let version = program.outcome(of: "--version --json").output
        expect(version, equals: #"{"name":"castree","version":"1.2.3"}"# + "\n")
    }

    @Test func `JSON escapes what a terminal would obey`() {
        let command = Command("c", summary: "") { call in
            try call.reportDocument {
                $0.string("é\u{9B}2J\u{202E}\u{7F}\u{E0041}")
            } text: { _ in
            }
            return .done
        }
        let program = Program("p", version: "1", summary: "", commands: [command])
        expect(
            program.outcome(of: "c --json").output,
            equals: #""é\u009b2J\u202e\u007f\udb40\udc41""# + "\n")
    }
}
