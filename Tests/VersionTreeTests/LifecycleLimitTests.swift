import StorageTestSupport

@testable import VersionTree

// How long lifecycle.json may be (DESIGN.md, "lifecycle.json"): what is written can be read again.

@Suite struct LifecycleLimitTests {
    private func make(
        notice: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> TemporaryStore {
        let temporary = try TemporaryStore(notice: notice)
        for name in ["good", "bad"] { try temporary.add(name, ["f": name]) }
        try temporary.versions.makeKnownGood("good")
        return temporary
    }

    // Each used to fit, and together they made a file that nobody could read any more.
    @Test func `stays readable whatever the reasons are`() throws {
        let temporary = try make()
        let reason = String(repeating: "white page \u{1}", count: 10_000)
        for round in 0..<20 {
            try temporary.add("r\(round)", ["f": "bad \(round)"])
            try temporary.versions.activate("r\(round)")
            try expect(temporary.versions.rollback(reason: reason).current, equals: "good")
        }
        let lifecycle = try temporary.reopened().lifecycle()
        expect(lifecycle.bad.count, equals: 20)
        expect(lifecycle.bad.allSatisfy { $0.reason.utf8.count <= 1000 })
        expect(lifecycle.bad.allSatisfy { $0.reason.hasPrefix("white page \u{1}white") })
        expectRefusal(.bannedVersion) { try temporary.versions.activate("r0") }
        try temporary.expectClean()
    }

    @Test(arguments: [
        ("a", 1000, 1000), ("a", 1001, 1000), ("\u{20ac}", 333, 999), ("\u{20ac}", 334, 999),
        ("\u{1f600}", 250, 1000), ("\u{1f600}", 251, 999), ("\0", 1, 3), ("\0", 1000, 999),
    ])
    func `keeps of a reason what has space, and says so`(
        _ unit: String, _ count: Int, _ kept: Int
    ) throws {
        let notices = Shared<[String]>([])
        let temporary = try make { text in notices.with { $0.append(text) } }
        let reason = String(repeating: unit, count: count)
        try temporary.versions.activate("bad")
        _ = try temporary.versions.rollback(reason: reason)
        let found = try require(try temporary.reopened().lifecycle().bad.first?.reason)
        expect(found.utf8.count, equals: kept)
        let isWhole = reason.utf8.count <= 1000
        if unit != "\0" {
            expect(isWhole, equals: (found == reason))
            expect(isWhole, equals: !found.hasSuffix("\u{2026}"))
            expect(notices.with { $0 }.contains { $0.contains("1000") }, equals: !isWhole)
        }
        expect(!found.utf8.contains(0))
    }

    @Test func `loses no ban, and refuses one more than can be read`() throws {
        let temporary = try make()
        let before = try temporary.versions.lifecycle()
        var lifecycle = before
        let reason = String(repeating: "w", count: Lifecycle.reasonByteCountMax)
        func append(_ count: Int) throws {
            for number in lifecycle.bad.count..<lifecycle.bad.count + count {
                lifecycle.bad.append(
                    Lifecycle.Ban(
                        version: "v\(number)", content: try address(of: "\(number)"),
                        reason: reason, count: 1, at: 1))
            }
        }
        try append(1000)
        // As many as fit, but for a few.
        let perBan = try lifecycle.serialized().count / 1000
        try append(Lifecycle.byteCountMax / (perBan + 2) - 1000)
        try temporary.versions.write(lifecycle)
        try expect(temporary.reopened().lifecycle(), equals: lifecycle)
        let file = try readBytes(temporary.path + "/lifecycle.json")
        try append(200)
        expectRefusal(.tooLarge, saying: "unban") { try temporary.versions.write(lifecycle) }
        try expect(readBytes(temporary.path + "/lifecycle.json"), equals: file)
    }
}
