package import CASStore
package import HotPush
import Storage
package import VersionTree

package struct OriginFinding: Sendable, Hashable {
    /// The raw value is the `kind` of JSON output and never changes.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// An entry of the log is missing although later ones exist, or the log is gone.
        case missingEntry
        /// An entry cannot be read, or breaks the rules of the log.
        case damagedEntry
        /// A channel's pointer, or the list of channels, contradicts the log.
        case wrongPointer
        /// A channel's pointer cannot be read, and no log says what it was.
        case damagedPointer
        /// The log does not know this pointer's channel: somebody has copied a directory there.
        case foreignPointer
        /// A file that a release needs is missing.
        case missingFile
        /// A file that a release needs does not match its name.
        case damagedFile
        /// The files of a release match their names but break the rules.
        case damagedRelease
        /// A file or directory has fewer rights than the marker, so some readers of the origin cannot read it.
        case wrongMode
        /// A file or directory belongs to another user, so that the origin's owner or readers cannot use it.
        case wrongOwner
        /// Something else is in the place of the publisher's own directory, or of a file in it.
        case strayFile
        /// Of several concurrent creators of one file, not exactly one succeeded.
        case unsuitableStore

        /// Whether a repair can mend it, given the bytes.
        package var isMendable: Bool {
            switch self {
            case .wrongPointer, .missingFile, .damagedFile, .wrongMode, .wrongOwner, .strayFile:
                true
            case .missingEntry, .damagedEntry, .damagedPointer, .foreignPointer, .damagedRelease,
                .unsuitableStore:
                false
            }
        }
    }

    package let kind: Kind
    /// The key below the origin; `nil` for the store as a whole.
    package let path: String?
    package var version: String?
    package private(set) var message: String
    /// The file that a repair writes again, given its bytes; `nil` for other kinds of repair.
    var lost: OriginKey?
    package var isRepaired = false

    /// Whether it concerns a file for other systems' clients, which publishing makes again.
    package var isForClients: Bool {
        guard [.missingFile, .damagedFile].contains(kind), let path else { return false }
        switch OriginKey(path: path)?.kind {
        case .facts, .deflatedCopy, .document: return true
        default: return false
        }
    }

    /// Whether it concerns packs, which packing makes again.
    package var isOfPacks: Bool {
        guard [.missingFile, .damagedFile].contains(kind), let path else { return false }
        return [.pack, .delivery].contains(OriginKey(path: path)?.kind)
    }

    var isOfPointer: Bool { path.flatMap(OriginLayout.channel(ofPointer:)) != nil }

    mutating func stays(because error: StoreError) {
        message += "; it could not be repaired: \(error.message)"
    }

    init(
        _ kind: Kind, _ path: String?, _ message: String, version: String? = nil,
        isRepaired: Bool = false
    ) {
        self.kind = kind
        self.path = path
        self.message = message
        self.version = version
        self.isRepaired = isRepaired
    }
}

package struct OriginAuditReport: Sendable {
    /// The newest entry of the log; 0 if it cannot be read.
    package var entry: Int64 = 0
    package var epoch: Int64 = 0
    package var entryCount = 0
    /// Channels and releases that are offered or kept by the grace period.
    package var channelCount = 0
    package var releaseCount = 0
    /// Files that these need; each was listed or asked for.
    package var needed = FileFigures()
    /// Files whose bytes were compared with their names.
    package var read = FileFigures()
    /// Files that any pruner may delete now; `nil` if a release cannot be read, so that nobody knows.
    package var garbage: FileFigures?
    /// Files of no release that wait for a later prune; `nil` as for ``garbage``.
    package var waiting: FileFigures?
    /// Keys that are not castree's and are never deleted.
    package var strays = StrayKeys()
    /// What is there instead of an origin, and what became of a probe's files; `nil` if there is an origin.
    package var missing: String?
    package var raceCount = 0
    /// In the order in which they were found.
    package var findings: [OriginFinding] = []
    package var requestCount = 0
    package var retryCount = 0
}

