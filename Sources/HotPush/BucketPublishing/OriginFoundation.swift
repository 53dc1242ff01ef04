import Buckets
import CASStore
import VersionTree

/// Makes an origin in a bucket that has no log: looks what the store can do, then writes entry 1.
///
/// What the recipe for directories has copied there is taken over: the pointers that stand there become those of entry 1.
struct OriginFoundation {
    private let publisher: BucketPublisher
    private let log: OriginLog
    private var bucket: any Bucket { publisher.bucket }

    init(_ publisher: BucketPublisher, _ log: OriginLog) {
        self.publisher = publisher
        self.log = log
    }

    /// - Returns: what the origin is then; somebody else may have been faster.
    /// - Throws: `.unsuitableStore`; `.badOrigin` if something else stands there; what reading and writing throws.
    func lay() throws(StoreError) -> OriginState {
        var entry = LogEntry(
            kind: .create, createdAt: publisher.now(), author: try LogEntry.drawAuthor(),
            keptFrom: 1)
        let standing: [ChannelPointer]
        do throws(StoreError) {
            entry.pointerCondition = try StoreProbe(bucket).run()
            standing = try standingPointers()
        } catch {
            // Others may have made the origin meanwhile and gone on: the pointers are theirs, and a prune has deleted
            // what the probe wrote.
            guard let state = try log.state(from: 0) else { throw error }
            return state
        }
        for pointer in standing {
            entry.channels[pointer.channel] = 1
            entry.pointers[pointer.channel] = pointer
        }
        let marker = try bucket.put(
            OriginLayout.marker, try BucketBody(OriginMarker.serialized), .pointer)
        guard marker.isStored else {
            throw StoreError(
                .network, "no answer came to \(OriginLayout.marker) in \(bucket.place)")
        }
        if try LogCommit(entry, 1, log, publisher.pause).carryOut() {
            log.note(entry, 1)
            return OriginState(number: 1, entry: entry, pointers: entry.pointers)
        }
        guard let state = try log.state(from: 1) else {
            throw StoreError(.network, "entry 1 of the log in \(bucket.place) cannot be read")
        }
        return state
    }

    /// The pointers that stand in a bucket without a log, with all their manifests.
    private func standingPointers() throws(StoreError) -> [ChannelPointer] {
        var names: [ChannelName] = []
        try bucket.listAll(OriginLayout.channels + "/") { (page) throws(StoreError) in
            for file in page.files {
                let name = String(file.key.dropFirst(OriginLayout.channels.utf8.count + 1))
                if let channel = OriginLayout.channel(ofPointerFile: name) { names.append(channel) }
            }
            return names.count <= LogEntry.channelCountMax
        }
        var pointers: [ChannelPointer] = []
        for name in names {
            let (outcome, bytes) = try bucket.bytes(
                OriginLayout.pointer(name),
                ReadRequest(byteCountMax: Int64(ChannelPointer.byteCountMax)))
            guard case .found = outcome else { continue }
            let pointer = try ChannelPointer(parsing: bytes, of: name)
            for version in pointer.releases.compactMap(\.version) {
                let key = OriginLayout.manifest(version.manifest)
                guard try bucket.head(key) != nil else {
                    throw StoreError(
                        .damagedOrigin,
                        "channel \(name) in \(bucket.place) offers version \(version.name), and \(key) is not "
                            + "there; copy the directory origin again, or delete that pointer")
                }
            }
            pointers.append(pointer)
        }
        return pointers
    }
}

/// Finds out whether a store refuses to overwrite, and how it takes a tag.
struct StoreProbe {
    private let bucket: any Bucket

    init(_ bucket: any Bucket) { self.bucket = bucket }

    /// Takes up to six requests.
    ///
    /// - Returns: how pointers can be replaced in one step.
    /// - Throws: `.unsuitableStore` if the store creates what is there already.
    func run() throws(StoreError) -> LogEntry.PointerCondition {
        let key = OriginLayout.probe(try LogEntry.drawAuthor())
        let body = try BucketBody(Array("castree\n".utf8))
        let first = try bucket.putIfAbsent(key, body, .logEntry)
        guard case .stored(let tag) = first else { throw try refusal(first) }
        let second = try bucket.putIfAbsent(key, body, .logEntry)
        switch second {
        case .conditionFailed: break
        case .unknown: throw try refusal(second)
        case .stored, .conflict, .unsupported: throw LogCommit.unsuitable(bucket)
        }
        // The file stays until a prune: publishers need no right to delete.
        return try pointerCondition(key, tag, body)
    }

    private func refusal(_ outcome: WriteOutcome) throws(StoreError) -> StoreError {
        guard case .unknown(let reason) = outcome else { return LogCommit.unsuitable(bucket) }
        return StoreError(.network, "\(bucket.place) cannot be probed: \(reason)")
    }

    private func pointerCondition(
        _ key: String, _ tag: EntityTag, _ body: BucketBody
    ) throws(StoreError) -> LogEntry.PointerCondition {
        let wrong = EntityTag("00000000000000000000000000000000")
        for spelling in TagSpelling.allCases {
            let right = try bucket.putIf(key, body, .logEntry, matching: tag, spelling)
            guard right.isStored else { continue }
            let other = try bucket.putIf(key, body, .logEntry, matching: wrong, spelling)
            if case .conditionFailed = other {
                return LogEntry.PointerCondition(rawValue: spelling.rawValue) ?? .none
            }
        }
        return .none
    }
}
