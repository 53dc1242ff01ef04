import CASStore

// Trees under another name than their version's, which may show content that is nowhere else.

struct LostVersion: Sendable {
    var name: String
    /// The name of its tree in `versions/` if that is not the version's: terminated by 0, and perhaps not text.
    var entry: [CChar]?
    /// Whether the tree is hidden, like one that is being built or removed.
    var isHidden = false
    /// Why its tree cannot be read whole, if it is unknown what the version named; the tree is then left alone.
    var unread: StoreError?

    var treePath: String {
        StoreLayout.treePath(entry.map { printable(RawName.text(of: $0)) } ?? name)
    }
}

extension VersionStore {
    /// Of directories in `versions/` whose name no version can have, those that show content which no version names.
    ///
    /// Hidden ones that castree made are leftovers of dead writers, unless their version is needed and nothing else
    /// is left of it. An unreadable lifecycle may need any version.
    func strayedTrees(among entries: [[CChar]]) throws(StoreError) -> [LostVersion] {
        guard !entries.isEmpty else { return [] }
        let needed = try lifecycleIfReadable()?.needed
        let running = try store.leases().running
        var names: Set<String> = []
        var result: [LostVersion] = []
        for entry in entries.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let shown = RawName.isText(entry) ? RawName.text(of: entry) : ""
            var lost = LostVersion(name: "", entry: entry)
            if let name = try version(hiddenAs: shown, needed), !names.contains(name) {
                lost.name = name
                lost.isHidden = true
            } else if StoreLayout.isHiddenTree(shown) {
                continue
            }
            if running.contains(where: { shown.hasSuffix(".\($0)") }) { continue }
            guard try !fileSystem.isLocked(directories.versions.raw, entry),
                try showsUnnamedContent(entry, &lost.unread) || lost.isHidden
            else { continue }
            if lost.name.isEmpty { lost.name = try freeName(for: entry, besides: names) }
            names.insert(lost.name)
            result.append(lost)
        }
        return result
    }

    /// The needed version whose hidden tree has this name, if nothing else is left of it.
    private func version(
        hiddenAs name: String, _ needed: Set<String>?
    ) throws(StoreError) -> String? {
        guard name.hasPrefix("."), let end = name.lastIndex(of: "."), end > name.startIndex else {
            return nil
        }
        let own = String(name[..<end].dropFirst())
        let versions =
            needed?.filter { name.hasPrefix(".\($0).") } ?? (VersionName.isName(own) ? [own] : [])
        guard let version = versions.max(by: { $0.utf8.count < $1.utf8.count }),
            try !hasManifest(version), try !hasSomething(inPlaceOf: version)
        else { return nil }
        return version
    }

    /// A free name that tells where the version comes from.
    private func freeName(
        for entry: [CChar], besides taken: Set<String>
    ) throws(StoreError) -> String {
        var base = "stray-"
        for byte in entry.dropLast().prefix(100) {
            let letter = String(UnicodeScalar(UInt8(bitPattern: byte)))
            let isAllowed = UInt8(bitPattern: byte) < 0x80 && VersionName.isName("a" + letter)
            if isAllowed || !base.hasSuffix("-") { base += isAllowed ? letter : "-" }
        }
        while base.hasSuffix("-") { base.removeLast() }
        let rows = try store.versionRows().map { $0.row.name.lowercased() }
        let manifests = try store.manifestNames().map { $0.lowercased() }
        let known = Set(rows + manifests + taken.map { $0.lowercased() })
        var (name, number) = (base, 1)
        while true {
            let isTaken = try hasSomething(inPlaceOf: name)
            guard isTaken || known.contains(name.lowercased()) else { return name }
            number += 1
            name = "\(base)-\(number)"
        }
    }

    /// Gives a tree the name of its version, durably.
    ///
    /// A tree that cannot be renamed (overlayfs) is rebuilt of links; after a crash it is there twice, or as it was.
    /// - Returns: `false` if the tree or the name is in use; then it stays as it is.
    func bringBack(_ lost: LostVersion) throws(StoreError) -> Bool {
        guard let entry = lost.entry else { return true }
        let versions = directories.versions.raw
        guard let tree = try fileSystem.openIfPresent(versions, entry, .directory),
            try fileSystem.lock(tree.raw, exclusive: true)
        else { return false }
        defer { fileSystem.unlock(tree.raw) }
        do throws(StoreError) {
            try withLifecycleLocked { () throws(StoreError) in
                do throws(StoreError) {
                    try fileSystem.renameNew(versions, entry, to: versions, lost.name)
                } catch {
                    guard error.isOtherLayer else { throw error }
                    try makeAgain(entry, as: lost.name)
                }
            }
        } catch {
            guard error.isExisting || error.code == .notFound else { throw error }
            return false
        }
        try store.sync(versions)
        return true
    }

    private func makeAgain(_ entry: [CChar], as name: String) throws(StoreError) {
        let (staging, versions) = (directories.staging.raw, directories.versions.raw)
        // Unfinished parts are removed with the lease.
        let lease = try store.makeLease()
        let aside = "\(lease.name)/tree"
        try fileSystem.makeDirectoryIfAbsent(staging, lease.name)
        try fileSystem.linkTree(versions, entry, to: staging, aside)
        try store.syncAll()
        try fileSystem.renameNew(staging, aside, to: versions, name)
        try store.sync(versions)
        try removeDirectory(entry)
    }

    /// Removes a directory in `versions/` whose name need not be text.
    func removeDirectory(_ entry: [CChar]) throws(StoreError) {
        var name = RawName.text(of: entry)
        if !RawName.isText(entry) {
            name = try StoreLayout.strayTree()
            let versions = directories.versions.raw
            try fileSystem.ifPresent { () throws(StoreError) in
                try fileSystem.move(versions, entry, to: versions, name)
            }
        }
        try store.removeTreeKeepingContent(in: StoreLayout.versions, name)
    }
}
