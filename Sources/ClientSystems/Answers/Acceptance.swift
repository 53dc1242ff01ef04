/// The value of `Accept` or `Accept-Encoding` (RFC 9110, section 12.5).
struct Acceptance {
    /// The names in lower case, each with its weight in thousandths.
    private let weights: [(name: String, weight: Int)]

    /// Reads a list, and leaves out elements that break the grammar.
    init(_ list: String) {
        weights = list.split(separator: ",").compactMap { element in
            let parts = element.split(separator: ";", omittingEmptySubsequences: false)
            guard let name = parts.first.map(Self.word), !name.isEmpty else { return nil }
            for parameter in parts.dropFirst() {
                let halves = parameter.split(separator: "=", maxSplits: 1)
                guard halves.count == 2, Self.word(halves[0]) == "q" else { continue }
                guard let weight = Self.weight(Self.word(halves[1])) else { return nil }
                return (name, weight)
            }
            return (name, 1000)
        }
    }

    /// Whether a name is acceptable, by the first of the patterns that the list has: the name itself, then wider ones.
    func takes(_ patterns: [String]) -> Bool {
        for pattern in patterns {
            if let found = weights.first(where: { $0.name == pattern }) { return found.weight > 0 }
        }
        return false
    }

    private static func word(_ text: Substring) -> String {
        text.trimmed { $0 == " " || $0 == "\t" }.lowercased()
    }

    /// Reads `0.5`: at most three digits after the point, and not above 1 (section 12.4.2).
    private static func weight(_ text: String) -> Int? {
        let halves = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let digits = halves.count == 2 ? halves[1] : ""
        guard halves[0] == "0" || halves[0] == "1", digits.utf8.count <= 3,
            digits.utf8.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        let padded = digits + String(repeating: "0", count: 3 - digits.utf8.count)
        let weight = (halves[0] == "1" ? 1000 : 0) + (Int(padded) ?? 0)
        return weight <= 1000 ? weight : nil
    }
}

extension StringProtocol {
    /// The text without blanks at its ends: by default spaces, and the ASCII control characters from tab to return.
    func trimmed(
        _ isBlank: (Unicode.Scalar) -> Bool = { $0 == " " || (9...13).contains($0.value) }
    ) -> String {
        var rest = Substring(self).unicodeScalars
        while let scalar = rest.first, isBlank(scalar) { rest.removeFirst() }
        while let scalar = rest.last, isBlank(scalar) { rest.removeLast() }
        return String(rest)
    }
}
