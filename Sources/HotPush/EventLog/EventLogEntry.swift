package import CASStore
import Storage
import StrictJSON
package import VersionTree

/// One line of the event log.
public struct EventLogEntry: Sendable, Hashable {
    /// Counts the events of a store, from 1; a gap means that events were lost, or share a line.
    public var sequence: Int64
    /// When, in seconds since 1970, by the clock of the machine.
    public var at: Int64
    package let event: StoreEvent
    /// How often in a row; above 1 only for an origin's answers.
    package var times = 1
    /// When it first happened, if more than once.
    package var since: Int64?

    /// What happened, as a sentence for people, with exact sizes.
    public var sentence: String { event.sentence + (times > 1 ? " (\(times) times in a row)" : "") }

    /// Removes what a log must not hold.
    init(sequence: Int64, at: Int64, event: StoreEvent) {
        self.sequence = sequence
        self.at = at
        self.event = event.cleaned
    }

    /// A larger number leaves no space for counting on, and nobody writes one.
    private static let sequences: ClosedRange<Int64> = 0...(1 << 52)

    /// `nil` if the line is torn or foreign.
    init?(line: [UInt8]) {
        // A log is worth reading even without one line.
        guard let value = try? JSONValue.parse(line, limits: JSONLimits(depth: 8)),
            var members = value.asObject, let name = value["event"]?.asString,
            let sequence = value["sequence"]?.asInt64, Self.sequences.contains(sequence),
            let at = value["at"]?.asTime
        else { return nil }
        self.sequence = sequence
        self.at = at
        members.removeAll { ["at", "event", "sequence"].contains($0.key) }
        if name == "check" {
            members.removeAll { ["times", "since"].contains($0.key) }
            if let times = value["times"]?.asInt64.flatMap({ Int(exactly: $0) }), times > 1,
                let since = value["since"]?.asTime
            {
                (self.times, self.since) = (times, since)
            }
        }
        event = StoreEvent(name: name, members: members)
    }

    var line: [UInt8] {
        let isRepeated = times > 1 && since != nil
        let head: [JSONValue.Member] = .present([
            "at": .integer(at), "event": .string(event.name), "sequence": .integer(sequence),
            "times": isRepeated ? .integer(Int64(times)) : nil,
            "since": isRepeated ? .number(since) : nil,
        ])
        return JSONValue.object(head + event.members).fileBytes
    }
}

extension StoreEvent {
    /// Longer texts are cut, so that one event does not push out the others.
    private static let textByteCountMax = 600
    /// Events with the sentence of an error, which may name files.
    private static let quoting = ["check", "downloadEnded", "retry", "fallback", "failed"]

    fileprivate var cleaned: StoreEvent {
        let quotes = Self.quoting.contains(name)
        return StoreEvent(
            name: name,
            members: members.map { member in
                guard var text = member.value.asString else { return member }
                if quotes, ["message", "reason"].contains(member.key) { text = withoutPaths(text) }
                text = redacted(text).clipped(to: Self.textByteCountMax)
                // The JSON writer accepts NUL in a string, but the reader refuses it.
                text.unicodeScalars.removeAll { $0.value == 0 }
                return .init(key: member.key, value: .string(text))
            })
    }
}

/// What the event log keeps of an error besides its sentence: whose it was, and whether it resolves in time.
package struct EventLogFailure: Sendable, Hashable {
    package var code: String
    /// Whether this store failed, not an origin: a full disk, a missing permission, an unreadable index.
    package var isOfStore: Bool

    /// The code for an answer that is older than one obeyed before.
    package static let olderCopy = "olderCopy"

    /// - Parameters:
    ///   - code: an error's code, or one of a program's own.
    ///   - isOfStore: `nil` to derive it from the code.
    package init(code: String, isOfStore: Bool? = nil) {
        self.code = code
        self.isOfStore = isOfStore ?? Self.codesOfStores.contains(StoreError.Code(code))
    }

    package init(_ error: StoreError) {
        code = error.code.description
        // A failure on the way to an origin, or in its directory, has the network's code and no such cause.
        isOfStore =
            switch error.cause {
            case .systemCall, .sqlite: true
            case .transfer, nil: Self.codesOfStores.contains(error.code)
            }
    }

    /// Whether updates fail for this reason until somebody acts; excludes what a publisher may be changing just now,
    /// and a bad network.
    package var isLasting: Bool { Self.lastingCodes.contains(code) }

    private static let codesOfStores: Set<StoreError.Code> = [
        .outOfSpace, .readOnly, .notOwner, .noStore, .unsupportedFormat, .writesRefused, .index,
        .locked, .outOfMemory, .badTrust, .badLifecycle, StoreError.Code(noFetchingProgram),
    ]

    /// In logs of earlier servers, which let another program fetch: it could not be run, so no origin was asked.
    private static let noFetchingProgram = "noFetchingProgram"

    private static let lastingCodes: Set<String> = Set(
        [
            // The store, and the system below it.
            StoreError.Code.outOfSpace, .permission, .readOnly, .notOwner, .noStore,
            .unsupportedFormat, .badTrust, .transport,
            // The offer: it has no place here, or its name is another content's.
            .pathCollision, .versionExists,
            // Trust and credentials.
            .untrusted, .badOrigin, .credentials, .accessDenied, .noBucket,
        ].map(\.description)
            // Servers that update: a pull refuses its command line.
            + [noFetchingProgram, "usage"])
}
