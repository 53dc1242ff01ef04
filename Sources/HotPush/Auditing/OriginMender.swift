package import CASStore
import Storage
package import VersionTree

/// Where the repair of an origin takes bytes from: stores on this machine.
///
/// Another origin is one through a store of its own, into which the lost files are fetched. Belongs to one thread.
package final class OriginMender {
    /// A lost file: the key it has in the origin, and its size.
    package struct Lost: Sendable {
        package let path: String
        /// The object that has its bytes.
        package let reference: Reference
        /// Whether it is an object of a version, and not what describes one.
        package let isObject: Bool
    }

    private let stores: [VersionStore]
    private let fetching: ([Lost]) throws(StoreError) -> Void
    /// The small file that another origin has under a path, with at most so many bytes; `nil` for none.
    let reading: (String, Int) throws(StoreError) -> [UInt8]?

    /// Makes a mender.
    ///
    /// - Parameters:
    ///   - stores: where bytes are looked for, in this order.
    ///   - fetching: brings lost files as objects into one of the stores; leaves out what it cannot get.
    ///   - reading: see ``reading``.
    package init(
        _ stores: [VersionStore],
        fetching: @escaping ([Lost]) throws(StoreError) -> Void = { _ in },
        reading: @escaping (String, Int) throws(StoreError) -> [UInt8]? = { _, _ in nil }
    ) {
        self.stores = stores
        self.fetching = fetching
        self.reading = reading
    }

    /// A version of another origin's trust; `nil` for none.
    func trust(_ version: Int64) throws(StoreError) -> TrustFile? {
        try TrustFile.ifSound(
            try reading(OriginLayout.trust(version), TrustFile.byteCountMax).map {
                (bytes) throws(StoreError) in try TrustFile(parsing: bytes, version: version)
            })
    }

    /// Fetches what no store has.
    func fetch(_ keys: [(key: OriginKey, byteCount: Int64)]) throws(StoreError) {
        var lost: [Lost] = []
        for (key, byteCount) in keys where try file(key.address) == nil {
            lost.append(
                Lost(
                    path: key.path,
                    reference: Reference(address: key.address, byteCount: byteCount),
                    isObject: key.kind == .object))
        }
        if !lost.isEmpty { try fetching(lost) }
    }

    /// The open file of an object; `nil` if no store has it.
    func file(_ address: ObjectID) throws(StoreError) -> Descriptor? {
        for versions in stores {
            if let file = try versions.store.objects.open(address) { return file }
        }
        return nil
    }

    /// The bytes of a document that was fetched as an object.
    func bytes(of key: OriginKey) throws(StoreError) -> [UInt8]? {
        guard let file = try file(key.address) else { return nil }
        let fileSystem = POSIXFileSystem()
        let byteCount = try fileSystem.status(file.raw).byteCount
        return try fileSystem.read(file.raw, at: 0, count: Int(byteCount))
    }

    /// The bytes of a version's manifest, if a store has the version.
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
    /// Writes lost files again, under the same names.
    ///
    /// They are needed, so nobody deletes them, and no deletion of them is under way.
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

    /// - Returns: whether it stands there now; not if nobody has its bytes.
    private func write(
        _ key: OriginKey, _ byteCount: Int64, from mender: OriginMender
    ) throws(StoreError) -> Bool {
        if key.kind == .twin, let twin = try twin(key.address, byteCount, from: mender) {
            let body = StorageBody(twin, address: key.address)
            return try storage.put(key.path, body, key.fields).isStored
        }
        guard let file = try mender.file(key.address) else { return false }
        defer { withExtendedLifetime(file) {} }
        let body = StorageBody(file: file.raw, byteCount: byteCount, address: key.address)
        return try storage.put(key.path, body, key.fields).isStored
    }

    /// A twin made again from its object; `nil` if no store has that, or another zlib has made the twin.
    private func twin(
        _ address: ObjectID, _ byteCount: Int64, from mender: OriginMender
    ) throws(StoreError) -> [UInt8]? {
        guard byteCount <= ReleaseContent.madeByteCountMax, let owner = owners[address],
            let file = try mender.file(owner)
        else { return nil }
        return try TwinMaking.twin(address, byteCount, of: file.raw, POSIXFileSystem())
    }
}
