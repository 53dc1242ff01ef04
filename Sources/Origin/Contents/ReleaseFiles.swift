package import CASStore
package import HotPush
package import Storage
package import VersionTree

/// The files of a release where they are in an origin, read from a local store where it has them.
package struct ReleaseFiles {
    private let release: LiveRelease
    private let storage: any ObjectStorage
    /// Where to look for the manifest first; `nil` for the origin only.
    private let versions: VersionStore?
    /// Reads documents in place of the origin; `nil` for the origin.
    private let reading: Reading?
    package typealias Reading = (OriginKey) throws(StoreError) -> [UInt8]

    package init(
        _ release: LiveRelease, _ storage: any ObjectStorage, _ versions: VersionStore?,
        reading: Reading? = nil
    ) {
        self.release = release
        self.storage = storage
        self.versions = versions
        self.reading = reading
    }

    /// Whether an error says that a document of a release is unreadable or breaks the rules.
    static func saysReleaseIsBad(_ error: StoreError) -> Bool {
        [.damagedOrigin, .badManifest, .tooLarge, .badPack, .unsupportedFormat].contains(error.code)
    }

    /// Whether an error says that a document which only saves work is damaged; others mend it.
    static func isHarmless(_ error: StoreError) -> Bool {
        [.damagedOrigin, .tooLarge, .badManifest, .badPack].contains(error.code)
    }

    /// The objects where they are, in ascending order.
    /// - Throws: `.damagedOrigin`, `.badManifest`; what reading throws.
    func objects() throws(StoreError) -> [SizedKey] {
        let objects = Array(try manifest().references)
        return zip(objects, try epochs(of: objects.count)).map {
            SizedKey(.object, $0.address, in: $1, $0.byteCount)
        }
    }

    /// The epochs of the release's objects, in the order of their addresses.
    /// - Parameter count: how many objects it has.
    package func epochs(of count: Int) throws(StoreError) -> [Int64] {
        let version = release.version
        guard let places = version.places else {
            return Array(repeating: version.epoch, count: count)
        }
        let key = OriginKey(.places, places, in: version.epoch)
        let found = try read(key) { (bytes) throws(StoreError) in
            try Places(bytes, of: version, count: count)
        }
        return (0..<count).map { found.epoch(of: $0) }
    }

    /// The version without its packs: manifest, places and objects.
    /// - Throws: as ``objects()``.
    package func contents() throws(StoreError) -> [PlacedFile] {
        release.documents + (try objects()).map(PlacedFile.init)
    }

    /// The delivery and its packs, if any.
    /// - Throws: `.damagedOrigin`, `.badPack`; what reading throws.
    package func packed() throws(StoreError) -> [PlacedFile] {
        guard let delivery = release.delivery, let file = release.deliveryDocument else {
            return []
        }
        let document = try read(file.key) { (bytes) throws(StoreError) in
            try Delivery(bytes, named: delivery, of: release.version)
        }
        return [file]
            + document.packs.map {
                PlacedFile(
                    OriginKey(.pack, $0.address, in: delivery.epoch), byteCount: $0.byteCount)
            }
    }

    /// The facts, their places and their deflated copies, if any.
    /// - Throws: `.damagedOrigin`; what reading throws.
    package func announced() throws(StoreError) -> [PlacedFile] {
        guard let published = release.facts, let facts = try facts() else { return [] }
        return release.factsDocuments
            + (try deflatedCopies(of: facts, published)).map(PlacedFile.init)
    }

    /// `nil` if it has none.
    /// - Throws: as ``announced()``.
    package func facts() throws(StoreError) -> ContentFacts? {
        guard let published = release.facts else { return nil }
        let key = OriginKey(.facts, published.address, in: published.epoch)
        return try read(key) { (bytes) throws(StoreError) in
            try ContentFacts(bytes, named: published.address)
        }
    }

    /// The deflated copies that the facts name, where they are, in ascending order.
    /// - Throws: as ``announced()``.
    package func deflatedCopies(
        of facts: ContentFacts, _ published: PublishedFacts
    ) throws(StoreError) -> [SizedKey] {
        let (deflatedCopies, epoch) = (facts.deflatedCopies, published.epoch)
        let found = try published.places.map { (places) throws(StoreError) in
            try read(OriginKey(.places, places, in: epoch)) { (bytes) throws(StoreError) in
                try Places(
                    bytes, ofDeflatedCopiesOf: release.version.name, published,
                    count: deflatedCopies.count)
            }
        }
        return deflatedCopies.enumerated().map { number, deflatedCopy in
            SizedKey(
                .deflatedCopy, deflatedCopy.address, in: found?.epoch(of: number) ?? epoch,
                deflatedCopy.byteCount)
        }
    }

    package func manifest() throws(StoreError) -> Manifest {
        let version = release.version
        if let known = try versions?.manifest(version.manifest, of: version.content) {
            return known
        }
        let key = OriginKey(.manifest, version.manifest, in: version.epoch)
        return try read(key) { (bytes) throws(StoreError) in try Manifest(parsing: bytes) }
    }

    /// Reads a document; the error names the release.
    private func read<R>(
        _ key: OriginKey, _ parse: ([UInt8]) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let bytes = try content(key)
        do throws(StoreError) {
            return try parse(bytes)
        } catch {
            // An audit names the release itself.
            if reading != nil { throw error }
            let version = release.version.name
            throw StoreError(
                error.code,
                "version \(version) is offered in \(storage.place), and \(key.path) cannot be read, although its bytes "
                    + "are those that were published: \(error.message); castree withdraw \(version) \(storage.argument), "
                    + "then castree prune", cause: error.cause)
        }
    }

    private func content(_ key: OriginKey) throws(StoreError) -> [UInt8] {
        if let reading { return try reading(key) }
        // Once more: without TLS, bytes may change in transit.
        for _ in 0..<2 {
            guard let bytes = try storage.contents(key.path, limit: key.byteCountMax) else { break }
            if try ObjectID(of: bytes) == key.address { return bytes }
        }
        let name = release.version.name
        let remedy =
            switch key.kind {
            case .facts: "castree publish \(name) --verify writes it again"
            case .delivery: "castree pack \(name) --verify makes another, if it is on offer"
            default:
                "castree fsck --repair writes it again from a store that has it; if none has, castree withdraw \(name) "
                    + "takes it from the channel that offers it (--channel; --adopt from one that no key of yours signs)"
            }
        throw .damagedOrigin(
            "version \(release.version.name) is offered in \(storage.place), and \(key.path) is not there, or "
                + "not what its name says; \(remedy)")
    }
}

