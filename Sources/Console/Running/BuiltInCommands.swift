import StrictJSON

/// The commands that every program has.
extension Command {
    static let help = Command(
        "help", summary: "explains a command",
        discussion: """
            Without COMMAND, lists all commands. 'help COMMAND' and 'COMMAND --help' are the same.
            """,
        arguments: [
            Argument(
                "COMMAND", "the command to explain", .any,
                completion: .words { $0.program.words(after: $0.operands) })
        ]
    ) { invocation in
        let program = invocation.program
        var subject: Command?
        let words = invocation.arguments("COMMAND")
        if !words.isEmpty {
            let name = words.joined(separator: " ")
            if program.isGroup(name) {
                return try invocation.reportText(program.help(ofGroup: name), key: "help")
            }
            guard let command = program.command(named: name) else {
                throw CommandError.usage(
                    "unknown command '\(name)'"
                        + suggestion(for: name, among: program.commandNames))
            }
            subject = command
        }
        return try invocation.reportText(program.help(of: subject), key: "help")
    }

    static func completions(of program: String) -> Command {
        Command(
            "completions", summary: "prints a shell completion script",
            discussion: """
                The script asks castree itself, so it stays valid when castree is updated.

                bash, in ~/.bashrc:
                    eval "$(\(program) completions bash)"
                zsh, in ~/.zshrc after compinit:
                    eval "$(\(program) completions zsh)"
                fish, in ~/.config/fish/completions/\(program).fish:
                    \(program) completions fish | source
                """,
            arguments: [
                Argument("SHELL", "the shell", choices: CompletionShell.allCases.map(\.rawValue))
            ]
        ) { invocation in
            guard let shell = CompletionShell(rawValue: invocation.argument("SHELL")) else {
                // The table lets only the names of shells through.
                preconditionFailure("unknown shell")
            }
            return try invocation.reportText(shell.script(for: program), key: "script")
        }
    }

    var isBuiltIn: Bool { name == "help" || name == "completions" }
}

extension Invocation {
    /// Prints text that the program has made itself; with `--json` as the one field of a document.
    func reportText(_ text: String, key: String) throws -> ExitStatus {
        try report { writer in
            writer.member(key, text)
        } text: { output in
            try output.write(trusted: text)
        }
    }
}
