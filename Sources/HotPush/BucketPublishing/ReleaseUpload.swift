import Buckets
import CASStore
import Synchronization
import VersionTree

/// Brings the files of a release into a bucket, as far as they may not be used where they stand.
///
/// A commit upon an entry may name a file if a release that the entry offers has it, or if it stands under one of the
/// two newest epochs and this upload has seen it there (docs/buckets.md, rule U). So after each lost race it is decided
/// anew. Belongs to one thread.
final class ReleaseUpload {
    private let manifest: Manifest
    private let version: PublishedVersion
    private let versions: VersionStore
    private let options: PublisherOptions
    private let layout: ReleaseLayout
    private let seen: SeenFiles
    private let watch: UploadWatch
    /// What was sent: how many objects, and their bytes.
    private(set) var sent = (count: 0, byteCount: Int64(0))
    /// How many objects the version has.
    var objectCount: Int { layout.objects.count }

    /// So many objects are sent before what was acknowledged is noted.
    private static let batchCount = 512

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
            manifest, version, for: channel, of: versions, seen,
            isVerifying: options.verifiesObjects)
    }

    /// Brings in what may not be used as it stands, for a commit upon a state.
    ///
    /// - Parameter state: replaced by the newest one if the upload took so long that files for it are of no use.
    /// - Returns: the version, and where it stands.
    /// - Throws: `.damagedObject`, `.missingObject`; what the bucket refuses; `.network` if no answer came to a file.
    func place(in state: inout OriginState) throws(StoreError) -> PublishedVersion {
        while true {
            let plan = try layout.plan(in: state)
            if let standing = plan.standing { return standing }
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
            let body = try BucketBody(places.serialized())
            try seen.send(body, BucketKey(.places, body.address, in: epoch), .document)
            standing.places = body.address
        }
        let key = BucketKey(.manifest, version.manifest, in: epoch)
        if !seen.contains(key) {
            let body = try BucketBody(manifest.serialized(), address: version.manifest)
            try seen.send(body, key, .document)
        }
        return standing
    }

    // MARK: Sending

    /// Sends objects under the newest epoch of a state.
    /// - Returns: a newer state if these objects are of no use any more; `nil` if all are there.
    private func send(
        _ lacking: [Reference], for state: OriginState
    ) throws(StoreError) -> OriginState? {
        let byteCount = lacking.reduce(0) { $0 + $1.byteCount }
        let done = Mutex(Int64(0))
        let (bucket, store, options) = (seen.bucket, versions.store, options)
        let epoch = state.entry.epoch
        var unsent = lacking[...]
        while !unsent.isEmpty {
            let batch = Array(unsent.prefix(Self.batchCount))
            let isDue = watch.isDue
            let stored = Mutex<[BucketKey]>([])
            // What has been acknowledged counts also if another one fails.
            defer { seen.note(stored.withLock { $0 }) }
            try bucket.inParallel(batch.count) { (index) throws(StoreError) in
                if options.isInterrupted() { throw OriginWriter.interruption }
                if isDue() { return }
                let object = batch[index]
                guard let file = try store.objects.open(object.address) else {
                    throw store.missingObject(object.address)
                }
                let key = BucketKey(.object, object.address, in: epoch)
                let body = BucketBody(
                    file: file.raw, byteCount: object.byteCount, address: object.address)
                try SeenFiles.send(body, key, .object, to: bucket)
                stored.withLock { $0.append(key) }
                let sum = done.withLock { (sum) -> Int64 in
                    sum += object.byteCount
                    return sum
                }
                options.progress(PublishProgress(bytes: sum, bytesTotal: byteCount))
            }
            let there = Set(stored.withLock { $0 }.map(\.address))
            for object in batch where there.contains(object.address) {
                sent.count += 1
                sent.byteCount += object.byteCount
            }
            unsent = batch.filter { !there.contains($0.address) } + unsent.dropFirst(batch.count)
            if let newer = try watch.state(ahead: state) { return newer }
        }
        return nil
    }
}
