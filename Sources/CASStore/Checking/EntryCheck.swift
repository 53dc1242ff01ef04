/// One name in a store, and what stands there.
struct StoreEntry {
    let name: String
    /// Where it is, inside the store.
    let path: String
    /// The open directory that holds it.
    let directory: Int32
    let status: FileStatus

    /// Whether it is below one of these directories of the store.
    func isBelow(_ places: String...) -> Bool { places.contains { path.hasPrefix($0 + "/") } }
}

/// Looks at single names in a store, whatever is in them: what stands there, whose it is, and whether its owner may use it.
///
/// What belongs to another user than the store comes of a restore as root, or a stray `sudo cp`. The store's owner may not
/// even open it, but may rename it away, since the directory is the owner's; and root can give it back. What is closed to
/// the owner has mode 000, say, after a chmod that went too far.
struct EntryCheck {
    let fileSystem: any FileSystem
    /// The root of the store, which says whose the store is.
    let root: FileStatus
    /// Where a repair puts what is in the way or is made anew; `nil` to leave everything as it is.
    let quarantine: Int32?

    init(_ fileSystem: any FileSystem, root: Int32, mending quarantine: Int32?) throws(StoreError) {
        self.fileSystem = fileSystem
        self.root = try fileSystem.status(root)
        self.quarantine = quarantine
    }

    /// What stands at a name; `nil` if nothing does.
    func entry(
        _ name: String, at path: String, in directory: Int32
    ) throws(StoreError) -> StoreEntry? {
        try fileSystem.status(directory, name).map {
            StoreEntry(name: name, path: path, directory: directory, status: $0)
        }
    }

    /// The findings of names below a path of the store, in their order.
    func findings(
        of names: [String], below path: String, in directory: Int32,
        _ find: (StoreEntry) throws(StoreError) -> Finding?
    ) throws(StoreError) -> [Finding] {
        var findings: [Finding] = []
        for name in names {
            guard let entry = try entry(name, at: path + name, in: directory),
                let finding = try find(entry)
            else { continue }
            findings.append(finding)
        }
        return findings
    }

    // MARK: What it is

    /// The finding of something of another kind than castree puts there; a repair puts it into quarantine.
    func stranger(
        _ entry: StoreEntry, insteadOf wanted: FileStatus.Kind?
    ) throws(StoreError) -> Finding? {
        // Not every file system tells the kind of an entry in its directory.
        guard let wanted, entry.status.kind != wanted else { return nil }
        let found = Self.stranger(entry.status.kind, entry.path)
        guard let quarantine else {
            return found.adding("; castree fsck --repair moves it to quarantine")
        }
        return try found.repaired { () throws(StoreError) in
            let aside = try StoreLayout.aside("stray")
            try fileSystem.ifPresent { () throws(StoreError) in
                try fileSystem.setAside(entry.directory, entry.name, to: quarantine, aside)
            }
            // Somebody was quicker, and this is what belongs there.
            if try fileSystem.status(quarantine, aside)?.kind == wanted {
                try fileSystem.renameNew(quarantine, aside, to: entry.directory, entry.name)
            }
            return found.done
        }
    }

    static func stranger(_ kind: FileStatus.Kind, _ path: String) -> Finding {
        Finding(
            path.hasPrefix(StoreLayout.versions + "/") ? .strayTree : .strayFile,
            path: printable(path, .max),
            "\(kind.noun) stands at \(printable(path)) in the store, and does not belong to castree"
        )
    }

    // MARK: Whose it is

    /// The finding of something that belongs to another user than the store or, if it is the owner's, is closed to the owner.
    func rights(_ entry: StoreEntry) throws(StoreError) -> Finding? {
        if let finding = try foreign(entry) { return finding }
        return try closed(entry)
    }

