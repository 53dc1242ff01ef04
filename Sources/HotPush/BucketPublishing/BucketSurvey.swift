import Buckets
import CASStore
import VersionTree

/// What stands in a bucket, and which of it releases on offer have.
///
/// A listing is a hint: what it does not show stays, which is all that a prune needs. Belongs to one thread.
final class BucketSurvey {
    private let bucket: any Bucket
    private let log: OriginLog
    /// The files that never change, and their sizes.
    private(set) var keys: [BucketKey: Int64] = [:]
    /// What was left by looking what the store can do.
    private(set) var scratch: [(path: String, byteCount: Int64)] = []
    /// Pointers and all else that is overwritten.
    private(set) var pointers = FileFigures()
    /// The files of pointers.
    private(set) var pointerFiles: [String] = []
    /// Files that are not castree's; their bytes.
    private(set) var strays: [String] = []
    /// A file of another origin, which stands where this one has an epoch; its files look like this one's.
    private(set) var inner: String?
    private(set) var strayByteCount: Int64 = 0
    /// What a release's files are never changes: no state of the log makes it necessary to read a manifest again.
    private var contents: [PublishedVersion: [BucketKey]] = [:]
    private var packs: [PublishedDelivery: [BucketKey]] = [:]

    init(_ bucket: any Bucket, _ log: OriginLog) {
        self.bucket = bucket
        self.log = log
    }

    /// Lists everything but the log.
    func run() throws(StoreError) -> BucketSurvey {
        // Keys come in the order of their bytes: what is before the log, and what is after it.
        let log = OriginLayout.log + "/"
        try bucket.listAll("") { (page) throws(StoreError) in
            for file in page.files where file.key < log { note(file) }
            return page.files.last.map { $0.key < log } ?? true
        }
        try bucket.listAll("", startAfter: OriginLayout.log + "0") { (page) throws(StoreError) in
            for file in page.files { note(file) }
            return true
        }
        return self
    }

    private func note(_ file: ListedFile) {
        if let key = BucketKey(path: file.key) {
            keys[key] = file.byteCount
        } else if OriginLayout.isProbe(file.key) {
            scratch.append((file.key, file.byteCount))
        } else if [OriginLayout.marker, OriginLayout.channelList].contains(file.key) {
            pointers.add(file.byteCount)
        } else if file.key.hasPrefix(OriginLayout.channels + "/") {
            pointers.add(file.byteCount)
            pointerFiles.append(file.key)
        } else {
            strays.append(file.key)
            if OriginLayout.isOfInnerOrigin(file.key) { inner = file.key }
            strayByteCount = strayByteCount.addingClamped(file.byteCount)
        }
    }

    /// The files of all releases that the entries from `keptFrom` to that of the state offer.
    /// - Throws: `.damagedOrigin` if one of their manifests cannot be read.
    func live(
        keptFrom: Int64, upTo state: OriginState
    ) throws(StoreError) -> Set<BucketKey> {
        var live: Set<BucketKey> = []
        for release in try log.liveReleases(keptFrom: keptFrom, upTo: state) {
            live.formUnion(try files(of: release))
        }
        return live
    }

    /// All files of a release.
    /// - Throws: as ``live(keptFrom:upTo:)``.
    func files(of release: LiveRelease) throws(StoreError) -> [BucketKey] {
        let reader = ReleaseFiles(release, bucket, nil)
        let files =
            if let known = contents[release.version] { known } else {
                try reader.contents().map(\.key)
            }
        contents[release.version] = files
        guard let delivery = release.delivery else { return files }
        let packed = if let known = packs[delivery] { known } else { try self.packed(reader) }
        packs[delivery] = packed
        return files + packed
    }

    private func packed(_ reader: ReleaseFiles) throws(StoreError) -> [BucketKey] {
        do throws(StoreError) {
            return try reader.packed().map(\.key)
        } catch {
            guard ReleaseFiles.saysReleaseIsBad(error) else { throw error }
            // Packs are derived: one delivery that is lost keeps nobody from pruning. All packs stay until it is
            // known again which of them are needed.
            return keys.keys.filter { $0.kind == .pack || $0.kind == .delivery }
        }
    }

    /// The files that nobody needs: what every pruner may delete now, and what waits for a later prune.
    func unneeded(
        in entry: LogEntry, _ isNeeded: (BucketKey) -> Bool
    ) -> (garbage: FileFigures, waiting: FileFigures) {
        var (garbage, waiting) = (FileFigures(), FileFigures())
        for (key, byteCount) in keys where !isNeeded(key) {
            if key.epoch <= entry.garbageEpochMax {
                garbage.add(byteCount)
            } else {
                waiting.add(byteCount)
            }
        }
        return (garbage, waiting)
    }
}
