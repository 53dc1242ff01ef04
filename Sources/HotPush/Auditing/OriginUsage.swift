package import CASStore
package import Storage
package import VersionTree

/// What an origin holds: what releases need, what waits, what any pruner may delete.
package struct OriginUsage: Sendable {
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
    /// What is there for the clients of other systems: objects as raw DEFLATE, what is known of objects, and what is sent
    /// as it stands.
    package private(set) var twins = FileFigures()
    package private(set) var facts = FileFigures()
    package private(set) var documents = FileFigures()
    /// Entries of the log.
    package private(set) var log = FileFigures()
    /// What is overwritten: pointers and lists.
    package private(set) var pointerFiles = FileFigures()
    /// What says whose signatures count: only where keys were rotated.
    package private(set) var trust = FileFigures()
    /// What is not castree's, and what looking at the store has left.
    package private(set) var strays = StrayKeys()
    package private(set) var scratch = FileFigures()
    /// What is offered, by channel, newest first.
    package private(set) var releases: [Release] = []
    /// What the channels offer, sorted by name.
    package private(set) var pointers: [ChannelPointer] = []
    /// The deliveries of what they offer, by address, as far as they can be read.
    private var deliveryDocuments: [ObjectID: Delivery] = [:]
    /// What a publisher keeps for itself beside the origin: only in a directory.
    package private(set) var work = FileFigures()
    /// What it took.
    package private(set) var figures = StorageFigures()

    /// Looks at an origin in a directory, which need have no log.
    /// - Throws: as ``init(of:listed:)``.
    package init(
        ofDirectory path: String, listed: (Int) -> Void = { _ in }
    ) throws(StoreError) {
        // It says what is no origin.
        _ = try DirectoryOrigin(path)
        let storage = try DirectoryStorage(path, scratch: OriginLayout.work)
        try OriginDirectory.refuseLinks(storage.directory, POSIXFileSystem())
        try self.init(of: storage, listed: listed)
        for file in try storage.unlistedFiles() { work.add(file.byteCount) }
    }

    /// Lists an origin, and reads the log and what releases name.
    /// - Parameter listed: gets the number of keys that the listing has shown so far.
    /// - Throws: `.noOrigin`; `.damagedOrigin` if the log or a release cannot be read: a check says more.
    package init(
        of storage: any ObjectStorage, listed: (Int) -> Void = { _ in }
    ) throws(StoreError) {
        let log = OriginLog(storage)
        let named = try PointerCopy(.stable, in: storage).read().pointer?.log
        let state: OriginState
        if let written = try log.state(from: named ?? 0) {
            state = written
        } else {
            guard storage.listsAll, named == nil else {
                throw try OriginTraces(of: storage).absence(namedBy: named)
            }
            state = try OriginState(standingIn: storage)
        }
        (entry, epoch) = (state.number, state.entry.epoch)
        let survey = try OriginSurvey(storage, log).run(listed)
        let live = try survey.live(keptFrom: state.entry.keptFrom, upTo: state)
        let table = survey.table
        // By position: 0 for nobody's, the number of the one release that has it, or -1 for more of them.
        var owners = [Int32](repeating: 0, count: table.count)
        let all = Set(state.pointers.values.flatMap(\.liveReleases))
        for (release, number) in zip(all, 1...) {
            for position in try survey.positions(of: release) {
                owners[Int(position)] = owners[Int(position)] == 0 ? Int32(number) : -1
            }
        }
        waiting = survey.unneededFigures(in: state.entry, beside: live).waiting
        (pointerFiles, trust) = (survey.pointers, survey.trust)
        for position in table.positions {
            let file = table[position]
            count(file)
            if owners[Int(position)] != 0 {
                offered.add(file.byteCount)
            } else if live.contains(position) {
                inGrace.add(file.byteCount)
            }
        }
        for (key, byteCount) in table.others {
            count(SizedKey(key: key, byteCount: byteCount))
            if live.contains(key, in: table) { offered.add(byteCount) }
        }
        for file in survey.unneeded(beside: live)
        where file.key.epoch <= state.entry.garbageEpochMax(in: storage) {
            garbage[file.key.epoch, default: FileFigures()].add(file.byteCount)
        }
        (strays, scratch) = (survey.strays, survey.scratchFigures)
        for channel in state.pointers.keys.sorted() {
            for release in state.pointers[channel]?.liveReleases ?? [] {
                let files = try survey.positions(of: release)
                let own = files.filter { owners[Int($0)] != -1 }
                releases.append(
                    Release(
                        channel: channel, version: release.version.name,
                        byteCount: table.byteCount(at: files),
                        uniqueByteCount: table.byteCount(at: own)))
            }
        }
        pointers = state.pointers.values.sorted { $0.channel < $1.channel }
        try readDeliveries(in: storage)
        var entries = FileFigures()
        try storage.forEachFile(below: OriginLayout.log + "/") { (file) throws(StoreError) in
            if OriginLayout.number(ofLogEntry: file.key) != nil {
                entries.add(file.byteCount)
            } else {
                strays.add(file.key, file.byteCount)
            }
        }
        self.log = entries
        figures = storage.figures
    }

    private mutating func readDeliveries(in storage: any ObjectStorage) throws(StoreError) {
        for release in pointers.flatMap(\.liveReleases) {
            guard let delivery = release.delivery, deliveryDocuments[delivery.address] == nil else {
                continue
            }
            // Packs are derived: a check says what is wrong with a delivery.
            deliveryDocuments[delivery.address] = try storage.delivery(
                delivery, of: release.version)
        }
    }

    /// What the packs of a release save a device, as far as its delivery can be read.
    package func legs(of release: OfferedRelease, in pointer: ChannelPointer) -> [DeliveryLeg] {
        guard let document = release.delivery.flatMap({ deliveryDocuments[$0.address] }) else {
            return []
        }
        return DeliveryLeg.all(of: document, release, in: pointer, besides: pointers)
    }

    private mutating func count(_ file: SizedKey) {
        switch file.key.kind {
        case .object: objects.add(file.byteCount)
        case .manifest, .delta: manifests.add(file.byteCount)
        case .pack: packs.add(file.byteCount)
        case .delivery: deliveries.add(file.byteCount)
        case .places: places.add(file.byteCount)
        case .twin: twins.add(file.byteCount)
        case .facts: facts.add(file.byteCount)
        case .document: documents.add(file.byteCount)
        }
    }
}

extension KeyTable {
    fileprivate func byteCount(at positions: Set<Position>) -> Int64 {
        positions.reduce(0) { $0.addingClamped(self[$1].byteCount) }
    }
}
