/// An option of a program or a command, as the table declares it.
package struct Option: Sendable {
    package enum Shape: Sendable {
        case flag
        /// Takes a text, for which help shows the placeholder.
        case text(placeholder: String)
        /// Takes one of the words listed.
        case choice([String])
        case integer(ClosedRange<Int>)
    }

    package let name: String
    package let shape: Shape
    package let summary: String
    /// Whether it may be given more than once; otherwise the last one counts.
    package var repeats = false
    package var isRequired = false
    /// The environment variable used if it is not given; an empty one counts as unset.
    package var environment: String?
    package var fallback: String?
    package var completion = Completion.nothing

    package static func flag(_ name: String, _ summary: String) -> Option {
        Option(name: name, shape: .flag, summary: summary)
    }

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

    package static func choice(
        _ name: String, of words: [String], _ summary: String, fallback: String? = nil
    ) -> Option {
        Option(name: name, shape: .choice(words), summary: summary, fallback: fallback)
    }

    package static func integer(
        _ name: String, in range: ClosedRange<Int>, _ summary: String, fallback: Int? = nil
    ) -> Option {
        Option(
            name: name, shape: .integer(range), summary: summary,
            fallback: fallback.map { "\($0)" })
    }

    /// `--json`: one JSON document on standard output; errors as JSON on standard error.
    package static let json = flag("json", "print one JSON document, even for errors")
    package static let quiet = flag("quiet", "print no progress and no notes")
    package static let bytes = flag("bytes", "print sizes in bytes")
    static let help = flag("help", "print this help")
    static let version = flag("version", "print the version of the program")
}

extension Option {
    package var takesValue: Bool {
        if case .flag = shape { false } else { true }
    }

    var choices: [String]? {
        if case .choice(let words) = shape { words } else { nil }
    }

    var placeholder: String? {
        switch shape {
        case .flag: nil
        case .text(let placeholder): placeholder
        case .integer: "N"
        case .choice(let words): words.joined(separator: "|")
        }
    }

    var spelling: String {
        placeholder.map { "--\(name) \($0)" } ?? "--\(name)"
    }

    /// Its part of a usage line: in brackets unless required.
    var usage: String {
        (isRequired ? spelling : "[\(spelling)]") + (repeats ? "..." : "")
    }

    /// What is wrong with a value, as the end of a sentence; nil if nothing is.
    func objection(to value: String) -> String? {
        switch shape {
        case .flag: return nil
        case .text(let placeholder):
            // What an unset variable of a unit or a script gives.
            guard value.allSatisfy(\.isWhitespace) else { return nil }
            return "takes \(placeholder), not an empty text"
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
