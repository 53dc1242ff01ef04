package import CASStore

/// The effect of retiring a set of versions and collecting.
package struct Retirement: Sendable, Hashable {
    /// The versions, newest first.
    package var versions: [String]
    /// The number of objects that only they name.
    package var objects: Int
    /// The size of those objects, which a collection frees.
    package var bytes: Int64
    /// The sum of what retiring each of them alone would free, without content that only they share.
    package var separateBytes: Int64
    /// The disk space freed, in bytes: objects, executable copies, manifests, and the trees' directories.
    package var diskBytes: Int64
    /// The sum of the disk space freed by retiring each of them alone.
    package var separateDiskBytes: Int64
    /// Versions that cannot be retired now, if all of them are to go.
    package var refused: [RetentionPlan.Verdict]
}

extension VersionStore {
    /// What retiring versions together would free, including content that only they share; changes nothing.
    ///
    /// Costs what these versions name and show.
    /// - Throws: `.noVersion`.
    package func retirement(of names: [String]) throws(StoreError) -> Retirement {
        let (rows, objects, bytes) = try store.freed(retiring: names)
        let diskBytes = try freedOnDisk(retiring: rows, objects)
        var separateDiskBytes = rows.count == 1 ? diskBytes : 0
        for row in rows where rows.count > 1 {
            let own = try store.freed(retiring: [row.name]).objects
            separateDiskBytes += try freedOnDisk(retiring: [row], own)
        }
        let lifecycle = try lifecycle()
        // Removes no dead pins: without the lifecycle lock, one may just be in the making.
        let pins = try pinnedVersions()
        let reasons = try pinReasons()
        let names = rows.map(\.name)
        let refused = try refusals(of: names, lifecycle, pinned: pins, reasons)
        return Retirement(
            versions: names, objects: objects.count, bytes: bytes,
            separateBytes: rows.reduce(0) { $0 + $1.uniqueByteCount },
            diskBytes: diskBytes, separateDiskBytes: separateDiskBytes, refused: refused)
    }

    /// The versions that cannot be retired now, if all are to go; of known good ones the newest stays.
    private func refusals(
        of names: [String], _ lifecycle: Lifecycle, pinned: Set<String>,
        _ pinReasons: [String: String]
    ) throws(StoreError) -> [RetentionPlan.Verdict] {
        var left = lifecycle
        var reasons: [String: String] = [:]
        let place = { (name: String) in lifecycle.knownGood.firstIndex(of: name) ?? 0 }
        // Oldest first: what stays is what a rollback would choose.
        for name in names.sorted(by: { place($0) > place($1) }) {
            let pin =
                pinned.contains(name)
                ? pinReasons[name] ?? "a server still shows it to a page" : nil
            if let reason = try need(of: name, lifecycle)?.rawValue ?? pin {
                reasons[name] = reason
            } else if try need(of: name, left) != nil {
                reasons[name] = "it would be the last known good version"
            } else {
                left.retire(name)
            }
        }
        return names.compactMap { name in reasons[name].map { .init(name, $0) } }
    }

    func kept(_ lifecycle: Lifecycle) throws(StoreError) -> [RetentionPlan.Verdict] {
        let needed = [
            lifecycle.current, lifecycle.pending, lifecycle.embedded, lifecycle.wayBack,
        ]
        var result: [RetentionPlan.Verdict] = []
        for name in needed.compactMap(\.self) + lifecycle.protected.sorted() + lifecycle.knownGood
        where !result.contains(where: { $0.version == name }) {
            guard let need = try need(of: name, lifecycle) else { continue }
            result.append(.init(name, need.rawValue))
        }
        return result
    }

    /// Why a version cannot be retired, considering also the other known good versions in the index.
    func need(of version: String, _ lifecycle: Lifecycle) throws(StoreError) -> Lifecycle.Need? {
        if let need = lifecycle.need(of: version) { return need }
        return try isLastKnownGood(version, lifecycle) ? .lastKnownGood : nil
    }
}
