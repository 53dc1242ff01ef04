import CASStore
import Storage
import VersionTree

/// Brings the files of a release into the origin, as far as they may not be used where they stand.
///
/// A commit upon an entry may name a file if a release that the entry offers has it, or if it stands under one of the
/// two newest epochs and this upload has seen it there (docs/buckets.md, rule U). So after each lost race it is decided
/// anew. Belongs to one thread.
final class ReleaseUpload {
    private let manifest: Manifest
    let version: PublishedVersion
    private let versions: VersionStore
    private let options: PublisherOptions
    private let layout: ReleaseLayout
    private let seen: SeenFiles
    private let watch: UploadWatch
    /// The objects that were sent.
    private(set) var sent: [Reference] = []
    /// Whether the manifest was sent.
    private(set) var hasSentManifest = false
    /// How many objects the version has, and their bytes.
    var objectCount: Int { layout.objects.count }
    var byteCount: Int64 { layout.objects.reduce(0) { $0 + $1.byteCount } }

    init(
        _ manifest: Manifest, _ version: PublishedVersion, for channel: ChannelName,
        of versions: VersionStore, _ seen: SeenFiles, _ watch: UploadWatch,
        _ options: PublisherOptions
    ) {
        self.manifest = manifest
        self.version = version
        self.versions = versions
        self.seen = seen
        self.watch = watch
        self.options = options
        layout = ReleaseLayout(
            manifest, version, for: channel, of: versions, seen, options)
    }

    /// Brings in what may not be used as it stands, for a commit upon a state.
    ///
    /// - Parameter state: replaced by the newest one if the upload took so long that files for it are of no use.
    /// - Returns: the version, and where it stands.
    /// - Throws: `.damagedObject`, `.missingObject`; what the storage refuses; `.network` if no answer came to a file.
    func place(in state: inout OriginState) throws(StoreError) -> PublishedVersion {
        while true {
            let plan = try layout.plan(in: state)
            if let standing = plan.standing { return standing }
            try PublishPlan.checkRoom(
                for: plan.lacking.map(\.byteCount) + [version.manifestByteCount],
                in: seen.storage)
            if let newer = try send(plan.lacking, for: state) {
                state = newer
                continue
            }
            return try sendDocuments(plan, state.entry.epoch)
        }
    }

    private func sendDocuments(
        _ plan: ReleaseLayout.Plan, _ epoch: Int64
    ) throws(StoreError) -> PublishedVersion {
        var standing = version
        standing.epoch = epoch
        let places = Places(plan.epochs)
        if places.areNeeded(in: epoch) {
            let body = try StorageBody(places.serialized())
            try seen.send(body, OriginKey(.places, body.address, in: epoch))
            standing.places = body.address
        }
        let key = OriginKey(.manifest, version.manifest, in: epoch)
        if !seen.contains(key) {
            let body = try StorageBody(manifest.serialized(), address: version.manifest)
            try seen.send(body, key)
            hasSentManifest = true
        }
        return standing
    }

    // MARK: Sending

    /// Sends objects under the newest epoch of a state.
    /// - Returns: a newer state if these objects are of no use any more; `nil` if all are there.
    private func send(
        _ lacking: [Reference], for state: OriginState
    ) throws(StoreError) -> OriginState? {
        let store = versions.store
        let epoch = state.entry.epoch
        var unsent = lacking.map {
            SizedKey(
                key: OriginKey(.object, $0.address, in: epoch), byteCount: $0.byteCount)
        }
        let sending = FileSending(of: unsent[...].byteCount, seen, options)
        while !unsent.isEmpty {
            let stored = try sending.run(unsent, isDue: watch.isDue) { (file) throws(StoreError) in
                guard let object = try store.objects.open(file.key.address) else {
                    throw store.missingObject(file.key.address)
                }
                return object
            }
            sent += stored.map { Reference(address: $0.key.address, byteCount: $0.byteCount) }
            let there = Set(stored)
            unsent.removeAll(where: there.contains)
            if let newer = try watch.state(ahead: state) { return newer }
        }
        return nil
    }
}
