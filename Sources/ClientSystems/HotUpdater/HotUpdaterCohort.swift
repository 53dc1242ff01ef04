import HotPush

/// A device's place in hot-updater's roll-outs: a number from 1 to 1000, or the name of a group.
enum HotUpdaterCohort: Hashable {
    case number(Int)
    case name(String)

    static let count = 1000

    init(_ text: String) {
        let name = text.trimmed { $0.properties.isWhitespace }.lowercased()
        let isNumber = !name.isEmpty && name.utf8.allSatisfy { (48...57).contains($0) }
        if isNumber, let number = Int(name), (1...Self.count).contains(number) {
            self = .number(number)
        } else {
            self = .name(name)
        }
    }

    /// Whether a device can send it: a number, or up to 64 of the characters `a–z 0–9 -`.
    var canBeSaid: Bool {
        guard case .name(let name) = self else { return true }
        let isNumber = name.utf8.allSatisfy { (48...57).contains($0) }
        return (1...64).contains(name.utf8.count) && !isNumber
            && name.utf8.allSatisfy { byte in
                (48...57).contains(byte) || (97...122).contains(byte) || byte == UInt8(ascii: "-")
            }
    }

    /// The place of a number in the roll-out of a bundle, from 0: `n` per mille are the first `n` places.
    ///
    /// Each bundle shuffles the numbers: `number - 1 = multiplier · place + offset` modulo 1000, with an invertible
    /// multiplier.
    static func place(of number: Int, in bundle: String) -> Int {
        var multiplier = modulo(hash(of: bundle + ":multiplier"), 997)
        if multiplier == 0 { multiplier = 1 }
        // Coprime to 1000: neither even nor divisible by five.
        while multiplier % 2 == 0 || multiplier % 5 == 0 { multiplier = (multiplier + 1) % count }
        let offset = modulo(hash(of: bundle + ":offset"), count)
        let wanted = modulo(number - 1 - offset, count)
        // The multiplier has an inverse, so exactly one place fits.
        return (0..<count).first { multiplier * $0 % count == wanted } ?? 0
    }

    /// Java's string hash: over UTF-16 units, cut to 32 bits at each step.
    static func hash(of text: String) -> Int {
        var hash: Int32 = 0
        for unit in text.utf16 { hash = (hash << 5) &- hash &+ Int32(unit) }
        return Int(hash)
    }

    private static func modulo(_ value: Int, _ modulus: Int) -> Int {
        let rest = value % modulus
        return rest < 0 ? rest + modulus : rest
    }

    /// Whether a release is for a device: by a group of its own, or by its number.
    ///
    /// A release for groups is for nobody else. A device in a group of its own takes part in no roll-out, not even a
    /// full one.
    static func includes(
        _ cohort: Self?, _ rollout: Rollout?, groups: [String], bundle: String
    ) -> Bool {
        if let cohort, groups.contains(where: { Self($0) == cohort }) { return true }
        let share = groups.isEmpty ? min(max(rollout?.perMille ?? count, 0), count) : 0
        switch cohort {
        case nil: return share >= count
        case .name: return false
        case .number(let number):
            return share >= count || share > 0 && place(of: number, in: bundle) < share
        }
    }
}
