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
}
