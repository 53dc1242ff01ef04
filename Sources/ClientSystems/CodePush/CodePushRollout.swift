import HotPush

enum CodePushRollout {
    /// Whether a client gets a release: shares are whole per cents, rounded down; without a name, only full
    /// roll-outs.
    static func selects(_ client: String?, _ rollout: Rollout?, label: String) -> Bool {
        guard let rollout, rollout.perMille < 1000 else { return true }
        guard let client else { return false }
        return bucket(of: client + "-" + label) < rollout.perMille / 10
    }

    static func bucket(of identifier: String) -> Int64 {
        Int64(hash(of: identifier).magnitude % 100)
    }

    /// CodePush's hash over UTF-16 units; its server is JavaScript, where only the shift is cut to 32 bits.
    ///
    /// The sum may exceed them: each unit adds at most 2³¹ + 2¹⁶.
    static func hash(of text: String) -> Int64 {
        var hash: Int64 = 0
        for unit in text.utf16 {
            let shifted = Int32(truncatingIfNeeded: hash) << 5
            hash = Int64(shifted) &- hash &+ Int64(unit)
        }
        return hash
    }
}