    /// The finding of something that belongs to another user than the store, in a way that matters: content of others that
    /// anybody may read is as good as one's own.
    func foreign(_ entry: StoreEntry) throws(StoreError) -> Finding? {
        let status = entry.status
        let isContent = entry.isBelow(
            StoreLayout.objects, StoreLayout.manifests, StoreLayout.versions)
        // A file, that is: in a directory of another user's the owner can neither make nor remove anything.
        let isReadByAll = isContent && status.kind == .regular && status.mode & 0o004 != 0
        // What is in quarantine has been set aside, whosever it is.
        // Nor can anybody say whose a store in a group's place is.
        guard status.owner != root.owner, !root.isGroupsPlace,
            status.kind == .regular || status.kind == .directory,
            !entry.isBelow(StoreLayout.quarantine), !isReadByAll
        else { return nil }
        let found = Finding(
            .wrongOwner, path: printable(entry.path, .max),
            "\(printable(entry.path)) in the store belongs to \(userDescription(status.owner)), and the store to "
                + userDescription(root.owner))
        return try found.repaired { () throws(StoreError) in
            let operation: String? =
                if let quarantine {
                    try effectiveUser() == 0 ? giveBack(entry) : makeAnew(entry, quarantine)
                } else { nil }
            if let operation { return found.adding(operation).done }
            return found.adding(
                quarantine != nil && effectiveUser() == 0
                    ? "; it has other names, and its owner may have linked another user's: give it back by chown "
                        + "if it is the store's"
                    : "; castree fsck --repair, run as root, returns it")
        }
    }

    /// Root gives it back: what was opened, through no link, and of files those alone that have no other name.
    ///
    /// The owner may have linked another user's file into the store.
    /// - Returns: what was done, as the end of a sentence; `nil` if nothing.
    func giveBack(_ entry: StoreEntry) throws(StoreError) -> String? {
        let outside = fileSystem.outside
        let access: Access = entry.status.kind == .directory ? .directory : .reading
        guard let file = try outside.openIfPresent(entry.directory, entry.name, access) else {
            return nil
        }
        let opened = try outside.status(file.raw)
        guard opened.isSameFile(as: entry.status), opened.device == root.device,
            opened.kind == .directory || opened.linkCount == 1
        else { return nil }
        try outside.setOwner(file.raw, root.owner, group: root.group)
        return "; it was given back"
    }

    /// The owner, who may rename what stands in the owner's directories, makes anew what is derived or can be read.
    /// - Returns: what was done, as the end of a sentence; `nil` if nothing.
    private func makeAnew(_ entry: StoreEntry, _ quarantine: Int32) throws(StoreError) -> String? {
        let (name, directory, status) = (entry.name, entry.directory, entry.status)
        let isFile = status.kind == .regular
        let isTop = !entry.path.contains("/")
        let place = entry.path.split(separator: "/").dropLast().joined(separator: "/")
        let isDerived =
            isTop
            ? Self.derived.contains(name) || name.hasPrefix(StoreLayout.index)
            : [StoreLayout.staging, StoreLayout.leases, StoreLayout.pointers].contains(place)
        // If it cannot be read, for whatever reason, it is set aside, or stays.
        if isFile, !isDerived,
            let bytes = try? fileSystem.contents(directory, name, limit: 16 << 20)
        {
            try fileSystem.replaceFile(
                directory, name, with: bytes, mode: status.mode & 0o777, token: randomToken(),
                durably: true)
            return "; it was replaced by a copy"
        }
        if isFile, isDerived || (isTop && Self.notes.contains(name)) {
            // Somebody of before may still have the lock, and would not see whoever takes a new one.
            guard LockHolder.find(of: status).process == nil else { return nil }
            try fileSystem.rename(
                directory, name, to: quarantine, try StoreLayout.aside("foreign"))
            return "; it was moved to quarantine, and is created again"
        }
        guard !isFile else { return nil }
        if let storePlace = isTop ? .root : StorePlace(rawValue: place),
            [.root, .leases].contains(storePlace), storePlace.isOurs(name),
            storePlace.kind(of: name) != .directory
        {
            try fileSystem.setAside(directory, name, to: quarantine, try StoreLayout.aside("stray"))
            return "; it was set aside"
        }
        guard isTop, Self.replaceable.contains(name) else { return nil }
        // A directory of another user's can be renamed beside its place alone (rename(2), EACCES).
        try fileSystem.move(directory, name, to: directory, ".\(name).\(try randomToken())")
        try fileSystem.makeDirectoryIfAbsent(directory, name)
        return "; it was set aside beside its place, and is created again"
    }

