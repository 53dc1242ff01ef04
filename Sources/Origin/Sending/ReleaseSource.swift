package import CASStore
package import HotPush
import Storage
package import VersionTree

/// Reads the files of releases for other systems' clients, from the origin or, without a request, from the local store.
///
/// Belongs to one thread.
final class ReleaseSource {
    /// The files that the command has sent.
    let seen: SeenFiles
    let versions: VersionStore?
    private var facts: [PublishedFacts: ContentFacts] = [:]
    private var contents: [LiveRelease: ReleaseContent] = [:]

    init(_ seen: SeenFiles, _ versions: VersionStore? = nil) {
        self.seen = seen
        self.versions = versions
    }

    var storage: any ObjectStorage { seen.storage }

    func note(_ facts: ContentFacts, _ published: PublishedFacts) {
        self.facts[published] = facts
    }

    func files(of release: LiveRelease) -> ReleaseFiles { ReleaseFiles(release, storage, versions) }

    /// The facts of a release; `nil` if it has none, or they are lost.
    func facts(of release: LiveRelease) throws(StoreError) -> ContentFacts? {
        guard let published = release.facts else { return nil }
        if let known = facts[published] { return known }
        let found = try allowing(ReleaseFiles.saysReleaseIsBad, try files(of: release).facts())
        facts[published] = found
        return found
    }

    /// The deflated copies of a release where they are; `nil` as above.
    func deflatedCopies(of release: LiveRelease) throws(StoreError) -> [SizedKey]? {
        guard let published = release.facts, let facts = try facts(of: release) else { return nil }
        return try allowing(
            ReleaseFiles.saysReleaseIsBad,
            try files(of: release).deflatedCopies(of: facts, published))
    }

    /// The files of a release for other systems' clients; `nil` if it has no facts, or something is missing.
    func content(of offered: ChannelRelease) throws(StoreError) -> ReleaseContent? {
        guard let release = LiveRelease(offered) else { return nil }
        if let known = contents[release] { return known }
        // No release without facts is announced, so its manifest need not be fetched.
        guard let facts = try facts(of: release) else { return nil }
        let manifest = try allowing(
            ReleaseFiles.saysReleaseIsBad, try files(of: release).manifest())
        guard let manifest else { return nil }
        let content = ReleaseContent(manifest: manifest, facts: facts, release, self)
        contents[release] = content
        return content
    }
}

/// The files of a release for other systems' clients: objects from the store if possible, and copies deflated again.
package final class ReleaseContent {
    package let manifest: Manifest
    package let facts: ContentFacts
    /// `nil` for one that is only in the store.
    private let release: LiveRelease?
    private unowned let source: ReleaseSource
    private var objectEpochs: [ObjectID: Int64]?
    private var deflatedEpochs: [ObjectID: Int64]?
    /// The object of each deflated copy.
    private lazy var owners = Dictionary(
        facts.objects.compactMap { object in object.deflatedCopy.map { ($0.address, object) } }
    ) { first, _ in first }
    /// The last deflated copy, cached because an archive's pieces come in order.
    private var last: (address: ObjectID, bytes: [UInt8])?

    /// Larger copies are not deflated again in memory, if they are in the origin.
    static let madeByteCountMax: Int64 = 32 << 20

    init(
        manifest: Manifest, facts: ContentFacts, _ release: LiveRelease?, _ source: ReleaseSource
    ) {
        self.manifest = manifest
        self.facts = facts
        self.release = release
        self.source = source
    }

    /// Bytes of an object, not compared with its address.
    /// - Throws: `.damagedOrigin` if it is missing, or has another size.
    package func object(
        _ address: ObjectID, _ range: Range<Int64>, of byteCount: Int64
    ) throws(StoreError) -> [UInt8] {
        if let versions = source.versions, let file = try versions.store.objects.open(address),
            try versions.store.fileSystem.status(file.raw).byteCount == byteCount
        {
            let bytes = try versions.store.fileSystem.read(
                file.raw, at: range.lowerBound, count: range.count)
            if bytes.count == range.count { return bytes }
        }
        if objectEpochs == nil, let release {
            let objects = try source.files(of: release).objects()
            objectEpochs = Dictionary(objects.map { ($0.key.address, $0.key.epoch) }) { $1 }
        }
        return try fetch(
            OriginKey(.object, address, in: objectEpochs?[address] ?? 0), range, byteCount)
    }

    /// Bytes of a deflated copy, under the same conditions.
    package func deflatedCopy(
        _ address: ObjectID, _ range: Range<Int64>, of byteCount: Int64
    ) throws(StoreError) -> [UInt8] {
        if let made = try made(address, byteCount) {
            return Array(made[Int(range.lowerBound)..<Int(range.upperBound)])
        }
        if deflatedEpochs == nil, let release {
            let deflatedCopies = try source.deflatedCopies(of: release) ?? []
            deflatedEpochs = Dictionary(deflatedCopies.map { ($0.key.address, $0.key.epoch) }) {
                $1
            }
        }
        return try fetch(
            OriginKey(.deflatedCopy, address, in: deflatedEpochs?[address] ?? 0), range, byteCount)
    }

    /// Deflates the store's object again; `nil` if the store does not have it, or this zlib gives other bytes.
    private func made(_ address: ObjectID, _ byteCount: Int64) throws(StoreError) -> [UInt8]? {
        if let last, last.address == address { return last.bytes }
        guard release == nil || byteCount <= Self.madeByteCountMax,
            let versions = source.versions, let owner = owners[address],
            let file = try versions.store.objects.open(owner.address)
        else { return nil }
        let made = try DeflatedCopyMaking.deflatedCopy(
            address, byteCount, of: file.raw, versions.store.fileSystem)
        guard let deflatedCopy = made else { return nil }
        last = (address, deflatedCopy)
        return deflatedCopy
    }

    private func fetch(
        _ key: OriginKey, _ range: Range<Int64>, _ byteCount: Int64
    ) throws(StoreError) -> [UInt8] {
        guard !range.isEmpty else { return [] }
        guard let release else {
            let object = owners[key.address]?.address ?? key.address
            throw source.versions?.store.missingObject(object)
                ?? .damagedOrigin("there is no store", object: object)
        }
        let (outcome, bytes) = try source.storage.bytes(
            key.path, ReadRequest(range: range, byteCountMax: Int64(range.count)))
        guard case .found(let file) = outcome, file.byteCount == byteCount,
            bytes.count == range.count
        else {
            throw .damagedOrigin(
                "version \(release.version.name) is offered in \(source.storage.place), and \(key.path) is not there, or has "
                    + "another size; castree fsck --repair writes it again", object: key.address)
        }
        return bytes
    }
}
