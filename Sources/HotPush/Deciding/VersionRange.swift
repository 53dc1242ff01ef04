/// Which versions of an app a release is for: a range as npm and CodePush spell it.
///
/// Alternatives separated by `||`; in each, conditions that must all hold: `1.2.3`, `>=1.2 <2`,
/// `1.2.x`, `*`, `~1.2.3`, `^1.2.3`, `1.2.3 - 1.4`. A pre-release satisfies a range only if the
/// range names a pre-release of the same three numbers (github.com/npm/node-semver, README,
/// "Prerelease Tags").
package struct VersionRange: Sendable, Hashable, CustomStringConvertible {
    /// The range as it was spelled.
    package let description: String
    private let alternatives: [[Bound]]

    /// Reads a range; `nil` if the text is not one.
    package init?(_ text: String) {
        var alternatives: [[Bound]] = []
        for part in Self.alternatives(of: text) {
            guard let bounds = Self.bounds(of: part) else { return nil }
            alternatives.append(bounds)
        }
        self.alternatives = alternatives
        description = text
    }

    /// Whether a version is in the range.
    package func contains(_ version: SemanticVersion) -> Bool {
        alternatives.contains { bounds in
            guard bounds.allSatisfy({ $0.admits(version) }) else { return false }
            guard !version.prerelease.isEmpty else { return true }
            return bounds.contains { bound in
                !bound.version.prerelease.isEmpty && bound.version.hasNumbers(of: version)
            }
        }
    }

    /// Whether a version lies above all of the range, so that only an older app would do (node-semver, `gtr`).
    package func isBelow(_ version: SemanticVersion) -> Bool {
        if contains(version) { return false }
        return alternatives.allSatisfy { bounds in
            // Without conditions it reaches from 0.0.0 to the end of all versions.
            guard var high = bounds.first, var low = bounds.first else { return false }
            for bound in bounds {
                if bound.version > high.version {
                    high = bound
                } else if bound.version < low.version {
                    low = bound
                }
            }
            if high.relation == .atLeast || high.relation == .above { return false }
            return switch low.relation {
            case .equal, .above: version > low.version
            case .atLeast: version >= low.version
            case .below, .atMost: true
            }
        }
    }

    // MARK: Reading

    private static func alternatives(of text: String) -> [String] {
        var parts = [""]
        var previousIsBar = false
        for character in text {
            if character == "|", previousIsBar {
                parts[parts.count - 1].removeLast()
                parts.append("")
                previousIsBar = false
            } else {
                parts[parts.count - 1].append(character)
                previousIsBar = character == "|"
            }
        }
        return parts
    }

    private static func bounds(of text: String) -> [Bound]? {
        var words = text.split(separator: " ")
        if words.count == 3, words[1] == "-" {
            guard let low = PartialVersion(words[0]), let high = PartialVersion(words[2]) else {
                return nil
            }
            return low.bounds(.atLeast) + high.bounds(.atMost)
        }
        // "> 1.2" is ">1.2".
        var position = 0
        while position + 1 < words.count {
            if words[position].allSatisfy({ "<>=~^".contains($0) }) {
                words[position] += words.remove(at: position + 1)
            }
            position += 1
        }
        var bounds: [Bound] = []
        for word in words {
            guard let more = Self.bounds(ofWord: word) else { return nil }
            bounds += more
        }
        return bounds
    }

    private static func bounds(ofWord word: Substring) -> [Bound]? {
        let signs = word.prefix { "<>=~^".contains($0) }
        guard let version = PartialVersion(word.dropFirst(signs.count)) else { return nil }
        return switch signs {
        case "", "=": version.bounds(.exactly)
        case "<": version.bounds(.below)
        case "<=": version.bounds(.atMost)
        case ">": version.bounds(.above)
        case ">=": version.bounds(.atLeast)
        case "~", "~>": version.bounds(.nearly)
        case "^": version.bounds(.compatibly)
        default: nil
        }
    }
}

/// One condition on a version.
struct Bound: Sendable, Hashable {
    enum Relation: Sendable, Hashable { case below, atMost, equal, atLeast, above }

    var relation: Relation
    var version: SemanticVersion

    func admits(_ other: SemanticVersion) -> Bool {
        switch relation {
        case .below: other < version
        case .atMost: other <= version
        case .equal: other == version
        case .atLeast: other >= version
        case .above: other > version
        }
    }
}

extension SemanticVersion {
    fileprivate func hasNumbers(of other: SemanticVersion) -> Bool {
        major == other.major && minor == other.minor && patch == other.patch
    }
}
