package import CASStore
import StrictJSON

/// What a key has signed last, in each channel of each origin, and where each origin is: the file `<key>.signed` beside
/// the key, where links to it lead, so that a key has one memory by whatever name it is called.
///
/// Whoever can write to an origin can put an old pointer back, or that of another origin. A publisher that remembers does
/// not build upon it. The file is changed under a lock on the key's file, replaced as a whole, and never goes back.
package struct SignedSequences: Sendable {
    private let path: String
    private let fileSystem: any FileSystem

    private static let suffix = ".signed"
    private static let formatVersion: Int64 = 1
    private static let byteCountMax = 4 << 20

    /// Reads and writes nothing yet.
    package init(besideKey path: String, _ fileSystem: any FileSystem = POSIXFileSystem()) {
        self.path = path
        self.fileSystem = fileSystem
    }

    /// The last sequence that was signed; `nil` if none is known.
    /// - Throws: `.badKey` for a damaged file; what reading throws.
    func sequence(of channel: ChannelName, in origin: String) throws(StoreError) -> Int64? {
        try all().sequences[Self.name(channel, origin)]
    }

    /// The id of the origin that was signed last at a place; `nil` if none is known.
    /// - Throws: as ``sequence(of:in:)``.
    func origin(at place: String) throws(StoreError) -> String? {
        try all().places[place]
    }

    /// Notes that a pointer was signed and written, durably.
    /// - Throws: what reading and writing throws.
    func note(_ pointer: ChannelPointer, at place: String) throws(StoreError) {
        guard let origin = pointer.origin else { return }
        let name = Self.name(pointer.channel, origin)
        let here = POSIXFileSystem.workingDirectory
        let lock = try fileSystem.open(here, path, .readingFollowingLinks, mode: 0)
        // Whoever has it writes one small file.
        while try !fileSystem.lock(lock.raw, exclusive: true) { pause(milliseconds: 5) }
        defer { fileSystem.unlock(lock.raw) }
        let path = try keyFile()
        var (sequences, places) = try all()
        sequences[name] = max(sequences[name] ?? 0, pointer.sequence)
        places[place] = origin
        let document = JSONValue.object([
            .init(key: "castreeSigned", value: .integer(Self.formatVersion)),
            .init(
                key: "places",
                value: .object(places.map { .init(key: $0.key, value: .string($0.value)) })),
            .init(
                key: "sequences",
                value: .object(sequences.map { .init(key: $0.key, value: .integer($0.value)) })),
        ])
        let end = path.lastIndex(of: "/")
        let directory = try fileSystem.open(
            here, end.map { String(path[...$0]) } ?? ".", .directoryFollowingLinks, mode: 0)
        let file = end.map { String(path[path.index(after: $0)...]) } ?? path
        try fileSystem.replaceFile(
            directory.raw, file + Self.suffix,
            with: JSONWriter.serialize(document, sortedKeys: true) + [10], mode: 0o600,
            token: "new", durably: true)
    }

    private typealias Memory = (sequences: [String: Int64], places: [String: String])

    /// The key's file, which is no link.
    private func keyFile() throws(StoreError) -> String {
        var file = path
        // So many links Linux follows (path_resolution(7)); of a circle the caller hears when it opens the file.
        for _ in 0..<40 {
            guard
                let target = try fileSystem.symbolicLink(POSIXFileSystem.workingDirectory, file)
            else { break }
            let end = target.hasPrefix("/") ? nil : file.lastIndex(of: "/")
            file = (end.map { String(file[...$0]) } ?? "") + target
        }
        return file
    }

    private func all() throws(StoreError) -> Memory {
        let file = try keyFile() + Self.suffix
        let bytes = try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.contents(
                POSIXFileSystem.workingDirectory, file, limit: Self.byteCountMax)
        }
        guard let bytes else { return ([:], [:]) }
        // Whatever is wrong with it, the remedy is the same.
        let document = try? JSONValue.parse(bytes, limits: JSONLimits(depth: 4))
        guard document?["castreeSigned"]?.asInt64 == Self.formatVersion,
            let members = document?["sequences"]?.asObject,
            let origins = document?["places"]?.asObject
        else { throw damaged(file) }
        var sequences: [String: Int64] = [:]
        for member in members {
            guard let sequence = member.value.asInt64 else { throw damaged(file) }
            sequences[member.key] = sequence
        }
        var places: [String: String] = [:]
        for member in origins {
            guard let origin = member.value.asString else { throw damaged(file) }
            places[member.key] = origin
        }
        return (sequences, places)
    }

    private func damaged(_ file: String) -> StoreError {
        StoreError(
            .badKey,
            "\(printable(file)), which says what the key has signed last, is damaged; look at what the channels "
                + "offer (castree channels), then delete it")
    }

    private static func name(_ channel: ChannelName, _ origin: String) -> String {
        "\(origin) \(channel)"
    }
}
