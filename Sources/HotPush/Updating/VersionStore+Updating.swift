package import CASStore
package import VersionTree

// Choosing the next version and freeing space, for managers and servers alike.
extension VersionStore {
    /// Makes a complete version the next one to be shown.
    /// - Returns: whether it is pending. If it is already current, nothing is pending afterwards.
    /// - Throws: `.bannedVersion`, `.incompleteVersion`, `.noVersion`.
    package func putNext(_ version: String) throws(StoreError) -> Bool {
        try activateAtNextBoot(version)
        return try lifecycle().pending == version
    }

    /// Retires versions that are not needed for a rollback, and collects their objects.
    /// - Parameters:
    ///   - keptGoodCount: how many known-good versions to keep, including the current one.
    ///   - successor: the version, here or not yet, that replaces downloads which were never shown.
    /// - Returns: `nil` if nothing was deleted.
    package func tidy(
        keptGoodCount: Int, for successor: String? = nil
    ) throws(StoreError) -> (versions: [String], byteCount: Int64)? {
        let retired = try retire(planTidying(keptGoodCount: keptGoodCount, for: successor))
        let collected = try collect()
        guard !retired.isEmpty || collected.objectCount > 0 else { return nil }
        return (retired, collected.byteCount)
    }

    func planTidying(
        keptGoodCount: Int, for successor: String?
    ) throws(StoreError) -> RetentionPlan {
        var policy = RetentionPolicy.generations(keptGoodCount)
        policy.successor = successor
        return try planRetention(policy)
    }

    /// Retires ``replacedParts(for:where:)``; returns whether there were any.
    func dropReplacedParts(
        for successor: String,
        where isReplaced: (ReleaseTerms) -> Bool = { _ in true }
    ) throws(StoreError) -> Bool {
        var policy = RetentionPolicy()
        policy.candidates = try replacedParts(for: successor, where: isReplaced)
        guard policy.candidates?.isEmpty == false else { return false }
        return try !retire(planRetention(policy)).isEmpty
    }

    /// Partial downloads that were never complete and that another release replaces.
    /// - Parameters:
    ///   - successor: the version, here or not yet, that replaces them.
    ///   - isReplaced: whether a version with these terms is replaced; by default, all are.
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
            // A version with a tree, or known good, was complete once; a repair may restore it.
            if knownGood.contains(row.name) { continue }
            if try isMaterialized(row.name) { continue }
            let manifest: Manifest?
            do throws(StoreError) {
                manifest = try manifestUnlessLost(of: row.name)
            } catch {
                // Nothing is known about an unreadable version, so keep it.
                guard error.isOfOneName else { throw error }
                continue
            }
            let terms = manifest.map { ReleaseTerms(of: $0) } ?? ReleaseTerms()
            if isReplaced(terms) { parts.insert(row.name) }
        }
        return parts
    }
}
