enum CompletionAnswer: Hashable, Sendable {
    case words([CompletionWord])
    case files
    case directories
}

struct CompletionWord: Hashable, Sendable {
    let text: String
    let summary: String
}

/// Answers completions from the table; pure, except for words computed by closures.
struct Completer {
    let program: Program
    let environment: @Sendable (String) -> String?

    /// - Parameter words: the words after the program's name; the last one is being completed.
    func answer(to words: [String]) -> CompletionAnswer {
        let current = words.last ?? ""
        let line = Line(program: program, words: Array(words.dropLast()))
        let context = CompletionContext(
            program: program, operands: line.operands, current: current, environment: environment,
            given: line.given, options: line.options)
        if let option = line.awaiting {
            return values(option.choices, option.completion, context).matching(current)
        }
        if !line.optionsEnded, current.utf8.first == UInt8(ascii: "-") {
            if let spelled = SpelledOption(current), spelled.value != nil {
                guard let option = spelled.option(in: line.options), option.takesValue else {
                    return .words([])
                }
                return values(option.choices, option.completion, context)
                    .prefixed(spelled.text + "=").matching(current)
            }
            return options(of: line).matching(current)
        }
        return operands(of: line, context).matching(current)
    }

    private func options(of line: Line) -> CompletionAnswer {
        let extra = line.command == nil ? [Option.help, .version] : [.help]
        return .words(
            (line.options + extra)
                .filter { $0.repeats || !line.seen.contains($0.name) }
                .map { CompletionWord(text: "--\($0.name)", summary: $0.summary) })
    }

    private func operands(of line: Line, _ context: CompletionContext) -> CompletionAnswer {
        guard let command = line.command else {
            let commands = program.words(after: line.operands).map { word in
                CompletionWord(
                    text: word,
                    summary: program.summary(of: line.operands.prefix(1) + [word]))
            }
            guard let name = program.defaultCommand, let command = program.command(named: name),
                line.operands.isEmpty
            else { return .words(commands) }
            // The word may be a command or the first operand of the default one. A shell shows words or files, not
            // both.
            let first = command.arguments.first.map { values($0.choices, $0.completion, context) }
            guard case .words(let words)? = first else { return .words(commands) }
            return .words(commands + words)
        }
        let index = line.operands.count
        let last = command.arguments.last.flatMap { $0.arity.isOpen ? $0 : nil }
        guard let argument = command.arguments.dropFirst(index).first ?? last else {
            return .words([])
        }
        return values(argument.choices, argument.completion, context)
    }

    private func values(
        _ choices: [String]?, _ completion: Completion, _ context: CompletionContext
    ) -> CompletionAnswer {
        if let choices { return .words(plain(choices)) }
        switch completion {
        case .nothing: return .words([])
        case .files: return .files
        case .directories: return .directories
        case .words(let words): return .words(plain(words(context)))
        }
    }

    private func plain(_ words: [String]) -> [CompletionWord] {
        words.map { CompletionWord(text: $0, summary: "") }
    }
}

extension CompletionAnswer {
    fileprivate func matching(_ prefix: String) -> CompletionAnswer {
        guard case .words(let words) = self else { return self }
        return .words(words.filter { $0.text.utf8.starts(with: prefix.utf8) })
    }

    fileprivate func prefixed(_ prefix: String) -> CompletionAnswer {
        guard case .words(let words) = self else { return self }
        return .words(words.map { CompletionWord(text: prefix + $0.text, summary: $0.summary) })
    }
}

/// The words before the one that is completed, read leniently: nothing is an error.
private struct Line {
    var command: Command?
    var options: [Option]
    var given: [String: String] = [:]
    var seen: Set<String> = []
    var operands: [String] = []
    var awaiting: Option?
    var optionsEnded = false

    init(program: Program, words: [String]) {
        let fallback = program.defaultCommand.flatMap(program.command(named:))
        options = program.options + (fallback?.options ?? [])
        for word in words {
            if let option = awaiting {
                given[option.name] = word
                awaiting = nil
            } else if optionsEnded {
                operands.append(word)
            } else if word == "--" {
                optionsEnded = true
            } else if let spelled = SpelledOption(word) {
                read(spelled)
            } else if command == nil, operands.isEmpty {
                readFirst(word, program, fallback)
            } else if command == nil, operands.count == 1,
                let member = program.command(named: "\(operands[0]) \(word)")
            {
                (command, operands) = (member, [])
                options = member.options + program.options
            } else {
                operands.append(word)
            }
        }
    }

    private mutating func read(_ spelled: SpelledOption) {
        guard let option = spelled.option(in: options) else { return }
        seen.insert(option.name)
        if let value = spelled.value {
            given[option.name] = value
        } else if option.takesValue {
            awaiting = option
        }
    }

    private mutating func readFirst(_ word: String, _ program: Program, _ fallback: Command?) {
        if program.isGroup(word) { return operands.append(word) }
        command = program.command(named: word) ?? fallback
        options = (command?.options ?? []) + program.options
        if command?.name != word { operands.append(word) }
    }
}

extension Program {
    /// What may follow on a command line: the first words of commands, or the second ones of a group.
    func words(after operands: [String]) -> [String] {
        guard let group = operands.first else {
            var words: [String] = []
            for name in commandNames {
                let word = String(name.prefix { $0 != " " })
                if !words.contains(word) { words.append(word) }
            }
            return words
        }
        return operands.count == 1 ? members(of: group) : []
    }

    /// The summary of a command; of a group, its words.
    func summary(of words: [String]) -> String {
        let name = words.joined(separator: " ")
        return command(named: name)?.summary ?? members(of: name).joined(separator: ", ")
    }
}
