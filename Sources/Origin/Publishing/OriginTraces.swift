import CASStore
import HotPush
import Storage

/// Signs of an origin, past or present, whose log has no first entry; a listing never proves that there was none.
struct OriginTraces {
    private(set) var channels: [ChannelName] = []
    /// The newest epoch of any file; 0 for none but the first.
    private(set) var epochMax: Int64 = 0
    private(set) var hasMarker = false
    private(set) var laterEntry: String?
    private let place: String

    private static let epochCountMax = 1_000

    /// Takes one listing for a small origin, and one for each epoch of a large one.
    init(of storage: any ObjectStorage) throws(StoreError) {
        place = storage.place
        let all = try storage.list(ListRequest(prefix: ""))
        for file in all.files { note(file.key) }
        guard all.next != nil else { return }
        channels = []
        try storage.forEachFile(below: OriginLayout.channels + "/") { note($0.key) }
        var after: String?
        for _ in 0..<Self.epochCountMax {
            let request = ListRequest(
                prefix: OriginLayout.epochs + "/", startAfter: after, countMax: 1)
            guard let key = try storage.list(request).files.first?.key else { break }
            note(key)
            // A key after all files of the epoch: 0 follows the slash.
            let parts = key.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == OriginLayout.epochs else { break }
            after = "\(OriginLayout.epochs)/\(parts[1])0"
        }
        let log = ListRequest(prefix: OriginLayout.log + "/", countMax: 2)
        for file in try storage.list(log).files { note(file.key) }
        if try storage.head(OriginLayout.marker) != nil { hasMarker = true }
    }

    private mutating func note(_ key: String) {
        if key == OriginLayout.marker { hasMarker = true }
        // The first may have come since it was asked for.
        if let number = OriginLayout.number(ofLogEntry: key), number > 1 {
            laterEntry = laterEntry ?? key
        }
        if let epoch = OriginKey(path: key)?.epoch { epochMax = max(epochMax, epoch) }
        if let channel = OriginLayout.channel(ofPointer: key) { channels.append(channel) }
    }

    /// Whether a log may be begun on request: a new one begins in the first epoch, so no file may be in a later one.
    var mayBeTakenOver: Bool { laterEntry == nil && epochMax == 0 }

    /// Why no log may be begun without a request, and what to do; `nil` if nothing was lost.
    /// - Parameter entry: the one that a pointer there names.
    func loss(namedBy entry: Int64?) -> StoreError? {
        if let laterEntry {
            return .damagedOrigin(
                "the log in \(place) has lost its first entry, and \(laterEntry) is there: if a copy to this place was "
                    + "cut short (castree publish --all-of), repeat it; else \(restore)")
        }
        if epochMax > 0 { return loss(with: epochMax) }
        let takeOver = "castree publish --take-over (docs/buckets.md)"
        if let entry {
            return .damagedOrigin(
                "the log in \(place) is gone, and a pointer names its entry \(entry): \(restore), or, if there is "
                    + "none, take over what is left: \(takeOver)")
        }
        guard let channel = channels.first else { return nil }
        return .damagedOrigin(
            "\(OriginLayout.pointer(channel)) stands in \(place), and no log: a directory was copied there, "
                + "which is to be taken over: \(takeOver); or the log is gone: \(restore)")
    }

    /// Why no log may be begun if files are there, or are offered, in a later epoch than the first.
    func loss(with epoch: Int64) -> StoreError {
        .damagedOrigin(
            "the log in \(place) is gone, and files stand in epoch \(epoch): \(restore), or, if there is none, pull what "
                + "is offered and publish it to another prefix (docs/buckets.md)")
    }

    private var restore: String {
        "restore \(OriginLayout.log)/ from an older copy"
    }

    func missingLog(namedBy entry: Int64?) -> StoreError {
        if let loss = loss(namedBy: entry) { return loss }
        return StoreError(
            .noOrigin,
            hasMarker
                ? "\(OriginLayout.marker) stands in \(place), and neither a log nor a pointer: a first publish, or a copy to this "
                    + "place, was cut short: repeat it; or both are lost: \(restore), and \(OriginLayout.channels)/"
                : "there is no origin in \(place): it has no log; publish makes one")
    }
}

extension OriginState {
    /// The state of an origin without a log, from its pointers.
    /// - Parameter damaged: gets a channel whose pointer cannot be read.
    init(
        existingIn storage: any ObjectStorage, damaged: (ChannelName) -> Void = { _ in }
    ) throws(StoreError) {
        var pointers: [ChannelName: ChannelPointer] = [:]
        for channel in try OriginTraces(of: storage).channels {
            let seen = try LogCopy.pointer(channel).read(from: storage)
            if let pointer = seen.pointer {
                pointers[channel] = pointer
            } else if seen.tag != nil {
                damaged(channel)
            }
        }
        let entry = LogEntry(
            kind: .create, createdAt: 0, author: try LogEntry.drawAuthor(), keptFrom: 0)
        self.init(number: 0, entry: entry, pointers: pointers)
    }
}
