import Buckets
import CASStore
import VersionTree

/// Finds where objects of a release stand that releases on offer have, too: those may be used as they are.
struct ReleaseBases {
    private let bucket: any Bucket
    private let versions: VersionStore

    /// So many releases are looked at.
    private static let countMax = 4

    init(_ bucket: any Bucket, _ versions: VersionStore) {
        self.bucket = bucket
        self.versions = versions
    }

    /// The epochs of those objects that the newest releases on offer have.
    func epochs(
        of objects: [Reference], in state: OriginState
    ) throws(StoreError) -> [ObjectID: Int64] {
        var lacking = Set(objects.map(\.address))
        var epochs: [ObjectID: Int64] = [:]
        for release in newest(in: state) {
            if lacking.isEmpty { break }
            guard let standing = try standing(release) else { continue }
            for (address, epoch) in standing where lacking.remove(address) != nil {
                epochs[address] = epoch
            }
        }
        return epochs
    }

    /// The newest releases of all channels, each version once.
    private func newest(in state: OriginState) -> [LiveRelease] {
        let offered = state.pointers.values.flatMap(\.releases).sorted {
            ($0.createdAt, $0.sequence) > ($1.createdAt, $1.sequence)
        }
        var seen: Set<ObjectID> = []
        let releases = offered.compactMap(LiveRelease.init)
            .filter { seen.insert($0.version.manifest).inserted }
        return Array(releases.prefix(Self.countMax))
    }

    /// Where the objects of a release stand; `nil` if that cannot be read, which only costs sending them.
    private func standing(
        _ release: LiveRelease
    ) throws(StoreError) -> [(ObjectID, Int64)]? {
        // It says that it is damaged to whoever checks the origin; here it is merely no base.
        try PackBases.harmless { () throws(StoreError) in
            try ReleaseFiles(release, bucket, versions).objects()
        }
    }
}

/// The files of a release in a bucket.
struct ReleaseFiles {
    private let release: LiveRelease
    private let bucket: any Bucket
    /// Where the manifest may be, too; `nil` for none.
    private let versions: VersionStore?

    init(_ release: LiveRelease, _ bucket: any Bucket, _ versions: VersionStore?) {
        self.release = release
        self.bucket = bucket
        self.versions = versions
    }

    /// Its objects and their epochs, in ascending order.
    /// - Throws: `.damagedOrigin`, `.badManifest`; what reading throws.
    func objects() throws(StoreError) -> [(ObjectID, Int64)] {
        let addresses = try manifest().references.map(\.address)
        let version = release.version
        guard let places = version.places else { return addresses.map { ($0, version.epoch) } }
        let key = BucketKey(.places, places, in: version.epoch)
        let bytes = try content(key, byteCountMax: Places.byteCountMax)
        let found = try Places(bytes, of: version, count: addresses.count)
        return addresses.indices.map { (addresses[$0], found.epoch(of: $0)) }
    }

    /// All its files.
    func keys() throws(StoreError) -> [BucketKey] {
        var keys = [BucketKey(.manifest, release.version.manifest, in: release.version.epoch)]
        if let places = release.version.places {
            keys.append(BucketKey(.places, places, in: release.version.epoch))
        }
        keys += try objects().map { BucketKey(.object, $0, in: $1) }
        guard let delivery = release.delivery else { return keys }
        let key = BucketKey(.delivery, delivery.address, in: delivery.epoch)
        keys.append(key)
        let bytes = try content(key, byteCountMax: Delivery.byteCountMax)
        for pack in try Delivery(bytes, named: delivery, of: release.version).packs {
            keys.append(BucketKey(.pack, pack.address, in: delivery.epoch))
        }
        return keys
    }

    /// Its manifest.
    /// - Throws: as ``objects()``.
    func manifest() throws(StoreError) -> Manifest {
        if let known = try storedManifest() { return known }
        let key = BucketKey(.manifest, release.version.manifest, in: release.version.epoch)
        let bytes = try content(key, byteCountMax: Int64(OriginLayout.manifestByteCountMax))
        return try Manifest(parsing: bytes)
    }

    /// The manifest if the store has it, which costs no request.
    private func storedManifest() throws(StoreError) -> Manifest? {
        guard let versions else { return nil }
        for (row, _) in try versions.store.versionRows()
        where row.content == release.version.content {
            guard let manifest = try versions.readableManifest(of: row.name),
                try ObjectID(of: manifest.serialized()) == release.version.manifest
            else { continue }
            return manifest
        }
        return nil
    }

    private func content(
        _ key: BucketKey, byteCountMax: Int64
    ) throws(StoreError) -> [UInt8] {
        let (outcome, bytes) = try bucket.bytes(
            key.path, ReadRequest(byteCountMax: byteCountMax))
        guard case .found = outcome, try ObjectID(of: bytes) == key.address else {
            throw StoreError(
                .damagedOrigin,
                "version \(release.version.name) is offered in \(bucket.place), and \(key.path) is not there, or "
                    + "not what its name says; castree fsck --repair writes it again from a store that has it"
            )
        }
        return bytes
    }
}