    private static let derived = [
        StoreLayout.stamp, StoreLayout.verified, StoreLayout.lastCheck, StoreLayout.stuck,
        StoreLayout.reserve,
    ]
    /// What a damaged one loses, the documentation says; each begins anew.
    private static let notes = [
        StoreLayout.server, StoreLayout.pendingForced, StoreLayout.channels, StoreLayout.device,
        StoreLayout.events, StoreLayout.olderEvents,
    ]
    private static let replaceable = [
        StoreLayout.staging, StoreLayout.leases, StoreLayout.pointers, StoreLayout.packing,
        StoreLayout.quarantine,
    ]

    // MARK: Whether its owner may use it

    /// The finding of something of the owner's that is closed to the owner; a repair opens it.
    func closed(_ entry: StoreEntry) throws(StoreError) -> Finding? {
        let mode = entry.status.mode
        guard entry.status.owner == root.owner, let least = Self.leastMode(of: entry),
            mode & least & 0o700 != least & 0o700
        else { return nil }
        var isRepaired = false
        if quarantine != nil {
            try fileSystem.setMode(entry.directory, entry.name, mode | least)
            let now = try fileSystem.status(entry.directory, entry.name)?.mode ?? least
            isRepaired = now & least & 0o700 == least & 0o700
        }
        let digits = String(mode & 0o777, radix: 8)
        let octal = String(repeating: "0", count: 3 - digits.count) + digits
        return Finding(
            .wrongMode, path: printable(entry.path, .max),
            "\(printable(entry.path)) in the store is closed to its owner (mode \(octal))"
                + (isRepaired
                    ? ""
                    : quarantine == nil
                        ? "; castree fsck --repair opens it"
                        : "; setting its mode changes nothing"),
            isRepaired: isRepaired)
    }

    /// The rights that castree gives at least; `nil` for what is opened by nobody.
    private static func leastMode(of entry: StoreEntry) -> UInt32? {
        switch entry.status.kind {
        case .directory:
            // Trees, and those that were put aside.
            return entry.isBelow(StoreLayout.versions, StoreLayout.quarantine) ? 0o555 : 0o755
        case .regular:
            if entry.isBelow(StoreLayout.objects, StoreLayout.manifests, StoreLayout.versions) {
                return 0o444
            }
            // What is staged is read-only from the moment in which it is whole, and so is what was put aside.
            return entry.isBelow(StoreLayout.staging, StoreLayout.quarantine) ? 0o400 : 0o600
        default: return nil
        }
    }
}

/// A directory of a store in which castree's names say what stands there: a file or a directory.
///
/// Objects, manifests, the link `current` and the files that are read as a whole have checks of their own.
enum StorePlace: String, CaseIterable {
    case root = "."
    case staging, versions, leases, pointers, packing

    /// How the paths of what is in it begin, inside the store.
    var prefix: String { self == .root ? "" : rawValue + "/" }

    /// Whether it holds few files, which others than their owner need not read.
    var holdsFew: Bool { [.root, .staging, .leases].contains(self) }

    /// Whether castree gives such a name to something here.
    func isOurs(_ name: String) -> Bool {
        self == .root ? StoreLayout.topLevelNames.contains(name) : kind(of: name) != nil
    }

    /// What castree puts under a name; `nil` for names that are not castree's, or that have another check.
    func kind(of name: String) -> FileStatus.Kind? {
        switch self {
        case .root:
            if Self.directories.contains(name) { return .directory }
            return Self.memories.contains(name) ? .regular : nil
        case .staging:
            if ObjectID(String(name.prefix(64))) != nil { return .regular }
            return Store.lease(thatLeft: name, in: .staging) == nil ? nil : .directory
        case .versions:
            return name.hasPrefix(".") ? nil : .directory
        // What could be set aside beside its place alone stays there.
        case .leases: return name.hasPrefix(".stray-") ? nil : .regular
        case .pointers: return ObjectID(name) == nil ? nil : .regular
        case .packing: return StoreLayout.isPackingPlace(name) ? .directory : nil
        }
    }

    private static let directories =
        StoreLayout.directories + [
            StoreLayout.pointers, StoreLayout.packing,
        ]
    /// Derived, and read by those alone who can do without.
    private static let memories = [
        StoreLayout.reserve, StoreLayout.verified, StoreLayout.lastCheck, StoreLayout.stuck,
    ]
}
