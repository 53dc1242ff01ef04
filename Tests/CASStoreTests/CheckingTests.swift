import StorageTestSupport

/// Every kind of damage to objects and index: a check names it, a repair mends it or says that it
/// cannot, and the next check finds nothing more.
@Suite struct CheckingTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
        try temporary.add("1", ["a": "first content", "b": "second content"])
        try temporary.add("2", ["a": "second content", "c": "third content"])
        try expect(temporary.versions.check().findings, equals: [])
    }

    struct Damaging: Sendable, CustomStringConvertible {
        var description: String
        var kind: Finding.Kind
        /// Whether a version has lost content by it.
        var loses = false
        var damage: @Sendable (TemporaryStore) throws -> Void
    }

    static func path(_ temporary: TemporaryStore) throws -> String {
        temporary.objectPath(try address(of: "first content"))
    }

    static let damages: [Damaging] = [
        .init(description: "flipped first bit", kind: .damagedObject, loses: true) {
            try Damage.flip(path($0), at: 0)
        },
        .init(description: "deleted", kind: .missingObject, loses: true) {
            // Its bytes, too: the tree would give them back.
            try Damage.flip(path($0), at: 0)
            Damage.remove(try path($0))
        },
        .init(description: "a link in its place", kind: .notAFile, loses: true) {
            try Damage.flip(path($0), at: 0)
            try Damage.replace(path($0), by: .symbolicLink("/etc/hostname"))
        },
        ofIndex(
            "wrong fingerprint in the index",
            "UPDATE object SET fingerprint = zeroblob(16) WHERE \(first)", .wrongFingerprint),
        ofIndex("count too low", "UPDATE object SET refs = 0, keepers = 0 WHERE \(first)"),
        ofIndex("count too high", "UPDATE object SET refs = refs + 1 WHERE \(first)"),
        ofIndex("wrong keeper", "UPDATE object SET keepers = keepers + 1 WHERE \(first)"),
        ofIndex(
            "wrong unique bytes",
            "UPDATE version SET unique_bytes = unique_bytes + 1 WHERE name = '1'"),
        ofIndex("wrong sum of references", "UPDATE tally SET sum = sum + 1"),
        ofIndex("a sum of references that nothing needs", "INSERT INTO tally VALUES (1, 5)"),
        ofIndex("no sums of references", "DELETE FROM tally"),
        ofIndex("wrong sum of a version", "UPDATE version SET tally = tally - 1 WHERE name = '1'"),
        ofIndex("a version names other objects", "UPDATE version SET edges = x'0101'"),
    ]

    private static func ofIndex(
        _ description: String, _ sql: String, _ kind: Finding.Kind = .wrongCount
    ) -> Damaging {
        Damaging(description: description, kind: kind) { try $0.changeUnnoticed(sql) }
    }

    private static var first: String { "address = x'\(hex)'" }
    static var hex: String { (try? address(of: "first content").description) ?? "" }

    @Test(arguments: damages, [false, true])
    func `names the damage, mends it, and then finds nothing`(
        damaging: Damaging, isDeep: Bool
    ) throws {
        let options = CheckOptions(isDeep: isDeep)
        try damaging.damage(temporary)
        let findings = try temporary.reopened().check(options).findings
        expect(findings.map(\.kind).contains(damaging.kind), "\(findings)")
        expect(findings.allSatisfy { !$0.isRepaired && !$0.message.isEmpty })
        // A check changes nothing: the next one says the same.
        try expect(temporary.reopened().check(options).findings, equals: findings)

        let repaired = try temporary.reopened().check(options, repairing: true).findings
        let same = repaired.filter { $0.kind == damaging.kind }
        expect(!same.isEmpty)
        try expect(temporary.reopened().check(options).findings, equals: [])
        let states = try temporary.reopened().versions().map(\.state)
        expect(states, equals: [.materialized, damaging.loses ? .incomplete : .materialized])
        // The other versions show what they showed.
        try expect(
            readTree(temporary.path + "/versions/2"),
            equals: ["a": "second content", "c": "third content"])
        guard damaging.loses else { return }
        // What was lost comes back with the content.
        try expect(temporary.versions.missing(of: "1").map(\.paths), equals: [["a"]])
        try temporary.add("1", ["a": "first content", "b": "second content"])
        try expect(temporary.reopened().check(CheckOptions(isDeep: true)).findings, equals: [])
        try expect(readTree(temporary.path + "/versions/1")["a"], equals: "first content")
    }

    /// Why the damaged version is needed.
    enum Need: CaseIterable {
        case none, current, pending, knownGood
    }

    @Test(arguments: damages.filter { $0.loses }, Need.allCases)
    func `what is lost stays lost after a repair, and every check says so of a needed version`(
        damaging: Damaging, need: Need
    ) throws {
        let versions = temporary.versions
        switch need {
        case .none: break
        case .current: try versions.activate("1")
        case .pending:
            try versions.activate("2")
            try versions.activateAtNextBoot("1")
        case .knownGood:
            try versions.makeKnownGood("1")
            try versions.activate("2")
        }
        try expect(temporary.reopened().check().findings, equals: [])
        try damaging.damage(temporary)
        let repaired = try temporary.reopened().check(repairing: true).findings
        // Finding.isRepaired: the store agrees with itself again; lost content stays lost.
        let same = repaired.filter { $0.kind == damaging.kind }
        expect(!same.isEmpty)
        expect(same.allSatisfy { $0.isRepaired })
        expect(same.map(\.version), equals: Array(repeating: "1", count: same.count))
        let others = repaired.filter { $0.kind != damaging.kind }
        let states = try temporary.reopened().versions().map(\.state)
        expect(states, equals: [.materialized, .incomplete])
        try expect(temporary.reopened().missing(of: "1").map(\.paths), equals: [["a"]])
        guard need != .none else {
            expect(others, equals: [])
            try expect(temporary.reopened().check().findings, equals: [])
            return
        }
        expect(others.map(\.kind), equals: [.incompleteVersion])
        expect(others.map(\.version), equals: ["1"])
        expect(others.map(\.isRepaired), equals: [false])
        // Nor does any later check call that clean, until the content is back.
        for repairing in [false, true, false] {
            try expect(temporary.reopened().check(repairing: repairing).findings, equals: others)
        }
        try temporary.add("1", ["a": "first content", "b": "second content"])
        try expect(temporary.reopened().check().findings, equals: [])
    }

    @Test func `only a deep check finds a flip to which the fingerprint was adapted`() throws {
        let path = try Self.path(temporary)
        try Damage.flip(path, at: 1)
        let content = try Damage.contents(path)
        let forged = content.withUnsafeBytes { Fingerprinter.fingerprint($0) }
        let digits = forged.withBytes { Hex.string(Array($0)) }
        try temporary.changeUnnoticed(
            "UPDATE object SET fingerprint = x'\(digits)' WHERE address = x'\(Self.hex)'")
        try expect(temporary.reopened().check().findings, equals: [])
        let findings = try temporary.reopened().check(CheckOptions(isDeep: true)).findings
        expect(findings.map(\.kind), equals: [.damagedObject])
        try expect(findings.map(\.object), equals: [address(of: "first content")])
        expect(findings.map(\.version), equals: ["1"])
        expect(findings.map(\.path), equals: ["a"])
    }

    @Test func `a damaged object goes to quarantine, byte for byte`() throws {
        try Damage.flip(Self.path(temporary), at: 1)
        let damaged = try Damage.contents(Self.path(temporary))
        _ = try temporary.versions.check(repairing: true)
        try expect(temporary.store.contains(address(of: "first content")), equals: false)
        try expect(Damage.contents(temporary.path + "/quarantine/" + Self.hex), equals: damaged)
    }

    @Test func `an object may go to quarantine twice, whatever it has become`() throws {
        let strangers: [Damage.Stranger] = [.emptyFile, .directory, .emptyFile, .fifo, .directory]
        for (round, stranger) in strangers.enumerated() {
            try Damage.replace(Self.path(temporary), by: stranger)
            let found = code { _ = try temporary.versions.check(repairing: true) }
            expect(found == nil, "\(stranger) in round \(round)")
            _ = code { try temporary.add("1", ["a": "first content", "b": "second content"]) }
        }
    }

    @Test func `wrong bytes are not given out by a verified read`() throws {
        let address = try address(of: "first content")
        try Damage.flip(Self.path(temporary), at: 1)
        expect(code { _ = try temporary.store.read(address, limit: 100) }, equals: .damagedObject)
        let held = try Held(temporary.store, address)
        expect(code { try held.reader.forEachPiece { _ in } }, equals: .damagedObject)
    }

    @Test(arguments: [
        Damage.Stranger.symbolicLink("/etc/hostname"), .symbolicLink("/nowhere"), .directory, .fifo,
    ])
    func `what stands in place of an object is refused, not followed`(
        stranger: Damage.Stranger
    ) throws {
        let address = try address(of: "first content")
        let target = temporary.directory.appending("target")
        try Damage.overwriteOrCreate(target, with: bytes("first content"))
        let strangers: [Damage.Stranger] = [stranger, .symbolicLink(target)]
        for stranger in strangers {
            try Damage.replace(Self.path(temporary), by: stranger)
            expect(code { _ = try temporary.store.open(address) }, equals: .damagedObject)
            expect(
                code { _ = try temporary.store.read(address, limit: 99) }, equals: .damagedObject)
            try expect(temporary.store.contains(address), equals: false)
        }
    }
}
