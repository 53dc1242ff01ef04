package import CASStore
import StrictJSON

/// What a key has signed last, in each channel of each origin, and where each origin is: the file `<key>.signed` beside
/// the key, where links to it lead, so that a key has one memory by whatever name it is called.
///
/// Whoever can write to an origin can put an old pointer back, or that of another origin. A publisher that remembers does
/// not build upon it. The file is changed under a lock on the key's file, replaced as a whole, and never goes back.
///
/// A pointer is noted twice. Before it is written: that its sequence is used, and that nothing older than what it was
/// built upon may be built upon again. After it was written: that nothing older than itself may. Whoever is killed
/// between the two leaves an origin that offers the one or the other, and both may be built upon; the sequence that was
/// used is not given to another pointer. So no failure after the pointer has come into sight lets an older one pass,
/// and none before it keeps the next publisher from working.
package struct SignedSequences: Sendable {
    private let path: String
    private let fileSystem: any FileSystem
    private let patience: Duration

    private static let suffix = ".signed"
    private static let formatVersion: Int64 = 1
    private static let byteCountMax = 4 << 20

    /// Reads and writes nothing yet.
    ///
    /// - Parameter patience: how long to wait for another publisher that notes something. It writes one small file, so
    ///   longer means that it is stopped, or that the disk hangs.
    package init(
        besideKey path: String, _ fileSystem: any FileSystem = POSIXFileSystem(),
        patience: Duration = .seconds(60)
    ) {
        self.path = path
        self.fileSystem = fileSystem
        self.patience = patience
    }

    /// The last sequence that was written, or built upon: nothing older is built upon; `nil` if none is known.
    /// - Throws: `.badKey` for a damaged file; what reading throws.
    func sequence(of channel: ChannelName, in origin: String) throws(StoreError) -> Int64? {
        try all().sequences[Self.name(channel, origin)]
    }

    /// The highest sequence that was signed, whether it was written or not; 0 if none is known.
    /// - Throws: as ``sequence(of:in:)``.
    func used(of channel: ChannelName, in origin: String) throws(StoreError) -> Int64 {
        let (memory, name) = (try all(), Self.name(channel, origin))
        return max(memory.used[name] ?? 0, memory.sequences[name] ?? 0)
    }

    /// Where a channel of an origin was signed last: an origin may have copies; `nil` if that is not known.
    /// - Throws: as ``sequence(of:in:)``.
    func place(of channel: ChannelName, in origin: String) throws(StoreError) -> String? {
        try all().signedAt[Self.name(channel, origin)]
    }

    /// The id of the origin that was signed last at a place; `nil` if none is known.
    /// - Throws: as ``sequence(of:in:)``.
    func origin(at place: String) throws(StoreError) -> String? {
        try all().places[place]
    }

    /// Notes that a pointer is signed and about to be written, durably.
    /// - Parameter before: the sequence of what it was built upon.
    /// - Throws: `.busy` if another publisher does not let it; what reading and writing throws.
    func prepare(
        _ pointer: ChannelPointer, upon before: Int64?, at place: String
    ) throws(StoreError) {
        try change(pointer) { memory, name, origin in
            memory.used[name] = max(memory.used[name] ?? 0, pointer.sequence)
            if let before { memory.sequences[name] = max(memory.sequences[name] ?? 0, before) }
            memory.places[place] = memory.places[place] ?? origin
        }
    }

    /// Notes that a pointer was signed and written, durably.
    /// - Throws: what reading and writing throws.
    func note(_ pointer: ChannelPointer, at place: String) throws(StoreError) {
        try change(pointer) { memory, name, origin in
            memory.sequences[name] = max(memory.sequences[name] ?? 0, pointer.sequence)
            memory.signedAt[name] = place
            memory.places[place] = origin
        }
    }

    private func change(
        _ pointer: ChannelPointer, _ body: (inout Memory, String, String) -> Void
    ) throws(StoreError) {
        guard let origin = pointer.origin else { return }
        let lock = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .readingFollowingLinks, mode: 0)
        let deadline = SuspendingClock.now + patience
        while try !fileSystem.lock(lock.raw, exclusive: true) {
            guard SuspendingClock.now < deadline else {
                throw StoreError(
                    .busy,
                    "another publisher has held the lock of \(printable(path)) for too long: if it is stopped, let it "
                        + "continue or end it, and repeat the command")
            }
            pause(milliseconds: 5)
        }
        defer { fileSystem.unlock(lock.raw) }
        let path = try keyFile()
        let directory = try fileSystem.openDirectory(holding: path)
        var memory = try all()
        body(&memory, Self.name(pointer.channel, origin), origin)
        try fileSystem.replaceFile(
            directory.raw, fileSystem.fileName(in: path) + Self.suffix,
            with: JSONWriter.serialize(memory.document, sortedKeys: true) + [10], mode: 0o600,
            token: "new", durably: true)
    }

    private struct Memory {
        /// Written or built upon.
        var sequences: [String: Int64] = [:]
        /// Signed: in the file where that is more.
        var used: [String: Int64] = [:]
        var places: [String: String] = [:]
        /// Where a channel was signed last.
        var signedAt: [String: String] = [:]

        var document: JSONValue {
            func object(_ numbers: [String: Int64]) -> JSONValue {
                .object(numbers.map { .init(key: $0.key, value: .integer($0.value)) })
            }
            func object(_ texts: [String: String]) -> JSONValue {
                .object(texts.map { .init(key: $0.key, value: .string($0.value)) })
            }
            let unwritten = used.filter { $0.value > sequences[$0.key] ?? 0 }
            return .object([
                .init(key: "castreeSigned", value: .integer(formatVersion)),
                .init(key: "places", value: object(places)),
                .init(key: "sequences", value: object(sequences)),
                .init(key: "signedAt", value: object(signedAt)),
                .init(key: "used", value: object(unwritten)),
            ])
        }
    }

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
        guard let bytes else { return Memory() }
        // Whatever is wrong with it, the remedy is the same.
        let document = try? JSONValue.parse(bytes, limits: JSONLimits(depth: 4))
        guard document?["castreeSigned"]?.asInt64 == Self.formatVersion,
            let members = document?["sequences"]?.asObject,
            let origins = document?["places"]?.asObject
        else { throw damaged(file) }
        var memory = Memory()
        for member in members {
            guard let sequence = member.value.asInt64 else { throw damaged(file) }
            memory.sequences[member.key] = sequence
        }
        // Files of earlier versions have none.
        for member in document?["used"]?.asObject ?? [] {
            guard let sequence = member.value.asInt64 else { throw damaged(file) }
            memory.used[member.key] = sequence
        }
        for member in origins {
            guard let origin = member.value.asString else { throw damaged(file) }
            memory.places[member.key] = origin
        }
        for member in document?["signedAt"]?.asObject ?? [] {
            guard let place = member.value.asString else { throw damaged(file) }
            memory.signedAt[member.key] = place
        }
        return memory
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
