package import CASStore
import StrictJSON

/// What a key has signed last, in each channel of each origin, where each origin is, and by which versions of its trust.
///
/// It is the file `<id of the key>.signed` beside the key, where links to it lead. So a key has one memory in a directory,
/// by whatever name it is called, and whether it signs itself or a program signs by it.
///
/// Whoever can write to an origin can put an old pointer back, or that of another origin. A publisher that remembers does
/// not build upon it. The file is changed under a lock (`<id>.lock`, which nobody else can open), replaced as a whole, and
/// never goes back. Both belong to the owner of the directory, also where root signs; in a directory of root's, to the key's.
///
/// A pointer is noted twice. Before it is written: that its sequence is used, that nothing older than what it was built
/// upon may be built upon again, and the pointer itself. After it was written: that nothing older than itself may. Whoever
/// is killed between the two leaves an origin that offers the one or the other, and nobody can tell whether devices have
/// seen the newer one. So the next publisher writes that first, and no failure lets an older one pass.
package struct SignedSequences: Sendable {
    /// A file of the key: its memory is beside it.
    private let path: String
    /// The id of the key.
    private let key: String
    private let fileSystem: any FileSystem
    private let patience: Duration

    private static let suffix = ".signed"
    private static let lockSuffix = ".lock"
    private static let formatVersion: Int64 = 1
    private static let byteCountMax = 16 << 20

    /// Reads and writes nothing yet.
    ///
    /// - Parameters:
    ///   - key: the id of the key.
    ///   - path: a file of it, the private one or the public one.
    ///   - patience: how long to wait for another publisher that notes something. It writes one small file, so longer
    ///     means that it is stopped, or that the disk hangs.
    package init(
        of key: String, beside path: String, _ fileSystem: any FileSystem = POSIXFileSystem(),
        patience: Duration = .seconds(60)
    ) {
        self.key = key
        self.path = path
        self.fileSystem = fileSystem
        self.patience = patience
    }

    /// The last sequence that was written, or built upon: nothing older is built upon; `nil` if none is known.
    /// - Throws: `.badKey` for a damaged file; what reading throws.
    func sequence(of channel: ChannelName, in origin: String) throws(StoreError) -> Int64? {
        try Self.counted(all().sequences[Self.name(channel, origin)])
    }

    /// A sequence that a clock can have made, or counting from one; no other is remembered: somebody else has signed it, and
    /// nothing could follow it.
    private static func counted(_ sequence: Int64?) -> Int64? {
        sequence.flatMap { $0 > SequenceBound.countMax ? nil : $0 }
    }

    /// The highest sequence that was signed, whether it was written or not; 0 if none is known.
    /// - Throws: as ``sequence(of:in:)``.
    func used(of channel: ChannelName, in origin: String) throws(StoreError) -> Int64 {
        let (memory, name) = (try all(), Self.name(channel, origin))
        return max(
            Self.counted(memory.used[name]) ?? 0, Self.counted(memory.sequences[name]) ?? 0)
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

    /// The versions of an origin's trust by which the key has signed, the first one first.
    /// - Throws: as ``sequence(of:in:)``.
    func trusts(of origin: String) throws(StoreError) -> [TrustFile] {
        try all().trusts[origin] ?? []
    }

    /// The newest version of an origin's trust by which the key has signed; `nil` if it knows nothing of the origin.
    /// - Throws: as ``sequence(of:in:)``.
    func trustVersion(of origin: String) throws(StoreError) -> Int64? {
        let memory = try all()
        let versions = [memory.versions[origin], memory.trusts[origin]?.last?.version]
        if let newest = versions.compactMap(\.self).max() { return newest }
        return memory.places.values.contains(origin) ? TrustFile.firstVersion : nil
    }

    /// The pointers that were signed to be written at a place, and of which nobody knows whether they were; sorted by channel.
    /// - Throws: as ``sequence(of:in:)``.
    func unfinished(at place: String) throws(StoreError) -> [ChannelPointer] {
        let memory = try all()
        guard let origin = memory.places[place] else { return [] }
        return memory.unfinished.filter { name, known in
            known.place == place && name == Self.name(known.pointer.channel, origin)
        }.map(\.value.pointer).sorted { $0.channel < $1.channel }
    }

    /// Notes that a pointer is signed and about to be written, durably.
    /// - Parameter before: the sequence of what it was built upon.
    /// - Throws: `.busy` if another publisher does not let it; what reading and writing throws.
    func prepare(
        _ pointer: ChannelPointer, upon before: Int64?, at place: String
    ) throws(StoreError) {
        try change(pointer) { memory, name, origin in
            memory.used[name] = max(memory.used[name] ?? 0, pointer.sequence)
            memory.versions[origin] = max(
                memory.versions[origin] ?? 0, pointer.trustVersion ?? TrustFile.firstVersion)
            if let before = Self.counted(before) {
                memory.sequences[name] = max(memory.sequences[name] ?? 0, before)
            }
            memory.places[place] = memory.places[place] ?? origin
            memory.unfinished[name] = Unfinished(place: place, pointer: pointer)
        }
    }

    /// Notes that a pointer was signed and written, durably.
    /// - Parameters:
    ///   - trusts: the version of the trust that it names, and those before it, if they are not known yet.
    ///   - isLowering: whether versions that are newer than its own do not count any more.
    /// - Throws: what reading and writing throws.
    func note(
        _ pointer: ChannelPointer, at place: String, trusts: [TrustFile] = [],
        isLowering: Bool = false
    ) throws(StoreError) {
        try change(pointer) { memory, name, origin in
            let newest = pointer.trustVersion ?? TrustFile.firstVersion
            memory.trusts[origin] = ((memory.trusts[origin] ?? []) + trusts)
                .filter { !isLowering || $0.version <= newest }
                .sorted { $0.version < $1.version }
            memory.versions[origin] = max(isLowering ? 0 : memory.versions[origin] ?? 0, newest)
            memory.sequences[name] = max(memory.sequences[name] ?? 0, pointer.sequence)
            memory.signedAt[name] = place
            memory.places[place] = origin
            if let other = memory.unfinished[name], other.pointer.sequence <= pointer.sequence {
                memory.unfinished[name] = nil
            }
        }
    }

    private func change(
        _ pointer: ChannelPointer, _ body: (inout Memory, String, String) -> Void
    ) throws(StoreError) {
        guard let origin = pointer.origin else { return }
        let directory = try atMemory { (directory, file) throws(StoreError) in
            let above = Self.directory(of: file)
            return try fileSystem.open(
                directory, above.isEmpty ? "." : above, .directoryFollowingLinks, mode: 0)
        }
        let owners = try fileSystem.owners(of: directory.raw, path)
        // Not the directory itself: whoever may read that could hold its lock.
        let lockFile = try owners.open(
            directory.raw, key + Self.lockSuffix, .updating, mode: 0o600)
        try give(lockFile.raw)
        let lock = FileLock(lockFile, owners)
        defer { withExtendedLifetime(lock) {} }
        let deadline = SuspendingClock.now + patience
        while try !lock.take() {
            guard SuspendingClock.now < deadline else {
                throw StoreError(
                    .busy,
                    "another publisher has held the lock \(key)\(Self.lockSuffix) beside \(printable(path)) for too long: "
                        + "if it is stopped, let it continue or end it, and repeat the command")
            }
            pause(milliseconds: 5)
        }
        let name = key + Self.suffix
        var memory = try read(directory.raw, name)
        body(&memory, Self.name(pointer.channel, origin), origin)
        try owners.replaceFile(
            directory.raw, name, mode: 0o600, token: "new", durably: true
        ) { (file) throws(StoreError) in
            try owners.write(file, memory.document.fileBytes)
            try give(file)
        }
    }

    /// Gives what root makes in a directory of root's to the owner of the key, who signs, too.
    private func give(_ file: Int32) throws(StoreError) {
        guard effectiveUser() == 0, try fileSystem.status(file).owner == 0 else { return }
        let key = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .readingFollowingLinks, mode: 0)
        let owner = try fileSystem.status(key.raw)
        if owner.owner != 0 {
            try fileSystem.setOwner(file, owner.owner, group: owner.group)
        }
    }

    private struct Unfinished {
        var place: String
        var pointer: ChannelPointer

        init(place: String, pointer: ChannelPointer) {
            (self.place, self.pointer) = (place, pointer)
        }

        init?(_ value: JSONValue) {
            // Why it is no pointer does not matter: the file is damaged.
            guard let place = value["place"]?.asString, let pointer = value["pointer"],
                let name = pointer["channel"]?.asString.flatMap({ try? ChannelName($0) }),
                let known = try? ChannelPointer(
                    parsing: pointer.fileBytes, of: name)
            else { return nil }
            self.init(place: place, pointer: known)
        }

        var document: JSONValue {
            .members(["place": .string(place), "pointer": pointer.document])
        }
    }

    private struct Memory {
        /// Written or built upon.
        var sequences: [String: Int64] = [:]
        /// Signed: in the file where that is more.
        var used: [String: Int64] = [:]
        var places: [String: String] = [:]
        /// Where a channel was signed last.
        var signedAt: [String: String] = [:]
        /// By which versions of an origin's trust.
        var trusts: [String: [TrustFile]] = [:]
        /// The newest of these, also where the file was lost.
        var versions: [String: Int64] = [:]
        /// Signed, and perhaps not written.
        var unfinished: [String: Unfinished] = [:]

        var document: JSONValue {
            let none = JSONValue.object([])
            let unwritten = used.filter { $0.value > sequences[$0.key] ?? 0 }
            return .members([
                "castreeSigned": .integer(formatVersion), "places": .texts(places),
                "sequences": .named(sequences) { .integer($0) } ?? none,
                "signedAt": .texts(signedAt),
                "trusts": .named(trusts.filter { !$0.value.isEmpty }) { .array($0.map(\.document)) }
                    ?? none,
                "unfinished": .named(unfinished, \.document) ?? none,
                "used": .named(unwritten) { .integer($0) } ?? none,
                "versions": .named(versions.filter { $0.value > TrustFile.firstVersion }) {
                    .integer($0)
                },
            ])
        }
    }

    /// Calls `body` with a directory, and with the path from there to the memory, beside the key's file that is no link.
    ///
    /// For root, in whose way others may put links, it is the open directory of that file.
    private func atMemory<R: ~Copyable>(
        _ body: (Int32, String) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let (here, name) = (POSIXFileSystem.workingDirectory, key + Self.suffix)
        if effectiveUser() == 0 {
            let directory = try fileSystem.open(here, path, .directoryOfTypedFile, mode: 0)
            return try body(directory.raw, name)
        }
        var file = path
        // So many links Linux follows (path_resolution(7)); of a circle the caller hears when it opens the file.
        for _ in 0..<40 {
            guard let target = try fileSystem.symbolicLink(here, file) else { break }
            file = (target.hasPrefix("/") ? "" : Self.directory(of: file)) + target
        }
        return try body(here, Self.directory(of: file) + name)
    }

    /// What stands before a file's name.
    private static func directory(of file: String) -> String {
        file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
    }

    private func all() throws(StoreError) -> Memory {
        try atMemory { (directory, file) throws(StoreError) in
            // Whoever may not read it may not note anything either, which is said then.
            try allowing([.permission], try read(directory, file)) ?? Memory()
        }
    }

    private func read(_ directory: Int32, _ file: String) throws(StoreError) -> Memory {
        let bytes = try allowing(
            [.notFound], try fileSystem.contents(directory, file, limit: Self.byteCountMax))
        let damaged = damaged(
            directory == POSIXFileSystem.workingDirectory
                ? file : "\(POSIXFileSystem().path(of: directory))/\(file)")
        guard let bytes else { return Memory() }
        // Whatever is wrong with it, the remedy is the same.
        let document = try? JSONValue.parse(bytes, limits: JSONLimits(depth: 32))
        guard document?["castreeSigned"]?.asInt64 == Self.formatVersion,
            document?["sequences"]?.asObject != nil, document?["places"]?.asObject != nil
        else { throw damaged }
        // Files of earlier versions lack some.
        func members<Value>(
            _ key: String, _ read: (JSONValue) -> Value?
        ) throws(StoreError) -> [String: Value] {
            var members: [String: Value] = [:]
            for member in document?[key]?.asObject ?? [] {
                guard let value = read(member.value) else { throw damaged }
                members[member.key] = value
            }
            return members
        }
        return Memory(
            sequences: try members("sequences", \.asInt64), used: try members("used", \.asInt64),
            places: try members("places", \.asString),
            signedAt: try members("signedAt", \.asString),
            trusts: try members("trusts", Self.trusts),
            versions: try members("versions", \.asInt64),
            unfinished: try members("unfinished", Unfinished.init))
    }

    /// Versions of a trust; `nil` if one of them is none.
    private static func trusts(_ value: JSONValue) -> [TrustFile]? {
        let files = value.asArray?.map { value in
            value["version"]?.asInt64.flatMap {
                // Why it is none does not matter: the file is damaged.
                try? TrustFile(parsing: value.fileBytes, version: $0)
            }
        }
        return files?.contains(nil) == false ? files?.compactMap(\.self) : nil
    }

    private func damaged(_ file: String) -> StoreError {
        .badKey(
            "\(printable(file)), which says what the key has signed last, is damaged; look at what the channels "
                + "offer (castree channels), then delete it")
    }

    private static func name(_ channel: ChannelName, _ origin: String) -> String {
        "\(origin) \(channel)"
    }
}
