import HotPush

/// CodePush's rule for partial roll-outs.
enum CodePushRollout {
    /// Whether a client gets a release; a nameless client gets only what everybody gets.
    ///
    /// CodePush knows whole per cents: a share is rounded down.
    static func selects(_ client: String?, _ rollout: Rollout?, label: String) -> Bool {
        guard let rollout, rollout.perMille < 1000 else { return true }
        guard let client else { return false }
        return bucket(of: client + "-" + label) < rollout.perMille / 10
    }

    /// The place of a client among a hundred, from 0.
    static func bucket(of identifier: String) -> Int64 {
        Int64(hash(of: identifier).magnitude % 100)
    }

    /// CodePush's hash of UTF-16 units: its server is JavaScript, where only the shift is cut to 32 bits.
    ///
    /// The sum goes beyond them: it grows by at most 2³¹ + 2¹⁶ with each unit.
    static func hash(of text: String) -> Int64 {
        var hash: Int64 = 0
        for unit in text.utf16 {
            let shifted = Int32(truncatingIfNeeded: hash) << 5
            hash = Int64(shifted) &- hash &+ Int64(unit)
        }
        return hash
    }
}
