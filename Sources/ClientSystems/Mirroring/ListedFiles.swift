import CASStore
import HotPush
import VersionTree

/// A release that pointers offer: which documents it consists of, and where those stand in the bucket.
struct ListedRelease: Sendable, Hashable {
    let version: PublishedVersion
    /// `nil` if no client of another system is told of it.
    let facts: ObjectID?
    let place: OfferedRelease.FactsPlace
    let delivery: PublishedDelivery?

    /// - Returns: `nil` for one that leads to what was shipped with the app.
    init?(_ release: OfferedRelease) {
        guard let version = release.version else { return nil }
        self.version = version
        facts = release.facts
        place = release.factsPlace
        delivery = release.delivery
    }

    /// What every answer to a client of another system depends on.
    var documents: [PlacedFile] {
        let manifest = PlacedFile.Name(.manifest, version.manifest)
        var files = [
            PlacedFile(manifest, in: version.epoch, byteCount: version.manifestByteCount)
        ]
        func add(_ kind: PlacedFile.Kind, _ address: ObjectID?, in epoch: Int64) {
            if let address { files.append(PlacedFile(PlacedFile.Name(kind, address), in: epoch)) }
        }
        add(.places, version.places, in: version.epoch)
        guard facts != nil else { return files }
        add(.facts, facts, in: place.epoch)
        add(.places, place.places, in: place.epoch)
        return files
    }

    /// All documents that it names.
    var files: [PlacedFile] {
        guard let delivery else { return documents }
        let name = PlacedFile.Name(.delivery, delivery.address)
        return documents
            + [PlacedFile(name, in: delivery.epoch, byteCount: delivery.byteCount)]
    }

    /// The twins' places, as those of a version's objects are read.
    var placedTwins: PublishedVersion {
        var twins = version
        (twins.epoch, twins.places) = (place.epoch, place.places)
        return twins
    }
}

/// Which files the releases on offer consist of, and where those stand: one look-up, however many releases there are.
///
/// It knows what the documents list that are here: facts of what the clients of other systems are told, manifests of other
/// releases, which castree's own devices fetch first, and deliveries.
struct ListedFiles: Sendable {
    /// What pointers offer, each once.
    private(set) var releases: [ListedRelease] = []
    private var known: Set<ListedRelease> = []
    private var documents: [PlacedFile.Name: PlacedFile] = [:]
    /// The documents that were read, whether or not they could be understood.
    private var read: Set<PlacedFile.Name> = []
    /// In the order of their addresses.
    private var rows: [PlacedFile.Kind: [Row]] = [:]
    /// Why the files of a release cannot be found out.
    private(set) var failure: StoreError?

    private struct Row: Sendable {
        var address: ObjectID
        var byteCount: Int64
        var epoch: Int64
    }

    init(_ releases: [ListedRelease] = []) { add(releases) }

    /// How many files it has besides the documents that pointers name.
    var count: Int { rows.values.reduce(0) { $0 + $1.count } }

    /// Adds what is offered besides, before what was: its documents are read first.
    private mutating func add(_ offered: [ListedRelease]) {
        let news = offered.filter { known.insert($0).inserted }
        releases = news + releases
        for file in news.flatMap(\.files) where documents[file.name] == nil {
            documents[file.name] = file
        }
    }

    /// Says what all pointers offer.
    mutating func offer(_ pointers: [ChannelPointer]) {
        let offered = pointers.flatMap(\.releases).compactMap(ListedRelease.init)
        // What lacked may be here now.
        if failure != nil || !known.isSubset(of: offered) { self = ListedFiles() }
        add(offered)
    }

    /// Says what a pointer offers besides, which is about to be here.
    mutating func offer(also pointer: ChannelPointer) {
        add(pointer.releases.compactMap(ListedRelease.init))
    }

    /// Where a file stands; `nil` if no document that was read lists it.
    func file(_ name: PlacedFile.Name) -> PlacedFile? {
        if let document = documents[name] { return document }
        guard let rows = rows[name.kind] else { return nil }
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].address < name.address { low = middle + 1 } else { high = middle }
        }
        guard low < rows.count, rows[low].address == name.address else { return nil }
        return PlacedFile(name, in: rows[low].epoch, byteCount: rows[low].byteCount)
    }

    // MARK: Reading

    /// Reads the documents that have come.
    /// - Parameter countMax: when so many files are known, no more documents are read.
    /// - Returns: the releases that there was no room for.
    mutating func read(
        in cache: MirrorCache, upTo countMax: Int = .max
    ) -> ArraySlice<ListedRelease> {
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
        _ release: ListedRelease, in cache: MirrorCache
    ) throws(StoreError) {
        let version = release.version
        if let delivery = release.delivery,
            let bytes = try unread(PlacedFile.Name(.delivery, delivery.address), in: cache)
        {
            let packs = try Delivery(bytes, named: delivery, of: version).packs.map {
                Row(address: $0.address, byteCount: $0.byteCount, epoch: delivery.epoch)
            }
            add(.pack, packs.sorted { $0.address < $1.address })
        }
        let facts = release.facts.map { PlacedFile.Name(.facts, $0) }.flatMap {
            cache.has($0) ? $0 : nil
        }
        let name = facts ?? PlacedFile.Name(.manifest, version.manifest)
        let needed = facts == nil ? [version.places] : [version.places, release.place.places]
        guard !read.contains(name),
            needed.allSatisfy({ $0.map { cache.has(PlacedFile.Name(.places, $0)) } ?? true }),
            let bytes = try unread(name, in: cache)
        else { return }
        if facts != nil {
            let facts = try ContentFacts(bytes, named: name.address)
            let objects = facts.objects.map { ($0.address, $0.byteCount) }
            let twins = facts.twins.map { ($0.address, $0.byteCount) }
            add(.object, try Self.rows(objects, version, in: cache))
            add(.twin, try Self.rows(twins, release.placedTwins, in: cache))
        } else {
            let objects = try Manifest(parsing: bytes).references.map { ($0.address, $0.byteCount) }
            add(.object, try Self.rows(objects, version, in: cache))
        }
    }

    /// The bytes of a document, once; `nil` if it is not here or was read.
    private mutating func unread(
        _ name: PlacedFile.Name, in cache: MirrorCache
    ) throws(StoreError) -> [UInt8]? {
        guard !read.contains(name), cache.has(name) else { return nil }
        read.insert(name)
        return try cache.document(name)
    }

    /// The rows of files in the order of their addresses, as places count them.
    private static func rows(
        _ files: [(ObjectID, Int64)], _ published: PublishedVersion,
        in cache: MirrorCache
    ) throws(StoreError) -> [Row] {
        var places: Places?
        if let address = published.places {
            let bytes = try cache.document(PlacedFile.Name(.places, address))
            places = try Places(bytes, of: published, count: files.count)
        }
        return files.enumerated().map { (number, file) in
            Row(
                address: file.0, byteCount: file.1,
                epoch: places?.epoch(of: number) ?? published.epoch)
        }
    }

    /// Adds rows, each address once.
    private mutating func add(_ kind: PlacedFile.Kind, _ new: [Row]) {
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
