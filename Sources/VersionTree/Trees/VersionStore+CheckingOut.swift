public import CASStore

/// A tree outside the store that is being built; its lock tells it from a leftover.
private struct UnfinishedCheckout: ~Copyable {
    let name: String
    let directory: Descriptor
}

extension VersionStore {
    private var outside: any FileSystem { fileSystem.outside }

    package var checkoutMode: LinkMode { fileSystem is OwnersFileSystem ? .reflink : .link }

    /// Builds the version's tree outside the store; the target must not exist, and appears in one step.
    ///
    /// Until then the tree grows beside the target, under a hidden name, locked; the next checkout beside it removes
    /// what a killed one has left there.
    ///
    /// With mode `.link` the files are the store's own: do not write to them. If links are impossible (another file
    /// system), each file is cloned or copied instead. This is the default, except for root in another user's store,
    /// whose owner could change linked files: there the files are cloned or copied.
    /// - Throws: `.targetExists`; `.noVersion`; `.incompleteVersion`; `.pathCollision`; `.outOfSpace`.
    public func checkout(
        _ name: String, to target: String, mode: LinkMode? = nil
    ) throws(StoreError) -> TreeReport {
        let mode = mode ?? checkoutMode
        let row = try row(of: name)
        guard row.isComplete else { throw try incomplete(name) }
        let manifest = try registeredManifest(of: name, row)
        let (parent, base) = try split(target)
        let directory = try openParent(parent)
        if let own = try outside.ownPlace(around: directory.raw) {
            throw StoreError(
                .insideStore,
                "unable to check out to \(printable(target)): it is inside \(own), where only castree "
                    + "puts files; choose a directory outside of it")
        }
        if try outside.status(directory.raw, base) != nil { throw Self.targetExists(target) }
        _ = try refuseCollisions(of: manifest, in: directory.raw)
        sweepUnfinished(in: directory.raw)
        do throws(StoreError) {
            guard mode == .link else {
                return try build(manifest, mode, in: directory.raw, base, target)
            }
            return try buildingAgain { () throws(StoreError) in
                // A lease only if there is something to write: a read-only store can be checked out, too.
                if try lacksExecutableCopies(manifest) {
                    try makeExecutableCopies(of: manifest, store.makeLease())
                }
                return try build(manifest, mode, in: directory.raw, base, target)
            }
        } catch {
            // The target's disk is the full one.
            guard error.isDiskFull else { throw error }
            throw error.advising("free space there, or check out elsewhere")
        }
    }

    private func build(
        _ manifest: Manifest, _ mode: LinkMode, in parent: Int32, _ base: String,
        _ target: String
    ) throws(StoreError) -> TreeReport {
        let unfinished = try makeUnfinished(in: parent)
        let hidden = unfinished.name
        let report = try fill(unfinished, in: parent, manifest, mode)
        do throws(StoreError) {
            if store.canSyncAll, !Self.bringsBytes(report, manifest) {
                // Only names were added, and they become durable in their order: one step makes them durable.
                try outside.renameNew(parent, hidden, to: parent, base)
                try makeDurable(parent, base)
            } else {
                try makeDurable(parent, hidden)
                try outside.renameNew(parent, hidden, to: parent, base)
                try store.sync(parent)
            }
        } catch {
            // Report the first error.
            try? outside.removeTree(parent, hidden)
            throw error.isExisting ? Self.targetExists(target) : error
        }
        return report
    }

