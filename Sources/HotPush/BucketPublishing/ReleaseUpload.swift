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
    private let bucket: any Bucket
    private let options: PublisherOptions
    private let objects: [Reference]
    /// What this upload has seen: it was acknowledged, or listed.
    private var seen: Set<BucketKey> = []
    private var listed: Set<Int64> = []
    /// What was sent: how many objects, and their bytes.
    private(set) var sent = (count: 0, byteCount: Int64(0))
    /// How many objects the version has.
    var objectCount: Int { objects.count }

    /// From so many objects on, the bucket is asked what it has before they are sent.
    private static let listedCountMin = 64
    /// So many objects are sent before what was acknowledged is noted.
    private static let batchCount = 512

    init(
        _ manifest: Manifest, _ version: PublishedVersion, of versions: VersionStore,
        to bucket: any Bucket, _ options: PublisherOptions
    ) {
        self.manifest = manifest
        self.version = version
        self.versions = versions
        self.bucket = bucket
        self.options = options
        objects = Array(manifest.references)
    }

    /// Brings in what may not be used as it stands, for a commit upon a state.
    ///
    /// - Returns: the version, and where it stands.
    /// - Throws: `.damagedObject`, `.missingObject`; what the bucket refuses; `.network` if no answer came to a file.
    func place(in state: OriginState) throws(StoreError) -> PublishedVersion {
        // The same files are offered already.
        for release in state.pointers.values.flatMap(\.liveReleases)
        where release.version.manifest == version.manifest {
            var standing = version
            standing.epoch = release.version.epoch
            standing.places = release.version.places
            return standing
        }
        let epoch = state.entry.epoch
        var epochs = try ReleaseBases(bucket, versions).epochs(of: objects, in: state)
        try noteListed(objects.filter { epochs[$0.address] == nil }, epoch)
        var lacking: [Reference] = []
        for object in objects where epochs[object.address] == nil {
            if let usable = usable(.object, object.address, epoch) {
                epochs[object.address] = usable
            } else {
                lacking.append(object)
                epochs[object.address] = epoch
            }
        }
        try send(lacking, epoch)
        var standing = version
        standing.epoch = epoch
        let inOrder = objects.map { epochs[$0.address] ?? epoch }
        if inOrder.contains(where: { $0 != epoch }) {
            let bytes = Places(inOrder).serialized()
            let body = try BucketBody(bytes)
            try send(body, BucketKey(.places, body.address, in: epoch), .document)
            standing.places = body.address
        }
        try sendManifest(epoch)
        return standing
    }

    /// The epoch under which a file may be used for a commit upon an entry of that epoch.
    private func usable(
        _ kind: BucketKey.Kind, _ address: ObjectID, _ epoch: Int64
    ) -> Int64? {
        for candidate in [epoch, epoch - 1] where candidate >= 0 {
            if seen.contains(BucketKey(kind, address, in: candidate)) { return candidate }
        }
        return nil
    }

    /// Asks what stands there, so that an upload that was interrupted goes on.
    private func noteListed(_ wanted: [Reference], _ epoch: Int64) throws(StoreError) {
        guard wanted.count > Self.listedCountMin else { return }
        var sizes: [ObjectID: Int64] = [:]
        for object in wanted { sizes[object.address] = object.byteCount }
        // A hundredth of the requests that sending takes.
        var pageCount = max(1, wanted.count / 100)
        for candidate in [epoch, epoch - 1]
        where candidate >= 0 && pageCount > 0 && listed.insert(candidate).inserted {
            let prefix = OriginLayout.objectsPrefix(in: candidate)
            try bucket.listAll(prefix) { (page) throws(StoreError) in
                for file in page.files {
                    guard let key = BucketKey(path: file.key), key.kind == .object,
                        sizes[key.address] == file.byteCount
                    else { continue }
                    seen.insert(key)
                }
                pageCount -= 1
                return pageCount > 0
            }
        }
    }

    // MARK: Sending

    private func send(_ lacking: [Reference], _ epoch: Int64) throws(StoreError) {
        let byteCount = lacking.reduce(0) { $0 + $1.byteCount }
        let done = Mutex(Int64(0))
        let (bucket, store, options) = (bucket, versions.store, options)
        var start = 0
        while start < lacking.count {
            let batch = Array(lacking[start..<min(start + Self.batchCount, lacking.count)])
            let stored = Mutex<Set<BucketKey>>([])
            // What has been acknowledged counts also if another one fails.
            defer { stored.withLock { seen.formUnion($0) } }
            try bucket.inParallel(batch.count) { (index) throws(StoreError) in
                if options.isInterrupted() { throw OriginWriter.interruption }
                let object = batch[index]
                guard let file = try store.objects.open(object.address) else {
                    throw store.missingObject(object.address)
                }
                let key = BucketKey(.object, object.address, in: epoch)
                let body = BucketBody(
                    file: file.raw, byteCount: object.byteCount, address: object.address)
                let outcome = try bucket.put(key.path, body, .object)
                guard outcome.isStored else { throw Self.unanswered(key, outcome, bucket) }
                stored.withLock { _ = $0.insert(key) }
                let sum = done.withLock { (sum) -> Int64 in
                    sum += object.byteCount
                    return sum
                }
                options.progress(PublishProgress(bytes: sum, bytesTotal: byteCount))
            }
            sent.count += batch.count
            sent.byteCount += batch.reduce(0) { $0 + $1.byteCount }
            start += batch.count
        }
    }

    private func send(
        _ body: BucketBody, _ key: BucketKey, _ fields: StoredFields
    ) throws(StoreError) {
        guard !seen.contains(key) else { return }
        let outcome = try bucket.put(key.path, body, fields)
        guard outcome.isStored else { throw Self.unanswered(key, outcome, bucket) }
        seen.insert(key)
    }

    private func sendManifest(_ epoch: Int64) throws(StoreError) {
        let key = BucketKey(.manifest, version.manifest, in: epoch)
        guard !seen.contains(key) else { return }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(version.manifestByteCount))
        try manifest.serialize { (piece) throws(StoreError) in bytes.append(contentsOf: piece) }
        try send(BucketBody(bytes, address: version.manifest), key, .document)
    }

    private static func unanswered(
        _ key: BucketKey, _ outcome: WriteOutcome, _ bucket: any Bucket
    ) -> StoreError {
        let reason = if case .unknown(let why) = outcome { why.description } else { "\(outcome)" }
        return StoreError(
            .network,
            "\(key.path) could not be written to \(bucket.place): \(reason); the channel offers what it did "
                + "before, and repeating the command goes on")
    }
}
