/// A version by Semantic Versioning 2.0.0, as app stores and publishers number apps.
///
/// Build metadata is checked and dropped, because it has no precedence (semver.org, section 10): two versions are equal
/// if neither precedes the other.
package struct SemanticVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    package var major: UInt64
    package var minor: UInt64
    package var patch: UInt64
    /// The identifiers after the hyphen; empty for a release.
    package var prerelease: [Identifier] = []

    package enum Identifier: Sendable, Hashable, Comparable {
        /// Digits without leading zeros, of any length.
        case number(String)
        /// Letters, digits and hyphens.
        case text(String)

        /// Numbers by value and before texts; texts by ASCII (semver.org, section 11.4).
        package static func < (left: Identifier, right: Identifier) -> Bool {
            switch (left, right) {
            case (.number(let left), .number(let right)):
                let (count, other) = (left.utf8.count, right.utf8.count)
                return count == other
                    ? left.utf8.lexicographicallyPrecedes(right.utf8) : count < other
            case (.number, .text): return true
            case (.text, .number): return false
            case (.text(let left), .text(let right)):
                return left.utf8.lexicographicallyPrecedes(right.utf8)
            }
        }
    }

    package init(_ major: UInt64, _ minor: UInt64, _ patch: UInt64) {
        self.major = major
        self.minor = minor
        self.patch = patch
    }

    /// Reads `1.2.3`, `1.2.3-beta.1`, `1.2.3+5`; `nil` for anything else.
    /// - Parameter padding: also accepts `1` and `1.2`, as app stores do, for `1.0.0` and `1.2.0`.
    package init?(_ text: String, padding: Bool = false) {
        // A NUL, a space or a letter beyond ASCII is refused below, as part of some component.
        let withoutBuild = text.split(
            separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
        if withoutBuild.count == 2 {
            let parts = withoutBuild[1].split(separator: ".", omittingEmptySubsequences: false)
            guard parts.allSatisfy({ Self.isIdentifier($0) }) else { return nil }
        }
        let halves = withoutBuild[0].split(
            separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = halves[0].split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 || padding && (1...2).contains(parts.count) && halves.count == 1
        else { return nil }
        var numbers: [UInt64] = []
        for part in parts {
            guard let number = Self.number(part) else { return nil }
            numbers.append(number)
        }
        while numbers.count < 3 { numbers.append(0) }
        self.init(numbers[0], numbers[1], numbers[2])
        guard halves.count == 2 else { return }
        guard let prerelease = Self.identifiers(halves[1]) else { return nil }
        self.prerelease = prerelease
    }

    /// Reads an app's version as app stores accept it: `1`, `1.2`, `8.1.2.4`, `2.01`, `1.2-beta`; `nil` for anything
    /// else.
    ///
    /// Missing numbers are zeros; numbers beyond the third, and leading zeros, do not count. Used for castree's devices
    /// and for those of other systems.
    package init?(app text: String) {
        let core = text.prefix { $0 != "-" && $0 != "+" }
        var parts = core.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } })
        else { return nil }
        parts = parts.prefix(3).map { part in
            let digits = part.drop { $0 == "0" }
            return digits.isEmpty ? "0" : digits
        }
        while parts.count < 3 { parts.append("0") }
        self.init(parts.joined(separator: ".") + text[core.endIndex...])
    }

    /// Reads the part after the hyphen.
    static func identifiers(_ text: Substring) -> [Identifier]? {
        var result: [Identifier] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard isIdentifier(part) else { return nil }
            if part.utf8.allSatisfy({ (48...57).contains($0) }) {
                guard part == "0" || part.utf8.first != 48 else { return nil }
                result.append(.number(String(part)))
            } else {
                result.append(.text(String(part)))
            }
        }
        return result
    }

    /// Reads a number without leading zeros.
    static func number(_ text: Substring) -> UInt64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }),
            text.utf8.count == 1 || text.utf8.first != 48
        else { return nil }
        return UInt64(text)
    }

    private static func isIdentifier(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
                    || $0 == 45
            }
    }

    /// By precedence (semver.org, section 11).
    package static func < (left: SemanticVersion, right: SemanticVersion) -> Bool {
        let numbers = (left.major, left.minor, left.patch)
        let others = (right.major, right.minor, right.patch)
        guard numbers == others else { return numbers < others }
        if left.prerelease.isEmpty || right.prerelease.isEmpty {
            return !left.prerelease.isEmpty && right.prerelease.isEmpty
        }
        return left.prerelease.lexicographicallyPrecedes(right.prerelease)
    }

    package var description: String {
        let tail = prerelease.map { identifier in
            switch identifier {
            case .number(let text), .text(let text): text
            }
        }
        let core = "\(major).\(minor).\(patch)"
        return tail.isEmpty ? core : core + "-" + tail.joined(separator: ".")
    }
}
