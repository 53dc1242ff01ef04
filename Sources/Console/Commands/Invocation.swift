package import StrictJSON

/// One call of a command; asking for an option or an argument that is not in the table stops the program.
package struct Invocation: Sendable {
    package let program: Program
    package let command: Command
    let given: [String: [String]]
    /// The command line without options, in order.
    package let operands: [String]
    let surroundings: Surroundings
    package let diagnostics: Diagnostics

    package var output: Output { surroundings.output }
    package var environment: @Sendable (String) -> String? { surroundings.environment }

    package func isDeclared(_ name: String) -> Bool {
        command.options.contains { $0.name == name }
    }

    package func flag(_ name: String) -> Bool {
        precondition(!option(name).takesValue, "--\(name) takes a value")
        return given[name] != nil
    }

    /// Whether an option is on the command line, whatever its variable or its fallback says.
    package func isGiven(_ name: String) -> Bool {
        given[option(name).name] != nil
    }

    /// The value of an option: given, else from its variable, else its fallback, else nil.
    /// - Throws: `usage` if the option does not accept the value of the variable.
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

    /// Every value given for an option, in order.
    package func values(_ name: String) -> [String] {
        precondition(option(name).takesValue, "--\(name) is a flag")
        return given[name] ?? []
    }

    /// The value of an option that is required or has a fallback.
    /// - Throws: `usage` if there is none.
    package func requiredValue(_ name: String) throws(CommandError) -> String {
        guard let value = try value(name) else {
            throw .usage("missing option \(option(name).spelling)")
        }
        return value
    }

    /// The value of an integer option.
    /// - Throws: `usage` if the value of its variable is not a whole number.
    package func integer(_ name: String) throws(CommandError) -> Int? {
        try value(name).flatMap { Int($0) }
    }

    package func argument(_ name: String) -> String {
        guard let operand = optionalArgument(name) else {
            preconditionFailure("the argument \(name) is not required")
        }
        return operand
    }

    /// The operand of an argument; nil if it was left out.
    package func optionalArgument(_ name: String) -> String? {
        arguments(name).first
    }

    package func arguments(_ name: String) -> [String] {
        guard let index = command.arguments.firstIndex(where: { $0.name == name }) else {
            preconditionFailure("\(command.name) has no argument \(name)")
        }
        // An optional argument has an operand only if all required ones have theirs.
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
    package var isJSON: Bool { diagnostics.isJSON }

    package var sizes: SizeStyle { given["bytes"] != nil ? .exact : .binary }

    /// Prints the result: with `--json` as an object with the members that the closure writes, otherwise as text.
    /// - Returns: `.done`, with which most commands then end.
    /// - Throws: `output` if it cannot be written; and whatever the closures throw.
    @discardableResult
    package func report(
        members: (inout JSONWriter) throws -> Void, text: (Output) throws -> Void
    ) throws -> ExitStatus {
        try reportDocument({ try $0.object(members) }, text: text)
    }

    /// Prints the result: with `--json` as any JSON document, otherwise as text; otherwise like `report`.
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

    /// Prints the result: with `--json` as an object with these members, otherwise as a sentence.
    @discardableResult
    package func report(
        _ sentence: DisplayText, members: (inout JSONWriter) throws -> Void
    ) throws -> ExitStatus {
        try report(members: members) { $0.print(sentence) }
    }

    /// Prints a document as a line at once, for a program that reads while the work continues.
    package func line(_ write: (inout JSONWriter) -> Void) {
        // A failure is kept, and reported when the program flushes at its end.
        try? output.write(json: JSONWriter.document(write))
        try? output.flush()
    }

    /// Prints a note on standard error, except with `--quiet` or `--json`.
    package func note(_ text: String) {
        diagnostics.note("\(program.name): note: \(text)")
    }

    package var isWatched: Bool {
        diagnostics.errors.isTerminal && !diagnostics.isQuiet && !diagnostics.isJSON
    }

    /// Makes a progress bar, which is drawn only on a terminal, without `--quiet` and `--json`.
    /// - Parameters:
    ///   - operation: the action: "Hashing".
    ///   - total: nil if unknown yet.
    package func progress(
        _ operation: String, total: Int? = nil, unit: ProgressUnit = .bytes
    ) -> ProgressBar {
        let isShown = !diagnostics.isQuiet && !diagnostics.isJSON
        return ProgressBar(
            operation: operation, total: total, unit: unit,
            statusLine: isShown ? surroundings.statusLine : nil, now: surroundings.now)
    }
}
