import Expectations

@testable import Console

@Suite struct ParsingTests {
    private let program = Fixture.program

    @Test(arguments: [
        "--store s --json add d --version 1", "add d --version 1 --store s --json",
        "--json add --store=s --version=1 d", "add --version 1 --store s d --json",
    ])
    func `global options stand before or after the command`(line: String) {
        let outcome = program.outcome(of: line)
        expect(outcome.output, equals: "add d version=1 store=s json\n")
        expect(outcome.status, equals: 0)
    }

    @Test func `a value may begin with a hyphen or contain an equals sign, and not be empty`() {
        let line = ["add", "d", "--version", "-x=y", "--store=s"]
        expect(program.outcome(of: line).output, equals: "add d version=-x=y store=s\n")
        for empty in ["", " "] {
            let outcome = program.outcome(of: ["add", "d", "--version", "1", "--store", empty])
            expect(outcome.status, equals: 2)
            expect(outcome.errors.contains("--store takes DIR, not an empty text"))
        }
    }

    @Test(arguments: ["--activate", "--json", "--store=s", "--help", "--"])
    func `an option is not taken for the value of the one before`(next: String) {
        let outcome = program.outcome(of: ["add", "d", "--version", next])
        expect(outcome.status, equals: 2)
        expect(outcome.errors.contains("needs a value"))
        expect(outcome.errors.contains("--version=\(next)"))
    }

    @Test(arguments: [
        ("versions -- --json -x", "versions --json -x"), ("-- versions --json", "versions --json"),
        ("versions -- --", "versions --"), ("versions -", "versions -"),
    ])
    func `two hyphens end the options, and a lone one is an operand`(line: String, output: String) {
        expect(program.outcome(of: line).output, equals: output + "\n")
    }

    @Test func `the last of several values counts, and a repeated option keeps all`() {
        let line = "serve --port 1 --port 2 --header a --header b"
        expect(program.outcome(of: line).output, equals: "serve port=1+2 header=a+b\n")
    }

    @Test func `a command with a version of its own leaves the leading one to the program`() {
        expect(program.outcome(of: "--version").output, equals: "castree 1.2.3\n")
        expect(program.outcome(of: "--version add").output, equals: "castree 1.2.3\n")
        expect(program.outcome(of: "versions --version").output, equals: "castree 1.2.3\n")
        expect(program.outcome(of: "add d --version 7").output, equals: "add d version=7\n")
    }

    @Test(arguments: [
        ("", "no command given"),
        ("--json=yes versions", "option --json takes no value"),
        ("add --version 1", "missing argument DIR"),
        ("add d", "missing option --version NAME"),
        ("add d --version", "option --version needs a value"),
        ("add d e --version 1", "unexpected argument 'e'"),
        ("chekcout a b", "unknown command 'chekcout'; did you mean 'checkout'?"),
        ("adds", "unknown command 'adds'; did you mean 'add'?"),
        ("frobnicate", "unknown command 'frobnicate'"),
        ("add d --versoin 1", "unknown option '--versoin'; did you mean '--version'?"),
        ("add d -version 1", "unknown option '-version'; did you mean '--version'?"),
        ("--stroe s versions", "unknown option '--stroe'; did you mean '--store'?"),
        ("add d --frobnicate=1", "unknown option '--frobnicate'"),
        (
            "--activate add d",
            "--activate is an option of 'castree add'; write it after the command"
        ),
        (
            "checkout v t --mode lnk",
            "option --mode takes link, reflink or copy, not 'lnk'; did you mean 'link'?"
        ),
        ("serve --port x", "option --port takes a whole number from 0 to 65535, not 'x'"),
        ("serve --port 65536", "option --port takes a whole number from 0 to 65535, not '65536'"),
        ("help chekcout", "unknown command 'chekcout'; did you mean 'checkout'?"),
        ("completions zhs", "SHELL must be bash, zsh or fish, not 'zhs'; did you mean 'zsh'?"),
    ])
    func `a wrong command line is explained in one line, and another says where to read on`(
        line: String, message: String
    ) {
        let outcome = program.outcome(of: line)
        let lines = outcome.errors.split(separator: "\n")
        expect(lines.first, equals: "castree: \(message)")
        expect(lines.count, equals: 2)
        expect(lines.last?.hasPrefix("See 'castree"), equals: true)
        expect(outcome.status, equals: 2)
        expect(outcome.output.isEmpty)
    }

    @Test func `a usage error names the help of its command`() {
        expect(program.outcome(of: "add").errors.hasSuffix("\nSee 'castree add --help'.\n"))
    }

    @Test func `a combining mark does not hide an option`() {
        let outcome = program.outcome(of: ["versions", "--\u{301}json"])
        expect(outcome.errors.contains("unknown option"))
        expect(
            program.outcome(of: ["versions", "--store=\u{301}"]).output.contains("store=\u{301}"))
    }

}

@Suite struct DefaultCommandTests {
    private let program = Fixture.checker

    @Test(arguments: [
        ("s", "check s"), ("--deep s", "check s deep"), ("check s --deep", "check s deep"),
        ("--json --deep check s", "check s deep json"), ("gc s", "gc s"), ("-- gc", "check gc"),
        ("--json gc s", "gc s json"), ("repair -- check", "repair check"),
    ])
    func `runs when no word names a command`(line: String, expected: String) {
        expect(program.outcome(of: line).output, equals: expected + "\n")
    }

    @Test(arguments: [
        ("", "missing argument STORE"), ("check", "missing argument STORE"),
        ("repiar s", "unknown command 'repiar'; did you mean 'repair'?"),
        ("s t", "unexpected argument 't'"), ("gc s --deep", "unknown option '--deep'"),
        ("--dep s", "unknown option '--dep'; did you mean '--deep'?"),
    ])
    func `ends with 16 if the command line is wrong`(line: String, message: String) {
        let outcome = program.outcome(of: line)
        expect(outcome.errors.hasPrefix("castree-fsck: \(message)\n"))
        expect(outcome.status, equals: 16)
    }

    @Test func `shows in the usage line`() {
        let usage = "Usage: castree-fsck [check|repair|gc|du] [OPTIONS] STORE\n"
        expect(program.outcome(of: "--help").output.contains(usage))
    }
}
