/// A version in a range, which may leave its last numbers open: `1.2`, `1.2.x`, `*`.
struct PartialVersion {
    enum Condition { case below, atMost, exactly, atLeast, above, nearly, compatibly }

    /// The numbers that are given, the major first.
    private var numbers: [UInt64] = []
    private var prerelease: [SemanticVersion.Identifier] = []

    /// Reads a version; `nil` if the text is not one.
    init?(_ text: Substring) {
        let text = text.hasPrefix("v") ? text.dropFirst() : text
        let withoutBuild = text.split(
            separator: "+", maxSplits: 1, omittingEmptySubsequences: false)[0]
        let halves = withoutBuild.split(
            separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = halves[0].split(separator: ".", omittingEmptySubsequences: false)
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
        if text.contains("-") || text.contains("+") {
            // Build metadata and pre-releases need a whole version, and must be valid.
            guard numbers.count == 3, let whole = SemanticVersion(String(text)) else { return nil }
            prerelease = whole.prerelease
        }
    }

    /// The lowest version that matches it.
    private var lowest: SemanticVersion {
        var version = SemanticVersion(number(0), number(1), number(2))
        version.prerelease = prerelease
        return version
    }

    private func number(_ place: Int) -> UInt64 { place < numbers.count ? numbers[place] : 0 }

    /// The end of all versions that agree with it in the first `count` numbers, if there is one.
    private func end(agreeing count: Int) -> Bound? {
        guard count > 0, number(count - 1) < .max else { return nil }
        var numbers: [UInt64] = [0, 0, 0]
        for place in 0..<count { numbers[place] = number(place) }
        numbers[count - 1] += 1
        return Bound(relation: .below, version: Self.beforeAll(numbers[0], numbers[1], numbers[2]))
    }

    /// The first of all pre-releases: "-0".
    private static func beforeAll(
        _ major: UInt64, _ minor: UInt64, _ patch: UInt64
    ) -> SemanticVersion {
        var version = SemanticVersion(major, minor, patch)
        version.prerelease = [.number("0")]
        return version
    }

    private static let nothing = [Bound(relation: .below, version: beforeAll(0, 0, 0))]

    /// The conditions that a sign before the version means (node-semver, README, "Advanced Range
    /// Syntax").
    func bounds(_ condition: Condition) -> [Bound] {
        let isWhole = numbers.count == 3
        let atLeast = Bound(relation: .atLeast, version: lowest)
        switch condition {
        case .exactly:
            if isWhole { return [Bound(relation: .equal, version: lowest)] }
            return numbers.isEmpty ? [] : [atLeast] + list(end(agreeing: numbers.count))
        case .atLeast: return numbers.isEmpty ? [] : [atLeast]
        case .above:
            if isWhole { return [Bound(relation: .above, version: lowest)] }
            guard let end = end(agreeing: numbers.count) else { return Self.nothing }
            var next = end.version
            next.prerelease = []
            return [Bound(relation: .atLeast, version: next)]
        case .below:
            if isWhole { return [Bound(relation: .below, version: lowest)] }
            guard !numbers.isEmpty else { return Self.nothing }
            let first = Self.beforeAll(number(0), number(1), number(2))
            return [Bound(relation: .below, version: first)]
        case .atMost:
            if isWhole { return [Bound(relation: .atMost, version: lowest)] }
            return list(end(agreeing: numbers.count))
        case .nearly:
            return numbers.isEmpty ? [] : [atLeast] + list(end(agreeing: min(numbers.count, 2)))
        case .compatibly:
            guard !numbers.isEmpty else { return [] }
            // Up to the first number that is not 0, or the last one given.
            let significant = numbers.firstIndex { $0 > 0 } ?? numbers.count - 1
            return [atLeast] + list(end(agreeing: significant + 1))
        }
    }

    private func list(_ bound: Bound?) -> [Bound] { bound.map { [$0] } ?? [] }
}
