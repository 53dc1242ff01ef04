import OriginTestSupport

@testable import Origin

/// A store that means harm, or a stranger who may write: every verb ends, with an error that says why, and deletes
/// nothing that is needed.
@Suite("A hostile bucket") struct HostileBucketTests {
    enum Verb: String, CaseIterable, Sendable {
        case publish, prune, withdraw, channels, usage, check

        var lists: Bool { [.prune, .usage, .check].contains(self) }

        /// - Returns: the findings of a check.
        func run(_ bucket: any ObjectStorage, _ versions: VersionStore) throws -> [OriginFinding] {
            let publisher = OriginPublisher(bucket, pause: { _ in })
            switch self {
            case .publish: _ = try publisher.publish("1", of: versions)
            case .prune: _ = try OriginPruner(publisher).prune(keeping: 1, grace: 3_600)
            case .withdraw: _ = try publisher.withdraw(VersionName("5"))
            case .channels: _ = try OriginChannels(bucket).offered()
            case .usage: _ = try OriginUsage(of: bucket)
            case .check: return try OriginAudit(bucket, .hasty()).run().findings
            }
            return []
        }
    }

    /// What must never happen, whatever a verb is told.
    private func expectSound(_ audited: AuditedWorld) {
        audited.world.check(after: "the verb")
        expect(audited.world.broken, equals: [])
    }

    @Test(arguments: Verb.allCases)
    func `that lists without an end is given up`(_ verb: Verb) throws {
        let audited = try AuditedWorld()
        var bucket = LyingStorage(ModelStorage(audited.store))
        bucket.listing = { request in ListPage([], next: request.token == "a" ? "b" : "a") }
        let thrown = code { try verb.run(bucket, audited.world.versions) }
        expect(thrown, equals: (verb.lists ? .bucketAnswer : nil))
        expectSound(audited)
    }

    @Test(arguments: Verb.allCases)
    func `in whose place a login page answers every name is given up`(_ verb: Verb) throws {
        let audited = try AuditedWorld()
        var bucket = LyingStorage(ModelStorage(audited.store))
        bucket.content = { _ in Array("<html>Please log in</html>".utf8) }
        let lying = bucket
        let refused = code { try verb.run(lying, audited.world.versions) }
        expect(refused, equals: .bucketAnswer)
        expectSound(audited)
    }

    @Test(arguments: Verb.allCases)
    func `whose next entry is of 2 MiB is refused`(_ verb: Verb) throws {
        let audited = try AuditedWorld()
        let end = try require(audited.files.keys.filter { $0.hasPrefix("log/") }.max())
        audited.store.set(end, [UInt8](repeating: 123, count: 2 << 20))
        guard verb == .check else {
            expectRefusal(.tooLarge) {
                try verb.run(ModelStorage(audited.store), audited.world.versions)
            }
            return
        }
        let findings = try verb.run(ModelStorage(audited.store), audited.world.versions)
        expect(findings.first?.kind, equals: .damagedEntry)
    }

    @Test(arguments: Verb.allCases)
    func `whose log has lost an entry that is referred to is refused`(_ verb: Verb) throws {
        let audited = try AuditedWorld()
        let state = try audited.world.state()
        let place = try require(state.entry.channels[try ChannelName("beta")])
        audited.store.set(OriginLayout.logEntry(place), nil)
        if verb == .check {
            let findings = try verb.run(ModelStorage(audited.store), audited.world.versions)
            expect(findings.first?.kind, equals: .missingEntry)
        } else {
            expectRefusal(.damagedOrigin) {
                try verb.run(ModelStorage(audited.store), audited.world.versions)
            }
        }
        // Nothing was deleted, and no entry was added.
        expect(audited.files[OriginLayout.logEntry(state.number + 1)] == nil)
    }

