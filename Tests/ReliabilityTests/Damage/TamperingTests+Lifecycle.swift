import StorageTestSupport

// lifecycle.json says what its own content was (DESIGN.md, "lifecycle.json").

extension TamperingTests {
    private static let file = "lifecycle.json"

    private func kinds(_ victim: Victim, repairing: Bool = false) throws -> [Finding.Kind] {
        try victim.place.open().check(repairing: repairing).findings.map(\.kind)
    }

    @Test
    func `finds every bit that turns in the lifecycle, unless it still says the same`() throws {
        let victim = try Victim()
        let versions = try victim.place.open()
        let (before, bytes) = (
            try versions.lifecycle(), try Damage.contents(victim.path(Self.file))
        )
        expect(!before.isEdited)
        // Without the digest's name the file is one of an older castree, with a member of its own; the last byte is
        // the line's end.
        let key = try require(
            bytes.indices.first { bytes[$0...].starts(with: Array("digest".utf8)) })
        let name = key..<key + 6
        var unnoticed: Set<Int> = []
        for position in bytes.indices {
            for bit: UInt8 in 0..<8 {
                var turned = bytes
                turned[position] ^= 1 << bit
                try Damage.overwrite(victim.path(Self.file), with: turned)
                do {
                    let now = try versions.lifecycle()
                    guard !now.isEdited else { continue }
                    let isSame =
                        name.contains(position)
                        ? now.needed == before.needed && now.bad == before.bad
                            && now.knownGood == before.knownGood : now == before
                    expect(isSame, "bit \(bit) of byte \(position)")
                    unnoticed.insert(position)
                } catch {
                    expect([.badLifecycle, .unsupportedFormat].contains(error.code), "\(error)")
                }
            }
        }
        expect(unnoticed.isSubset(of: Set(name).union([bytes.count - 1])))
    }

    @Test
    func `believes a lifecycle without a digest, and gives it one with the next change`() throws {
        let victim = try Victim()
        let before = try victim.place.open().lifecycle()
        let text = String(decoding: try Damage.contents(victim.path(Self.file)), as: UTF8.self)
        let older = text.replacing(#/"digest":"[0-9a-f]{64}",/#, with: "")
        try require(older != text)
        try Damage.overwrite(victim.path(Self.file), with: Array(older.utf8))
        try expect(victim.place.open().lifecycle(), equals: before)
        try expect(kinds(victim), equals: [])
        try victim.place.open().activate("2")
        try victim.edit(Self.file, #""knownGood":["#, #""knownGood":["2","#)
        try expect(kinds(victim), equals: [.editedLifecycle])
    }

    @Test func `takes white space and another order of members for no edit`() throws {
        let victim = try Victim()
        try victim.edit(Self.file, #","format":1"#, "")
        try victim.edit(Self.file, #"{"bad""#, #"{ "format" : 1 , "bad""#)
        try expect(kinds(victim), equals: [])
    }

    @Test("does what an edited lifecycle says, and tells of it until a repair takes it for right")
    func untilRepaired() throws {
        let victim = try Victim()
        let ban = try require(try victim.place.open().lifecycle().bad.first)
        try victim.edit(Self.file, #""bad":[{"#, #""bad":[],"was":[{"#)
        try expect(victim.place.open().lifecycle().ban(of: ban.content) == nil)
        // A change by castree does not hide it.
        try victim.place.open().activate("2")
        _ = try victim.place.open().boot()
        try expect(kinds(victim), equals: [.editedLifecycle])
        var plan: RepairPlan?
        let report = try victim.place.open().repair {
            plan = $0
            return true
        }
        expect(plan?.steps.map(\.operation), equals: [.acceptLifecycle])
        expect(plan?.steps.first?.path, equals: Self.file)
        expect(report.findings.map(\.kind), equals: [.editedLifecycle])
        expect(report.findings.allSatisfy { $0.isRepaired && $0.path == Self.file })
        try expect(kinds(victim), equals: [])
        let lifecycle = try victim.place.open().lifecycle()
        expect(lifecycle.current == "2" && lifecycle.bad.isEmpty && !lifecycle.isEdited)
    }

    @Test func `finds nothing any more once an edit is taken back`() throws {
        let victim = try Victim()
        let bytes = try Damage.contents(victim.path(Self.file))
        try victim.edit(Self.file, #""pending":null"#, #""pending":"2""#)
        try expect(kinds(victim), equals: [.editedLifecycle])
        try Damage.overwrite(victim.path(Self.file), with: bytes)
        try expect(kinds(victim), equals: [])
    }
}
