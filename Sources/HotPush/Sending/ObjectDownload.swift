import CASStore
import Storage

/// A file of an origin on its way to the disk.
struct ObjectDownload {
    private let key: OriginKey
    private let byteCount: Int64
    private let storage: any ObjectStorage

    init(_ key: OriginKey, _ byteCount: Int64, _ storage: any ObjectStorage) {
        self.key = key
        self.byteCount = byteCount
        self.storage = storage
    }

    /// Writes the file, and holds it against its address.
    /// - Returns: whether it is there; otherwise the origin does not have it, or has other bytes.
    func run(
        to directory: Int32, _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        let file = try fileSystem.open(directory, path, .creating, mode: 0o644)
        var digester = try Digester(.sha256)
        let request = ReadRequest(byteCountMax: byteCount)
        let outcome = try PackBases.harmless { () throws(StoreError) -> ReadOutcome? in
            try storage.get(key.path, request) { (piece) throws(StoreError) in
                digester.update(piece)
                try fileSystem.write(file.raw, piece)
            }
        }
        if case .found? = outcome, digester.finish({ ObjectID(unchecked: $0) }) == key.address {
            return true
        }
        try fileSystem.remove(directory, path, directory: false)
        return false
    }
}