    @Test(
        "whose pointer names an entry and epochs far beyond the log is believed by nobody",
        arguments: Verb.allCases)
    func beyond(_ verb: Verb) throws {
        let audited = try AuditedWorld()
        let bytes = try audited.bytes("channels/stable.json")
        var pointer = try ChannelPointer(parsing: bytes, of: .stable)
        pointer.log = ChannelPointer.logMax
        var version = try require(pointer.releases[0].version)
        version.epoch = ChannelPointer.logMax - 1
        version.places = nil
        pointer.releases[0].target = .version(version)
        audited.store.set("channels/stable.json", pointer.serialized())
        let before = audited.store.requestCount
        var findings: [OriginFinding] = []
        let code = code {
            findings = try verb.run(ModelStorage(audited.store), audited.world.versions)
        }
        // It may as well be the log that has lost its last entries.
        let writes = [.publish, .prune, .withdraw].contains(verb)
        expect(code, equals: writes ? .damagedOrigin : nil)
        // The end is found by a few questions, not by ten thousand million.
        expect(audited.store.requestCount - before < 200)
        if verb == .check { expect(findings.map(\.kind), equals: [.wrongPointer]) }
        // What it names is nobody's promise.
        if audited.files["channels/stable.json"]?.bytes == pointer.serialized() {
            audited.store.set("channels/stable.json", bytes)
        }
        expectSound(audited)
    }

    /// Refuses everything, and repeats what it was sent.
    private struct EchoCarrier: BucketCarrier {
        func carry(
            _ request: CarriedRequest, onHead: (AnswerHead) -> Bool,
            onBytes: (UnsafeRawBufferPointer) -> Bool
        ) -> CarryEnd {
            guard onHead(AnswerHead(status: 403, fields: [])) else { return .refused }
            let said = request.fields.filter { $0.name != "x-amz-content-sha256" }
                .map { "\($0.value)" }.sorted().joined(separator: " ")
            // In other spellings, and cut, too; the end of the signature.
            let sent = [
                said, said.uppercased(), String(said.dropLast(3)), String(said.dropFirst(5)),
            ]
            .joined(separator: " ")
            let body = "<Error><Code>AccessDenied</Code><Message>\(sent)</Message></Error>"
            return Array(body.utf8).withUnsafeBytes { onBytes($0) } ? .finished : .refused
        }
    }

    @Test(arguments: Verb.allCases)
    func `that repeats what it was sent has no key repeated in a message`(_ verb: Verb) throws {
        let sourceStore = try BucketWorld.SourceStore()
        let keys = AccessKeys(
            id: "AKIAIOSFODNN7EXAMPLE", secret: "a secret that nobody sees",
            sessionToken: "a t0ken that nobody sees")
        let bucket = try S3Storage.updates(FixedKeys(keys), EchoCarrier())
        let error = expectRefusal(.accessDenied) {
            try verb.run(bucket, sourceStore.temporary.versions)
        }
        for hidden in [keys.secret, "a t0ken that nobody sees", keys.id, "t0ken", "NOBODY SEES"] {
            expect(error?.message.contains(hidden), equals: false, "\(error?.message ?? "")")
        }
    }

    @Test(
        arguments: TestShare(oneIn: 3, of: "always faster").of([Verb.publish, .prune, .withdraw]))
    func `that always has another entry already is given up`(_ verb: Verb) throws {
        let audited = try AuditedWorld()
        // Whatever is created is told as too late, and has become somebody else's.
        let number = try audited.world.state().number
        let count = Mutex<Int64>(0)
        let store = audited.store
        let bucket = ModelStorage(
            store,
            schedule: { request in
                guard request.verb == .putIfAbsent, request.key.hasPrefix("log/") else {
                    return .answered
                }
                let next = count.withLock { count -> Int64 in
                    count += 1
                    return count
                }
                // Nothing is offered that was not before, by an author of its own.
                guard let end = store.files[OriginLayout.logEntry(number + next - 1)],
                    var entry = try? LogEntry(parsing: end.bytes, number: number + next - 1)
                else { return .answered }
                entry.author = "\(next)"
                entry.pointers = [:]
                store.set(OriginLayout.logEntry(number + next), entry.serialized())
                return .answered
            })
        expectRefusal(.network) { try verb.run(bucket, audited.world.versions) }
        expect(count.withLock { $0 } <= 1_001)
    }

    /// What comes in place of a file's bytes.
    enum Lie: String, CaseIterable, Sendable {
        case empty, junk, another, longer, gone

        func bytes(of key: String, among files: [String: ModelStore.File]) -> [UInt8]? {
            let kind = key.split(separator: "/").dropLast().last.map { "\($0)/" } ?? key
            switch self {
            case .empty: return []
            case .junk: return [UInt8](repeating: 120, count: 1_000)
            case .another:
                return files.keys.sorted().first { $0 != key && $0.contains(kind) }
                    .flatMap { files[$0]?.bytes }
            case .longer:
                return files[key].map { $0.bytes + [UInt8](repeating: 32, count: 5_000_000) }
            case .gone: return nil
            }
        }
    }

