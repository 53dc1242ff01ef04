import OriginTestSupport

@Suite("Packs beside those of others") struct PackingElsewhereTests {
    let place: PublishingPlace

    init() throws { place = try PublishingPlace() }

    /// Who may not write there is told what that keeps him from, once.
    @Test func `nothing is said of a packers' lock that belongs to somebody else`() throws {
        try place.publisher(packs: .before).publish("2", of: place.versions)
        let notices = Notices()
        let disk = FaultyFileSystem()
        disk.arm(.fail(EACCES, at: 1, of: [.open]).counting { $0.path.hasSuffix("/packing") })
        try place.publisher(on: disk) { $0.notice = notices.sink }.publish("1", of: place.versions)
        expect(disk.hasFired)
        expect(!notices.all.contains { $0.contains("was left by") })
    }

    @Test func `what another store has published under the name is told from what nobody has`()
        throws
    {
        try place.publish("2")
        for (files, why) in [
            (PublishingPlace.second, "by the manifest of another store"),
            (["shared": "other"], "with other files than this store has"),
        ] {
            // Its first version: the order in a manifest is another one.
            let other = try TemporaryStore()
            try other.add("2", files)
            let error = expectRefusal(.notOffered, saying: why) {
                try place.publisher(packs: .before).pack("2", of: other.versions)
            }
            expect(error?.message.contains("publish it"), equals: false)
        }
    }
}
