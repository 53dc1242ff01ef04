import CASStore
import Storage
import VersionTree

/// What has the files of releases in an origin from which the clients of other systems are told: the origin, and the store
/// of this machine, which costs no request.
///
/// Belongs to one thread.
final class ToldSource {
    private let storage: any ObjectStorage
    private let versions: VersionStore?
    private var facts: [PublishedFacts: ContentFacts] = [:]
    private var contents: [LiveRelease: ToldBucketRelease] = [:]

    /// - Parameter versions: the store; `nil` for none.
    init(_ storage: any ObjectStorage, _ versions: VersionStore?) {
        self.storage = storage
        self.versions = versions
    }

    /// Remembers facts that have just been sent.
    func note(_ facts: ContentFacts, _ published: PublishedFacts) {
        self.facts[published] = facts
    }

    /// The files of a release.
    func files(of release: LiveRelease) -> ReleaseFiles { ReleaseFiles(release, storage, versions) }

    /// The facts of a release; `nil` if it has none, or they are lost.
    func facts(of release: LiveRelease) throws(StoreError) -> ContentFacts? {
        guard let published = release.facts else { return nil }
        if let known = facts[published] { return known }
        let found = try Self.unlessBad { () throws(StoreError) in
            try files(of: release).facts()
        }
        facts[published] = found
        return found
    }

    /// The twins of a release and their epochs; `nil` as above.
    func twins(
        of release: LiveRelease
    ) throws(StoreError) -> [(twin: ObjectFacts.Twin, epoch: Int64)]? {
        guard let published = release.facts, let facts = try facts(of: release) else { return nil }
        return try Self.unlessBad { () throws(StoreError) in
            try files(of: release).twins(of: facts, published)
        }
    }

    /// The files of a release, as who tells of it reads them; `nil` if it has no facts, or something is missing.
    func content(of offered: OfferedRelease) throws(StoreError) -> ToldBucketRelease? {
        guard let release = LiveRelease(offered) else { return nil }
        if let known = contents[release] { return known }
        guard let facts = try facts(of: release),
            let manifest = try Self.unlessBad({ () throws(StoreError) in
                try files(of: release).manifest()
            })
        else { return nil }
        let content = ToldBucketRelease(
            manifest: manifest, facts: facts, release, self, storage, versions)
        contents[release] = content
        return content
    }

    /// - Returns: `nil` if a document of a release is lost, or breaks its rules.
    private static func unlessBad<Value>(
        _ body: () throws(StoreError) -> Value?
    ) throws(StoreError) -> Value? {
        do throws(StoreError) {
            return try body()
        } catch {
            guard ReleaseFiles.saysReleaseIsBad(error) else { throw error }
            return nil
        }
    }
}

/// The files of a release: objects from the store where it has them, twins made again from these.
final class ToldBucketRelease: ToldRelease {
    let manifest: Manifest
    let facts: ContentFacts
    private let release: LiveRelease
    private unowned let source: ToldSource
    private let storage: any ObjectStorage
    private let versions: VersionStore?
    private var objectEpochs: [ObjectID: Int64]?
    private var twinEpochs: [ObjectID: Int64]?
    /// The object that each twin is made from.
    private lazy var owners = Dictionary(
        facts.objects.compactMap { object in object.twin.map { ($0.address, object) } }
    ) { first, _ in first }
    /// An archive's pieces come in order: the twin that was made last is read again.
    private var last: (address: ObjectID, bytes: [UInt8])?

    /// Larger twins are not made again in memory.
    static let madeByteCountMax: Int64 = 32 << 20

    init(
        manifest: Manifest, facts: ContentFacts, _ release: LiveRelease, _ source: ToldSource,
        _ storage: any ObjectStorage, _ versions: VersionStore?
    ) {
        self.manifest = manifest
        self.facts = facts
        self.release = release
        self.source = source
        self.storage = storage
        self.versions = versions
    }

    func object(
        _ address: ObjectID, _ range: Range<Int64>, of byteCount: Int64
    ) throws(StoreError) -> [UInt8] {
        if let file = try versions?.store.objects.open(address), let versions,
            try versions.store.fileSystem.status(file.raw).byteCount == byteCount
        {
            let bytes = try versions.store.fileSystem.read(
                file.raw, at: range.lowerBound, count: range.count)
            if bytes.count == range.count { return bytes }
        }
        if objectEpochs == nil {
            objectEpochs = [:]
            for (object, epoch) in try source.files(of: release).objects() {
                objectEpochs?[object.address] = epoch
            }
        }
        return try fetch(
            OriginKey(.object, address, in: objectEpochs?[address] ?? 0), range, byteCount)
    }

    func twin(
        _ address: ObjectID, _ range: Range<Int64>, of byteCount: Int64
    ) throws(StoreError) -> [UInt8] {
        if let made = try made(address, byteCount) {
            return Array(made[Int(range.lowerBound)..<Int(range.upperBound)])
        }
        if twinEpochs == nil {
            twinEpochs = [:]
            for (twin, epoch) in try source.twins(of: release) ?? [] {
                twinEpochs?[twin.address] = epoch
            }
        }
        return try fetch(
            OriginKey(.twin, address, in: twinEpochs?[address] ?? 0), range, byteCount)
    }

    /// The twin made again from the store's object; `nil` if the store lacks it, or this zlib gives another one.
    private func made(
        _ address: ObjectID, _ byteCount: Int64
    ) throws(StoreError) -> [UInt8]? {
        if let last, last.address == address { return last.bytes }
        guard byteCount <= Self.madeByteCountMax, let versions, let owner = owners[address],
            let file = try versions.store.objects.open(owner.address)
        else { return nil }
        let twin = try TwinMaking.twin(
            of: file.raw, versions.store.fileSystem, capacity: Int(byteCount))
        guard twin.count == byteCount, try ObjectID(of: twin) == address else { return nil }
        last = (address, twin)
        return twin
    }

    private func fetch(
        _ key: OriginKey, _ range: Range<Int64>, _ byteCount: Int64
    ) throws(StoreError) -> [UInt8] {
        guard !range.isEmpty else { return [] }
        let (outcome, bytes) = try storage.bytes(
            key.path, ReadRequest(range: range, byteCountMax: Int64(range.count)))
        guard case .found(let file) = outcome, file.byteCount == byteCount,
            bytes.count == range.count
        else {
            throw StoreError(
                .damagedOrigin,
                "version \(release.version.name) is offered in \(storage.place), and \(key.path) is not there, or has another "
                    + "size; castree fsck --repair writes it again", object: key.address)
        }
        return bytes
    }
}
