package import CASStore
package import HotPush
package import Storage
package import VersionTree

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
    func manifest(
        _ address: ObjectID, of content: ObjectID
    ) throws(StoreError) -> Manifest? {
        for (row, _) in try store.versionRows() where row.content == content {
            guard let manifest = try readableManifest(of: row.name),
                try ObjectID(of: manifest.serialized()) == address
            else { continue }
            return manifest
        }
        return nil
    }
}
