import CASStore
import HotPush
import Synchronization

/// The immutable files of a mirror: which are there, who sends them, and what goes when there is too much.
///
/// A file gets its name when its bytes have been compared with it. What was there before this process began is
/// compared by who sends it first. Several threads may use it at once.
final class MirrorShelf: Sendable {
    let directory: MirrorDirectory
    let limit: MirrorIndex.Limit
    private let index = Mutex(MirrorIndex())

    /// So many files are removed before others get their turn.
    private static let batchCount = 32

    init(_ directory: MirrorDirectory, _ limit: MirrorIndex.Limit) {
        self.directory = directory
        self.limit = limit
    }

    func has(_ name: PlacedFile.Name) -> Bool { index.withLock { $0.has(name) } }

    func isProven(_ name: PlacedFile.Name) -> Bool { index.withLock { $0.isProven(name) } }

    /// Notes that the bytes of files were found to be what their names say.
    func prove(_ names: some Sequence<PlacedFile.Name>) {
        index.withLock { index in for name in names { index.prove(name) } }
    }

    /// Says what must stay as long as the pointers are what they are, and makes room if there is too much.
    /// - Parameter besides: what the files take that change, in bytes.
    func need(_ names: Set<PlacedFile.Name>, besides: Int64) throws(StoreError) {
        index.withLock { $0.need(names, besides: besides) }
        try trim(to: limit)
    }

    /// Says what must stay besides, until that is said anew.
    func need(also names: [PlacedFile.Name]) { index.withLock { $0.need(also: names) } }

    // MARK: Holds

    /// Keeps files, whether they are there or still come.
    func hold(_ names: [PlacedFile.Name]) -> MirrorHold {
        index.withLock { $0.hold(names) }
        return MirrorHold(names, on: self)
    }

    /// Keeps files, if all are there and were compared with their names.
    func holdProven(_ names: [PlacedFile.Name]) -> MirrorHold? {
        let isHeld = index.withLock { index in
            guard names.allSatisfy({ index.isProven($0) }) else { return false }
            index.hold(names)
            return true
        }
        return isHeld ? MirrorHold(names, on: self) : nil
    }

    fileprivate func release(_ names: [PlacedFile.Name]) {
        index.withLock { $0.release(names) }
    }

    // MARK: Coming and going

    /// Gives a staged file, whose bytes are what its name says, that name.
    func settle(_ token: String, as name: PlacedFile.Name, byteCount: Int64) throws(StoreError) {
        try locked { (index) throws(StoreError) in
            try directory.settle(token, as: name.path(in: 0))
            index.add(name, byteCount: byteCount, isProven: true)
        }
        try trim(to: limit)
    }

    /// Removes a file that is not what its name says.
    func drop(_ name: PlacedFile.Name) throws(StoreError) {
        try locked { (index) throws(StoreError) in
            try directory.remove(name.path(in: 0))
            index.remove(name)
        }
    }

    /// Removes a quarter of what may go: the disk is fuller than the limit says.
    func makeRoom() throws(StoreError) {
        let room = index.withLock { $0.room }
        try trim(
            to: MirrorIndex.Limit(byteCount: room / 4 * 3, fileCount: limit.fileCount))
    }

    private func trim(to limit: MirrorIndex.Limit) throws(StoreError) {
        let leaving = index.withLock { $0.isOver(limit) ? $0.leaving(limit) : [] }
        for start in stride(from: 0, to: leaving.count, by: Self.batchCount) {
            try locked { (index) throws(StoreError) in
                // Somebody may need one of them since.
                for name in leaving[start...].prefix(Self.batchCount) where index.mayGo(name) {
                    try directory.remove(name.path(in: 0))
                    index.remove(name)
                }
            }
        }
    }

    /// What is on the disk and what is known of it change together.
    private func locked(
        _ work: (inout MirrorIndex) throws(StoreError) -> Void
    ) throws(StoreError) {
        let outcome = index.withLock { index -> Result<Void, StoreError> in
            do throws(StoreError) { return .success(try work(&index)) } catch {
                return .failure(error)
            }
        }
        try outcome.get()
    }

    // MARK: What is there at the start

    /// Finds what earlier processes have left, the newest to be used last; nothing goes until it is known what must stay.
    func scan() throws(StoreError) {
        var found: [(name: PlacedFile.Name, byteCount: Int64, modifiedAt: Int64)] = []
        let kinds: [PlacedFile.Kind] =
            [.object, .twin, .manifest, .facts, .places, .pack, .delivery]
            + ClientSystem.allCases.map { .document($0) }
        for kind in kinds {
            let place = Place(of: kind)
            for folder in try folders(of: place) {
                try directory.forEachEntry(of: folder) { (entry, status) throws(StoreError) in
                    guard status.kind == .regular,
                        let name = place.name("\(folder)/\(entry)", kind)
                    else { return }
                    found.append((name, status.byteCount, status.modifiedAt))
                }
            }
        }
        found.sort { $0.modifiedAt < $1.modifiedAt }
        index.withLock { index in
            for file in found {
                index.add(file.name, byteCount: file.byteCount, isProven: false)
            }
        }
    }

    private func folders(of place: Place) throws(StoreError) -> [String] {
        guard place.isSplit else { return [place.folder] }
        var folders: [String] = []
        try directory.forEachEntry(of: place.folder) { (entry, status) throws(StoreError) in
            if status.kind == .directory { folders.append("\(place.folder)/\(entry)") }
        }
        return folders
    }

    /// Where the files of a kind stand, as seen from the path of one of them.
    private struct Place {
        let folder: String
        /// Whether the first two digits name a folder.
        let isSplit: Bool

        init(of kind: PlacedFile.Kind) {
            var parts = PlacedFile.Name(kind, .zero).path(in: 0).split(separator: "/")
            isSplit = parts.count > 2 && parts[parts.count - 2] == "00"
            parts.removeLast(isSplit ? 2 : 1)
            folder = parts.joined(separator: "/")
        }

        /// The file at a path; `nil` if it is none of this kind.
        func name(_ path: String, _ kind: PlacedFile.Kind) -> PlacedFile.Name? {
            let parts = path.dropFirst(folder.count + 1).split(separator: "/")
            let digits = isSplit ? parts.joined() : String(parts.first ?? "")
            guard let address = ObjectID(String(digits.prefix(64))) else { return nil }
            let name = PlacedFile.Name(kind, address)
            return name.path(in: 0) == path ? name : nil
        }
    }
}

/// Keeps files in a mirror as long as it lives: they are being sent, or about to be.
package final class MirrorHold: Sendable {
    private let names: [PlacedFile.Name]
    private let shelf: MirrorShelf

    fileprivate init(_ names: [PlacedFile.Name], on shelf: MirrorShelf) {
        self.names = names
        self.shelf = shelf
    }

    deinit { shelf.release(names) }
}
