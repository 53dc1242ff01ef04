import StorageTestSupport

@Suite struct PinningTests {
    private func store() throws -> TemporaryStore {
        let temporary = try TemporaryStore(adding: "1", ["a": "one"])
        try temporary.add("2", ["a": "two"])
        try temporary.versions.activate("2")
        return temporary
    }

    @Test func `a pinned version is not retired, by no process, until the pin goes`() throws {
        let temporary = try store()
        var pin: VersionPin? = try temporary.versions.pin("1")
        expect(pin?.version, equals: "1")
        let other = try temporary.reopened()
        try expect(other.pinnedVersions(), equals: ["1"])
        for versions in [temporary.versions, other] {
            #expect(throws: StoreError.self) { try versions.retire("1") }
        }
        try expect(other.versions().map(\.version), equals: ["2", "1"])
        pin = nil
        try expect(other.pinnedVersions(), equals: [])
        try other.retire("1")
        try expect(other.versions().map(\.version), equals: ["2"])
    }

    @Test func `one of two pins is enough`() throws {
        let temporary = try store()
        var first: VersionPin? = try temporary.versions.pin("1")
        let second = try temporary.versions.pin("1")
        expect(first?.version, equals: second.version)
        first = nil
        expectRefusal(.versionInUse, saying: "a server still shows it") {
            try temporary.versions.retire("1")
        }
        withExtendedLifetime(second) {}
    }

    @Test func `the pin of a dead process holds nothing, and is swept`() throws {
        let temporary = try store()
        // What a killed process leaves: a file that nobody has locked.
        let path = temporary.path + "/leases/.pin-0123456789abcdef-1"
        try Damage.overwriteOrCreate(path, with: [])
        try expect(temporary.versions.pinnedVersions(), equals: [])
        try temporary.versions.retire("1")
        expect(!Damage.names(temporary.path + "/leases").contains { $0.hasPrefix(".pin-") })
    }

    @Test func `a collection takes the pins of dead processes away, and of no living one`() throws {
        let temporary = try store()
        let living = try temporary.versions.pin("1")
        for version in ["1", "2", "gone"] {
            try Damage.overwriteOrCreate(
                temporary.path + "/leases/.pin-0123456789abcdef-\(version)", with: [])
        }
        try temporary.versions.collect()
        let left = Damage.names(temporary.path + "/leases").filter { $0.hasPrefix(".pin-") }
        expect(left.count, equals: 1)
        try expect(temporary.versions.pinnedVersions(), equals: ["1"])
        withExtendedLifetime(living) {}
    }

    @Test func `what is not registered cannot be pinned`() throws {
        let temporary = try store()
        #expect(throws: StoreError.self) { try temporary.versions.pin("3") }
        #expect(throws: StoreError.self) { try temporary.versions.pin("../1") }
        try expect(temporary.versions.pinnedVersions(), equals: [])
        try temporary.expectClean()
    }
}
