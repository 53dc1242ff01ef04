import CASStore
import HotPush
import Storage
import VersionTree

/// Brings the files of a release into the origin, unless existing ones may be used.
///
/// A commit upon an entry may name a file that an offered release has, or that is under one of the two newest epochs
/// and was seen there by this upload (docs/buckets.md, rule U). Each lost race decides anew. Belongs to one thread.
final class ReleaseUpload {
    private let work: Publication
    let objects: [Reference]
    private(set) var sent: [Reference] = []
    private(set) var hasSentManifest = false
    /// The bytes of all objects.
    var byteCount: Int64 { objects.reduce(0) { $0 + $1.byteCount } }
    private var listed: Set<Int64> = []
    /// The largest file of places; tests lower it.
    var placesByteCountMax = Places.byteCountMax
    private var version: PublishedVersion { work.version }
    private var seen: SeenFiles { work.seen }
    private var storage: any ObjectStorage { work.storage }

    init(_ work: Publication) {
        self.work = work
        objects = Array(work.manifest.references)
    }

    /// Where the files are for a commit upon a state.
    struct Plan {
        /// The version where all of it already is.
        var existing: PublishedVersion?
        /// The epoch of each object, existing or to be sent, in ascending order of objects.
        var epochs: [Int64] = []
        var lacking: [Reference] = []
    }

    /// Brings in files that may not be used where they are, for a commit upon a state.
    /// - Parameter state: replaced by the newest one if the upload took so long that its files are useless.
    /// - Returns: the version, and where it is.
    /// - Throws: `.damagedObject`, `.missingObject`; what the storage refuses; `.network` if no answer came to a file.
    func place(in state: inout OriginState) throws(StoreError) -> PublishedVersion {
        while true {
            let plan = try plan(in: state)
            if let existing = plan.existing { return existing }
            try PublishPlan.checkSpace(
                for: plan.lacking.map(\.byteCount) + [version.manifestByteCount], in: storage)
            if let newer = try send(plan.lacking, for: state) {
                state = newer
                continue
            }
            return try sendDocuments(plan, state.entry.epoch)
        }
    }

    private func sendDocuments(
        _ plan: Plan, _ epoch: Int64
    ) throws(StoreError) -> PublishedVersion {
        var existing = version
        existing.epoch = epoch
        existing.places = try seen.send(Places(plan.epochs), in: epoch)
        let key = OriginKey(.manifest, version.manifest, in: epoch)
        if !seen.contains(key) {
            let body = try StorageBody(work.manifest.serialized(), address: version.manifest)
            try seen.send(body, key)
            hasSentManifest = true
        }
        return existing
    }

    /// - Returns: a newer state if these objects have become useless; `nil` if all are there.
    private func send(
        _ lacking: [Reference], for state: OriginState
    ) throws(StoreError) -> OriginState? {
        let store = work.versions.store
        var unsent = lacking.map {
            SizedKey(.object, $0.address, in: state.entry.epoch, $0.byteCount)
        }
        let total = unsent.byteCount
        while !unsent.isEmpty {
            let stored = try seen.send(
                unsent, work.options, after: total - unsent.byteCount, isDue: work.watch.isDue
            ) { (file) throws(StoreError) in
                guard let object = try store.objects.open(file.key.address) else {
                    throw store.missingObject(file.key.address)
                }
                return object
            }
            sent += stored.map { Reference(address: $0.key.address, byteCount: $0.byteCount) }
            unsent.removeAll(where: Set(stored).contains)
            if let newer = try work.watch.state(ahead: state) { return newer }
        }
        return nil
    }

    // MARK: Planning

