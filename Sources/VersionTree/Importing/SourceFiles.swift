import CASStore

/// The regular files of a directory, as an import found them: sorted by path.
///
/// Kept compactly, since a directory may have a million files: paths in one array, and for each file
/// what identifies its state.
struct SourceFiles: Sendable {
    struct File: Sendable {
        var pathStart: UInt32
        var pathLength: UInt16
        var isExecutable: Bool
        /// Staged by this import, not known to the store before.
        var isStaged = false
        /// Read now, and its state can be trusted next time.
        var isCacheable = false
        var isHashed = false
        var key: StatKey
        var address: ObjectID
        var fingerprint: Fingerprint
    }

    var files: [File] = []
    var paths: [UInt8] = []

    mutating func append(_ path: [UInt8], _ status: FileStatus) {
        files.append(
            File(
                pathStart: UInt32(paths.count), pathLength: UInt16(path.count),
                isExecutable: status.mode & 0o100 != 0, key: StatKey(status),
                address: .zero, fingerprint: Fingerprint(high: 0, low: 0)))
        paths.append(contentsOf: path)
    }

    /// Sorts by path, byte by byte.
    mutating func sort() {
        let paths = paths
        paths.withUnsafeBufferPointer { bytes in
            func path(_ file: File) -> UnsafeBufferPointer<UInt8> {
                let start = Int(file.pathStart)
                return UnsafeBufferPointer(
                    rebasing: bytes[start..<start + Int(file.pathLength)])
            }
            files.sort { path($0).lexicographicallyPrecedes(path($1)) }
        }
    }

    func path(_ position: Int) -> String { path(of: files[position]) }

    func path(of file: File) -> String {
        let start = Int(file.pathStart)
        return String(decoding: paths[start..<start + Int(file.pathLength)], as: UTF8.self)
    }

    var byteCount: Int64 { files.reduce(0) { $0 + $1.key.byteCount } }

    /// The manifest of these files.
    func manifest(
        version: VersionName, ordinal: Int64, createdAt: Int64
    ) throws(StoreError) -> Manifest {
        try Manifest(
            version: version, ordinal: ordinal, createdAt: createdAt,
            records: files.map {
                Manifest.Record(
                    pathStart: $0.pathStart, pathLength: $0.pathLength,
                    isExecutable: $0.isExecutable, byteCount: $0.key.byteCount,
                    address: $0.address)
            }, paths: paths, details: [:], foreign: [])
    }
}
