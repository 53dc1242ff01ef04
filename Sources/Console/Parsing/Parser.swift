enum Request: Sendable {
    case run(Command, given: [String: [String]], operands: [String])
    case help(Command?)
    case helpOnGroup(String)
    case version
}

/// A command line that does not fit the table.
struct UsageError: ProgramError {
    let code = "usage"
    let status = ExitStatus.usage
    let message: String
    /// The command whose usage line belongs to the report, if the word was known.
    let command: Command?
}

/// Reads command lines by the table of a program.
///
/// Pure: no output, no environment. Two passes: the first finds the command word, the second reads everything with
/// that command's own options, so options may come before and after the word.
struct Parser {
    let program: Program

    func parse(_ arguments: [String]) throws(UsageError) -> Request {
        let word = try commandWord(in: arguments)
        if case .group(let name) = word { return .helpOnGroup(name) }
        var command: Command?
        var place: Range<Int>?
        if case .command(let found, let rest) = word { (command, place) = (found, rest) }
        var reader = Reader(program: program, command: command, arguments: arguments)
        return try reader.read(words: place)
    }

    /// The command of a command line that cannot be read as a whole; nil if none is named.
    func command(in arguments: [String]) -> Command? {
        // Whatever is wrong with the rest, another error is reported.
        guard case .command(let command, _) = try? commandWord(in: arguments) else { return nil }
        return command
    }

    private enum Word {
        /// A command and the position of its words; none if it runs unnamed.
        case command(Command, Range<Int>?)
        /// The first word of several commands, and a request for help on them.
        case group(String)
    }

    /// Finds the command; nil if no word names one, which is right only with `--help` and `--version`.
    private func commandWord(in arguments: [String]) throws(UsageError) -> Word? {
        let fallback = program.defaultCommand.flatMap(program.command(named:))
        let leading = program.options + (fallback?.options ?? [])
        var index = 0
        var asksForHelp = false
        while index < arguments.count {
            let argument = arguments[index]
            if argument == "--" {
                if let fallback { return .command(fallback, nil) }
                index += 1
                break
            }
            guard let spelled = SpelledOption(argument) else { break }
            if spelled.asksForHelp || spelled.asksForVersion {
                asksForHelp = asksForHelp || spelled.asksForHelp
                index += 1
                continue
            }
            guard let option = spelled.option(in: leading) else {
                throw unknownLeadingOption(spelled, among: leading)
            }
            index += option.takesValue && spelled.value == nil ? 2 : 1
        }
        guard index < arguments.count else { return fallback.map { .command($0, nil) } }
        if let command = program.command(named: arguments[index]) {
            return .command(command, index..<index + 1)
        }
        if program.isGroup(arguments[index]) {
            if asksForHelp, index + 1 == arguments.count { return .group(arguments[index]) }
            return try member(in: arguments, at: index)
        }
        if let fallback { return .command(fallback, nil) }
        throw UsageError(
            message: "unknown command '\(arguments[index])'"
                + suggestion(for: arguments[index], among: program.words(after: [])),
            command: nil)
    }

    /// Finds the command of a group, whose second word follows the first.
    private func member(in arguments: [String], at index: Int) throws(UsageError) -> Word {
        let group = arguments[index]
        let members = program.members(of: group)
        guard index + 1 < arguments.count else {
            throw UsageError(
                message: "'\(program.name) \(group)' needs one word more: \(alternatives(members))",
                command: nil)
        }
        let word = arguments[index + 1]
        if SpelledOption(word)?.asksForHelp == true { return .group(group) }
        if let command = program.command(named: "\(group) \(word)") {
            return .command(command, index..<index + 2)
        }
        throw UsageError(
            message: "'\(program.name) \(group)' takes \(alternatives(members)), not '\(word)'"
                + suggestion(for: word, among: members),
            command: nil)
    }

    private func unknownLeadingOption(
        _ spelled: SpelledOption, among known: [Option]
    ) -> UsageError {
        let owners = program.commands.filter { command in
            command.options.contains { $0.name == spelled.name }
        }
        if let owner = owners.first {
            return UsageError(
                message: "--\(spelled.name) is an option of '\(program.name) \(owner.name)';"
                    + " write it after the command",
                command: owners.count == 1 ? owner : nil)
        }
        return .unknown(spelled, among: known + [.help, .version], of: nil)
    }
}

extension UsageError {
    static func unknown(
        _ spelled: SpelledOption, among known: [Option], of command: Command?
    ) -> UsageError {
        // The text of a key in place of its file's name begins like an option, and must not be repeated.
        guard !spelled.text.hasPrefix("-----BEGIN") else {
            return UsageError(
                message: "the text of a key was given, and the name of its file is wanted",
                command: command)
        }
        return UsageError(
            message: "unknown option '\(spelled.text)'"
                + suggestion(for: spelled.name, among: known.map(\.name), prefix: "--"),
            command: command)
    }
}

/// An argument that is spelled like an option: `--name`, `--name=value`, `-h`.
struct SpelledOption {
    let text: String
    let name: String
    let value: String?
    private let isLong: Bool

    /// Returns nil for operands; a lone hyphen is one.
    init?(_ argument: String) {
        // Bytes, not characters: a combining mark after a hyphen must not hide it.
        let bytes = argument.utf8
        guard bytes.first == UInt8(ascii: "-"), bytes.count > 1 else { return nil }
        isLong = bytes.starts(with: "--".utf8)
        let equals = bytes.firstIndex(of: UInt8(ascii: "="))
        text = String(argument.unicodeScalars[..<(equals ?? argument.endIndex)])
        name = String(text.unicodeScalars.dropFirst(isLong ? 2 : 1))
        value = equals.map { String(argument.unicodeScalars[bytes.index(after: $0)...]) }
    }

    var asksForHelp: Bool { isLong ? name == Option.help.name : name == "h" }

    var asksForVersion: Bool { isLong && name == Option.version.name }

    /// The option it names; single hyphens name none but `-h`.
    func option(in known: [Option]) -> Option? {
        isLong ? known.first { $0.name == name } : nil
    }
}
