/// Reads the arguments of one command, left to right: the second pass of the parser.
struct Reader {
    private let program: Program
    private let command: Command?
    private let arguments: [String]
    private let known: [Option]
    private var index = 0
    private var given: [String: [String]] = [:]
    private var operands: [String] = []

    init(program: Program, command: Command?, arguments: [String]) {
        self.program = program
        self.command = command
        self.arguments = arguments
        known = (command?.options ?? []) + program.options
    }

    /// - Parameter words: the position of the command's words; nil if it was left out.
    mutating func read(words: Range<Int>?) throws(UsageError) -> Request {
        var optionsEnded = false
        while index < arguments.count {
            let argument = arguments[index]
            index += 1
            if let words, words.contains(index - 1) { continue }
            if !optionsEnded && argument == "--" {
                optionsEnded = true
            } else if !optionsEnded, let spelled = SpelledOption(argument) {
                // A command may have a --version of its own; before its word, it is the program's.
                let isLeading = words.map { index - 1 < $0.lowerBound } ?? false
                // `castree-fsck --help` asks about the program, although a command would run by default.
                if spelled.asksForHelp { return .help(words == nil ? nil : command) }
                if spelled.asksForVersion
                    && (isLeading || spelled.option(in: known) == nil)
                {
                    return .version
                }
                try read(spelled)
            } else {
                operands.append(argument)
            }
        }
        guard let command else {
            throw error("no command given")
        }
        try checkOperands(of: command)
        try checkRequiredOptions(of: command)
        return .run(command, given: given, operands: operands)
    }

    private mutating func read(_ spelled: SpelledOption) throws(UsageError) {
        guard let option = spelled.option(in: known) else {
            throw .unknown(spelled, among: known + [.help], of: command)
        }
        guard option.takesValue else {
            if spelled.value != nil { throw error("option \(spelled.text) takes no value") }
            given[option.name] = []
            return
        }
        let value = if let value = spelled.value { value } else { try nextValue(of: option) }
        if let objection = option.objection(to: value) {
            throw error("option --\(option.name) \(objection)")
        }
        given[option.name, default: []].append(value)
    }

    /// Takes the next argument, whatever it is, unless it is a known option, which was hardly meant as a value.
    private mutating func nextValue(of option: Option) throws(UsageError) -> String {
        let needs = "option --\(option.name) needs a value"
        guard index < arguments.count else { throw error(needs) }
        let value = arguments[index]
        let isOption =
            value == "--"
            || SpelledOption(value).map { $0.asksForHelp || $0.option(in: known) != nil } ?? false
        if isOption {
            throw error("\(needs); if it is '\(value)', write --\(option.name)=\(value)")
        }
        index += 1
        return value
    }

    private func checkOperands(of command: Command) throws(UsageError) {
        let required = command.arguments.filter(\.isRequired)
        if operands.count < required.count {
            throw error("missing argument \(required[operands.count].name)")
        }
        let isOpen = command.arguments.last?.arity.isOpen ?? false
        if !isOpen && operands.count > command.arguments.count {
            throw surplus(operands[command.arguments.count])
        }
        for (argument, operand) in zip(command.arguments, operands) {
            guard let choices = argument.choices, !choices.contains(operand) else { continue }
            throw error(
                "\(argument.name) must be \(alternatives(choices)), not '\(operand)'"
                    + suggestion(for: operand, among: choices))
        }
    }

    /// With a default command, a mistyped command word is read as an operand: point at the word.
    private func surplus(_ operand: String) -> UsageError {
        let word = operands.first ?? ""
        let hint =
            program.defaultCommand == command?.name && !arguments.contains(command?.name ?? "")
            ? nearest(to: word, among: program.commandNames) : nil
        if let hint {
            return error("unknown command '\(word)'; did you mean '\(hint)'?")
        }
        return error("unexpected argument '\(operand)'")
    }

    private func checkRequiredOptions(of command: Command) throws(UsageError) {
        for option in command.options where option.isRequired && given[option.name] == nil {
            throw error("missing option \(option.spelling)")
        }
    }

    private func error(_ message: String) -> UsageError {
        UsageError(message: message, command: command)
    }
}
