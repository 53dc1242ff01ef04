import StrictJSON

@testable import CASStore
@testable import ServeFromCAS
@testable import VersionTree
@testable import WebServer

// Readers that are wrong in one way each, behind the oracles of the targets that they stand for: what the
// suite is tested with.

extension FuzzTarget {
    static let broken: [(wrong: String, target: FuzzTarget)] = [
        ("takes a bare LF for white space", requests(takingBareLineFeeds)),
        ("refuses a head whose last piece ends in CR", requests(refusingPieces)),
        ("sends one byte too many of a range", fields(oneByteMore)),
        ("ignores the mask of frames", frames(ignoringMasks)),
        ("lets a file be a directory", manifests(withoutNesting)),
        ("lets a path climb", paths(climbing)),
        ("loses the last ban when it writes", lifecycles(losingBans)),
        ("forgets who confirmed when it writes", lifecycles(losingConfirmation)),
        ("writes strings as they are", json(withoutEscapes)),
        ("sorts keys by their UTF-8", canonical(byBytes)),
    ]

    private static let takingBareLineFeeds: HeadReading = { parser, bytes in
        var original: [UInt8] = []
        for index in bytes.indices { original.append(bytes[index]) }
        var mended = original
        for index in mended.indices where mended[index] == 10 {
            if index == 0 || mended[index - 1] != 13 { mended[index] = 32 }
        }
        let outcome = parser.parse(mended.span)
        if case .head(let consumed, _) = outcome {
            parser.head.bytes = Array(original[..<consumed].suffix(parser.head.bytes.count))
        }
        return outcome
    }

    private static let refusingPieces: HeadReading = { parser, bytes in
        let outcome = parser.parse(bytes)
        guard outcome == .needMore, bytes.count > 0, bytes[bytes.count - 1] == 13 else {
            return outcome
        }
        return .failure(MessageFailure(400, "a piece ends in CR"))
    }

    private static let oneByteMore: RangeReading = { field, size in
        guard case .ranges(let ranges) = ByteRanges(field, size: size) else { return .ignored }
        return .ranges(ranges.map { $0.lowerBound..<max($0.upperBound, $0.upperBound &+ 1) })
    }

    private static let ignoringMasks: FrameReading = { bytes, pieces in
        var (events, sent) = readFrames(bytes, pieces: pieces)
        let key = Array(bytes.dropFirst(2).prefix(4))
        for position in events.indices {
            guard case .message(var message) = events[position], key.count == 4 else { continue }
            for index in message.bytes.indices { message.bytes[index] ^= key[index % 4] }
            events[position] = .message(message)
        }
        return (events, sent)
    }

    /// Knows every rule but one.
    private static let withoutNesting: EntryReading = { (bytes) throws(StoreError) in
        let refusal = StoreError(.badManifest, "it is none")
        // Why it is none does not matter.
        guard let document = try? JSONValue.parse(bytes), document["castree"]?.asInt64 == 1,
            let values = document["entries"]?.asArray
        else { throw refusal }
        var entries: [Manifest.Entry] = []
        for value in values {
            guard let path = value["path"]?.asString.flatMap({ try? TreePath($0) }),
                let address = value["address"]?.asString.flatMap({ ObjectID($0) }),
                let byteCount = value["bytes"]?.asInt64, byteCount >= 0
            else { throw refusal }
            entries.append(Manifest.Entry(path: path, address: address, byteCount: byteCount))
        }
        entries.sort { $0.path < $1.path }
        for (one, next) in zip(entries, entries.dropFirst()) where one.path == next.path {
            throw refusal
        }
        return entries
    }

    private static let climbing: PathReading = { text in
        let isPath = (try? TreePath(text.replacing("..", with: "xx"))) != nil
        return isPath ? text : nil
    }

    private static let losingBans: LifecycleWriting = { (lifecycle) throws(StoreError) in
        var written = lifecycle
        _ = written.bad.popLast()
        return try written.serialized()
    }

    private static let losingConfirmation: LifecycleWriting = { (lifecycle) throws(StoreError) in
        var written = lifecycle
        written.confirmed = nil
        return try written.serialized()
    }

    private static let byBytes: CanonicalWriting = { value in
        guard let members = value.asObject else {
            return JSONWriter.serialize(value, sortedKeys: true)
        }
        let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return JSONWriter.serialize(.object(sorted), sortedKeys: false)
    }

    private static let withoutEscapes: ValueWriting = { value in
        JSONWriter.serialize(value, sortedKeys: true).filter { $0 != 92 }
    }
}