extension VersionStore {
    /// A manifest that an origin names, byte for byte as it was published; `nil` if no version here has it.
    func manifest(_ address: ObjectID, of content: ObjectID) throws(StoreError) -> Manifest? {
        for (row, _) in try store.versionRows() where row.content == content {
            guard let manifest = try readableManifest(of: row.name),
                try ObjectID(of: manifest.serialized()) == address
            else { continue }
            return manifest
        }
        return nil
    }
}

/// The files of many releases, as positions in a table.
///
/// A release shares most files with the one before it, so a list is held as its difference from a recent one, or
/// whole if it resembles none. 10,000 releases of 10,000 files would take 400 MB, and take 17 if one file in a
/// hundred is new. Belongs to one thread.
struct ReleaseLists {
    typealias Position = KeyTable.Position

    private struct Entry {
        /// The other list; `nil` if this one is held whole.
        var base: Int?
        var depth = 0
        let difference: Difference
        let others: [OriginKey]
    }

    private static let depthMax = 64
    /// A list is compared with at most this many others, which together have at most this many files.
    private static let recentCountMax = 4
    private static let recentFileCountMax = 1 << 20
    /// Shorter lists are held whole.
    private static let comparedCountMin = 32

    private var entries: [Entry] = []
    /// The newest last.
    private var recent: [(number: Int, positions: [Position])] = []

    var heldCount: Int {
        entries.reduce(recent.reduce(0) { $0 + $1.positions.count }) { $0 + $1.difference.count }
    }

    mutating func add(_ files: ListedFiles) -> Int {
        let number = entries.count
        let positions = files.positions
        guard positions.count >= Self.comparedCountMin else {
            entries.append(Entry(difference: .whole(positions), others: files.others))
            return number
        }
        var nearest: (place: Int, difference: Difference)?
        for place in recent.indices.reversed() {
            let most = nearest?.difference.count ?? positions.count / 2
            let base = recent[place].positions
            if let found = Difference(from: base, to: positions, countMax: most) {
                nearest = (place, found)
            }
        }
        if let nearest {
            // The next lists are compared with this one instead.
            let base = recent.remove(at: nearest.place).number
            entries.append(
                Entry(
                    base: base, depth: entries[base].depth + 1, difference: nearest.difference,
                    others: files.others))
        } else {
            entries.append(Entry(difference: .whole(positions), others: files.others))
        }
        guard entries[number].depth < Self.depthMax else { return number }
        recent.append((number, positions))
        while recent.count > 1, isTooMuchRecent { recent.removeFirst() }
        return number
    }

