package import CASStore
import StrictJSON
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

    // Small documents of a store, replaced as a whole; a damaged one, which only another program can have written, counts
    // as none.

    private var root: Int32 { directories.root.raw }

    /// The value of the only member of a document.
    private func noted(_ key: String, in name: String) throws(StoreError) -> String? {
        guard try fileSystem.status(root, name)?.kind == .regular else { return nil }
        let bytes = try fileSystem.contents(root, name, limit: 4096)
        let document = try? JSONValue.parse(bytes)
        return document?[key]?.asString
    }

    private func note(_ key: String, _ text: String, in name: String) throws(StoreError) {
        let document = JSONValue.object([.init(key: key, value: .string(text))])
        try fileSystem.replaceFile(
            root, name, with: JSONWriter.serialize(document, sortedKeys: false),
            token: randomToken(), durably: store.options.isDurable)
    }

    // MARK: The device's name

    /// The device's name in gradual rollouts, drawn by this store because none was given; `nil` if none was needed yet.
    ///
    /// Kept in `device.json`, `{"device":"<32 hexadecimal digits>"}`, used only here and sent to nobody. Copies of a
    /// store that has one are the same device to every rollout.
    package var drawnDevice: String? {
        get throws(StoreError) {
            try noted("device", in: StoreLayout.device).flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// The given name, or the drawn one; draws it if a rollout needs it.
    /// - Parameter isDrawing: whether the store may be changed.
    func deviceName(
        _ given: String?, for audience: Audience, isDrawing: Bool
    ) throws(StoreError) -> String? {
        guard given == nil, let rollout = audience.rollout, rollout.perMille < 1000 else {
            return given
        }
        if let known = try drawnDevice { return known }
        guard isDrawing else { return nil }
        let lock = try store.openLock(StoreLayout.channelsLock)
        try store.waitForLock(lock.raw, exclusive: true)
        // Another process may have drawn one meanwhile.
        if let known = try drawnDevice { return known }
        let drawn = try randomToken() + randomToken()
        try note("device", drawn, in: StoreLayout.device)
        return drawn
    }

    // MARK: The forced version that is pending

    /// The version that an app must show before it continues: a mandatory release, or the replacement of one that was
    /// never shown; `nil` if none is pending.
    ///
    /// Kept in `owed.json`, `{"version":"2"}`, so that closing the app does not evade the version.
    package var pendingForcedVersion: String? {
        get throws(StoreError) { try noted("version", in: StoreLayout.pendingForced) }
    }

    /// Notes durably what is pending from now on.
    func notePendingForced(_ version: String?) throws(StoreError) {
        guard try pendingForcedVersion != version else { return }
        if let version { return try note("version", version, in: StoreLayout.pendingForced) }
        try fileSystem.removeIfPresent(root, StoreLayout.pendingForced)
        try store.sync(root)
    }
}