    @Test(
        "whose files are not what their names say brings nothing into an origin",
        arguments: ["places/", "deliveries/", "manifests/", "objects/", "packs/"], Lie.allCases)
    func lyingFiles(_ kind: String, _ lie: Lie) throws {
        let world = try BucketWorld(offering: "1", "2", "3", packs: .before)
        _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0)
        try world.publish("4", by: world.publisher(packs: .before))
        let files = world.store.files
        expect(files.keys.contains { $0.contains(kind) })
        // A store that has nothing but its version needs all that the bucket can give.
        let sourceStore = try BucketWorld.SourceStore(only: ["5"])
        var bucket = LyingStorage(
            ModelStorage(
                world.store,
                schedule: {
                    lie == .gone && $0.verb == .get && $0.key.contains(kind) ? .dropped : .answered
                }
            ))
        bucket.content = { $0.contains(kind) ? lie.bytes(of: $0, among: files) : nil }
        let publisher = bucket.publisher {
            ($0.packs.timing, $0.packs.fetchesBases, $0.packs.level) = (.before, true, 1)
        }
        let operations: [() throws -> Void] = [
            { _ = try publisher.publish("5", of: sourceStore.temporary.versions) },
            { _ = try publisher.pack("5", of: sourceStore.temporary.versions, in: .stable) },
            { _ = try OriginPruner(publisher).prune(keeping: 1, grace: 3_600) },
        ]
        // How each ends is its own affair; what stands there then is whole, and right.
        for operation in operations { _ = code { try operation() } }
        world.check(after: "the verbs")
        expect(world.broken, equals: [])
        let audit = OriginAudit(ModelStorage(world.store), .hasty(isDeep: true))
        let findings = try audit.run().findings
        expect(findings.filter { $0.kind != .wrongPointer }, equals: [])
    }

    @Test
    func `in which somebody copies an entry's author takes nobody's commit for another's`() throws {
        let audited = try AuditedWorld()
        let bucket = ModelStorage(audited.store)
        let state = try audited.world.state()
        // A stranger is faster, and pretends to be the commit before.
        var entry = state.entry
        entry.pointers = [:]
        audited.store.set(OriginLayout.logEntry(state.number + 1), entry.serialized())
        let commit = try OriginPublisher(bucket, pause: { _ in }).publish(
            "1", of: audited.world.versions)
        expect(commit.entry, equals: state.number + 2)
        let findings = try OriginAudit(bucket).run().findings
        expect(findings.map(\.kind), equals: [.damagedEntry])
        expect(findings.first?.message.contains("the same commit as entry"), equals: true)
    }

    @Test func `whose entry offers what stands in a later epoch is found out, and passed over`()
        throws
    {
        let audited = try AuditedWorld()
        let bucket = ModelStorage(audited.store)
        let state = try audited.world.state()
        var entry = state.entry
        entry.author = String(repeating: "0", count: 32)
        var pointer = try require(state.pointers[.stable])
        pointer.log = state.number + 1
        pointer.sequence += 1
        var version = try require(pointer.releases[0].version)
        version.epoch = state.entry.epoch + 1
        version.places = nil
        pointer.releases[0].target = .version(version)
        entry.pointers = [.stable: pointer]
        entry.channels[.stable] = state.number + 1
        audited.store.set(OriginLayout.logEntry(state.number + 1), entry.serialized())
        try expect(OriginAudit(bucket).run().findings.map(\.kind), equals: [.damagedEntry])
        // Who prunes deletes nothing that is offered without it, and devices never hear of it.
        let pruner = OriginPruner(OriginPublisher(bucket, pause: { _ in }))
        _ = try pruner.prune(keeping: 1, grace: 3_600)
        try expect(OriginAudit(bucket).run().findings.map(\.kind), equals: [.damagedEntry])
        let file = try require(audited.files[OriginLayout.pointer(.stable)])
        let offered = try ChannelPointer(parsing: file.bytes, of: .stable)
        expect(offered.liveReleases.allSatisfy { $0.version.epoch <= state.entry.epoch })
    }
}
