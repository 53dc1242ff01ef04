/// A program, as one table of its options, its commands, and the meanings of its exit statuses.
///
/// Parsing, help, suggestions and shell completions are all derived from the table.
///
///     static let program = Program(
///         "castree", version: "0.1.0", summary: "keeps every version of an app once",
///         options: [.json, .quiet], commands: [initialize, add, versions])
///
///     @main enum Main {
///         static func main() { program.main() }
///     }
package struct Program: Sendable {
    /// The name that messages and help begin with.
    package let name: String
    package let version: String
    package let summary: String
    package let discussion: String
    /// Options that every command takes, before or after its word.
    package let options: [Option]
    /// The commands, in the order of the help; `help` and `completions` are added at the end.
    package let commands: [Command]
    package let defaultCommand: String?
    /// The exit statuses of its commands, unless they have their own.
    package let statuses: ExitStatuses

    package init(
        _ name: String, version: String, summary: String, discussion: String = "",
        options: [Option] = [.json, .quiet], commands: [Command], defaultCommand: String? = nil,
        statuses: ExitStatuses = ExitStatuses()
    ) {
        self.name = name
        self.version = version
        self.summary = summary
        self.discussion = discussion
        self.options = options
        self.commands = commands + [.help, .completions(of: name)]
        self.defaultCommand = defaultCommand
        self.statuses = statuses
    }

    package func command(named name: String) -> Command? {
        commands.first { $0.name == name }
    }

    /// Whether several commands begin with that word: `trust add`, `trust list`.
    func isGroup(_ word: String) -> Bool { !members(of: word).isEmpty }

    func members(of group: String) -> [String] {
        commands.filter { $0.name.hasPrefix(group + " ") }
            .map { String($0.name.dropFirst(group.count + 1)) }
    }

    var commandNames: [String] { commands.map(\.name) }

    func statuses(of command: Command?) -> ExitStatuses {
        command?.statuses ?? statuses
    }
}
