internal import Platform
import StrictJSON

extension Program {
    /// Runs the command line of this process and ends the process; reports whatever is thrown.
    ///
    /// Call only this from `@main`, which is isolated to the main actor even where it says otherwise.
    package func main() -> Never {
        main(arguments: System.arguments())
    }

    /// - Parameter arguments: those after the program's name; nil in place of one that is not UTF-8, which is
    ///   refused: repaired, it would name something else.
    func main(arguments: [String?]) -> Never {
        returnFreedMemory()
        System.reserveStandardDescriptors()
        Interruption.install()
        // The kernel gives a signal to the first thread if it can; one that waits for a file system that hangs would
        // never take it.
        Parallel.detach { end(with: arguments) }
        while true { System.pause() }
    }

    private func end(with arguments: [String?]) -> Never {
        let surroundings = Surroundings.process()
        // A replacement for the argument that is not text.
        let words = arguments.map { $0 ?? "\u{FFFD}" }
        let status: ExitStatus
        if let index = arguments.firstIndex(of: nil) {
            let error = UsageError(
                message: "argument \(index + 1) is not valid UTF-8",
                command: Parser(program: self).command(in: words))
            status = report(error, to: diagnostics(for: words, surroundings), command: nil)
        } else {
            status = run(words, in: surroundings)
        }
        System.exit(
            delivering(status, diagnostics(for: words, surroundings), nil) {
                try surroundings.output.close()
            })
    }

    package func run(_ arguments: [String], in surroundings: Surroundings) -> ExitStatus {
        if arguments.first == CompletionShell.command {
            return answerCompletion(Array(arguments.dropFirst()), in: surroundings)
        }
        let diagnostics = diagnostics(for: arguments, surroundings)
        var running: Command?
        let status: ExitStatus
        do {
            let request = try Parser(program: self).parse(arguments)
            if case .run(let command, _, _) = request { running = command }
            status = try perform(request, in: surroundings, diagnostics)
        } catch let error as OutputError {
            return report(error, to: diagnostics, command: running)
        } catch {
            status = report(error, to: diagnostics, command: running)
        }
        return delivering(status, diagnostics, running) { try surroundings.output.flush() }
    }

    /// The status after the last step of the output, or that of the error if the step fails.
    private func delivering(
        _ status: ExitStatus, _ diagnostics: Diagnostics, _ command: Command?,
        _ deliver: () throws -> Void
    ) -> ExitStatus {
        do {
            try deliver()
            return status
        } catch {
            let failed = report(error, to: diagnostics, command: command)
            // The command's own result matters more than the failure to print it.
            return status == .done ? failed : status
        }
    }

    private func perform(
        _ request: Request, in surroundings: Surroundings, _ diagnostics: Diagnostics
    ) throws -> ExitStatus {
        func call(
            _ command: Command = .help, _ given: [String: [String]] = [:], _ operands: [String] = []
        ) -> Invocation {
            Invocation(
                program: self, command: command, given: given, operands: operands,
                surroundings: surroundings, diagnostics: diagnostics)
        }
        switch request {
        case .run(let command, let given, let operands):
            return try command.run(call(command, given, operands))
        case .help(let subject):
            return try call().reportText(help(of: subject), key: "help")
        case .helpOnGroup(let word):
            return try call().reportText(help(ofGroup: word), key: "help")
        case .version:
            return try call().report("\(name) \(version)") { writer in
                writer.member("name", name)
                writer.member("version", version)
            }
        }
    }

    /// Looks for `--json` and `--quiet` before anything is parsed, because that may fail.
    private func diagnostics(
        for arguments: [String], _ surroundings: Surroundings
    ) -> Diagnostics {
        let words = arguments.prefix { $0 != "--" }
        let names = Set(options.map(\.name))
        return Diagnostics(
            program: name, errors: surroundings.errors,
            isJSON: names.contains("json") && words.contains("--json"),
            isQuiet: names.contains("quiet") && words.contains("--quiet"))
    }

    private func report(
        _ error: any Error, to diagnostics: Diagnostics, command: Command?
    ) -> ExitStatus {
        let report = CommandError(reporting: error)
        let subject = (error as? UsageError)?.command ?? command
        diagnostics.report(report)
        if report.status == .usage && !diagnostics.isJSON {
            diagnostics.advise(helpHint(for: subject))
        }
        // Whatever broke when work was stopped, the signal is why the program ends.
        let status = Interruption.isRequested ? .interrupted : report.status
        return statuses(of: subject).status(for: status)
    }

    private func helpHint(for command: Command?) -> String {
        let word = command.map { $0.name == defaultCommand ? "" : " \($0.name)" } ?? ""
        return "See '\(name)\(word) --help'."
    }
}
