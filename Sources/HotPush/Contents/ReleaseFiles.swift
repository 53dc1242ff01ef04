import CASStore
import S3
import Storage
import VersionTree

/// The files of a release.
struct ReleaseFiles {
    /// One of them, and its size as far as anything says it.
    struct File {
        let key: OriginKey
        let byteCount: Int64?
    }

    private let release: LiveRelease
    private let storage: any ObjectStorage
    /// Where the manifest may be, too; `nil` for none.
    private let versions: VersionStore?
    /// Gives the bytes of a document in place of the origin; `nil` for that.
    private let reading: Reading?
    typealias Reading = (_ key: OriginKey, _ byteCountMax: Int64) throws(StoreError) -> [UInt8]

    init(
        _ release: LiveRelease, _ storage: any ObjectStorage, _ versions: VersionStore?,
        reading: Reading? = nil
    ) {
        self.release = release
        self.storage = storage
        self.versions = versions
        self.reading = reading
    }

    /// Whether an error says that a document of a release cannot be read, or breaks its rules.
    static func saysReleaseIsBad(_ error: StoreError) -> Bool {
        [.damagedOrigin, .badManifest, .tooLarge, .badPack, .unsupportedFormat].contains(error.code)
    }

    /// Its objects and their epochs, in ascending order.
    /// - Throws: `.damagedOrigin`, `.badManifest`; what reading throws.
    func objects() throws(StoreError) -> [(object: Reference, epoch: Int64)] {
        let objects = Array(try manifest().references)
        let version = release.version
        guard let places = version.places else { return objects.map { ($0, version.epoch) } }
        let key = OriginKey(.places, places, in: version.epoch)
        let bytes = try content(key, byteCountMax: Places.byteCountMax)
        let found = try Places(bytes, of: version, count: objects.count)
        return objects.indices.map { (objects[$0], found.epoch(of: $0)) }
    }

    /// What has the version without its packs: manifest, places, objects.
    /// - Throws: as ``objects()``.
    func contents() throws(StoreError) -> [File] {
        let version = release.version
        var files = [
            File(
                key: OriginKey(.manifest, version.manifest, in: version.epoch),
                byteCount: version.manifestByteCount)
        ]
        if let places = version.places {
            files.append(
                File(key: OriginKey(.places, places, in: version.epoch), byteCount: nil))
        }
        return files
            + (try objects()).map {
                File(
                    key: OriginKey(.object, $0.object.address, in: $0.epoch),
                    byteCount: $0.object.byteCount)
            }
    }

    /// The delivery and its packs; none if there are none.
    /// - Throws: `.damagedOrigin`, `.badPack`; what reading throws.
    func packed() throws(StoreError) -> [File] {
        guard let delivery = release.delivery else { return [] }
        let key = OriginKey(.delivery, delivery.address, in: delivery.epoch)
        let bytes = try content(key, byteCountMax: Delivery.byteCountMax)
        let document = try Delivery(bytes, named: delivery, of: release.version)
        return [File(key: key, byteCount: delivery.byteCount)]
            + document.packs.map {
                File(
                    key: OriginKey(.pack, $0.address, in: delivery.epoch),
                    byteCount: $0.byteCount)
            }
    }

    /// The facts, what says where their twins stand, and these; none if there are none.
    /// - Throws: `.damagedOrigin`; what reading throws.
    func told() throws(StoreError) -> [File] {
        guard let published = release.facts, let facts = try facts() else { return [] }
        let place = published.place
        var files = [
            File(key: OriginKey(.facts, published.address, in: place.epoch), byteCount: nil)
        ]
        if let places = place.places {
            files.append(File(key: OriginKey(.places, places, in: place.epoch), byteCount: nil))
        }
        return files
            + (try twins(of: facts, published)).map {
                File(
                    key: OriginKey(.twin, $0.twin.address, in: $0.epoch),
                    byteCount: $0.twin.byteCount)
            }
    }

    /// The facts of its objects; `nil` if it has none.
    /// - Throws: as ``told()``.
    func facts() throws(StoreError) -> ContentFacts? {
        guard let published = release.facts else { return nil }
        let key = OriginKey(.facts, published.address, in: published.place.epoch)
        let bytes = try content(key, byteCountMax: Int64(ContentFacts.byteCountMax))
        return try ContentFacts(bytes, named: published.address)
    }

    /// The twins that its facts name, and their epochs, in ascending order.
    /// - Throws: as ``told()``.
    func twins(
        of facts: ContentFacts, _ published: PublishedFacts
    ) throws(StoreError) -> [(twin: ObjectFacts.Twin, epoch: Int64)] {
        let (twins, place) = (facts.twins, published.place)
        guard let places = place.places else { return twins.map { ($0, place.epoch) } }
        let key = OriginKey(.places, places, in: place.epoch)
        let bytes = try content(key, byteCountMax: Places.byteCountMax)
        let found = try Places(
            bytes, ofTwinsOf: release.version.name, place, count: twins.count)
        return twins.indices.map { (twins[$0], found.epoch(of: $0)) }
    }

    /// The version's manifest.
    /// - Throws: as ``objects()``.
    func manifest() throws(StoreError) -> Manifest {
        let version = release.version
        if let known = try versions?.manifest(version.manifest, of: version.content) {
            return known
        }
        let key = OriginKey(.manifest, version.manifest, in: version.epoch)
        let bytes = try content(key, byteCountMax: Int64(OriginLayout.manifestByteCountMax))
        return try Manifest(parsing: bytes)
    }

    private func content(
        _ key: OriginKey, byteCountMax: Int64
    ) throws(StoreError) -> [UInt8] {
        if let reading { return try reading(key, byteCountMax) }
        // Once more: where there is no TLS, bytes may change on their way.
        for _ in 0..<2 {
            let (outcome, bytes) = try storage.bytes(
                key.path, ReadRequest(byteCountMax: byteCountMax))
            guard case .found = outcome else { break }
            if try ObjectID(of: bytes) == key.address { return bytes }
        }
        throw StoreError(
            .damagedOrigin,
            "version \(release.version.name) is offered in \(storage.place), and \(key.path) is not there, or "
                + "not what its name says; castree fsck --repair writes it again from a store that has it"
        )
    }
}
