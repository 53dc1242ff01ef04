import CASStore
import HotPush
import VersionTree

/// Which files the releases on offer consist of, and where those stand: one look-up, however many releases there are.
///
/// It knows what the documents list that are here: facts of what the clients of other systems are told, manifests of other
/// releases, which castree's own devices fetch first, and deliveries.
struct ListedFiles: Sendable {
    /// What pointers offer, each once.
    private(set) var releases: [LiveRelease] = []
    private var known: Set<LiveRelease> = []
    private var documents: [OriginKey: PlacedFile] = [:]
    /// The documents that were read, whether or not they could be understood.
    private var read: Set<OriginKey> = []
    /// In the order of their addresses.
    private var rows: [OriginKey.Kind: [Row]] = [:]
    /// Why the files of a release cannot be found out.
    private(set) var failure: StoreError?

    private struct Row: Sendable {
        var address: ObjectID
        var byteCount: Int64
        var epoch: Int64

        init(_ address: ObjectID, _ byteCount: Int64, _ epoch: Int64) {
            (self.address, self.byteCount, self.epoch) = (address, byteCount, epoch)
        }
    }

    init(_ releases: [LiveRelease] = []) { add(releases) }

    /// How many files it has besides the documents that pointers name.
    var count: Int { rows.values.reduce(0) { $0 + $1.count } }

    /// Adds what is offered besides, before what was: its documents are read first.
    private mutating func add(_ offered: [LiveRelease]) {
        let news = offered.filter { known.insert($0).inserted }
        releases = news + releases
        for release in news {
            let files =
                release.documents + release.factsDocuments
                + (release.deliveryDocument.map { [$0] } ?? [])
            for file in files where documents[file.name] == nil { documents[file.name] = file }
        }
    }

    /// Says what all pointers offer.
    mutating func offer(_ pointers: [ChannelPointer]) {
        let offered = pointers.flatMap(\.liveReleases)
        // What lacked may be here now.
        if failure != nil || !known.isSubset(of: offered) { self = ListedFiles() }
        add(offered)
    }

    /// Says what a pointer offers besides, which is about to be here.
    mutating func offer(also pointer: ChannelPointer) {
        add(pointer.liveReleases)
    }

    /// Where a file stands; `nil` if no document that was read lists it.
    func file(_ name: OriginKey) -> PlacedFile? {
        if let document = documents[name] { return document }
        guard let rows = rows[name.kind] else { return nil }
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].address < name.address { low = middle + 1 } else { high = middle }
        }
        guard low < rows.count, rows[low].address == name.address else { return nil }
        return PlacedFile(
            OriginKey(name.kind, name.address, in: rows[low].epoch), byteCount: rows[low].byteCount)
    }

    // MARK: Reading

    /// Reads the documents that have come.
    /// - Parameter countMax: when so many files are known, no more documents are read.
    /// - Returns: the releases that there was no room for.
    mutating func read(
        in cache: MirrorCache, upTo countMax: Int = .max
    ) -> ArraySlice<LiveRelease> {
        for (number, release) in releases.enumerated() {
            if count >= countMax { return releases[number...] }
            do throws(StoreError) { try read(release, in: cache) } catch {
                // What other releases list is found all the same.
                failure = failure ?? error
            }
        }
        return []
    }

    private mutating func read(
        _ release: LiveRelease, in cache: MirrorCache
    ) throws(StoreError) {
        let files = ReleaseFiles(release, cache.bucket, nil) { (key) throws(StoreError) in
            try cache.document(key.name)
        }
        if let delivery = release.deliveryDocument, isNew(delivery.name, in: cache) {
            let packs = try files.packed().dropFirst().sorted { $0.key.address < $1.key.address }
            add(.pack, packs.map { Row($0.key.address, $0.byteCount ?? 0, $0.key.epoch) })
        }
        func areHere(_ places: ArraySlice<PlacedFile>) -> Bool {
            places.allSatisfy { cache.has($0.name) }
        }
        let (documents, told) = (release.documents, release.factsDocuments)
        guard areHere(documents.dropFirst()) else { return }
        guard let published = release.facts, cache.has(told[0].name) else {
            guard isNew(documents[0].name, in: cache) else { return }
            let objects = Array(try files.manifest().references)
            let epochs = try files.epochs(of: objects.count)
            return add(.object, zip(objects, epochs).map { Row($0.address, $0.byteCount, $1) })
        }
        guard areHere(told.dropFirst()), isNew(told[0].name, in: cache),
            let facts = try files.facts()
        else { return }
        let epochs = try files.epochs(of: facts.objects.count)
        add(.object, zip(facts.objects, epochs).map { Row($0.address, $0.byteCount, $1) })
        let twins = try files.twins(of: facts, published)
        add(.twin, twins.map { Row($0.key.address, $0.byteCount, $0.key.epoch) })
    }

    /// Whether a document is here, and was not read.
    private mutating func isNew(_ name: OriginKey, in cache: MirrorCache) -> Bool {
        !read.contains(name) && cache.has(name) && read.insert(name).inserted
    }

    /// Adds rows, each address once.
    private mutating func add(_ kind: OriginKey.Kind, _ new: [Row]) {
        let known = rows[kind] ?? []
        var all: [Row] = []
        all.reserveCapacity(known.count + new.count)
        var (left, right) = (0, 0)
        while left < known.count, right < new.count {
            if new[right].address < known[left].address {
                all.append(new[right])
                right += 1
            } else {
                if known[left].address == new[right].address { right += 1 }
                all.append(known[left])
                left += 1
            }
        }
        rows[kind] = all + known[left...] + new[right...]
    }
}
