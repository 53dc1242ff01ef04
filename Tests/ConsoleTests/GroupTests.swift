import Expectations

@testable import Console

/// Commands of two words, the first of which they share: `key new`, `key show`.
@Suite("Commands of two words") struct GroupTests {
    private static let new = Command(
        "key new", summary: "makes a key", arguments: [Argument("FILE", "the new file")],
        options: [.flag("force", "even if it exists")], run: printed)
    private static let show = Command(
        "key show", summary: "shows a key", arguments: [Argument("FILE", "the file")], run: printed)
    private let program = Program(
        "castree", version: "1.2.3", summary: "keeps versions",
        commands: [
            Command("keep", summary: "keeps", arguments: [Argument("WHAT", "what")], run: printed),
            new, show,
        ])

    @Sendable private static func printed(_ invocation: Invocation) throws -> Console.ExitStatus {
        let words = [invocation.command.name + ":"] + invocation.operands
        invocation.output.print("\(words.joined(separator: " "))")
        return .done
    }

    @Test func `run with both words, and options before and after them`() {
        for line in ["key new a", "--json key new a", "key new --force a", "key new a --json"] {
            let outcome = program.outcome(of: line)
            expect(outcome.output == "key new: a\n" && outcome.status == 0, "\(line)")
        }
        // The word of a group is an operand like any other where it stands as one.
        expect(program.outcome(of: "keep key").output, equals: "keep: key\n")
    }

    @Test func `say what the second word may be`() {
        for (line, message) in [
            ("key", "'castree key' needs one word more: new or show"),
            ("key shw f", "'castree key' takes new or show, not 'shw'; did you mean 'show'?"),
            ("kee new f", "unknown command 'kee'; did you mean 'keep'?"),
            ("key new", "missing argument FILE"),
            ("key show f --force", "unknown option '--force'"),
        ] {
            let outcome = program.outcome(of: line)
            expect(outcome.status == 2 && outcome.errors.contains(message), "\(outcome.errors)")
        }
    }

    @Test func `explain themselves, one by one and together`() {
        for line in ["key new --help", "help key new", "--help key new", "key new -h"] {
            let text = program.outcome(of: line).output
            expect(text.hasPrefix("Usage: castree key new [--force] FILE\n"), "\(line): \(text)")
        }
        for line in ["key --help", "help key", "--help key", "key -h"] {
            let text = program.outcome(of: line).output
            expect(text.hasPrefix("Usage: castree key new|show [ARGUMENTS]\n"), "\(line): \(text)")
            let rows: [String] = ["  key new   makes a key\n", "  key show  shows a key\n"]
            for row in rows { expect(text.contains(row)) }
        }
        expect(program.outcome(of: "--help").output.contains("  key show "))
        expect(program.outcome(of: "help key old").status, equals: 2)
    }

    @Test func `are completed word by word`() {
        for (words, candidates) in [
            (["k"], ["keep\tkeeps", "key\tnew, show"]),
            (["key", ""], ["new\tmakes a key", "show\tshows a key"]),
            (["key", "s"], ["show\tshows a key"]),
            (["key", "new", "--f"], ["--force\teven if it exists"]),
            (["help", "key", "n"], ["new\t"]),
            (["keep", "key", ""], []),
        ] {
            let lines = program.outcome(of: ["__complete", "fish"] + words).output
            expect(lines.split(separator: "\n").map(String.init), equals: candidates, "\(words)")
        }
    }
}
