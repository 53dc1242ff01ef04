package import StrictJSON

/// One call of a command: what was given, and where to print.
///
/// Asking for an option or an argument that the table does not declare is a programmer's mistake
/// and stops the program.
package struct Invocation: Sendable {
    /// The program that runs.
    package let program: Program
    /// The command that runs.
    package let command: Command
    let given: [String: [String]]
    /// What stands on the command line besides options, in order.
    package let operands: [String]
    let surroundings: Surroundings
    /// Where notes and warnings go.
    package let diagnostics: Diagnostics

    /// Where results go.
    package var output: Output { surroundings.output }
    /// Looks up an environment variable.
    package var environment: @Sendable (String) -> String? { surroundings.environment }

    /// Whether the command has an option of that name.
    package func isDeclared(_ name: String) -> Bool {
        command.options.contains { $0.name == name }
    }

    /// Returns whether a flag was given.
    package func flag(_ name: String) -> Bool {
        precondition(!option(name).takesValue, "--\(name) takes a value")
        return given[name] != nil
    }

    /// Whether an option stands on the command line, whatever its variable or its fallback says.
    package func isGiven(_ name: String) -> Bool {
        given[option(name).name] != nil
    }

    /// Returns the value of an option: given, else from its variable, else its fallback, else nil.
    ///
    /// - Throws: `usage` if the option does not take the value of the variable.
    package func value(_ name: String) throws(CommandError) -> String? {
        let option = option(name)
        precondition(option.takesValue, "--\(name) is a flag")
        if let value = given[name]?.last { return value }
        guard let variable = option.environment, let value = environment(variable),
            !value.isEmpty
        else { return option.fallback }
        if let objection = option.objection(to: value) {
            throw .usage("the environment variable \(variable) \(objection)")
        }
        return value
    }

    /// Returns every value that an option was given, in order.
    package func values(_ name: String) -> [String] {
        precondition(option(name).takesValue, "--\(name) is a flag")
        return given[name] ?? []
    }

    /// Returns the value of an option that is required or has a fallback.
    ///
    /// - Throws: `usage` if there is none.
    package func requiredValue(_ name: String) throws(CommandError) -> String {
        guard let value = try value(name) else {
            throw .usage("missing option \(option(name).spelling)")
        }
        return value
    }

    /// Returns the value of an option that takes a whole number.
    ///
    /// - Throws: `usage` if the value of its variable is not one.
    package func integer(_ name: String) throws(CommandError) -> Int? {
        try value(name).flatMap { Int($0) }
    }

    /// Returns the operand of a required argument.
    package func argument(_ name: String) -> String {
        guard let operand = optionalArgument(name) else {
            preconditionFailure("the argument \(name) is not required")
        }
        return operand
    }

    /// Returns the operand of an argument, or nil if it was left out.
    package func optionalArgument(_ name: String) -> String? {
        arguments(name).first
    }

    /// Returns every operand of an argument.
    package func arguments(_ name: String) -> [String] {
        guard let index = command.arguments.firstIndex(where: { $0.name == name }) else {
            preconditionFailure("\(command.name) has no argument \(name)")
        }
        // An optional argument has an operand only if all that are required have theirs.
        var spareCount = operands.count - command.arguments.filter { $0.isRequired }.count
        var rest = operands[...]
        for argument in command.arguments[..<index] {
            if !argument.isRequired {
                guard spareCount > 0 else { continue }
                spareCount -= 1
            }
            rest = rest.dropFirst()
        }
        switch command.arguments[index].arity {
        case .one: return Array(rest.prefix(1))
        case .optional: return Array(rest.prefix(min(max(spareCount, 0), 1)))
        case .any, .some: return Array(rest)
        }
    }

    /// The given options as words for another program.
    package var givenWords: [String] {
        given.sorted { $0.key < $1.key }.flatMap { name, values in
            option(name).takesValue ? values.map { "--\(name)=\($0)" } : ["--\(name)"]
        }
    }

    private func option(_ name: String) -> Option {
        guard let option = (command.options + program.options).first(where: { $0.name == name })
        else { preconditionFailure("\(command.name) has no option --\(name)") }
        return option
    }
}

extension Invocation {
    /// Whether results are one JSON document.
    package var isJSON: Bool { diagnostics.isJSON }

    /// How sizes are printed: exactly with `--bytes`.
    package var sizes: SizeStyle { given["bytes"] != nil ? .exact : .binary }

    /// Prints the result: with `--json` as an object with the members that the closure writes, else as
    /// text, and never both.
    ///
    /// - Returns: `.done`, with which most commands end then.
    /// - Throws: `output` if it cannot be written; and whatever the closures throw.
    @discardableResult
    package func report(
        members: (inout JSONWriter) throws -> Void, text: (Output) throws -> Void
    ) throws -> ExitStatus {
        try reportDocument({ try $0.object(members) }, text: text)
    }

    /// Prints the result: as any JSON document with `--json`, else as text, and never both.
    ///
    /// - Returns: `.done`.
    /// - Throws: as `report`.
    @discardableResult
    package func reportDocument(
        _ json: (inout JSONWriter) throws -> Void, text: (Output) throws -> Void
    ) throws -> ExitStatus {
        if isJSON {
            var writer = JSONWriter()
            try json(&writer)
            precondition(writer.isComplete, "\(command.name): the JSON document is not complete")
            try output.write(json: writer.drain())
        } else {
            try text(output)
        }
        try output.flush()
        return .done
    }

    /// Prints the result: with `--json` as an object with the members that the closure writes, else as a
    /// sentence.
    ///
    /// - Returns: `.done`.
    /// - Throws: as `report`.
    @discardableResult
    package func report(
        _ sentence: DisplayText, members: (inout JSONWriter) throws -> Void
    ) throws -> ExitStatus {
        try report(members: members) { $0.print(sentence) }
    }

    /// Prints a document on a line of its own at once, for a program that reads while the work goes on.
    package func line(_ write: (inout JSONWriter) -> Void) {
        // A failure is kept, and reported when the program flushes at its end.
        try? output.write(json: JSONWriter.document(write))
        try? output.flush()
    }

    /// Prints a note on standard error; nothing with `--quiet` and `--json`.
    package func note(_ text: String) {
        diagnostics.note("\(program.name): note: \(text)")
    }

    /// Whether a person sees the progress of the work.
    package var isWatched: Bool {
        diagnostics.errors.isTerminal && !diagnostics.isQuiet && !diagnostics.isJSON
    }

    /// Makes a progress bar; it is drawn only on a terminal, without `--quiet` and `--json`.
    ///
    /// - Parameters:
    ///   - deed: what is being done: "Hashing".
    ///   - total: how much there is to do, or nil if that is not known yet.
    package func progress(
        _ deed: String, total: Int? = nil, unit: ProgressUnit = .bytes
    ) -> ProgressBar {
        let isShown = !diagnostics.isQuiet && !diagnostics.isJSON
        return ProgressBar(
            deed: deed, total: total, unit: unit,
            statusLine: isShown ? surroundings.statusLine : nil, now: surroundings.now)
    }
}
