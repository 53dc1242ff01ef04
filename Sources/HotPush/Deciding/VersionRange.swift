/// The versions of an app that a release is for: a range as npm and CodePush spell it.
///
/// Alternatives are separated by `||`; in each, all conditions must hold: `1.2.3`, `>=1.2 <2`, `1.2.x`, `*`, `~1.2.3`,
/// `^1.2.3`, `1.2.3 - 1.4`. A pre-release satisfies a range only if the range names a pre-release of the same three
/// numbers (github.com/npm/node-semver, README, "Prerelease Tags").
package struct VersionRange: Sendable, Hashable, CustomStringConvertible {
    /// The range as it was spelled.
    package let description: String
    private let alternatives: [[Bound]]

    package init?(_ text: String) {
        var alternatives: [[Bound]] = []
        for part in text.split(separator: "||", omittingEmptySubsequences: false) {
            guard let bounds = Self.bounds(of: part) else { return nil }
            alternatives.append(bounds)
        }
        self.alternatives = alternatives
        description = text
    }

    package func contains(_ version: SemanticVersion) -> Bool {
        alternatives.contains { bounds in
            guard bounds.allSatisfy({ $0.admits(version) }) else { return false }
            guard !version.prerelease.isEmpty else { return true }
            return bounds.map(\.version).contains {
                !$0.prerelease.isEmpty && $0.major == version.major && $0.minor == version.minor
                    && $0.patch == version.patch
            }
        }
    }

    /// Whether a version lies above the whole range, so that only an older app would do (node-semver, `gtr`).
    package func isBelow(_ version: SemanticVersion) -> Bool {
        if contains(version) { return false }
        return alternatives.allSatisfy { bounds in
            // Without conditions the range covers all versions from 0.0.0.
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

    private static func bounds(of text: Substring) -> [Bound]? {
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
        case "", "=": version.bounds(.equal)
        case "<": version.bounds(.below)
        case "<=": version.bounds(.atMost)
        case ">": version.bounds(.above)
        case ">=": version.bounds(.atLeast)
        case "~", "~>": version.bounds(agreeing: 2)
        case "^": version.bounds(agreeing: version.significantCount)
        default: nil
        }
    }
}

private struct Bound: Sendable, Hashable {
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

/// A version in a range, which may leave its last numbers open: `1.2`, `1.2.x`, `*`.
private struct PartialVersion {
    /// The numbers that are given, the major first.
    private var numbers: [UInt64] = []
    private var prerelease: [SemanticVersion.Identifier] = []

    init?(_ text: Substring) {
        let text = text.hasPrefix("v") ? text.dropFirst() : text
        let core = text.prefix { $0 != "-" && $0 != "+" }
        let parts = core.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 3 else { return nil }
        var isOpen = false
        for part in parts {
            if part == "x" || part == "X" || part == "*" {
                isOpen = true
            } else {
                // "x.1" means what "x" means.
                guard let number = SemanticVersion.number(part) else { return nil }
                if !isOpen { numbers.append(number) }
            }
        }
        if core.endIndex < text.endIndex {
            // Build metadata and pre-releases need all three numbers, and must be valid.
            guard numbers.count == 3, let whole = SemanticVersion(String(text)) else { return nil }
            prerelease = whole.prerelease
        }
    }

    private func version(_ numbers: [UInt64]) -> SemanticVersion {
        let all = numbers + [0, 0, 0]
        return SemanticVersion(all[0], all[1], all[2])
    }

    /// The first of all pre-releases of the numbers: "-0".
    private func beforeAll(_ numbers: [UInt64]) -> SemanticVersion {
        var version = version(numbers)
        version.prerelease = [.number("0")]
        return version
    }

    /// The end of all versions that agree with it in the first `count` numbers, if there is one.
    private func end(agreeing count: Int) -> [Bound] {
        guard count > 0, numbers[count - 1] < .max else { return [] }
        let next = numbers[..<(count - 1)] + [numbers[count - 1] + 1]
        return [Bound(relation: .below, version: beforeAll(Array(next)))]
    }

    /// Up to the first number that is not 0, or the last one given.
    var significantCount: Int { numbers.firstIndex { $0 > 0 }.map { $0 + 1 } ?? numbers.count }

    /// From it to the end of all versions that agree with it in the first `count` numbers, as far as they are given.
    func bounds(agreeing count: Int) -> [Bound] {
        if numbers.isEmpty { return [] }
        var lowest = version(numbers)
        lowest.prerelease = prerelease
        let end = end(agreeing: min(count, numbers.count))
        return [Bound(relation: .atLeast, version: lowest)] + end
    }

    /// What a sign before it means (node-semver, README, "Advanced Range Syntax").
    func bounds(_ relation: Bound.Relation) -> [Bound] {
        if numbers.count == 3 {
            var version = version(numbers)
            version.prerelease = prerelease
            return [Bound(relation: relation, version: version)]
        }
        let end = end(agreeing: numbers.count)
        let nothing = [Bound(relation: .below, version: beforeAll([]))]
        switch relation {
        case .equal: return bounds(agreeing: 3)
        case .atLeast: return bounds(agreeing: 0)
        case .atMost: return end
        case .above:
            guard var next = end.first?.version else { return nothing }
            next.prerelease = []
            return [Bound(relation: .atLeast, version: next)]
        case .below:
            return numbers.isEmpty
                ? nothing : [Bound(relation: .below, version: beforeAll(numbers))]
        }
    }
}
