extension Invocation {
    /// Reads another command line of this program, for a command that does the work of another one.
    /// - Parameter warned: gets its warnings, in place of standard error; its notes are dropped.
    /// - Throws: `usage`.
    package func reading(
        _ arguments: [String], warned: @escaping @Sendable (String) -> Void
    ) throws(CommandError) -> Invocation {
        let request: Request
        do throws(UsageError) {
            request = try Parser(program: program).parse(arguments)
        } catch { throw .usage(error.message) }
        guard case .run(let command, let given, let operands) = request else {
            throw .usage("help was asked for in place of \(arguments.first ?? "a command")")
        }
        return Invocation(
            program: program, command: command, given: given, operands: operands,
            surroundings: surroundings,
            diagnostics: Diagnostics(
                program: program.name, errors: diagnostics.errors, isJSON: true, isQuiet: true,
                warned: warned))
    }
}
