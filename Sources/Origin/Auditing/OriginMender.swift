package import CASStore
package import HotPush
import Storage
package import VersionTree

/// The stores on this machine from which the repair of an origin takes bytes.
///
/// Another origin takes part through a store of its own, into which lost files are fetched. Belongs to one thread.
package final class OriginMender {
    private let stores: [VersionStore]
    private let fetching: ([LostFile]) throws(StoreError) -> Void
    /// Reads a small file of another origin, given its path and most bytes; `nil` for none.
    let reading: (String, Int) throws(StoreError) -> [UInt8]?

    /// - Parameters:
    ///   - stores: where bytes are looked for, in this order.
    ///   - fetching: brings lost files as objects into one of the stores, and leaves out unavailable ones.
    package init(
        _ stores: [VersionStore],
        fetching: @escaping ([LostFile]) throws(StoreError) -> Void = { _ in },
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
    func fetch(_ keys: [(key: OriginKey, byteCount: Int64)]) throws(StoreError) {
        var lost: [LostFile] = []
        for (key, byteCount) in keys where try file(key.address) == nil {
            lost.append(
                LostFile(
                    path: key.path,
                    reference: Reference(address: key.address, byteCount: byteCount),
                    isObject: key.kind == .object))
        }
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
                needed.byteCount(of: key).map { (place, key, byteCount: $0) }
            }
        }
        try mender.fetch(lost.map { ($0.1, $0.byteCount) })
        for (place, key, byteCount) in lost {
            try throwIfInterrupted()
            try mend(place) { () throws(StoreError) in try write(key, byteCount, from: mender) }
        }
    }

    /// - Returns: whether the file exists now; `false` if nobody has its bytes.
    private func write(
        _ key: OriginKey, _ byteCount: Int64, from mender: OriginMender
    ) throws(StoreError) -> Bool {
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
