package import CASStore
import StrictJSON

/// What a key has signed last, in each channel of each origin: the file `<key>.signed` beside the key.
///
/// Whoever can write to an origin can put an old pointer back. A publisher that remembers does not build upon it. The
/// file is changed under a lock on the key's file, replaced as a whole, and never goes back.
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
        try all()[Self.name(channel, origin)]
    }

    /// Notes that a pointer was signed and written, durably.
    /// - Throws: what reading and writing throws.
    func note(_ pointer: ChannelPointer) throws(StoreError) {
        guard let origin = pointer.origin else { return }
        let name = Self.name(pointer.channel, origin)
        let here = POSIXFileSystem.workingDirectory
        let lock = try fileSystem.open(here, path, .readingFollowingLinks, mode: 0)
        // Whoever has it writes one small file.
        while try !fileSystem.lock(lock.raw, exclusive: true) { pause(milliseconds: 5) }
        defer { fileSystem.unlock(lock.raw) }
        var sequences = try all()
        guard sequences[name] ?? 0 < pointer.sequence else { return }
        sequences[name] = pointer.sequence
        let document = JSONValue.object([
            .init(key: "castreeSigned", value: .integer(Self.formatVersion)),
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

    private func all() throws(StoreError) -> [String: Int64] {
        let file = path + Self.suffix
        let bytes = try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.contents(
                POSIXFileSystem.workingDirectory, file, limit: Self.byteCountMax)
        }
        guard let bytes else { return [:] }
        // Whatever is wrong with it, the remedy is the same.
        let document = try? JSONValue.parse(bytes, limits: JSONLimits(depth: 4))
        guard document?["castreeSigned"]?.asInt64 == Self.formatVersion,
            let members = document?["sequences"]?.asObject
        else { throw damaged(file) }
        var sequences: [String: Int64] = [:]
        for member in members {
            guard let sequence = member.value.asInt64 else { throw damaged(file) }
            sequences[member.key] = sequence
        }
        return sequences
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
