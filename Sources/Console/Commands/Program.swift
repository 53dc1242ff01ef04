/// A program, as one table: its options, its commands, and what its exit statuses mean.
///
/// The table is all there is to a command line: parsing, help, suggestions and shell completions
/// are read from it.
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
    /// The version that `--version` prints.
    package let version: String
    /// What the program is for, in one line without a full stop.
    package let summary: String
    /// What its help says after the summary.
    package let discussion: String
    /// Options that every command takes, before or after its word.
    package let options: [Option]
    /// The commands, in the order of the help; `help` and `completions` are added at the end.
    package let commands: [Command]
    /// The command that runs when the first operand names none.
    package let defaultCommand: String?
    /// The exit statuses of its commands, unless they have their own.
    package let statuses: ExitStatuses

    /// Makes a program.
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

    /// Returns the command of that name, or nil.
    package func command(named name: String) -> Command? {
        commands.first { $0.name == name }
    }

    /// The names that help, suggestions and completions show.
    var visibleNames: [String] {
        commands.filter { !$0.isHidden }.map(\.name)
    }

    /// Returns the exit statuses of a command, or of the program if there is none.
    func statuses(of command: Command?) -> ExitStatuses {
        command?.statuses ?? statuses
    }
}

extension Program {
    /// What is wrong with the table itself; a test of every program expects nothing.
    package var faults: [String] {
        var faults = duplicates(in: commands.map(\.name)).map { "command '\($0)' stands twice" }
        if let defaultCommand, command(named: defaultCommand) == nil {
            faults.append("the default command '\(defaultCommand)' is not in the table")
        }
        for command in commands {
            faults += command.faults(with: options).map { "\(command.name): \($0)" }
        }
        return faults
    }
}

extension Command {
    fileprivate func faults(with globals: [Option]) -> [String] {
        let all = options + globals
        var faults = duplicates(in: all.map(\.name) + ["help"]).map { "--\($0) stands twice" }
        for option in all {
            if let fallback = option.fallback, let objection = option.objection(to: fallback) {
                faults.append("the fallback of --\(option.name) \(objection)")
            }
            if !option.takesValue && (option.environment != nil || option.isRequired) {
                faults.append("the flag --\(option.name) cannot be required or have a variable")
            }
        }
        faults += duplicates(in: arguments.map(\.name)).map { "argument \($0) stands twice" }
        for (argument, next) in zip(arguments, arguments.dropFirst()) {
            let isGap = argument.arity == .optional && (next.arity == .one || next.arity == .some)
            if argument.arity.isOpen || isGap {
                faults.append("\(next.name) cannot stand after \(argument.name)")
            }
        }
        return faults
    }
}

private func duplicates(in names: [String]) -> [String] {
    var seen: Set<String> = []
    return names.filter { !seen.insert($0).inserted }
}
