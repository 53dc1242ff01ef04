import Platform

/// The value of `Accept` or `Accept-Encoding` (RFC 9110, section 12.5).
struct Acceptance {
    /// By lower-case name, the weight in thousandths.
    private let weights: [(name: String, weight: Int)]

    /// Skips elements that break the grammar.
    init(_ list: String) {
        weights = list.split(separator: ",").compactMap { element in
            let parts = element.split(separator: ";", omittingEmptySubsequences: false)
            guard let name = parts.first.map(Self.word), !name.isEmpty else { return nil }
            for parameter in parts.dropFirst() {
                let halves = parameter.split(separator: "=", maxSplits: 1)
                guard halves.count == 2, Self.word(halves[0]) == "q" else { continue }
                guard let weight = acceptWeight(Self.word(halves[1]).utf8) else { return nil }
                return (name, weight)
            }
            return (name, 1000)
        }
    }

    /// Whether a name is acceptable, by the first of these patterns that the list contains: the exact name, then
    /// wider ones.
    func takes(_ patterns: [String]) -> Bool {
        for pattern in patterns {
            if let found = weights.first(where: { $0.name == pattern }) { return found.weight > 0 }
        }
        return false
    }

    private static func word(_ text: Substring) -> String {
        text.trimmed { $0 == " " || $0 == "\t" }.lowercased()
    }
}

extension StringProtocol {
    func trimmed(
        _ isBlank: (Unicode.Scalar) -> Bool = { $0 == " " || (9...13).contains($0.value) }
    ) -> String {
        String(Substring(self).unicodeScalars.trimmed(where: isBlank))
    }
}
