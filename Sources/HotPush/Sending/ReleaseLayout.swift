import CASStore
import Storage
import VersionTree

/// Decides where the files of a release stand for a commit upon a state; sends nothing.
///
/// Belongs to one thread.
final class ReleaseLayout {
    private let version: PublishedVersion
    private let channel: ChannelName
    private let versions: VersionStore
    private let seen: SeenFiles
    private let options: PublisherOptions
    /// Whether files are looked for that the log says are there: a stat(2) costs nothing.
    private var isLooking: Bool { options.verifiesObjects || storage.readsFreely }
    let objects: [Reference]
    private var listed: Set<Int64> = []
    private var storage: any ObjectStorage { seen.storage }
    /// The largest file of places; tests lower it.
    var placesByteCountMax = Places.byteCountMax

    init(
        _ manifest: Manifest, _ version: PublishedVersion, for channel: ChannelName,
        of versions: VersionStore, _ seen: SeenFiles, _ options: PublisherOptions
    ) {
        self.channel = channel
        objects = Array(manifest.references)
        self.version = version
        self.versions = versions
        self.seen = seen
        self.options = options
    }

    /// What is decided.
    struct Plan {
        /// The version where it stands already, all of it.
        var standing: PublishedVersion?
        /// For each object, in ascending order, the epoch in which it stands, or will.
        var epochs: [Int64] = []
        /// The objects that are to be sent, under the newest epoch.
        var lacking: [Reference] = []
    }

    /// - Throws: what reading throws.
    func plan(in state: OriginState) throws(StoreError) -> Plan {
        // The same files are offered already.
        for release in state.pointers.values.flatMap(\.liveReleases)
        where release.version.manifest == version.manifest {
            if isLooking, try !stands(release) { continue }
            var standing = version
            standing.epoch = release.version.epoch
            standing.places = release.version.places
            return Plan(standing: standing)
        }
        let epoch = state.entry.epoch
        var epochs = try ReleaseBases(storage, versions).epochs(
            of: objects, in: state, for: channel)
        let wrong = isLooking ? try drop(missingFrom: &epochs) : []
        let unknown = objects.filter {
            epochs[$0.address] == nil && !wrong.contains($0.address)
        }
        try seen.look(
            for: unknown.map { ($0.address, $0.byteCount) }, .object, upon: epoch,
            besides: &listed)
        for object in objects where epochs[object.address] == nil {
            epochs[object.address] = seen.epoch(of: .object, object.address, upon: epoch)
        }
        let inOrder = Places(objects.map { epochs[$0.address] ?? epoch })
            .bounded(by: placesByteCountMax, newest: epoch)
        var plan = Plan()
        for (number, object) in objects.enumerated() {
            let place = inOrder.epoch(of: number)
            plan.epochs.append(place)
            if epochs[object.address] != place,
                !seen.contains(OriginKey(.object, object.address, in: place))
            {
                plan.lacking.append(object)
            }
        }
        return plan
    }

    // MARK: --verify

    /// Whether all files of a release stand there.
    private func stands(_ release: LiveRelease) throws(StoreError) -> Bool {
        let found = try PackBases.harmless { () throws(StoreError) in
            try ReleaseFiles(release, storage, versions).objects()
        }
        guard let found, found.count == objects.count, try hasManifest(of: release) else {
            return false
        }
        let manifest = SizedKey(
            key: OriginKey(.manifest, version.manifest, in: release.version.epoch),
            byteCount: version.manifestByteCount)
        return try StandingFiles(in: storage, options).have(
            found.map { object, epoch in
                SizedKey(
                    key: OriginKey(.object, object.address, in: epoch), byteCount: object.byteCount)
            } + (storage.readsFreely ? [] : [manifest]))
    }

    /// Whether the manifest is what its name says, where that costs nothing.
    private func hasManifest(of release: LiveRelease) throws(StoreError) -> Bool {
        guard storage.readsFreely else { return true }
        let key = OriginKey(.manifest, version.manifest, in: release.version.epoch)
        let request = ReadRequest(byteCountMax: version.manifestByteCount)
        return try PackBases.harmless { () throws(StoreError) in
            let (outcome, bytes) = try storage.bytes(key.path, request)
            guard case .found = outcome else { return nil }
            return try ObjectID(of: bytes) == version.manifest
        } ?? false
    }

    /// - Returns: those that are not there, or not what they should be.
    private func drop(
        missingFrom epochs: inout [ObjectID: Int64]
    ) throws(StoreError) -> Set<ObjectID> {
        var wanted: [OriginKey: Int64] = [:]
        for object in objects {
            guard let epoch = epochs[object.address] else { continue }
            let key = OriginKey(.object, object.address, in: epoch)
            if !seen.contains(key) { wanted[key] = object.byteCount }
        }
        for key in try StandingFiles(in: storage, options).missing(of: wanted) {
            epochs[key.address] = nil
        }
        return Set(wanted.keys.map(\.address).filter { epochs[$0] == nil })
    }
}
