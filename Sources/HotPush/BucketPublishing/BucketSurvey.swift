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
    private(set) var scratch: [String] = []
    /// Files that are not castree's.
    private(set) var strays: [String] = []
    /// What a release's files are never changes: no state of the log makes it necessary to read a manifest again.
    private var filesOf: [LiveRelease: [BucketKey]] = [:]

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
            scratch.append(file.key)
        } else if ![OriginLayout.marker, OriginLayout.channelList].contains(file.key),
            !file.key.hasPrefix(OriginLayout.channels + "/")
        {
            strays.append(file.key)
        }
    }

    /// The files of all releases that the entries from `keptFrom` to that of the state offer.
    /// - Throws: `.damagedOrigin` if one of their manifests cannot be read.
    func live(
        keptFrom: Int64, upTo state: OriginState
    ) throws(StoreError) -> Set<BucketKey> {
        var live: Set<BucketKey> = []
        for release in try log.liveReleases(keptFrom: keptFrom, upTo: state) {
            if let known = filesOf[release] {
                live.formUnion(known)
            } else {
                let files = try ReleaseFiles(release, bucket, nil).keys()
                filesOf[release] = files
                live.formUnion(files)
            }
        }
        return live
    }
}