    private func openParent(_ path: String) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try outside.open(
                POSIXFileSystem.workingDirectory, path, .typedDirectory, mode: 0)
        } catch {
            guard error.code == .notFound || error.isNotDirectory else { throw error }
            throw StoreError(
                .notFound, "there is no directory \(printable(path)); create it first",
                cause: error.cause)
        }
    }

    // MARK: The hidden directory beside the target

    private static let unfinishedPrefix = ".castree-"

    private func makeUnfinished(in parent: Int32) throws(StoreError) -> UnfinishedCheckout {
        while true {
            let name = Self.unfinishedPrefix + (try randomToken())
            try outside.makeDirectory(parent, name, mode: 0o755)
            // A sweeper may be quicker than the lock: then there is nothing to open, lock or keep.
            guard let directory = try outside.openIfPresent(parent, name, .directory) else {
                continue
            }
            // If nothing can be locked, nothing is swept either.
            let isOurs =
                (try? outside.lock(directory.raw, exclusive: true)) ?? true
            guard isOurs, try outside.status(parent, name) != nil else { continue }
            return UnfinishedCheckout(name: name, directory: directory)
        }
    }

    private func fill(
        _ unfinished: borrowing UnfinishedCheckout, in parent: Int32, _ manifest: Manifest,
        _ mode: LinkMode
    ) throws(StoreError) -> TreeReport {
        let builder = TreeBuilder(
            store: store, fileSystem: outside, manifest: manifest, mode: mode,
            directoryMode: 0o755)
        do throws(StoreError) {
            return try builder.build(unfinished.directory.raw)
        } catch {
            // Report the first error.
            try? outside.removeTree(parent, unfinished.name)
            throw error
        }
    }

    private func sweepUnfinished(in parent: Int32) {
        var names: [String] = []
        // A checkout does not fail because of another's leftovers, or because it may not look for them.
        try? outside.list(parent) { (entry, kind) throws(StoreError) in
            if kind == .directory, Self.isUnfinished(entry) { names.append(String(cString: entry)) }
            return true
        }
        for name in names {
            // As above.
            try? sweep(name, in: parent)
        }
    }

    private func sweep(_ name: String, in parent: Int32) throws(StoreError) {
        guard let directory = try outside.openIfPresent(parent, name, .directory),
            try outside.lock(directory.raw, exclusive: true)
        else { return }
        try outside.removeTree(parent, name)
    }

    private static func isUnfinished(_ entry: UnsafePointer<CChar>) -> Bool {
        // Directories have many entries, few of them hidden.
        guard entry[0] == 46 else { return false }
        let name = String(cString: entry)
        guard name.hasPrefix(unfinishedPrefix) else { return false }
        let token = name.utf8.dropFirst(unfinishedPrefix.utf8.count)
        return token.count == 16
            && token.allSatisfy { 48...57 ~= $0 || 97...102 ~= $0 }
    }

    // MARK: Durability, and what to know first

    private static func bringsBytes(_ report: TreeReport, _ manifest: Manifest) -> Bool {
        report.reflinked > 0
            || report.copied > manifest.records.count { $0.byteCount == 0 }
    }

    private func makeDurable(_ parent: Int32, _ name: String) throws(StoreError) {
        guard store.options.isDurable else { return }
        let isSynced = try outside.syncAll(parent)
        if !isSynced { try syncTree(parent, name) }
    }

    /// Makes a tree outside the store durable, bottom up, if one call cannot.
    private func syncTree(_ parent: Int32, _ name: String) throws(StoreError) {
        let directory = try outside.open(parent, name, .directory, mode: 0)
        var inner: [String] = []
        try outside.list(directory.raw) { (entry, kind) throws(StoreError) in
            if kind == .directory {
                inner.append(String(cString: entry))
            } else {
                let file = try outside.open(directory.raw, entry, .reading, mode: 0)
                try outside.sync(file.raw)
            }
            return true
        }
        for entry in inner { try syncTree(directory.raw, entry) }
        try outside.sync(directory.raw)
    }

    private static func targetExists(_ target: String) -> StoreError {
        StoreError(
            .targetExists,
            "\(printable(target)) is there already; give a target that does not exist")
    }

    private func split(_ target: String) throws(StoreError) -> (parent: String, base: String) {
        guard !target.isEmpty else {
            throw StoreError(
                .targetExists, "the target has no name; give a target that does not exist")
        }
        var parts = target.split(separator: "/", omittingEmptySubsequences: true)
        guard let base = parts.popLast(), base != ".", base != ".." else {
            throw Self.targetExists(target)
        }
        let root = target.hasPrefix("/") ? "/" : parts.isEmpty ? "." : ""
        return (root + parts.joined(separator: "/"), String(base))
    }
}
