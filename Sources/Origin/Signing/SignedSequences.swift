package import CASStore
import HotPush
import StrictJSON

/// What a key remembers of its signatures: the last in each channel, the place of each origin, and its trust files.
///
/// The memory is the file `<id of the key>.signed` beside the key, at the end of links to it. So a key has one memory
/// in a directory, whatever its name, and whether it signs itself or a program signs by it.
///
/// Anybody who can write to an origin can restore an old pointer, or put another origin's there. A publisher that
/// remembers does not build upon it. The file is changed under a lock (`<id>.lock`, which nobody else can open),
/// replaced as a whole, and never goes back. Both belong to the directory's owner even if root signs; to the key's
/// owner in root's directory.
///
/// A pointer is noted twice. Before it is written, the memory gets its sequence as used, its base as the oldest that
/// may be built upon again, and the pointer itself. After it was written, the pointer is the oldest that may. If the
/// publisher is killed between the two, the origin offers one or the other, and nobody can tell whether devices have
/// seen the newer one. So the next publisher writes that first, and no failure lets an older one pass.
package struct SignedSequences: Sendable {
    /// A file of the key, beside which the memory is.
    private let path: String
    private let key: String
    private let fileSystem: any FileSystem
    private let timeout: Duration

    private static let suffix = ".signed"
    private static let lockSuffix = ".lock"
    private static let formatVersion: Int64 = 1
    private static let byteCountMax = 16 << 20

    /// Reads and writes nothing yet.
    /// - Parameters:
    ///   - key: the id of the key.
    ///   - path: its private or public file.
    ///   - timeout: how long to wait for another publisher's small note, which only a stop or a hanging disk delays.
    package init(
        of key: String, beside path: String, _ fileSystem: any FileSystem = POSIXFileSystem(),
        timeout: Duration = .seconds(60)
    ) {
        self.key = key
        self.path = path
        self.fileSystem = fileSystem
        self.timeout = timeout
    }

    /// The last sequence that was written or built upon; nothing older may be built upon; `nil` if unknown.
    /// - Throws: `.badKey` for a damaged file; reading errors; so do the readers below.
    func sequence(of channel: ChannelName, in origin: String) throws(StoreError) -> Int64? {
        try Self.counted(all().sequences[Self.name(channel, origin)])
    }

    /// Drops a sequence that neither a clock nor counting can have made, as nothing could follow a stranger's.
    private static func counted(_ sequence: Int64?) -> Int64? {
        sequence.flatMap { $0 > SequenceBound.countMax ? nil : $0 }
    }

    /// The highest sequence that was signed, whether or not it was written; 0 if unknown.
    func used(of channel: ChannelName, in origin: String) throws(StoreError) -> Int64 {
        let (memory, name) = (try all(), Self.name(channel, origin))
        return max(Self.counted(memory.used[name]) ?? 0, Self.counted(memory.sequences[name]) ?? 0)
    }

    /// Where a channel of an origin, which may have copies, was signed last; `nil` if unknown.
    func place(of channel: ChannelName, in origin: String) throws(StoreError) -> String? {
        try all().signedAt[Self.name(channel, origin)]
    }

    /// The id of the origin that was signed last at a place; `nil` if unknown.
    func origin(at place: String) throws(StoreError) -> String? {
        try all().places[place]
    }

    /// The trust files of an origin by which the key has signed, in ascending order.
    func trusts(of origin: String) throws(StoreError) -> [TrustFile] {
        try all().trusts[origin] ?? []
    }

    /// The newest version of an origin's trust by which the key has signed; `nil` if it does not know the origin.
    func trustVersion(of origin: String) throws(StoreError) -> Int64? {
        let memory = try all()
        let versions = [memory.versions[origin], memory.trusts[origin]?.last?.version]
        if let newest = versions.compactMap(\.self).max() { return newest }
        return memory.places.values.contains(origin) ? TrustFile.firstVersion : nil
    }

    /// The pointers signed for a place that may or may not have been written; sorted by channel.
    func unfinished(at place: String) throws(StoreError) -> [ChannelPointer] {
        let memory = try all()
        guard let origin = memory.places[place] else { return [] }
        return memory.unfinished.filter { name, known in
            known.place == place && name == Self.name(known.pointer.channel, origin)
        }.map(\.value.pointer).sorted { $0.channel < $1.channel }
    }

    /// Notes durably that a pointer is signed and about to be written.
    /// - Parameter before: the sequence of its base.
    /// - Throws: `.busy` if another publisher holds the lock; what reading and writing throws.
    func prepare(
        _ pointer: ChannelPointer, upon before: Int64?, at place: String,
        _ waiting: StoreOptions = StoreOptions()
    ) throws(StoreError) {
        try change(pointer, waiting) { memory, name, origin in
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

    /// Notes durably that a pointer was signed and written.
    /// - Parameters:
    ///   - trusts: the trust file that it names and those before it, if they are unknown.
    ///   - isLowering: whether versions newer than its own do not count any more.
    /// - Throws: what reading and writing throws.
    func note(
        _ pointer: ChannelPointer, at place: String, trusts: [TrustFile] = [],
        isLowering: Bool = false, _ waiting: StoreOptions = StoreOptions()
    ) throws(StoreError) {
        try change(pointer, waiting) { memory, name, origin in
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
        _ pointer: ChannelPointer, _ waiting: StoreOptions,
        _ body: (inout Memory, String, String) -> Void
    ) throws(StoreError) {
        guard let origin = pointer.origin else { return }
        let directory = try atMemory { (directory, file) throws(StoreError) in
            let above = Self.directory(of: file)
            return try fileSystem.open(
                directory, above.isEmpty ? "." : above, .directoryFollowingLinks, mode: 0)
        }
        let owners = try fileSystem.owners(of: directory.raw, path)
        // Not the directory itself, whose lock any reader could hold.
        let lockFile = try owners.open(directory.raw, key + Self.lockSuffix, .updating, mode: 0o600)
        try give(lockFile.raw)
        try owners.closeLock(lockFile.raw)
        let lock = FileLock(lockFile, owners)
        defer { withExtendedLifetime(lock) {} }
        var waiting = waiting
        // Others' small notes take milliseconds, also for those who wait for no other publisher.
        waiting.waitLimit = min(max(waiting.waitLimit, .seconds(2)), timeout)
        var wait = LockWait(ofPublisher: waiting)
        try lock.take(owners, &wait) { holder in
            "another publisher\(holder) holds the lock \(key)\(Self.lockSuffix) beside \(printable(path)); if it is stopped, let "
                + "it continue or end it"
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

    /// Gives root's files in a directory of root's to the owner of the key, who also signs.
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
            // Any invalid pointer means a damaged file.
            guard let place = value["place"]?.asString, let pointer = value["pointer"],
                let name = pointer["channel"]?.asString.flatMap({ try? ChannelName($0) }),
                let known = try? ChannelPointer(parsing: pointer.fileBytes, of: name)
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
        var used: [String: Int64] = [:]
        var places: [String: String] = [:]
        /// Where a channel was signed last.
        var signedAt: [String: String] = [:]
        var trusts: [String: [TrustFile]] = [:]
        /// The newest version, even if its file was lost.
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

    /// Calls `body` with a directory and the path from there to the memory, beside the key's file at the end of links.
    ///
    /// For root, against links that others may put in its way, it is the open directory of that file.
    private func atMemory<R: ~Copyable>(
        _ body: (Int32, String) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let (here, name) = (POSIXFileSystem.workingDirectory, key + Self.suffix)
        if effectiveUser() == 0 {
            let directory = try fileSystem.open(here, path, .directoryOfTypedFile, mode: 0)
            return try body(directory.raw, name)
        }
        var file = path
        // As many links as Linux follows (path_resolution(7)); for a circle, opening the file fails.
        for _ in 0..<40 {
            guard let target = try fileSystem.symbolicLink(here, file) else { break }
            file = (target.hasPrefix("/") ? "" : Self.directory(of: file)) + target
        }
        return try body(here, Self.directory(of: file) + name)
    }

    private static func directory(of file: String) -> String {
        file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
    }

    private func all() throws(StoreError) -> Memory {
        try atMemory { (directory, file) throws(StoreError) in
            // A caller that may not read it may not write it either, and that is reported.
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
        // Some are missing in files of earlier versions.
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

    /// - Returns: `nil` if one of them is invalid.
    private static func trusts(_ value: JSONValue) -> [TrustFile]? {
        let files = value.asArray?.map { value in
            value["version"]?.asInt64.flatMap {
                // Any invalid version means a damaged file.
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

extension LockWait {
    /// Most locks of publishers are held for a moment; a person who ends the command does not wait for the other.
    init(ofPublisher options: StoreOptions) {
        self.init(options, silence: .milliseconds(300), mayCleanUp: false)
    }
}

extension FileLock {
    /// Takes a lock, waiting for another publisher that holds it.
    /// - Parameter sentence: what is held, with the holder's process, if it is known.
    /// - Throws: `.busy` once the time is over; `.interrupted`.
    func take(
        exclusive: Bool = true, _ fileSystem: any FileSystem, _ wait: inout LockWait,
        _ sentence: (_ holder: String) -> String
    ) throws(StoreError) {
        while try !take(exclusive: exclusive) {
            let holder = LockHolder.find(of: try fileSystem.status(raw))
            let held = sentence(holder.process == nil ? "" : " (\(holder.description))")
            guard !wait.isOver else {
                throw StoreError(.busy, "\(held); repeat the command when it has finished")
            }
            if wait.isToBeTold { wait.tell("\(held); waiting for it") }
            if wait.isInterrupted { throw .publishingInterrupted }
            wait.rest()
        }
    }
}
