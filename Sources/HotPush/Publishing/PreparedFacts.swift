import CASStore
import VersionTree

/// The facts of a version's objects, and what must be written of them.
struct PreparedFacts: Sendable {
    let facts: ContentFacts
    /// Where they stand, or will.
    let address: ObjectID
    /// The bytes of the file.
    let bytes: [UInt8]
    /// Whether the file is there.
    let isThere: Bool
    /// The objects whose twins were made for them.
    let made: [ObjectFacts]
    /// The facts in the origin that know the other twins.
    let sources: [ObjectID]
    /// Where the twins are that were made; `nil` if none is kept.
    let place: PackingPlace?

    /// - Parameters:
    ///   - known: what the origin knows of the objects.
    ///   - others: what is known of those that it does not know.
    ///   - made: whose twins have no place yet.
    init(
        _ known: KnownFacts, and others: [ObjectFacts], made: [ObjectFacts],
        in place: PackingPlace?, _ origin: DirectoryOrigin
    ) throws(StoreError) {
        facts = ContentFacts(Array(known.objects.values) + others)
        bytes = facts.serialized()
        address = try ObjectID(of: bytes)
        let (address, bytes) = (address, bytes)
        if known.sources.contains(address) {
            isThere = true
        } else {
            let there = try origin.fileSystem.derived(
                origin.directory, OriginLayout.facts(address), limit: bytes.count)
            isThere = there == bytes
        }
        self.made = made.filter { $0.twin != nil }
        sources = known.sources
        self.place = place
    }
}

/// What the releases of an origin know already of a version's objects.
struct KnownFacts {
    /// By address.
    private(set) var objects: [ObjectID: ObjectFacts] = [:]
    /// The files from which that is.
    private(set) var sources: [ObjectID] = []

    /// So many files are read, besides the version's own: the newest have nearly all that is known.
    private static let sourceCountMax = 4

    /// - Parameters:
    ///   - wanted: the objects.
    ///   - manifest: the version's.
    ///   - channel: whose releases are looked at first.
    /// - Throws: `.interrupted`; what reading throws. What is damaged is not known.
    init(
        of wanted: [Reference], _ manifest: ObjectID, in channel: ChannelName,
        _ origin: DirectoryOrigin, _ options: PublisherOptions
    ) throws(StoreError) {
        let pointers = try origin.soundPointers(for: channel)
        let ordered =
            [pointers[channel]].compactMap { $0 }
            + pointers.sorted { $0.key < $1.key }.map(\.value).filter { $0.channel != channel }
        let own = ordered.compactMap { $0.facts(of: manifest)?.address }
        let others = ordered.flatMap(\.releases).compactMap(\.facts).filter { !own.contains($0) }
        for address in (own + others).unique.prefix(own.count + Self.sourceCountMax)
        where objects.count < wanted.count {
            try add(address, wanted, origin)
        }
        try dropLacking(origin, options)
    }

    private mutating func add(
        _ address: ObjectID, _ wanted: [Reference], _ origin: DirectoryOrigin
    ) throws(StoreError) {
        let facts: ContentFacts?
        do throws(StoreError) {
            facts = try origin.facts(address)
        } catch {
            guard error.code == .damagedOrigin || error.isOfPlace else { throw error }
            return
        }
        guard let facts else { return }
        var isUsed = false
        for object in wanted where objects[object.address] == nil {
            guard let known = facts[object.address], known.byteCount == object.byteCount else {
                continue
            }
            objects[object.address] = known
            isUsed = true
        }
        if isUsed { sources.append(address) }
    }

    /// Forgets the objects whose twins are missing, or wrong if they are to be read.
    private mutating func dropLacking(
        _ origin: DirectoryOrigin, _ options: PublisherOptions
    ) throws(StoreError) {
        var owners: [ObjectID] = []
        var twins: [Reference] = []
        for object in objects.values {
            guard let twin = object.twin else { continue }
            owners.append(object.address)
            twins.append(Reference(address: twin.address, byteCount: twin.byteCount))
        }
        let directory = try OpenedDirectory.open(
            origin.directory, OriginLayout.twins, origin.fileSystem)
        let survey = OriginSurvey(
            fileSystem: origin.fileSystem, options: options, objects: directory?.raw,
            manifests: nil)
        for position in try survey.missing(twins) { objects[owners[position]] = nil }
        withExtendedLifetime(directory) {}
    }
}

extension [ObjectID] {
    /// Each once, in order.
    fileprivate var unique: [ObjectID] {
        var seen: Set<ObjectID> = []
        return filter { seen.insert($0).inserted }
    }
}
