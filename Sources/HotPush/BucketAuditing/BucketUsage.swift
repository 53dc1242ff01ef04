package import Buckets
package import CASStore
package import VersionTree

/// What an origin in a bucket holds: what releases need, what waits, what any pruner may delete.
package struct BucketUsage: Sendable {
    /// A release that is offered, and what only it has.
    package struct Release: Sendable, Hashable {
        package let channel: ChannelName
        package let version: VersionName
        /// All its files.
        package let byteCount: Int64
        /// Of these, what no other release on offer has: what a withdrawal frees in the end.
        package let uniqueByteCount: Int64
    }

    /// The newest entry of the log, and where new files are written.
    package private(set) var entry: Int64 = 0
    package private(set) var epoch: Int64 = 0
    /// What releases on offer have.
    package private(set) var offered = FileFigures()
    /// What only releases have that the grace still keeps.
    package private(set) var inGrace = FileFigures()
    /// What no release has, and a later prune will delete.
    package private(set) var waiting = FileFigures()
    /// What no release has, and every pruner may delete now, by epoch; ``scratch`` goes with it.
    package private(set) var garbage: [Int64: FileFigures] = [:]
    /// The same files by what they are.
    package private(set) var objects = FileFigures()
    package private(set) var manifests = FileFigures()
    package private(set) var packs = FileFigures()
    package private(set) var deliveries = FileFigures()
    package private(set) var places = FileFigures()
    /// Entries of the log.
    package private(set) var log = FileFigures()
    /// What is overwritten: pointers and lists.
    package private(set) var pointers = FileFigures()
    /// What is not castree's, and what looking at the store has left.
    package private(set) var strays = StrayKeys()
    package private(set) var scratch = FileFigures()
    /// What is offered, by channel, newest first.
    package private(set) var releases: [Release] = []
    /// What it took.
    package private(set) var figures = BucketFigures()

    /// Lists the bucket, and reads the log and what releases name.
    /// - Parameter listed: gets the number of keys that the listing has shown so far.
    /// - Throws: `.noOrigin`; `.damagedOrigin` if the log or a release cannot be read: a check says more.
    package init(
        of bucket: any Bucket, listed: (Int) -> Void = { _ in }
    ) throws(StoreError) {
        let log = OriginLog(bucket)
        let state = try BucketPublisher(bucket).open(PointerCopy(.stable, in: bucket).read(), log)
        (entry, epoch) = (state.number, state.entry.epoch)
        let survey = try BucketSurvey(bucket, log).run(listed)
        let live = try survey.live(keptFrom: state.entry.keptFrom, upTo: state)
        var owners: [BucketKey: Int] = [:]
        let all = Set(state.pointers.values.flatMap(\.liveReleases))
        for (number, release) in all.enumerated() {
            for key in Set(try survey.files(of: release)) {
                // A file of two releases is nobody's own.
                owners[key] = owners[key] == nil ? number : -1
            }
        }
        waiting = survey.unneeded(in: state.entry, live.contains).waiting
        pointers = survey.pointers
        let epochMax = state.entry.garbageEpochMax
        for (key, byteCount) in survey.keys {
            count(key, byteCount)
            if owners[key] != nil {
                offered.add(byteCount)
            } else if live.contains(key) {
                inGrace.add(byteCount)
            } else if key.epoch <= epochMax {
                garbage[key.epoch, default: FileFigures()].add(byteCount)
            }
        }
        (strays, scratch) = (survey.strays, survey.scratchFigures)
        for channel in state.pointers.keys.sorted() {
            for release in state.pointers[channel]?.liveReleases ?? [] {
                let files = Set(try survey.files(of: release))
                releases.append(
                    Release(
                        channel: channel, version: release.version.name,
                        byteCount: survey.byteCount(of: files),
                        uniqueByteCount: survey.byteCount(of: files.filter { owners[$0] != -1 })))
            }
        }
        var entries = FileFigures()
        try bucket.listAll(OriginLayout.log + "/") { (page) throws(StoreError) in
            for file in page.files {
                if OriginLayout.number(ofLogEntry: file.key) != nil {
                    entries.add(file.byteCount)
                } else {
                    strays.add(file.key, file.byteCount)
                }
            }
            return true
        }
        self.log = entries
        figures = bucket.figures
    }

    private mutating func count(_ key: BucketKey, _ byteCount: Int64) {
        switch key.kind {
        case .object: objects.add(byteCount)
        case .manifest, .delta: manifests.add(byteCount)
        case .pack: packs.add(byteCount)
        case .delivery: deliveries.add(byteCount)
        case .places: places.add(byteCount)
        }
    }
}

extension BucketSurvey {
    /// The bytes of files, as far as they are listed.
    fileprivate func byteCount(of files: Set<BucketKey>) -> Int64 {
        files.reduce(0) { $0.addingClamped(keys[$1] ?? 0) }
    }
}
