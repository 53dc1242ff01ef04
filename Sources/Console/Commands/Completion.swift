/// What a shell offers for a value or an argument.
package enum Completion: Sendable {
    /// Nothing.
    case nothing
    /// Names of files.
    case files
    /// Names of directories.
    case directories
    /// Words that the closure finds out. It MUST be quick and MUST NOT print. A word that ends in `/`, `:` or `=` is
    /// not complete: shells put no space after it.
    case words(@Sendable (CompletionContext) -> [String])

    /// The words that a value may be or begin with, where it may be something else, too.
    package static func fixed(_ words: String...) -> Completion { .words { _ in words } }
}

/// What stands on the command line before the word that is being completed.
package struct CompletionContext: Sendable {
    /// The program.
    package let program: Program
    /// The operands so far, without the command word.
    package let operands: [String]
    /// What stands of the word that is being completed.
    package let current: String
    /// Looks up an environment variable.
    package let environment: @Sendable (String) -> String?
    let given: [String: String]
    let options: [Option]

    /// Returns the value of an option: given, else from its variable, else its fallback.
    package func value(_ name: String) -> String? {
        named(name) ?? options.first { $0.name == name }?.fallback
    }

    /// Whether an option stands on the command line, or in its variable.
    package func isNamed(_ name: String) -> Bool { named(name) != nil }

    private func named(_ name: String) -> String? {
        let option = options.first { $0.name == name }
        let variable = option?.environment.flatMap(environment).flatMap { $0.isEmpty ? nil : $0 }
        return given[name] ?? variable
    }
}
