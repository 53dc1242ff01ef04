/// What was asked of a storage in vain, for a minute: whoever can ask a server can ask for anything.
///
/// Times are in milliseconds, by a clock that never goes back.
struct MirrorAbsences: Sendable {
    /// When something was found missing, by its key.
    private var keys: [String: Int64] = [:]
    /// When those were that nobody knew to be there, the oldest first.
    private var strays: [Int64] = []

    /// How long it is believed that something is not there.
    static let lifetime: Int64 = 60_000
    /// After so many vain requests in that time, what nobody knows to be there is not asked for.
    static let strayCountMax = 64
    private static let keyCountMax = 1_024

    /// Whether a key was found missing a short time ago.
    func has(_ key: String, at time: Int64) -> Bool {
        keys[key].map { time - $0 < Self.lifetime } ?? false
    }

    /// Whether so much was asked for in vain that nothing more is, for a while.
    func isFull(at time: Int64) -> Bool {
        strays.count >= Self.strayCountMax && time - (strays.first ?? 0) < Self.lifetime
    }

    /// Notes that a key is not there.
    /// - Parameter isStray: whether nobody knew it to be there.
    mutating func note(_ key: String, isStray: Bool, at time: Int64) {
        if keys.count >= Self.keyCountMax {
            keys = keys.filter { time - $0.value < Self.lifetime }
            if keys.count >= Self.keyCountMax { keys = [:] }
        }
        keys[key] = time
        guard isStray else { return }
        strays.append(time)
        if strays.count > Self.strayCountMax { strays.removeFirst() }
    }

    /// Forgets that a key is missing.
    mutating func forget(_ key: String) { keys[key] = nil }

    /// Forgets which keys are missing: the storage has changed.
    mutating func forgetKeys() { keys = [:] }
}
