package import HotPush

/// A device's place in hot-updater's roll-outs: a number from 1 to 1000, or the name of a group.
package enum HotUpdaterCohort: Hashable {
    case number(Int)
    case name(String)

    /// The number of numbers.
    package static let count = 1000

    /// Reads a cohort as it stands in a path: case and blanks around it do not count.
    package init(_ text: String) {
        let name = Self.trimmed(text).lowercased()
        let isNumber = !name.isEmpty && name.utf8.allSatisfy { (48...57).contains($0) }
        if isNumber, let number = Int(name), (1...Self.count).contains(number) {
            self = .number(number)
        } else {
            self = .name(name)
        }
    }

    private static func trimmed(_ text: String) -> String {
        var rest = text[...]
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }

    /// Whether devices can say that they are in it: a number, or up to 64 of the characters `a–z 0–9 -`.
    package var canBeSaid: Bool {
        guard case .name(let name) = self else { return true }
        let isNumber = name.utf8.allSatisfy { (48...57).contains($0) }
        return (1...64).contains(name.utf8.count) && !isNumber
            && name.utf8.allSatisfy { byte in
                (48...57).contains(byte) || (97...122).contains(byte) || byte == UInt8(ascii: "-")
            }
    }

    /// The place of a number in the roll-out of a bundle, from 0: the first `n` of them are those of `n` per mille.
    ///
    /// Each bundle shuffles the numbers in its own way: `number - 1 = multiplier · place + offset` modulo 1000, with a
    /// multiplier that has an inverse.
    package static func place(of number: Int, in bundle: String) -> Int {
        var multiplier = modulo(hash(of: bundle + ":multiplier"), 997)
        if multiplier == 0 { multiplier = 1 }
        // Prime to 1000: neither even nor divisible by five.
        while multiplier % 2 == 0 || multiplier % 5 == 0 { multiplier = (multiplier + 1) % count }
        let offset = modulo(hash(of: bundle + ":offset"), count)
        let wanted = modulo(number - 1 - offset, count)
        // The multiplier has an inverse, so exactly one place fits.
        return (0..<count).first { multiplier * $0 % count == wanted } ?? 0
    }

    /// The hash of UTF-16 units that Java's and JavaScript's programmers know, cut to 32 bits at each step.
    package static func hash(of text: String) -> Int {
        var hash: Int32 = 0
        for unit in text.utf16 { hash = (hash << 5) &- hash &+ Int32(unit) }
        return Int(hash)
    }

    private static func modulo(_ value: Int, _ modulus: Int) -> Int {
        let rest = value % modulus
        return rest < 0 ? rest + modulus : rest
    }
}

/// Which cohorts a release is for.
package struct HotUpdaterAudience: Hashable {
    /// How many of the numbers get it.
    package var count = HotUpdaterCohort.count
    /// Cohorts that get it whatever their number.
    package var targets: Set<HotUpdaterCohort> = []

    /// The audience of a roll-out and of groups: a release for groups is for nobody else.
    package init(_ rollout: Rollout?, groups: [String]) {
        targets = Set(groups.map { HotUpdaterCohort($0) })
        count = groups.isEmpty ? min(max(rollout?.perMille ?? 1000, 0), 1000) : 0
    }

    /// Whether a device is in it; one in a group of its own takes part in no roll-out, not even in a whole one.
    package func includes(_ cohort: HotUpdaterCohort?, bundle: String) -> Bool {
        if let cohort, targets.contains(cohort) { return true }
        switch cohort {
        case nil: return count >= HotUpdaterCohort.count
        case .name: return false
        case .number(let number):
            if count >= HotUpdaterCohort.count { return true }
            return count > 0 && HotUpdaterCohort.place(of: number, in: bundle) < count
        }
    }
}
