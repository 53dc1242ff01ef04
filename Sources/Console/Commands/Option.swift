/// An option of a program or a command, as the table declares it.
package struct Option: Sendable {
    /// What the option takes.
    package enum Shape: Sendable {
        /// Nothing: the option is given or not.
        case flag
        /// A text; help shows the placeholder in its place.
        case text(placeholder: String)
        /// One of the words listed.
        case choice([String])
        /// A whole number within the range.
        case integer(ClosedRange<Int>)
    }

    /// The name, without the two hyphens.
    package let name: String
    /// What it takes.
    package let shape: Shape
    /// What it does, in a few words.
    package let summary: String
    /// Whether it may be given more than once; otherwise the last one counts.
    package var repeats = false
    /// Whether the command cannot do without it.
    package var isRequired = false
    /// The environment variable that stands in for it; an empty one counts as unset.
    package var environment: String?
    /// The value when neither the option nor the variable is given.
    package var fallback: String?
    /// What a shell offers for its value.
    package var completion = Completion.nothing

    /// Makes an option that is given or not.
    package static func flag(_ name: String, _ summary: String) -> Option {
        Option(name: name, shape: .flag, summary: summary)
    }

    /// Makes an option that takes a text.
    package static func text(
        _ name: String, placeholder: String, _ summary: String, required: Bool = false,
        repeats: Bool = false, environment: String? = nil, fallback: String? = nil,
        completion: Completion = .nothing
    ) -> Option {
        Option(
            name: name, shape: .text(placeholder: placeholder), summary: summary, repeats: repeats,
            isRequired: required, environment: environment, fallback: fallback,
            completion: completion)
    }

    /// Makes an option that takes one of the words given.
    package static func choice(
        _ name: String, of words: [String], _ summary: String, fallback: String? = nil
    ) -> Option {
        Option(name: name, shape: .choice(words), summary: summary, fallback: fallback)
    }

    /// Makes an option that takes a whole number within a range.
    package static func integer(
        _ name: String, in range: ClosedRange<Int>, _ summary: String, fallback: Int? = nil
    ) -> Option {
        Option(
            name: name, shape: .integer(range), summary: summary,
            fallback: fallback.map { "\($0)" })
    }

    /// `--json`: one JSON document on standard output; errors as JSON on standard error.
    package static let json = flag("json", "print one JSON document, also for errors")
    /// `--quiet`: no progress and no notes.
    package static let quiet = flag("quiet", "print no progress and no notes")
    /// `--bytes`: sizes as exact counts of bytes.
    package static let bytes = flag("bytes", "print sizes in bytes")
    /// `--help` and `-h`, which every program and every command has.
    static let help = flag("help", "print this help")
    /// `--version`, which every program has.
    static let version = flag("version", "print the version of the program")
}

extension Option {
    package var takesValue: Bool {
        if case .flag = shape { false } else { true }
    }

    /// The words it may be, or nil if it is no choice.
    var choices: [String]? {
        if case .choice(let words) = shape { words } else { nil }
    }

    /// What stands for the value in help, or nil for a flag.
    var placeholder: String? {
        switch shape {
        case .flag: nil
        case .text(let placeholder): placeholder
        case .integer: "N"
        case .choice(let words): words.joined(separator: "|")
        }
    }

    /// The option as help spells it: `--mode link|copy`.
    var spelling: String {
        placeholder.map { "--\(name) \($0)" } ?? "--\(name)"
    }

    /// Its part of a usage line: in brackets unless required.
    var usage: String {
        (isRequired ? spelling : "[\(spelling)]") + (repeats ? "..." : "")
    }

    /// Returns what is wrong with a value, as the end of a sentence, or nil if nothing is.
    func objection(to value: String) -> String? {
        switch shape {
        case .flag, .text:
            return nil
        case .choice(let words):
            if words.contains(value) { return nil }
            return "takes \(alternatives(words)), not '\(value)'"
                + suggestion(for: value, among: words)
        case .integer(let range):
            if let number = Int(value), range.contains(number) { return nil }
            return "takes a whole number from \(range.lowerBound) to \(range.upperBound),"
                + " not '\(value)'"
        }
    }
}
