import CASStore
import HotPush
import Storage

/// Which files the releases on offer consist of, and where those stand: one look-up, however many releases there are.
///
/// It knows what the documents list that are here: manifests, facts, deliveries.
struct ListedFiles: Sendable {
    private struct Place: Sendable {
        var byteCount: Int64?
        var epoch: Int64
    }

    /// What pointers offer.
    private(set) var releases: Set<LiveRelease> = []
    /// The documents that were read, whether or not they could be understood.
    private var read: Set<OriginKey> = []
    private var places: [OriginKey.Kind: [ObjectID: Place]] = [:]
    /// Why the files of a release cannot be found out.
    private(set) var failure: StoreError?

    /// Adds files, each name once.
    private mutating func add(_ files: [PlacedFile]) {
        for file in files where self.file(file.name) == nil {
            places[file.key.kind, default: [:]][file.key.address] = Place(
                byteCount: file.byteCount, epoch: file.key.epoch)
        }
    }

    /// Says what all pointers offer.
    mutating func offer(_ pointers: [ChannelPointer]) {
        // What lacked may be here now.
        let offered = pointers.flatMap(\.liveReleases)
        if failure != nil || !releases.isSubset(of: offered) { self = ListedFiles() }
        for pointer in pointers { offer(also: pointer) }
    }

    /// Says what a pointer offers besides, which is about to be here.
    mutating func offer(also pointer: ChannelPointer) {
        for release in pointer.liveReleases where releases.insert(release).inserted {
            add(release.documents + release.factsDocuments)
            add(release.deliveryDocument.map { [$0] } ?? [])
        }
    }

    /// Where a file stands; `nil` if no document that was read lists it.
    func file(_ name: OriginKey) -> PlacedFile? {
        guard let place = places[name.kind]?[name.address] else { return nil }
        return PlacedFile(
            OriginKey(name.kind, name.address, in: place.epoch), byteCount: place.byteCount)
    }

    /// Reads the documents that have come.
    mutating func read(in cache: CachedStorage) {
        for release in releases {
            do throws(StoreError) { try read(release, in: cache) } catch {
                // What other releases list is found all the same.
                failure = failure ?? error
            }
        }
    }

    private mutating func read(
        _ release: LiveRelease, in cache: CachedStorage
    ) throws(StoreError) {
        let files = ReleaseFiles(release, cache, nil)
        if isNew(release.deliveryDocument.map { [$0] } ?? [], in: cache) {
            add(try files.packed())
        }
        if isNew(release.documents, in: cache) { add(try files.contents()) }
        if isNew(release.factsDocuments, in: cache) { add(try files.told()) }
    }

    /// Whether documents are here that say one thing together, and were not read.
    private mutating func isNew(_ documents: [PlacedFile], in cache: CachedStorage) -> Bool {
        guard let first = documents.first?.name else { return false }
        return !read.contains(first) && documents.allSatisfy { cache.has($0.name.path) }
            && read.insert(first).inserted
    }
}
