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
    /// How much that is.
    private(set) var scratchFigures = FileFigures()
    /// Pointers and all else that is overwritten.
    private(set) var pointers = FileFigures()
    /// The files of pointers.
    private(set) var pointerFiles: [String] = []
    /// Files that are not castree's.
    private(set) var strays = StrayKeys()
    /// A file of another origin, which stands where this one has an epoch; its files look like this one's.
    private(set) var inner: String?
    /// What a release's files are never changes: no state of the log makes it necessary to read a manifest again.
    private var contents: [PublishedVersion: [BucketKey]] = [:]
    private var packs: [PublishedDelivery: [BucketKey]] = [:]

    init(_ bucket: any Bucket, _ log: OriginLog) {
        self.bucket = bucket
        self.log = log
    }

    /// Lists everything but the log.
    /// - Parameter listed: gets the number of keys so far.
    func run(_ listed: (Int) -> Void = { _ in }) throws(StoreError) -> BucketSurvey {
        // Keys come in the order of their bytes: what is before the log, and what is after it.
        let spans = [
            KeySpan(upTo: OriginLayout.log + "/"), KeySpan(after: OriginLayout.log + "0"),
        ]
        var count = 0
        try bucket.list(spans, cutAt: Self.cuts) { (files) throws(StoreError) in
            for file in files { note(file) }
            count += files.count
            listed(count)
        }
        return self
    }

    /// Where a listing may be cut in two: at the first digits of objects, which are most of all files.
    private static func cuts(after key: String) -> [String] {
        let epoch = OriginLayout.epoch(of: key)?.epoch ?? 0
        return Set([0, epoch]).flatMap { epoch in
            (0..<16).map { OriginLayout.objectsPrefix(in: epoch) + String($0, radix: 16) }
        }
    }

    private func note(_ file: ListedFile) {
        if let key = BucketKey(path: file.key) {
            keys[key] = file.byteCount
        } else if OriginLayout.isProbe(file.key) {
            scratch.append((file.key, file.byteCount))
            scratchFigures.add(file.byteCount)
        } else if [OriginLayout.marker, OriginLayout.channelList].contains(file.key) {
            pointers.add(file.byteCount)
        } else if OriginLayout.isTrust(file.key) {
            pointers.add(file.byteCount)
        } else if OriginLayout.channel(ofPointer: file.key) != nil {
            pointers.add(file.byteCount)
            pointerFiles.append(file.key)
        } else {
            strays.add(file.key, file.byteCount)
            if OriginLayout.isOfInnerOrigin(file.key) { inner = file.key }
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
        var (garbage, waiting) = (scratchFigures, FileFigures())
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
