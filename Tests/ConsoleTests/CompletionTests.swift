import Expectations

@testable import Console

@Suite struct CompletionTests {
    private let program = Fixture.program

    @Test(arguments: [
        (["ch"], ["checkout"]),
        (["--store", "s", "ad"], ["add"]),
        (["--j"], ["--json"]),
        (["help", "fs"], ["fsck"]),
        (["checkout", "--mode", ""], ["link", "reflink", "copy"]),
        (["checkout", "--mode", "l"], ["link"]),
        (["checkout", "--mode=re"], ["--mode=reflink"]),
        (["checkout", "--json=re"], []),
        // A text with words of its own is no choice, and is completed in the same way.
        (["serve", "--when", ""], ["now", "background:", "key="]),
        (["serve", "--when", "b"], ["background:"]),
        (["serve", "--when=n"], ["--when=now"]),
        (["checkout", "--m"], ["--mode"]),
        (["checkout", "2"], ["2.0", "2.1"]),
        (["--store=here", "checkout", "he"], ["here"]),
        (["checkout", ".c"], [".castree"]),
        (["completions", ""], ["bash", "zsh", "fish"]),
        (["add", "d", "e"], []),
        (["nonsense", "x", "--js"], ["--json"]),
        (["versions", "--", "--j"], []),
    ])
    func `candidates come from the table`(words: [String], candidates: [String]) {
        expect(self.candidates(words), equals: candidates)
    }

    @Test func `every command is offered, with its summary`() {
        let output = program.outcome(of: ["__complete", "fish", ""]).output
        for command in program.commands {
            let line = "\(command.name)\t\(command.summary)\n"
            expect(output.contains(line))
        }
    }

    @Test func `an option is offered once, unless it repeats`() {
        expect(candidates(["add", "--activate", "--a"]), equals: [])
        expect(candidates(["serve", "--header", "x", "--he"]), equals: ["--header", "--help"])
    }

    @Test(arguments: [
        (["add", ""], ":directories"), (["--store", "x"], ":directories"),
        (["du", "--html", ""], ":files"), (["du", "--html="], ":files"),
    ])
    func `names of files are left to the shell`(words: [String], answer: String) {
        expect(candidates(words), equals: [answer])
    }

    @Test func `a default command offers its options before its name`() {
        let words = ["__complete", "zsh", "--d"]
        expect(Fixture.checker.outcome(of: words).output, equals: "--deep\thashes everything\n")
        let commands = Fixture.checker.outcome(of: ["__complete", "zsh", "re"]).output
        expect(commands, equals: "repair\tdoes repair\n")
    }

    @Test func `words that would move the cursor are not offered`() {
        expect(!candidates(["checkout", ""]).contains { $0.contains("\u{1B}") })
    }

    @Test func `words that bash has split are joined, and the part before the break is left out`() {
        expect(bash(["checkout", "--mode", "=", "l"]), equals: ["link"])
        expect(bash(["serve", "--when", "=", "b"]), equals: ["background:"])
        expect(bash(["serve", "--when", "k"]), equals: ["key="])
        expect(bash(["checkout", "--mode", "="]), equals: ["link", "reflink", "copy"])
        expect(bash(["--store", "=", "a", "checkout", "--mo"]), equals: ["--mode"])
        expect(bash(["checkout", "a", ":", "b", ""]), equals: [":directories"])
    }

    @Test func `an unknown shell gets no answer`() {
        expect(program.outcome(of: ["__complete", "tcsh", ""]).status, equals: 2)
        expect(program.outcome(of: ["__complete"]).output, equals: "")
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `there is a script for every shell`(shell: String) {
        let outcome = Fixture.checker.outcome(of: ["completions", shell])
        expect(outcome.status, equals: 0)
        expect(outcome.output.contains("__complete \(shell)"))
        expect(outcome.output.contains("_castree_fsck_complete"))
    }

    /// What bash offers in place of the second word, by the script and what stands for the program.
    private func completed(_ words: String, _ stub: String) throws -> String {
        let script = program.outcome(of: "completions bash").output
        let call = "COMP_WORDS=(castree \(words)); COMP_CWORD=2; _castree_complete"
        let lines = [stub, script, call, #"printf '%s\n' "${COMPREPLY[@]}""#]
        return try Shell.run("bash", lines.joined(separator: "\n"))
    }

    @Test func `bash runs the script and quotes what it would obey`() throws {
        let stub = #"castree() { printf '%s|' "$@" >&2; printf 'a b\tx\n$(false)\t\nv1\t\n'; }"#
        try expect(
            completed("checkout v", stub), equals: "a\\ b\n\\$\\(false\\)\nv1\n")
    }

    @Test func `bash passes the words up to the cursor`() throws {
        let stub = #"castree() { printf '%s' "$#" "$3" "$4"; echo; }"#
        try expect(completed("add 'x y' z", stub), equals: "4addx\\ y\n")
    }

    @Test func `bash takes quoting from the words, and puts no space after what continues`() throws
    {
        expect(bash(["checkout", "2.0", ""]), equals: [":directories"])
        expect(bash(["checkout", "\\2."]), equals: ["2.0", "2.1"])
        expect(bash(["checkout", "'2."]), equals: ["2.0", "2.1"])
        expect(bash(["checkout", "\"2\\.", ""]), equals: [":directories"])
        for word in ["dir/", "background:", "key="] {
            let stub = """
                castree() { printf '\(word)\\t\\n'; }
                compopt() { printf '%s ' "$@"; }
                """
            try expect(completed("cat d", stub), equals: "-o nospace \(word)\n")
        }
    }

    private func candidates(_ words: [String]) -> [String] { lines(["__complete", "zsh"] + words) }

    private func bash(_ words: [String]) -> [String] { lines(["__complete", "bash"] + words) }

    private func lines(_ arguments: [String]) -> [String] {
        program.outcome(of: arguments).output.split(separator: "\n").map { line in
            String(line.prefix { $0 != "\t" })
        }
    }
}
