package import CASStore
package import HotPush
import Origin
import Synchronization
import VersionTree

/// An origin in a directory as a server of clients reads it, in memory until a file changes.
///
/// **Consistency.** The publisher writes a history before its pointer, so the reader looks at the pointer first and
/// the history afterwards. The history then knows all that the pointer offers, and ``ClientChannel`` leaves out the
/// rest: an answer is the one from before a change, or the one from after it.
///
/// Each look-up costs a stat(2) for the pointer and one for the history. If one needs to read a file and may not, it
/// throws ``Platform/StoreError/Code/unread``, so that an event loop can leave the reading to another thread.
/// Thread-safe.
package final class OriginReader: Sendable {
    /// Approximate bytes kept in memory.
    package struct Limits: Sendable {
        /// Manifests and facts of releases, by update checks.
        package var contents = 24 << 20
        /// The same for downloads, separate so that update checks never wait for what downloads displace.
        package var fetchedContents = 16 << 20
        package var bytes = 4 << 20
        /// Patches, likewise separate.
        package var patches = 4 << 20
        /// Lengths of archives, which take long to find: some hundreds.
        package var archiveByteCounts = 256 << 10
        package var encoded = 4 << 20
        package var largest = Int(ClientDocument.byteCountMax)

        package init() {}
    }

    struct ChannelKey: Hashable, Sendable {
        let channel: ChannelName
        let system: ClientSystem
    }

    struct ContentKey: Hashable, Sendable {
        let manifest: ObjectID
        let content: ObjectID
        let facts: ObjectID
    }

    struct Kept<Value: Sendable>: Sendable {
        var status: FileStatus?
        var outcome: Result<Value?, StoreError>
        var reading: UInt64
        /// When a missing file was last looked for in the log, which may name it by now.
        var missedAt: Int64 = 0

        func isOf(_ now: FileStatus?, at time: Int64) -> Bool {
            switch (status, now) {
            case (nil, nil): 0..<5 ~= time - missedAt
            case (let status?, let now?): now.isUnchanged(since: status)
            default: false
            }
        }
    }

    struct Joined: Sendable {
        var pointer: UInt64
        var history: UInt64
        var channel: ClientChannel
        var number: UInt64
    }

    struct State: Sendable {
        var readings: UInt64 = 0
        var configurations: [ClientSystem: Kept<ClientConfiguration>] = [:]
        var pointers: [ChannelName: Kept<ChannelPointer>] = [:]
        var histories: [ChannelKey: Kept<ClientHistory>] = [:]
        var joined: [ChannelKey: Joined] = [:]
        var proofs: [ChannelKey: Proof] = [:]
        var patches: [ChannelName: Kept<PatchTable>] = [:]
        var files: RecentlyUsed<String, Kept<[UInt8]>>
        var contents: RecentlyUsed<ContentKey, ClientContent>
        var fetchedContents: RecentlyUsed<ContentKey, ClientContent>
        var bytes: RecentlyUsed<ObjectID, [UInt8]>
        var patchBytes: RecentlyUsed<ObjectID, [UInt8]>
        var archiveByteCounts: RecentlyUsed<String, Int64?>
        var encoded: RecentlyUsed<String, [UInt8]>

        mutating func nextReading() -> UInt64 {
            readings += 1
            return readings
        }
    }

    package let origin: DirectoryOrigin
    let trust: OriginTrust?
    let baseURL: String?
    let limits: Limits
    let now: @Sendable () -> Int64
    /// Why it is unknown what a channel without a pointer here offers; `nil` if there is no such channel.
    package let whyUnseen: @Sendable (ChannelName) -> StoreError?
    /// Gets sentences about what is wrong with files that answers do without.
    let tell: @Sendable (StoreError) -> Void
    /// For tests: called between the look at a pointer and the look at its history.
    let afterPointer: @Sendable () -> Void
    let state: Mutex<State>

    /// - Parameters:
    ///   - trust: whose pointers count; `nil` to accept any.
    ///   - baseURL: the server's URL for clients, overriding the configurations; without a trailing slash.
    ///   - now: the clock, in seconds since 1970, by which signed pointers expire.
    ///   - whyUnseen: why it is unknown what a channel without a pointer here offers; `nil` if there is no such
    ///     channel.
    ///   - tell: gets what is wrong with patches, which answers do without.
    package init(
        _ origin: DirectoryOrigin, trust: OriginTrust? = nil, baseURL: String? = nil,
        limits: Limits = Limits(), now: @escaping @Sendable () -> Int64 = secondsNow,
        whyUnseen: @escaping @Sendable (ChannelName) -> StoreError? = { _ in nil },
        tell: @escaping @Sendable (StoreError) -> Void = { _ in },
        afterPointer: @escaping @Sendable () -> Void = {}
    ) {
        self.origin = origin
        self.trust = trust
        self.baseURL = baseURL
        self.limits = limits
        self.now = now
        self.whyUnseen = whyUnseen
        self.tell = tell
        self.afterPointer = afterPointer
        state = Mutex(
            State(
                files: RecentlyUsed(limit: limits.bytes),
                contents: RecentlyUsed(limit: limits.contents, keepsOneLarger: true),
                fetchedContents: RecentlyUsed(
                    limit: limits.fetchedContents, keepsOneLarger: true),
                bytes: RecentlyUsed(limit: limits.bytes, keepsOneLarger: true),
                patchBytes: RecentlyUsed(limit: limits.patches, keepsOneLarger: true),
                archiveByteCounts: RecentlyUsed(limit: limits.archiveByteCounts),
                encoded: RecentlyUsed(limit: limits.encoded, keepsOneLarger: true)))
    }

    func moved(to origin: DirectoryOrigin) -> OriginReader {
        OriginReader(
            origin, trust: trust, baseURL: baseURL, limits: limits, now: now,
            whyUnseen: whyUnseen, tell: tell, afterPointer: afterPointer)
    }

    func configuration(
        of system: ClientSystem, mayRead: Bool
    ) throws(StoreError) -> Kept<ClientConfiguration> {
        let path = OriginLayout.clientConfiguration(of: system.rawValue)
        let known = state.withLock { $0.configurations[system] }
        let kept = try current(path, known, limit: ClientConfiguration.byteCountMax, mayRead) {
            (bytes) throws(StoreError) in
            var configuration = try ClientConfiguration(parsing: bytes, of: system)
            if let baseURL = self.baseURL { configuration.baseURL = baseURL }
            return configuration
        }
        state.withLock { $0.configurations[system] = kept }
        return kept
    }

    /// What a channel offers to the clients of a system, and a number that changes with it; `nil` without the
    /// channel.
    func channel(
        _ name: ChannelName, for system: ClientSystem, mayRead: Bool
    ) throws(StoreError) -> (channel: ClientChannel?, number: UInt64) {
        let pointer = try pointer(name, mayRead: mayRead)
        afterPointer()
        let history = try history(of: name, for: system, mayRead: mayRead)
        guard let offered = try pointer.outcome.get() else {
            if let why = whyUnseen(name) { throw why }
            return (nil, pointer.reading)
        }
        if let trust, !trust.isInForce(offered, now: now()) {
            throw StoreError(
                .untrusted,
                "the pointer of channel \(name) has expired; nobody is answered from it until it is signed anew (castree resign)"
            )
        }
        let told = try history.outcome.get()
        let key = ChannelKey(channel: name, system: system)
        let joined = state.withLock { state in
            if let known = state.joined[key], known.pointer == pointer.reading,
                known.history == history.reading
            {
                return known
            }
            let joined = Joined(
                pointer: pointer.reading, history: history.reading,
                channel: ClientChannel(offered, told ?? ClientHistory(system, name)),
                number: state.nextReading())
            state.joined[key] = joined
            return joined
        }
        if trust != nil {
            try prove(joined.channel, joined.number, offered, for: system, mayRead: mayRead)
        }
        return (joined.channel, joined.number)
    }

    private func pointer(
        _ name: ChannelName, mayRead: Bool
    ) throws(StoreError) -> Kept<ChannelPointer> {
        let known = state.withLock { $0.pointers[name] }
        let kept = try current(
            OriginLayout.pointer(name), known, limit: ChannelPointer.byteCountMax, mayRead
        ) { (bytes) throws(StoreError) in
            let pointer = try ChannelPointer(parsing: bytes, of: name)
            if let trust = self.trust {
                try trust.admit(pointer, now: self.now()) { (version) throws(StoreError) in
                    try self.origin.trustFile(version)
                }
            }
            return pointer
        }
        // Missing trust may arrive after its pointer, so a refusal is not kept.
        if trust != nil, kept.status != nil, case .failure = kept.outcome { return kept }
        state.withLock { $0.pointers[name] = kept }
        return kept
    }

    private func history(
        of channel: ChannelName, for system: ClientSystem, mayRead: Bool
    ) throws(StoreError) -> Kept<ClientHistory> {
        let key = ChannelKey(channel: channel, system: system)
        let known = state.withLock { $0.histories[key] }
        let kept = try current(
            OriginLayout.clientHistory(of: channel, system.rawValue), known,
            limit: ClientHistory.byteCountMax, mayRead
        ) { (bytes) throws(StoreError) in
            try ClientHistory(parsing: bytes, of: channel, system)
        }
        state.withLock { $0.histories[key] = kept }
        return kept
    }

    /// What mends a file that differs from the log.
    static let rewriting = "castree fsck --repair writes it again from the log"

    /// The current value of a file: the known one if the file has not changed, else what reading it yields.
    ///
    /// Failures to understand are kept as well, or the file would be read for each request; failures to read are not.
    /// A file that the log names and that is not here is lost: no client is told that it never existed.
    func current<Value: Sendable>(
        _ path: String, _ known: Kept<Value>?, limit: Int, _ mayRead: Bool,
        _ understand: ([UInt8]) throws(StoreError) -> Value
    ) throws(StoreError) -> Kept<Value> {
        let status = try origin.status(of: path)
        if let known, known.isOf(status, at: now()) { return known }
        guard mayRead else {
            throw StoreError(.unread, "\(path) has to be read")
        }
        let reading = state.withLock { $0.nextReading() }
        guard let file = try origin.file(path, limit: limit) else {
            return Kept(
                status: nil,
                outcome: try origin.logNames(path, at: now())
                    ? .failure(DirectoryOrigin.lost(path)) : .success(nil),
                reading: reading, missedAt: now())
        }
        let outcome: Result<Value?, StoreError>
        do throws(StoreError) {
            outcome = .success(try understand(file.bytes))
        } catch {
            let isDamaged = [.badClients, .badPointer].contains(error.code)
            outcome = .failure(
                isDamaged
                    ? StoreError(error.code, "\(error.message); \(Self.rewriting)") : error)
        }
        return Kept(status: file.status, outcome: outcome, reading: reading)
    }

    package func file(
        _ path: String, limit: Int, mayRead: Bool
    ) throws(StoreError) -> [UInt8]? {
        let known = state.withLock { $0.files.value(of: path) }
        let kept = try current(path, known, limit: limit, mayRead) { $0 }
        guard let bytes = try kept.outcome.get() else {
            _ = state.withLock { $0.files.remove(path) }
            return nil
        }
        // Do not keep missing paths: anybody can request any number of them.
        _ = state.withLock { $0.files.insert(path, kept, cost: bytes.count + 512) }
        return bytes
    }

    /// The files of an offer; `nil` if the origin no longer holds them.
    /// - Parameter isFetch: whether a client fetches them; then the memory for update checks is left alone.
    func content(
        of offer: ClientOffer, isFetch: Bool = false, mayRead: Bool
    ) throws(StoreError) -> ClientContent? {
        guard case .version(let version, let address) = offer.target else { return nil }
        let key = ContentKey(
            manifest: version.manifest, content: version.content, facts: address)
        if isFetch, let known = state.withLock({ $0.contents.value(of: key) }) { return known }
        return try kept(
            isFetch ? \.fetchedContents : \.contents, key, mayRead, "a manifest has to be read"
        ) { () throws(StoreError) in
            guard let bytes = try origin.manifestBytes(version.manifest),
                let facts = try origin.facts(address)
            else { return nil }
            let manifest = try Manifest(parsing: bytes)
            // Clients find files by the address of their content, and an unsigned history could name other files.
            guard try manifest.contentAddress() == version.content else {
                throw StoreError(
                    .badClients,
                    "a history says that manifest \(version.manifest) has the content \(version.content), and it has another; "
                        + Self.rewriting,
                    object: version.manifest)
            }
            // In memory, a manifest takes about twice its text, and an object's facts a little more than 200 bytes.
            return (
                ClientContent(manifest: manifest, facts: facts),
                bytes.count * 2 + facts.objects.count * 224
            )
        }
    }

    /// The bytes of a small file, compared with its address; `nil` if the origin does not hold it.
    func bytes(
        of key: OriginKey, byteCount: Int64, mayRead: Bool,
        in cache: any WritableKeyPath<State, RecentlyUsed<ObjectID, [UInt8]>> & Sendable = \.bytes
    ) throws(StoreError) -> [UInt8]? {
        try kept(cache, key.address, mayRead, "\(key.path) has to be read") {
            () throws(StoreError) in
            let found = try origin.first(of: [key]) { (key) throws(StoreError) in
                try origin.file(key.path, limit: limits.largest)?.bytes
            }
            guard let bytes = found else { return nil }
            guard try ObjectID(of: bytes) == key.address, Int64(bytes.count) == byteCount
            else {
                throw StoreError(
                    .damagedObject,
                    "the bytes of \(printable(origin.path))/\(key.path) do not match its name; "
                        + "castree publish --verify repairs it",
                    object: key.address)
            }
            return (bytes, bytes.count + 128)
        }
    }

    func bytes(
        of document: ClientDocument, for system: ClientSystem, mayRead: Bool
    ) throws(StoreError) -> [UInt8]? {
        let key = OriginKey(.document(of: system.announced), document.address, in: document.epoch)
        return try bytes(of: key, byteCount: document.byteCount, mayRead: mayRead)
    }

    /// The length of an archive, composed once to find it; `nil` if there is none.
    func archiveByteCount(
        named name: String, mayRead: Bool, _ find: () throws(StoreError) -> Int64?
    ) throws(StoreError) -> Int64? {
        // Reads no file, but compares all files of two releases.
        try kept(\.archiveByteCounts, name, mayRead, "an archive has to be composed") {
            () throws(StoreError) in (try find(), name.utf8.count + 128)
        } ?? nil
    }

    func encoded(
        named name: String, mayRead: Bool, _ write: () throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> [UInt8] {
        try kept(\.encoded, name, mayRead, "a long answer has to be written") {
            () throws(StoreError) in
            let bytes = try write()
            return (bytes, bytes.count + name.utf8.count + 128)
        } ?? []
    }

    /// Returns what is in memory, or makes it and keeps it at its cost.
    /// - Throws: `.unread` if nothing may be made.
    private func kept<Key, Value>(
        _ cache: any WritableKeyPath<State, RecentlyUsed<Key, Value>> & Sendable, _ key: Key,
        _ mayMake: Bool, _ lack: @autoclosure () -> String,
        _ make: () throws(StoreError) -> (value: Value, cost: Int)?
    ) throws(StoreError) -> Value? {
        if let known = state.withLock({ $0[keyPath: cache].value(of: key) }) { return known }
        guard mayMake else { throw StoreError(.unread, lack()) }
        guard let made = try make() else { return nil }
        _ = state.withLock { $0[keyPath: cache].insert(key, made.value, cost: made.cost) }
        return made.value
    }
}

extension StoreError.Code {
    /// A file would have to be read, which is not allowed here; repeat the call where it is.
    package static let unread = Self("unread")
    /// A download would have to be prepared, which takes long and is not allowed here; repeat the call where it is.
    package static let unplanned = Self("unplanned")
}

// Checks a history against a signed pointer, since histories are not signed.

extension OriginReader {
    /// The offers of a channel that were found to follow from their releases.
    struct Proof: Sendable {
        /// The channel and the configuration they were checked with.
        let channel: UInt64, configuration: UInt64
        let offers: Set<ProvedOffer>
    }

    struct ProvedOffer: Hashable, Sendable {
        let offer: ClientOffer
        let release: ChannelRelease
        let configuration: ClientConfiguration
    }

    /// Refuses a channel whose history contains something that does not follow from the pointer.
    ///
    /// It refuses all of the channel for the system's clients: leaving out one release would lead them back to an
    /// older one. Offers are checked once.
    /// - Parameter number: differs for each reading of the channel.
    /// - Throws: `.untrusted` with what is wrong; `.unread`; what reading throws.
    func prove(
        _ channel: ClientChannel, _ number: UInt64, _ pointer: ChannelPointer,
        for system: ClientSystem, mayRead: Bool
    ) throws(StoreError) {
        let kept = try configuration(of: system, mayRead: mayRead)
        let key = ChannelKey(channel: pointer.channel, system: system)
        let known = state.withLock { $0.proofs[key] }
        if let known, known.channel == number, known.configuration == kept.reading { return }
        guard let configuration = try kept.outcome.get(),
            let feed = ClientSystem.feeds.first(where: { $0.system == system })
        else { return }
        let latest = pointer.latestOffer(among: channel.past.count)
        var proved: Set<ProvedOffer> = []
        for live in channel.live {
            let (offer, release) = (live.offer, live.release)
            let this = ProvedOffer(offer: offer, release: release, configuration: configuration)
            proved.insert(this)
            if known?.offers.contains(this) == true { continue }
            guard max(offer.createdAt, offer.firstOfferedAt) <= latest else {
                throw forged(offer, "it is said to be later than the pointer", key)
            }
            let content = try content(of: offer, mayRead: mayRead)
            if offer.version != nil, content == nil {
                // Missing files are reported when they are requested; nothing can be checked without them.
                proved.remove(this)
                continue
            }
            let client = ClientRelease(
                release: release, configuration: configuration, content: content,
                now: offer.createdAt
            ) { (address) throws(StoreError) in
                try self.object(address, of: content, mayRead: mayRead)
            } digest: { (_) throws(StoreError) in
                throw StoreError(.unsupported, "no archive is composed to prove an offer")
            }
            let problem: String?
            do throws(StoreError) {
                problem = try feed.forgery(in: offer, of: client) {
                    (document) throws(StoreError) in
                    try self.bytes(of: document, for: system, mayRead: mayRead)
                }
            } catch {
                // No publisher would have offered it.
                guard error.code == .unsuitableRelease else { throw error }
                problem = error.message
            }
            if let problem { throw forged(offer, problem, key) }
        }
        let proof = Proof(channel: number, configuration: kept.reading, offers: proved)
        state.withLock { $0.proofs[key] = proof }
    }

    private func object(
        _ address: ObjectID, of content: ClientContent?, mayRead: Bool
    ) throws(StoreError) -> [UInt8] {
        guard let byteCount = content?.facts[address]?.byteCount,
            let bytes = try bytes(
                of: OriginKey(.object, address), byteCount: byteCount, mayRead: mayRead)
        else {
            throw StoreError(
                .damagedOrigin,
                "\(OriginLayout.path(.object, address)) is missing; castree publish --verify repairs it",
                object: address)
        }
        return bytes
    }

    private func forged(
        _ offer: ClientOffer, _ problem: String, _ key: ChannelKey
    ) -> StoreError {
        let path = OriginLayout.clientHistory(of: key.channel, key.system.rawValue)
        let name = offer.version.map { "version \($0.name)" } ?? "the embedded version"
        return StoreError(
            .untrusted,
            "what \(path) says of \(name) does not follow from the release, which is signed: \(problem); nobody is "
                + "answered from it: \(Self.rewriting)")
    }
}
