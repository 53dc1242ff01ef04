import Expectations

@testable import Console
@testable import StoreCommands

@Suite struct HelpTests {
    private let program = Fixture.program

    @Test(arguments: ["--help", "-h", "help", "--json --help", "--store s --help"])
    func `a program explains itself`(line: String) {
        let outcome = program.outcome(of: line)
        expect(outcome.status, equals: 0)
        expect(outcome.errors.isEmpty)
        expect(outcome.output.contains("castree: keeps every version of an app once"))
        for name in ["add", "checkout", "fsck", "help", "completions", "--store DIR", "--version"] {
            expect(outcome.output.contains("  \(name)"))
        }
    }

    @Test func `every command explains itself, in three ways`() {
        for command in program.commands {
            let help = program.outcome(of: "\(command.name) --help")
            expect(help.status, equals: 0)
            expect(help.output.hasPrefix("Usage: castree \(command.name)"))
            expect(program.outcome(of: "help \(command.name)").output, equals: help.output)
            expect(program.outcome(of: "--help \(command.name)").output, equals: help.output)
            expect(program.outcome(of: "\(command.name) -h").output, equals: help.output)
        }
    }

    @Test func `help does not mind what is missing or follows`() {
        expect(program.outcome(of: "add --help --nonsense").status, equals: 0)
        expect(program.outcome(of: "add a b c --help").status, equals: 0)
    }

    @Test func `the help of a command teaches with its example`() {
        let expected = """
            Usage: castree add --version NAME [--activate] [--no-cache] DIR

            Imports a directory as a version.

            Hashes every file, stores what is new and registers the version.

                castree add build --version 2.1 --activate

            Arguments:
              DIR  the directory

            Options:
              --version NAME  the name of the version
              --activate      make it current
              --no-cache      read every file
              -h, --help      print this help

            Options of every command:
              --store DIR  the store [default: $CASTREE_STORE, else .castree]
              --json       print one JSON document, even for errors
              --quiet      print no progress and no notes

            Exit status:
              0  done
              1  the operation failed

            """
        expect(program.outcome(of: "add --help").output, equals: expected)
    }

    @Test func `no line is wider than 80 columns`() {
        let words = Array(repeating: "many words", count: 30).joined(separator: " ")
        let command = Command(
            "command", summary: words, discussion: words + "\n\n" + words,
            arguments: [Argument("ARGUMENT", words)],
            options: (1...9).map { .flag("option-\($0)-with-a-name-that-is-long", words) }
        ) { _ in .done }
        let program = Program("p", version: "1", summary: "short", commands: [command])
        for line in ["--help", "command --help"] {
            let lines = program.outcome(of: line).output.split(separator: "\n")
            expect(lines.allSatisfy { $0.count <= 80 })
            expect(lines.count > 15)
        }
    }

    @Test func `a command may explain exit statuses of its own`() {
        let command = Command(
            "c", summary: "",
            statuses: ExitStatuses(help: [(.problemsLeft, "problems are left")])
        ) { _ in .done }
        let program = Program("p", version: "1", summary: "", commands: [command])
        expect(
            program.outcome(of: "c -h").output.contains("Exit status:\n  4  problems are left\n"))
    }
}
