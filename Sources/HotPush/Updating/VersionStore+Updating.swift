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
        let retired = try retire(planTidying(keptGoodCount: keptGoodCount, for: successor))
        let collected = try collect()
        guard !retired.isEmpty || collected.objectCount > 0 else { return nil }
        return (retired, collected.byteCount)
    }

    /// Decides what ``tidy(keptGoodCount:for:)`` retires.
    func planTidying(
        keptGoodCount: Int, for successor: String?
    ) throws(StoreError) -> RetentionPlan {
        var policy = RetentionPolicy.generations(keptGoodCount)
        policy.successor = successor
        return try planRetention(policy)
    }

    /// Retires ``replacedParts(for:where:)``: nobody asks for them again.
    ///
    /// - Returns: whether one has gone.
    func dropReplacedParts(
        for successor: String,
        where isReplaced: (ReleaseTerms) -> Bool = { _ in true }
    ) throws(StoreError) -> Bool {
        var policy = RetentionPolicy()
        policy.candidates = try replacedParts(for: successor, where: isReplaced)
        guard policy.candidates?.isEmpty == false else { return false }
        return try !retire(planRetention(policy)).isEmpty
    }

    /// The releases that came in part, were never whole, and that another one replaces.
    ///
    /// - Parameters:
    ///   - successor: the version, here or not yet, that replaces them.
    ///   - isReplaced: whether one with these terms is; by default, each is.
    func replacedParts(
        for successor: String,
        where isReplaced: (ReleaseTerms) -> Bool = { _ in true }
    ) throws(StoreError) -> Set<String> {
        var parts: Set<String> = []
        let others = try store.versionRows().map(\.row)
            .filter { !$0.isComplete && $0.name != successor }
        guard !others.isEmpty else { return parts }
        let knownGood = try lifecycle().knownGood
        for row in others {
            // What has a tree, or proved good, was whole once; a repair may bring back what it has lost.
            if knownGood.contains(row.name) { continue }
            if try isMaterialized(row.name) { continue }
            let manifest: Manifest?
            do throws(StoreError) {
                manifest = try manifestUnlessLost(of: row.name)
            } catch {
                // Of what cannot be read, nobody knows what it is.
                guard error.isOfOneName else { throw error }
                continue
            }
            let terms = manifest.map { ReleaseTerms(of: $0) } ?? ReleaseTerms()
            if isReplaced(terms) { parts.insert(row.name) }
        }
        return parts
    }
}
