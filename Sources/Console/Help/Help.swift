/// Help and usage lines, generated from the table. Pure.
extension Program {
    func usage(of command: Command?) -> String {
        let parts: [String]
        if let command {
            let word = command.name == defaultCommand ? "[\(command.name)]" : command.name
            parts = [word] + command.options.map(\.usage) + command.arguments.map(\.usage)
        } else if let fallback = defaultCommand.flatMap(self.command(named:)) {
            let words = commands.filter { !$0.isBuiltIn }.map(\.name)
            parts =
                ["[\(words.joined(separator: "|"))]", "[OPTIONS]"] + fallback.arguments.map(\.usage)
        } else {
            parts = options.map(\.usage) + ["COMMAND", "[ARGUMENTS]"]
        }
        return wrapped(parts, first: "Usage: \(name) ", indentation: "    ")
    }

    func help(of command: Command?) -> String {
        guard let command else { return programHelp() }
        var sections = [usage(of: command), paragraphs(command.summary.capitalizedSentence)]
        if !command.discussion.isEmpty { sections.append(paragraphs(command.discussion)) }
        sections += sectionOfArguments(command)
        sections += section("Options:", rows(command.options + [.help]))
        sections += section("Options of every command:", rows(options))
        if (command.options + options).contains(where: { $0.placeholder == "TIME" }) {
            sections.append(
                paragraphs(
                    "TIME is one or more numbers with units (\(Invocation.unitsOfTime)): 500ms, 90s, 1h30m, 2 weeks."
                ))
        }
        sections += exitStatuses(of: command)
        return sections.joined(separator: "\n\n") + "\n"
    }

    func help(ofGroup word: String) -> String {
        let members = members(of: word)
        var sections = [
            wrapped(
                ["\(word)", members.joined(separator: "|"), "[ARGUMENTS]"],
                first: "Usage: \(name) ",
                indentation: "    ")
        ]
        sections += section(
            "Commands:",
            commands.filter { $0.name.hasPrefix(word + " ") }.map { ($0.name, $0.summary) })
        sections.append("'\(name) help \(word) WORD' explains one.")
        return sections.joined(separator: "\n\n") + "\n"
    }

    private func programHelp() -> String {
        var sections = [paragraphs("\(name): \(summary)"), usage(of: nil)]
        if !discussion.isEmpty { sections.append(paragraphs(discussion)) }
        let fallback = defaultCommand.flatMap(command(named:))
        sections += section(
            "Commands:",
            commands.map { command in
                let isDefault = command.name == defaultCommand
                return (command.name, command.summary + (isDefault ? " (the default)" : ""))
            })
        if let fallback {
            sections += sectionOfArguments(fallback)
            sections += section("Options of \(fallback.name):", rows(fallback.options))
        }
        sections += section("Options:", rows(options + [.help, .version]))
        sections += exitStatuses(of: nil)
        sections.append("'\(name) help COMMAND' explains a command.")
        return sections.joined(separator: "\n\n") + "\n"
    }

    private func sectionOfArguments(_ command: Command) -> [String] {
        section(
            "Arguments:",
            command.arguments.map { argument in
                let choices = argument.choices.map { ": " + alternatives($0) } ?? ""
                return (argument.name, argument.summary + choices)
            })
    }

    private func rows(_ options: [Option]) -> [(String, String)] {
        options.map { option in
            let spelling = option.name == Option.help.name ? "-h, --help" : option.spelling
            return (spelling, option.summary + option.defaults)
        }
    }

    private func exitStatuses(of command: Command?) -> [String] {
        section(
            "Exit status:", statuses(of: command).help.map { ("\($0.status.rawValue)", $0.meaning) }
        )
    }
}

extension Option {
    /// The defaults of the value, in brackets after the summary.
    fileprivate var defaults: String {
        let sources = [environment.map { "$\($0)" }, fallback].compactMap { $0 }.filter {
            !$0.isEmpty
        }
        let range: String =
            if case .integer(let range) = shape, range.upperBound < Int.max {
                " (\(range.lowerBound) to \(range.upperBound))"
            } else { "" }
        return range
            + (sources.isEmpty ? "" : " [default: \(sources.joined(separator: ", else "))]")
    }
}

private let columnCountMax = 80

/// A section with its rows in two columns; empty without rows.
private func section(_ title: String, _ rows: [(String, String)]) -> [String] {
    guard !rows.isEmpty else { return [] }
    let width = min(28, rows.map { $0.0.columnCount }.max() ?? 0)
    let indentation = String(repeating: " ", count: width + 4)
    let lines = rows.map { name, text in
        let words = text.split(separator: " ").map(String.init)
        if name.columnCount > width {
            return "  \(name)\n" + wrapped(words, first: indentation, indentation: indentation)
        }
        let padding = String(repeating: " ", count: width - name.columnCount + 2)
        return wrapped(words, first: "  \(name)\(padding)", indentation: indentation)
    }
    return [([title] + lines).joined(separator: "\n")]
}

/// Wraps the paragraphs of a text; lines that begin with a space stay as they are.
private func paragraphs(_ text: String) -> String {
    var lines: [String] = []
    var words: [String] = []
    func endParagraph() {
        if !words.isEmpty { lines.append(wrapped(words, first: "", indentation: "")) }
        words = []
    }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        if line.isEmpty || line.hasPrefix(" ") {
            endParagraph()
            lines.append(String(line))
        } else {
            words += line.split(separator: " ").map(String.init)
        }
    }
    endParagraph()
    return lines.joined(separator: "\n")
}

/// Wraps words at 80 columns; a longer word has a line of its own.
private func wrapped(_ words: [String], first: String, indentation: String) -> String {
    var lines: [String] = []
    var line = first
    var isEmpty = true
    for word in words {
        if !isEmpty && line.columnCount + 1 + word.columnCount > columnCountMax {
            lines.append(line)
            line = indentation
            isEmpty = true
        }
        line += (isEmpty ? "" : " ") + word
        isEmpty = false
    }
    return (lines + [line]).joined(separator: "\n")
}

extension String {
    fileprivate var capitalizedSentence: String {
        prefix(1).uppercased() + dropFirst() + (hasSuffix(".") ? "" : ".")
    }
}
