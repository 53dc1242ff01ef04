package import CASStore
package import VersionTree

// What a manager and a server alike do with versions: the next one is chosen, room is made.
extension VersionStore {
    /// Makes a complete version the next one to be shown.
    ///
    /// - Returns: whether it waits. If it is current already, what was pending no longer waits.
    /// - Throws: `.bannedVersion`, `.incompleteVersion`, `.noVersion`.
    package func putNext(_ version: String) throws(StoreError) -> Bool {
        try activateAtNextBoot(version)
        return try lifecycle().pending == version
    }

    /// Retires what need not be kept to go back to, and collects what only that had.
    ///
    /// - Parameters:
    ///   - keptGoodCount: how many versions that have proved good stay, the current one among them.
    ///   - successor: the version, here or not yet, that takes the place of what has come and was never shown.
    /// - Returns: what went; `nil` if nothing did.
    package func tidy(
        keptGoodCount: Int, for successor: String? = nil
    ) throws(StoreError) -> (versions: [String], byteCount: Int64)? {
        var policy = RetentionPolicy.generations(keptGoodCount)
        policy.successor = successor
        let retired = try retire(planRetention(policy))
        let collected = try collect()
        guard !retired.isEmpty || collected.objectCount > 0 else { return nil }
        return (retired, collected.byteCount)
    }

    /// Retires the releases that came in part, were never whole, and that another one replaces: nobody asks for them again.
    ///
    /// - Parameter successor: the version, here or not yet, for which there is no room.
    /// - Returns: whether one has gone.
    func dropReplacedParts(for successor: String) throws(StoreError) -> Bool {
        let knownGood = try lifecycle().knownGood
        var parts: Set<String> = []
        for version in try versions()
        where version.state == .incomplete && version.version != successor {
            // What has a tree, or proved good, was whole once; a repair may bring back what it has lost.
            if knownGood.contains(version.version) { continue }
            if try !isMaterialized(version.version) { parts.insert(version.version) }
        }
        guard !parts.isEmpty else { return false }
        var policy = RetentionPolicy()
        policy.candidates = parts
        return try !retire(planRetention(policy)).isEmpty
    }
}