    private var isTooMuchRecent: Bool {
        recent.count > Self.recentCountMax
            || recent.reduce(0) { $0 + $1.positions.count } > Self.recentFileCountMax
    }

    /// In ascending order.
    func positions(_ number: Int) -> [Position] {
        guard let base = entries[number].base else { return entries[number].difference.added }
        return entries[number].difference.applied(to: positions(base))
    }

    func insert(_ numbers: Set<Int>, into set: inout KeySet) {
        for number in numbers {
            let entry = entries[number]
            let isCovered = entry.base.map(numbers.contains) ?? true
            set.insert(isCovered ? entry.difference.added : positions(number))
            set.insert(entry.others)
        }
    }

    /// What each of two lists has and the other has not, in ascending order.
    fileprivate struct Difference {
        private(set) var added: [Position]
        private(set) var removed: [Position] = []

        var count: Int { added.count + removed.count }

        static func whole(_ positions: [Position]) -> Difference { Difference(added: positions) }

        private init(added: [Position]) { self.added = added }

        /// - Returns: `nil` if more than `countMax` files differ.
        init?(from base: [Position], to list: [Position], countMax: Int) {
            guard abs(base.count - list.count) <= countMax else { return nil }
            self.init(added: [])
            var (old, new) = (0, 0)
            while old < base.count || new < list.count {
                if new == list.count || old < base.count && base[old] < list[new] {
                    removed.append(base[old])
                    old += 1
                } else if old == base.count || list[new] < base[old] {
                    added.append(list[new])
                    new += 1
                } else {
                    (old, new) = (old + 1, new + 1)
                    continue
                }
                guard count <= countMax else { return nil }
            }
            // Copies drop the spare capacity.
            (added, removed) = (added.map { $0 }, removed.map { $0 })
        }

        func applied(to base: [Position]) -> [Position] {
            var list: [Position] = []
            list.reserveCapacity(base.count + added.count - removed.count)
            var (gone, new) = (0, 0)
            for position in base {
                while new < added.count, added[new] < position {
                    list.append(added[new])
                    new += 1
                }
                if gone < removed.count, removed[gone] == position {
                    gone += 1
                } else {
                    list.append(position)
                }
            }
            return list + added[new...]
        }
    }
}

extension OriginState {
    /// The same without channels that no key known here has signed, if a key signs: nothing is fetched or adopted from
    /// them.
    /// - Parameter channel: the channel that is published to; it always counts.
    func counted(_ channel: ChannelName, _ signing: PointerSigning) -> OriginState {
        guard signing.isSigning else { return self }
        let pointers = pointers.filter { $0.key == channel || signing.knowsSigner(of: $0.value) }
        return with(pointers)
    }

    /// The delivery of a version, if possible the channel's.
    func delivery(of manifest: ObjectID, in channel: ChannelName) -> PublishedDelivery? {
        if let delivery = pointers[channel]?.delivery(of: manifest) { return delivery }
        for other in pointers.keys.sorted() {
            if let delivery = pointers[other]?.delivery(of: manifest) { return delivery }
        }
        return nil
    }

    private func releases(besides channel: ChannelName) -> [ChannelRelease] {
        pointers.filter { $0.key != channel }.sorted { $0.key < $1.key }.flatMap(\.value.releases)
            .sorted { ($0.createdAt, $0.sequence) > ($1.createdAt, $1.sequence) }
    }

    /// What a channel offers, then all others, each newest first.
    func releases(first channel: ChannelName) -> [ChannelRelease] {
        (pointers[channel]?.releases ?? []) + releases(besides: channel)
    }

    /// The newest releases of a channel and then of all others, without repeated addresses: they have nearly all files.
    func newest(
        first channel: ChannelName, each address: (LiveRelease) -> ObjectID?
    ) -> [LiveRelease] {
        var seen: Set<ObjectID> = []
        let live = releases(first: channel).compactMap(LiveRelease.init)
        let different = live.filter { address($0).map { seen.insert($0).inserted } ?? false }
        return Array(different.prefix(4))
    }

    var deliveries: Set<ObjectID> {
        Set(pointers.values.flatMap(\.releases).compactMap { $0.delivery?.address })
    }

    func files(
        of manifest: ObjectID, _ storage: any ObjectStorage, _ versions: VersionStore
    ) -> ReleaseFiles? {
        pointers.values.flatMap(\.liveReleases).first { $0.version.manifest == manifest }
            .map { ReleaseFiles($0, storage, versions) }
    }
}
