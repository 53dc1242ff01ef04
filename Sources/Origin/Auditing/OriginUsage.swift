package import CASStore
package import HotPush
package import Storage
package import VersionTree

/// What an origin holds: files that releases need, files that wait for a prune, and files that may be deleted now.
package struct OriginUsage: Sendable {
    package struct Release: Sendable, Hashable {
        package let channel: ChannelName
        package let version: VersionName
        package let byteCount: Int64
        /// The files that no other offered release has, which a withdrawal eventually frees.
        package let uniqueByteCount: Int64
    }

    /// The raw value is the member of JSON output.
    package enum Kind: String, Sendable, CaseIterable {
        case objects, manifests, places, packs, deliveries
        /// For clients of other systems: objects as raw DEFLATE, their facts, and files sent verbatim.
        case deflated, facts, documents
        /// What a publisher keeps for itself beside an origin in a directory.
        case publisher
        case log
        /// Pointers and lists, which are overwritten.
        case pointers
        /// The files that say whose signatures count, if keys were rotated.
        case trust
        /// What probing the store has left.
        case scratch

        fileprivate init(_ kind: OriginKey.Kind) {
            self =
                switch kind {
                case .object: .objects
                case .manifest, .delta: .manifests
                case .pack: .packs
                case .delivery: .deliveries
                case .places: .places
                case .deflatedCopy: .deflated
                case .facts: .facts
                case .document: .documents
                }
        }
    }

    package private(set) var entry: Int64 = 0
    package private(set) var epoch: Int64 = 0
    package private(set) var offered = FileFigures()
    /// Files only of releases that the grace period still keeps.
    package private(set) var inGrace = FileFigures()
    /// Files of no release that a later prune will delete.
    package private(set) var waiting = FileFigures()
    /// Files of no release that any pruner may delete now, by epoch; ``Kind/scratch`` goes with them.
    package private(set) var garbage: [Int64: FileFigures] = [:]
    private var files: [Kind: FileFigures] = [:]
    package private(set) var strays = StrayKeys()
    /// By channel, newest first.
    package private(set) var releases: [Release] = []
    /// Sorted by name.
    package private(set) var pointers: [ChannelPointer] = []
    /// The readable deliveries of these pointers, by address.
    private var deliveryDocuments: [ObjectID: Delivery] = [:]
    /// What each codec does in the readable ones of their packs, by address.
    private var shares: [ObjectID: [CodecShare]] = [:]
    package private(set) var figures = StorageFigures()

    /// Examines an origin in a directory, with or without a log.
    /// - Throws: as ``init(of:listed:)``.
    package init(
        ofDirectory path: String, notice: @escaping @Sendable (String) -> Void = { _ in },
        listed: (Int) -> Void = { _ in }
    ) throws(StoreError) {
        // The initializer explains why it is no origin.
        _ = try DirectoryOrigin(path)
        var rescue = DirectoryStorage.Rescue()
        rescue.passesOver = { OriginLayout.passes(over: $0, $1, notice) }
        let storage = try DirectoryStorage(path, scratch: OriginLayout.work, rescue: rescue)
        try OriginDirectory.refuseLinks(storage.directory, POSIXFileSystem())
        try self.init(of: storage, listed: listed)
        for file in try storage.unlistedFiles() { count(.publisher, file.byteCount) }
    }

    /// Lists an origin, and reads the log and what releases name.
    /// - Parameter listed: gets the number of keys listed so far.
    /// - Throws: `.noOrigin`; `.damagedOrigin` if the log or a release cannot be read, on which a check says more.
    package init(
        of storage: any ObjectStorage, listed: (Int) -> Void = { _ in }
    ) throws(StoreError) {
        let log = OriginLog(storage, passesGaps: true)
        let named = try LogCopy.pointer(.stable).read(from: storage).pointer?.log
        var found = try log.newestState(from: named ?? 0)
        if found == nil, named == nil, storage.isOnDisk {
            found = try OriginState(existingIn: storage)
        }
        guard let state = found, state.hasLog || !state.pointers.isEmpty else {
            throw try OriginTraces(of: storage).missingLog(namedBy: named)
        }
        (entry, epoch) = (state.number, state.entry.epoch)
        let survey = try OriginSurvey(storage, log).run(listed)
        try survey.holdCopies(beside: state)
        let live = try survey.live(keptFrom: state.entry.keptFrom, upTo: state)
        let table = survey.table
        // By position: 0 for nobody's, the number of the only release that has it, or -1 for several.
        var owners = [Int32](repeating: 0, count: table.count)
        let all = Set(state.pointers.values.flatMap(\.liveReleases))
        for (release, number) in zip(all, 1...) {
            for position in try survey.positions(of: release) {
                owners[Int(position)] = owners[Int(position)] == 0 ? Int32(number) : -1
            }
        }
        waiting = survey.unneededFigures(in: state.entry, beside: live).waiting
        files = [
            .pointers: survey.pointers, .trust: survey.trust, .scratch: survey.scratchFigures,
        ]
        for position in table.positions {
            let file = table[position]
            count(Kind(file.key.kind), file.byteCount)
            if owners[Int(position)] != 0 {
                offered.add(file.byteCount)
            } else if live.contains(position) {
                inGrace.add(file.byteCount)
            }
        }
        for (key, byteCount) in table.others {
            count(Kind(key.kind), byteCount)
            if live.contains(key, in: table) { offered.add(byteCount) }
        }
        for file in survey.unneeded(beside: live)
        where file.key.epoch <= state.entry.garbageEpochMax(in: storage) {
            garbage[file.key.epoch, default: FileFigures()].add(file.byteCount)
        }
        strays = survey.strays
        try list(state, survey) { owners[Int($0)] != -1 }
        pointers = state.pointers.values.sorted { $0.channel < $1.channel }
        // Packs are derived: a check reports damaged deliveries.
        deliveryDocuments = try OriginChannels(storage).deliveries(of: pointers)
        shares = try PackShares(storage).read(deliveryDocuments, of: state)
        try storage.forEachFile(below: OriginLayout.log + "/") { (file) throws(StoreError) in
            if OriginLayout.number(ofLogEntry: file.key) != nil {
                count(.log, file.byteCount)
            } else {
                strays.add(file.key, file.byteCount)
            }
        }
        figures = storage.figures
    }

    /// - Parameter isAlone: whether no other release has the file.
    private mutating func list(
        _ state: OriginState, _ survey: OriginSurvey, isAlone: (KeyTable.Position) -> Bool
    ) throws(StoreError) {
        let table = survey.table
        for channel in state.pointers.keys.sorted() {
            for release in state.pointers[channel]?.liveReleases ?? [] {
                let files = try survey.positions(of: release)
                releases.append(
                    Release(
                        channel: channel, version: release.version.name,
                        byteCount: table.byteCount(at: files),
                        uniqueByteCount: table.byteCount(at: files.filter(isAlone))))
            }
        }
    }

    private mutating func count(_ kind: Kind, _ byteCount: Int64) {
        files[kind, default: FileFigures()].add(byteCount)
    }

    package subscript(kind: Kind) -> FileFigures { files[kind] ?? FileFigures() }

    /// The packs of a release and what they save, as far as its delivery can be read.
    package func entries(of release: ChannelRelease, in pointer: ChannelPointer) -> [DeliveryEntry]
    {
        guard let document = release.delivery.flatMap({ deliveryDocuments[$0.address] }) else {
            return []
        }
        return DeliveryEntry.all(
            of: document, release, in: pointer, besides: pointers, sharing: shares)
    }
}

extension KeyTable {
    fileprivate func byteCount(at positions: Set<Position>) -> Int64 {
        positions.reduce(0) { $0.addingClamped(self[$1].byteCount) }
    }
}
