import CASStore
import Storage
import Synchronization

/// Finds out which files stand in a bucket with the sizes that they should have: for `--verify`.
struct StandingFiles {
    private let bucket: any ObjectStorage

    /// Up to so many files are asked for one by one; more are listed first.
    private static let askedCountMax = 64

    init(in bucket: any ObjectStorage) { self.bucket = bucket }

    /// Whether all of them are there.
    func have(_ files: [SizedKey]) throws(StoreError) -> Bool {
        var wanted: [BucketKey: Int64] = [:]
        for file in files { wanted[file.key] = file.byteCount }
        return try missing(of: wanted).isEmpty
    }

    /// Those that are not there, or have another size.
    func missing(of wanted: [BucketKey: Int64]) throws(StoreError) -> Set<BucketKey> {
        var unseen = wanted
        if wanted.count > Self.askedCountMax {
            // Of what is no twin, all but a few are objects.
            let places = wanted.keys.map {
                BucketKey.prefix(of: $0.kind == .twin ? .twin : .object, in: $0.epoch)
            }
            for place in Set(places).sorted() {
                try bucket.listAll(place) {
                    (page) throws(StoreError) in
                    for file in page.files {
                        guard let key = BucketKey(path: file.key), unseen[key] == file.byteCount
                        else { continue }
                        unseen[key] = nil
                    }
                    return true
                }
            }
        }
        // A listing may show late what is there.
        let asked = unseen.sorted { $0.key.path < $1.key.path }
        let bucket = bucket
        let missing = Mutex<Set<BucketKey>>([])
        try bucket.inParallel(asked.count) { (index) throws(StoreError) in
            let (key, byteCount) = asked[index]
            if try bucket.head(key.path)?.byteCount == byteCount { return }
            missing.withLock { _ = $0.insert(key) }
        }
        return missing.withLock { $0 }
    }
}
