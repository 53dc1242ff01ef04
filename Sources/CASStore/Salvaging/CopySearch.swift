/// A file of the store that has the bytes of an object whose own file is lost.
package struct ObjectCopy: Sendable, Hashable {
    /// The object whose bytes it has.
    package var address: ObjectID
    /// Where the file stands, inside the store.
    package var path: String
    /// The names on the way to it, if some of them are not text; `nil` if the path is enough.
    var names: [[CChar]]?

    /// Whether castree put the file there, so that it may become the object itself; anybody else's file is copied.
    var isCastrees: Bool {
        guard names == nil else { return false }
        let parts = path.split(separator: "/").map(String.init)
        guard parts.first == StoreLayout.objects else {
            return parts.first.map(CopySearch.likelyPlaces.contains) ?? false
        }
        return parts.count == 3 && StoreLayout.address(parts[1], parts[2]) != nil
    }
}

/// Looks for the bytes of lost objects wherever in a store they may be: executable copies, what stands in a wrong
/// place among the objects, trees of every kind, quarantine, what is staged, and what is not castree's.
///
/// A file's name decides nothing: the file is a copy if its bytes hash to the address. Only files of a wanted size
/// are read.
struct CopySearch: ~Copyable {
    private let store: Store
    private let wanted: Set<ObjectID>
    private let sizes: Set<Int64>
    private let arriving: Set<ObjectID>
    private let places: [String]
    private var checker: ObjectChecker
    /// Files that were already read: trees show one under many names.
    private var seen: Set<FileID> = []
    private var found: [ObjectID: ObjectCopy] = [:]

    private struct FileID: Hashable {
        var device: UInt64
        var inode: UInt64
    }

    /// Where castree itself puts copies.
    static let likelyPlaces = [StoreLayout.versions, StoreLayout.quarantine, StoreLayout.staging]

    /// - Parameters:
    ///   - wanted: the addresses.
    ///   - sizes: the sizes that they may have.
    ///   - arriving: those of them that are no copies where they are staged.
    ///   - places: paths inside the store where something stands that does not belong there.
    init(
        _ store: Store, _ wanted: Set<ObjectID>, sizes: Set<Int64>, arriving: Set<ObjectID>,
        places: [String]
    ) throws(StoreError) {
        self.store = store
        self.arriving = arriving
        self.places = places
        self.wanted = wanted
        self.sizes = sizes
        checker = try ObjectChecker()
    }

    /// Finds one copy of each object that has any.
    mutating func run() throws(StoreError) -> [ObjectCopy] {
        try lookAtObjects()
        for place in places where !isDone { try look(atPlace: place) }
        for name in Self.likelyPlaces where !isDone { try look(atPlace: name) }
        // What somebody has saved elsewhere in the store, perhaps under one of castree's names.
        let root = store.directories.root.raw
        for name in try fileSystem.rawNames(in: root) where !isDone {
            let text = RawName.text(of: name)
            if text == StoreLayout.objects || Self.likelyPlaces.contains(text) { continue }
            // SQLite's locks end when anybody in the process closes such a file (sqlite.org/lockingv3.html).
            if StoreLayout.indexFiles.contains(text),
                try fileSystem.status(root, name)?.kind != .directory
            {
                continue
            }
            try look(at: name, in: root, [])
        }
        return found.values.sorted { $0.address < $1.address }
    }

    private var fileSystem: any FileSystem { store.fileSystem }

    /// Looks at whatever stands at a path of the store; reads nothing through a link.
    private mutating func look(atPlace path: String) throws(StoreError) {
        var names = path.split(separator: "/").map { Array(String($0).utf8CString) }
        guard let last = names.popLast() else { return }
        do throws(StoreError) {
            let parent = try fileSystem.openBeneath(
                store.directories.root.raw, names: names, .directory)
            try look(at: last, in: parent.raw, names)
        } catch {
            guard error.code == .notFound || error.isNotDirectory else { throw error }
        }
    }

    private var isDone: Bool { found.count == wanted.count }

    /// Looks at the executable copies of wanted objects, and at what stands in their own places: it may be another's.
    private mutating func lookAtObjects() throws(StoreError) {
        // Something else may stand in place of the shard; a link is not followed.
        for address in wanted where try store.objects.hasShard(of: address) {
            for isExecutable in [true, false] {
                let path = StoreLayout.objectPath(address, executable: isExecutable)
                try look(atPlace: "\(StoreLayout.objects)/\(path)")
            }
        }
    }

    /// Looks at a file, or at all that is in a directory.
    /// - Parameter path: the names on the way to the directory.
    private mutating func look(
        at name: [CChar], in directory: Int32, _ path: [[CChar]]
    ) throws(StoreError) {
        guard let status = try fileSystem.status(directory, name) else { return }
        let inner = path + [name]
        guard status.kind == .directory else {
            return try look(at: name, status, in: directory, inner)
        }
        guard let opened = try opened(directory, name, .directory) else { return }
        let names = try fileSystem.rawNames(in: opened.raw).sorted {
            $0.lexicographicallyPrecedes($1)
        }
        for name in names where !isDone {
            try store.checkInterruption()
            try look(at: name, in: opened.raw, inner)
        }
    }

    private mutating func look(
        at name: [CChar], _ status: FileStatus, in directory: Int32, _ path: [[CChar]]
    ) throws(StoreError) {
        guard status.kind == .regular, sizes.contains(status.byteCount),
            seen.insert(FileID(device: status.device, inode: status.inode)).inserted,
            let file = try opened(directory, name, .reading)
        else { return }
        let address: ObjectID
        do throws(StoreError) {
            address = try checker.hash(file.raw, fileSystem).address
        } catch {
            // What cannot be read is no copy.
            guard error.code == .io else { throw error }
            return
        }
        guard wanted.contains(address), found[address] == nil else { return }
        if arriving.contains(address), Self.isStaged(path) { return }
        found[address] = ObjectCopy(
            address: address,
            path: path.map(RawName.text(of:)).joined(separator: "/"),
            names: path.allSatisfy { RawName.isText($0) } ? nil : path)
    }

    /// Whether a path leads to what a writer has staged; not to what a repair has.
    private static func isStaged(_ path: [[CChar]]) -> Bool {
        let names = path.prefix(2).map { RawName.text(of: $0) }
        return names.count == 2 && names[0] == StoreLayout.staging
            && !names[1].hasPrefix(StoreLayout.copyPrefix)
    }

    /// `nil` if the file is gone, or may not be read, and so is no copy.
    private func opened(
        _ directory: Int32, _ name: [CChar], _ access: Access
    ) throws(StoreError) -> Descriptor? {
        try allowing(
            { $0.code == .permission || $0.isNotDirectory },
            try fileSystem.openIfPresent(directory, name, access))
    }
}

extension Store {
    /// Finds a copy of each lost object that has any in the store.
    ///
    /// Reads the files of their sizes, wherever they stand; changes nothing.
    /// - Parameters:
    ///   - arriving: those that are no copies where they are staged: they come, and continue when somebody fetches
    ///     them.
    ///   - places: paths inside the store where something stands that does not belong there, and may be a copy.
    package func findCopies(
        of lost: [Reference], arriving: Set<ObjectID> = [], in places: [String] = []
    ) throws(StoreError) -> [ObjectCopy] {
        guard !lost.isEmpty else { return [] }
        var search = try CopySearch(
            self, Set(lost.map(\.address)), sizes: Set(lost.map(\.byteCount)),
            arriving: arriving, places: places)
        return try search.run()
    }
}
