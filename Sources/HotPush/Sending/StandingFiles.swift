import CASStore
import Storage
import Synchronization

/// Finds out which files stand in an origin as they should.
///
/// Their sizes are looked at; for `--verify` their bytes are held against their addresses, where reading costs nothing.
struct StandingFiles {
    private let storage: any ObjectStorage
    private let options: PublisherOptions

    /// Up to so many files are asked for one by one; more are listed first, where reading costs requests.
    private static let askedCountMax = 64

    init(in storage: any ObjectStorage, _ options: PublisherOptions) {
        self.storage = storage
        self.options = options
    }

    /// Whether all of them are there.
    func have(_ files: [SizedKey]) throws(StoreError) -> Bool {
        var wanted: [OriginKey: Int64] = [:]
        for file in files { wanted[file.key] = file.byteCount }
        return try missing(of: wanted).isEmpty
    }

    /// Those that are not there, or not what they should be.
    func missing(of wanted: [OriginKey: Int64]) throws(StoreError) -> Set<OriginKey> {
        options.verifiesObjects && storage.readsFreely
            ? try wrong(of: wanted) : try absent(of: wanted)
    }

    private func wrong(of wanted: [OriginKey: Int64]) throws(StoreError) -> Set<OriginKey> {
        let all = wanted.sorted { $0.key.path < $1.key.path }
        let progress = CheckingProgress(
            options, total: all.reduce(0) { $0.addingClamped($1.value) })
        let (storage, options) = (storage, options)
        let wrong = Mutex<Set<OriginKey>>([])
        try storage.inParallel(all.count) { (index) throws(StoreError) in
            let (key, byteCount) = all[index]
            guard try storage.head(key.path)?.byteCount == byteCount else {
                progress.skip(byteCount)
                wrong.withLock { _ = $0.insert(key) }
                return
            }
            var digester = try Digester(.sha256)
            let request = ReadRequest(byteCountMax: byteCount)
            _ = try storage.get(key.path, request) { (piece) throws(StoreError) in
                if options.isInterrupted() { throw .publishingInterrupted }
                digester.update(piece)
                progress.skip(Int64(piece.count))
            }
            if digester.finish({ ObjectID(unchecked: $0) }) != key.address {
                wrong.withLock { _ = $0.insert(key) }
            }
        }
        return wrong.withLock { $0 }
    }

    private func absent(of wanted: [OriginKey: Int64]) throws(StoreError) -> Set<OriginKey> {
        var unseen = wanted
        if wanted.count > Self.askedCountMax, !storage.readsFreely {
            // Of what is no twin, all but a few are objects.
            let places = wanted.keys.map {
                OriginKey.prefix(of: $0.kind == .twin ? .twin : .object, in: $0.epoch)
            }
            for place in Set(places).sorted() {
                try storage.listAll(place) {
                    (page) throws(StoreError) in
                    for file in page.files {
                        guard let key = OriginKey(path: file.key), unseen[key] == file.byteCount
                        else { continue }
                        unseen[key] = nil
                    }
                    return true
                }
            }
        }
        // A listing may show late what is there.
        let asked = unseen.sorted { $0.key.path < $1.key.path }
        let storage = storage
        let missing = Mutex<Set<OriginKey>>([])
        try storage.inParallel(asked.count) { (index) throws(StoreError) in
            let (key, byteCount) = asked[index]
            if try storage.head(key.path)?.byteCount == byteCount { return }
            missing.withLock { _ = $0.insert(key) }
        }
        return missing.withLock { $0 }
    }
}
