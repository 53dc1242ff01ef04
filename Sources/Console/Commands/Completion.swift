/// The completions that a shell offers for a value or an argument.
package enum Completion: Sendable {
    case nothing
    case files
    case directories
    /// Words computed by the closure, which must be quick and must not print; no space follows `/`, `:` or `=`.
    case words(@Sendable (CompletionContext) -> [String])

    /// Suggests words for a value that may be or begin with other text, too.
    package static func fixed(_ words: String...) -> Completion { .words { _ in words } }
}

/// The command line before the word that is being completed.
package struct CompletionContext: Sendable {
    package let program: Program
    package let operands: [String]
    package let current: String
    package let environment: @Sendable (String) -> String?
    let given: [String: String]
    let options: [Option]

    /// The value of an option: given, else from its variable, else its fallback.
    package func value(_ name: String) -> String? {
        named(name) ?? options.first { $0.name == name }?.fallback
    }

    /// Whether an option is on the command line, or in its variable.
    package func isNamed(_ name: String) -> Bool { named(name) != nil }

    private func named(_ name: String) -> String? {
        let option = options.first { $0.name == name }
        let variable = option?.environment.flatMap(environment).flatMap { $0.isEmpty ? nil : $0 }
        return given[name] ?? variable
    }
}
