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

    /// Those that are not there, or not what they should be, by their addresses.
    func missing(of wanted: [SizedKey]) throws(StoreError) -> Set<ObjectID> {
        options.verifiesObjects && storage.looksAreFree
            ? try wrong(of: wanted) : try absent(of: wanted)
    }

    private func wrong(of wanted: [SizedKey]) throws(StoreError) -> Set<ObjectID> {
        let progress = ByteProgress(options, .checking, total: wanted.byteCount)
        progress.advance(by: 0)
        let (storage, options) = (storage, options)
        let wrong = Mutex<Set<ObjectID>>([])
        try storage.inParallel(wanted.count) { (index) throws(StoreError) in
            let (key, byteCount) = (wanted[index].key, wanted[index].byteCount)
            var found: ObjectID?
            do throws(StoreError) {
                if try storage.head(key.path)?.byteCount == byteCount {
                    found = try storage.address(of: key.path, limit: byteCount) {
                        (piece) throws(StoreError) in
                        if options.isInterrupted() { throw .publishingInterrupted }
                        progress.advance(by: Int64(piece.count))
                    }
                } else {
                    progress.advance(by: byteCount)
                }
            } catch {
                // It is sent again, and takes the place of that.
                guard error.saysFileIsUnreadable else { throw error }
            }
            if found != key.address { wrong.withLock { _ = $0.insert(key.address) } }
        }
        return wrong.withLock { $0 }
    }

    private func absent(of wanted: [SizedKey]) throws(StoreError) -> Set<ObjectID> {
        var unseen = wanted
        if wanted.count > Self.askedCountMax, !storage.looksAreFree {
            // Of what is no twin, all but a few are objects.
            let places = wanted.map {
                OriginKey.prefix(of: $0.key.kind == .twin ? .twin : .object, in: $0.key.epoch)
            }
            var unlisted = Set(wanted)
            for place in Set(places).sorted() {
                try storage.forEachFile(below: place) { (file) throws(StoreError) in
                    guard let key = OriginKey(path: file.key) else { return }
                    unlisted.remove(SizedKey(key: key, byteCount: file.byteCount))
                }
            }
            unseen.removeAll { !unlisted.contains($0) }
        }
        // A listing may show late what is there.
        let sizes = try storage.sizes(of: unseen.map(\.key))
        return Set(
            zip(unseen, sizes).lazy.filter { $0.byteCount != $1 }.map(\.0.key.address))
    }
}