/// The stores on this machine from which the repair of an origin takes bytes.
///
/// Another origin takes part through a store of its own, into which lost files are fetched. Belongs to one thread.
package final class OriginMender {
    private let stores: [VersionStore]
    private let fetching: ([SizedKey]) throws(StoreError) -> Void
    /// Reads a small file of another origin, given its path and most bytes; `nil` for none.
    let reading: (String, Int) throws(StoreError) -> [UInt8]?

    /// - Parameters:
    ///   - stores: where bytes are looked for, in this order.
    ///   - fetching: brings lost files as objects into one of the stores, and leaves out unavailable ones.
    package init(
        _ stores: [VersionStore],
        fetching: @escaping ([SizedKey]) throws(StoreError) -> Void = { _ in },
        reading: @escaping (String, Int) throws(StoreError) -> [UInt8]? = { _, _ in nil }
    ) {
        self.stores = stores
        self.fetching = fetching
        self.reading = reading
    }

    func trust(_ version: Int64) throws(StoreError) -> TrustFile? {
        try TrustFile.ifSound(
            try reading(OriginLayout.trust(version), TrustFile.byteCountMax).map {
                (bytes) throws(StoreError) in try TrustFile(parsing: bytes, version: version)
            })
    }

    /// Fetches what no store has.
    func fetch(_ files: [SizedKey]) throws(StoreError) {
        var lost: [SizedKey] = []
        for file in files where try self.file(file.key.address) == nil { lost.append(file) }
        if !lost.isEmpty { try fetching(lost) }
    }

    package func file(_ address: ObjectID) throws(StoreError) -> Descriptor? {
        for versions in stores {
            if let file = try versions.store.objects.open(address) { return file }
        }
        return nil
    }

    func bytes(of key: OriginKey) throws(StoreError) -> [UInt8]? {
        guard let file = try file(key.address) else { return nil }
        let fileSystem = POSIXFileSystem()
        let byteCount = try fileSystem.status(file.raw).byteCount
        return try fileSystem.read(file.raw, at: 0, count: Int(byteCount))
    }

    func manifest(_ version: PublishedVersion) throws(StoreError) -> [UInt8]? {
        for versions in stores {
            if let manifest = try versions.manifest(version.manifest, of: version.content) {
                return try manifest.serialized()
            }
        }
        return nil
    }
}

extension OriginAudit {
    /// Writes lost files again; nobody deletes them meanwhile, as they are needed, and no deletion is under way.
    func mend(_ needed: NeededFiles) throws(StoreError) {
        guard let mender else { return }
        let lost = report.findings.indices.compactMap { place in
            report.findings[place].lost.flatMap { key in
                needed.byteCount(of: key).map { (place, file: SizedKey(key: key, byteCount: $0)) }
            }
        }
        try mender.fetch(lost.map(\.file))
        for (place, file) in lost {
            try throwIfInterrupted()
            try mend(place) { () throws(StoreError) in try write(file, from: mender) }
        }
    }

    /// - Returns: whether the file exists now; `false` if nobody has its bytes.
    private func write(_ lost: SizedKey, from mender: OriginMender) throws(StoreError) -> Bool {
        let (key, byteCount) = (lost.key, lost.byteCount)
        if key.kind == .deflatedCopy,
            let deflatedCopy = try deflatedCopy(key.address, byteCount, from: mender)
        {
            let body = StorageBody(deflatedCopy, address: key.address)
            return try storage.put(key.path, body, key.fields).isStored
        }
        guard let file = try mender.file(key.address) else { return false }
        defer { withExtendedLifetime(file) {} }
        let body = StorageBody(file: file.raw, byteCount: byteCount, address: key.address)
        return try storage.put(key.path, body, key.fields).isStored
    }

    /// Deflates the object again; `nil` if no store has it, or if another zlib made the copy.
    private func deflatedCopy(
        _ address: ObjectID, _ byteCount: Int64, from mender: OriginMender
    ) throws(StoreError) -> [UInt8]? {
        guard byteCount <= ReleaseContent.madeByteCountMax, let owner = owners[address],
            let file = try mender.file(owner)
        else { return nil }
        return try DeflatedCopyMaking.deflatedCopy(
            address, byteCount, of: file.raw, POSIXFileSystem())
    }
}
