import StorageTestSupport

/// What bit-rot, a stranger or a careless hand may do to the files of a store: each is found and named,
/// mended without guessing, and never read.
@Suite("A store whose files were tampered with") struct TamperingTests {
    @Test(arguments: TestShare(oneIn: 3, of: "damages").of(tamperings))
    func `names it, mends it and never reads it, if somebody`(_ tampering: Tampering) throws {
        let victim = try Victim()
        try tampering.act(victim)
        // Read before anybody looks: never a wrong byte.
        try expectNothingWrong(victim)
        let found = try victim.place.open().check(CheckOptions(isDeep: true)).findings
        let kinds = Set(found.map(\.kind))
        expect(kinds.contains(tampering.kind), "\(found.map(\.message))")
        expect(
            kinds.isSubset(of: tampering.besides.union([tampering.kind])), "\(found.map(\.message))"
        )
        expect(
            found.filter { $0.kind == tampering.kind }.allSatisfy {
                $0.path != nil || $0.version != nil || $0.object != nil
            })
        _ = try victim.place.open().check(repairing: true)
        try expectNothingWrong(victim)
        let left = Set(
            try victim.place.open().check(CheckOptions(isDeep: true)).findings.map(\.kind))
        expect(left.isSubset(of: tampering.stays), "\(left)")
        // With its content again the store is whole.
        if tampering.stays.isDisjoint(with: [.damagedManifest, .editedManifest]) {
            try victim.heal()
            let last = Set(
                try victim.place.open().check(CheckOptions(isDeep: true)).findings.map(\.kind))
            expect(last.isSubset(of: tampering.stays.intersection([.strayFile])), "\(last)")
        }
    }

    /// What reads succeeds with the right bytes or not at all.
    private func expectNothingWrong(_ victim: Victim) throws {
        let store = try victim.place.open().store
        for text in Place.contents.values.flatMap(\.values) {
            do {
                let bytes = try store.read(address(of: text), limit: 1 << 20)
                if let bytes { expect(bytes, equals: Array(text.utf8)) }
            } catch {
                expect(
                    [.damagedObject, .permission, .notFound, .io].contains(error.code), "\(error)")
            }
        }
    }

    @Test func `says so when it makes an index again behind a change that was cut short`() throws {
        let victim = try Victim()
        try Damage.overwriteOrCreate(
            victim.path("index.sqlite-journal"), with: [UInt8](repeating: 0xd9, count: 512))
        let notices = Mutex<[String]>([])
        let versions = try VersionStore.open(
            victim.place.store,
            options: StoreOptions(
                isDurable: false, notice: { text in notices.withLock { $0.append(text) } }))
        // A power cut may leave it: no damage, and said all the same.
        try expect(versions.check(CheckOptions(isDeep: true)).findings, equals: [])
        expect(notices.withLock { $0.count }, equals: 1)
        try expect(versions.versions().count, equals: 3)
    }

    @Test(
        "continues beside what is no journal of SQLite's",
        arguments: ["-journal", "-wal", "-shm"], [Damage.Stranger.fifo, .socket, .directory])
    func strangeJournal(_ suffix: String, _ kind: Damage.Stranger) throws {
        let victim = try Victim()
        try Damage.replace(victim.path("index.sqlite" + suffix), by: kind)
        let versions = try victim.place.open()
        try expect(versions.versions().count, equals: 3)
        try versions.activate("2")
        try versions.retire("0")
        try expect(versions.versions().count, equals: 2)
    }
}