    /// Decides where the files are for a commit upon a state; sends nothing.
    /// - Throws: what reading throws.
    func plan(in state: OriginState) throws(StoreError) -> Plan {
        let isLooking = work.options.looks(in: storage)
        for release in state.pointers.values.flatMap(\.liveReleases)
        where release.version.manifest == version.manifest {
            if isLooking, try !stands(release) { continue }
            var existing = version
            (existing.epoch, existing.places) = (release.version.epoch, release.version.places)
            return Plan(existing: existing)
        }
        let epoch = state.entry.epoch
        var epochs = try existing(in: state)
        let wrong = isLooking ? try drop(missingFrom: &epochs) : []
        let unknown = objects.filter {
            epochs[$0.address] == nil && !wrong.contains($0.address)
        }
        try seen.look(for: unknown, .object, upon: epoch, besides: &listed)
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

    /// The epochs of objects that the newest offered releases have, and that may thus be used.
    private func existing(in state: OriginState) throws(StoreError) -> [ObjectID: Int64] {
        var lacking = Set(objects.map(\.address))
        var epochs: [ObjectID: Int64] = [:]
        for release in state.newest(first: work.channel, each: { $0.version.manifest })
        where !lacking.isEmpty {
            for object in try objects(of: release) ?? []
            where lacking.remove(object.key.address) != nil {
                epochs[object.key.address] = object.key.epoch
            }
        }
        return epochs
    }

    /// The objects of a release where they are; `nil` if they cannot be read, which only means that they are sent.
    private func objects(of release: LiveRelease) throws(StoreError) -> [SizedKey]? {
        try allowing(
            ReleaseFiles.isHarmless, try ReleaseFiles(release, storage, work.versions).objects())
    }

    private func stands(_ release: LiveRelease) throws(StoreError) -> Bool {
        let manifest = SizedKey(
            .manifest, version.manifest, in: release.version.epoch, version.manifestByteCount)
        guard var files = try objects(of: release), files.count == objects.count else {
            return false
        }
        if storage.isOnDisk {
            let found = try allowing(
                ReleaseFiles.isHarmless,
                try storage.contents(manifest.key.path, limit: manifest.byteCount))
            guard let found, try ObjectID(of: found) == version.manifest else { return false }
        } else {
            files.append(manifest)
        }
        return try storage.missing(of: files, work.options).isEmpty
    }

    /// - Returns: the objects that are missing, or wrong.
    private func drop(
        missingFrom epochs: inout [ObjectID: Int64]
    ) throws(StoreError) -> Set<ObjectID> {
        let wanted = objects.compactMap { object in
            epochs[object.address].map {
                SizedKey(.object, object.address, in: $0, object.byteCount)
            }
        }.filter { !seen.contains($0.key) }
        let missing = try storage.missing(of: wanted, work.options)
        for address in missing { epochs[address] = nil }
        return missing
    }
}

/// A version on its way into a channel, with what all parts of publishing need; belongs to one thread.
struct Publication {
    let manifest: Manifest
    let version: PublishedVersion
    let channel: ChannelName
    let versions: VersionStore
    let seen: SeenFiles
    let watch: UploadWatch
    let options: PublisherOptions

    var storage: any ObjectStorage { seen.storage }
}

/// Looks at the end of the log from time to time during an upload, which may take hours.
///
/// If it is two epochs behind, its files may not be named any more. Belongs to one thread, except ``isDue``.
final class UploadWatch {
    private let log: OriginLog
    private let now: @Sendable () -> Int64
    private var lookedAt: Int64

    static let interval: Int64 = 600

    init(_ log: OriginLog, now: @escaping @Sendable () -> Int64) {
        self.log = log
        self.now = now
        lookedAt = now()
    }

    /// Whether it is time to look; on any thread.
    var isDue: @Sendable () -> Bool {
        let (now, time) = (now, lookedAt + Self.interval)
        return { now() >= time }
    }

    func state(ahead state: OriginState) throws(StoreError) -> OriginState? {
        guard isDue() else { return nil }
        lookedAt = now()
        guard let newest = try log.state(from: state.number),
            newest.entry.epoch >= state.entry.epoch + 2
        else { return nil }
        return newest
    }
}
