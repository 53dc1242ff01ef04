import Buckets
import CASStore

/// What the releases need that an entry keeps: each file, its size, and a version that needs it.
struct NeededFiles {
    private(set) var byteCounts: [BucketKey: Int64] = [:]
    /// Files whose size nothing says, but whose bytes were read.
    private(set) var unsized: Set<BucketKey> = []
    private var versions: [BucketKey: String] = [:]

    /// - Returns: a size that contradicts another release's: the files of one of them are damaged.
    mutating func add(_ file: ReleaseFiles.File, of version: String) -> Int64? {
        guard let byteCount = file.byteCount else {
            unsized.insert(file.key)
            return nil
        }
        if let other = byteCounts[file.key] { return other == byteCount ? nil : other }
        byteCounts[file.key] = byteCount
        versions[file.key] = version
        return nil
    }

    func version(of key: BucketKey) -> String? { versions[key] }
    /// All of them.
    var keys: some Sequence<BucketKey> { [Set(byteCounts.keys), unsized].joined() }
}
