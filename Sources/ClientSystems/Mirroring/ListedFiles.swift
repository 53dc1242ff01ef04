import CASStore
import HotPush
import Origin
import Storage

/// The files of the releases on offer, and their locations, in one look-up for any number of releases.
///
/// It knows only what the documents in the cache list: manifests, facts, pack indexes.
struct ListedFiles: Sendable {
    private struct Place: Sendable {
        var byteCount: Int64?
        var epoch: Int64
    }

    private(set) var releases: Set<LiveRelease> = []
    /// The documents that were read, whether or not they could be understood.
    private var read: Set<OriginKey> = []
    private var places: [OriginKey.Kind: [ObjectID: Place]] = [:]
    private(set) var failure: StoreError?

    private mutating func add(_ files: [PlacedFile]) {
        for file in files where self.file(file.name) == nil {
            places[file.key.kind, default: [:]][file.key.address] = Place(
                byteCount: file.byteCount, epoch: file.key.epoch)
        }
    }

    mutating func offer(_ pointers: [ChannelPointer]) {
        // Documents that were missing may have come.
        let offered = pointers.flatMap(\.liveReleases)
        if failure != nil || !releases.isSubset(of: offered) { self = ListedFiles() }
        for pointer in pointers { offer(also: pointer) }
    }

    /// Adds the offers of a pointer that is about to be published here.
    mutating func offer(also pointer: ChannelPointer) {
        for release in pointer.liveReleases where releases.insert(release).inserted {
            add(release.documents + release.factsDocuments)
            add(release.deliveryDocument.map { [$0] } ?? [])
        }
    }

    /// `nil` if no document that was read lists the file.
    func file(_ name: OriginKey) -> PlacedFile? {
        guard let place = places[name.kind]?[name.address] else { return nil }
        return PlacedFile(
            OriginKey(name.kind, name.address, in: place.epoch), byteCount: place.byteCount)
    }

    mutating func read(in cache: CachedStorage) {
        for release in releases {
            do throws(StoreError) { try read(release, in: cache) } catch {
                // Continue: the other releases' files are still found.
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
        if isNew(release.factsDocuments, in: cache) { add(try files.announced()) }
    }

    /// Whether unread documents are here whose content belongs together.
    private mutating func isNew(_ documents: [PlacedFile], in cache: CachedStorage) -> Bool {
        guard let first = documents.first?.name else { return false }
        return !read.contains(first) && documents.allSatisfy { cache.has($0.name.path) }
            && read.insert(first).inserted
    }
}
