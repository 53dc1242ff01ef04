import StorageTestSupport

// The publisher's manifest is kept as it came, as long as the version.

@Suite struct ReceivedTests {
    private let sent = Array(#"{"version":"1" , "files":[]}"#.utf8)

    private func register(_ temporary: TemporaryStore, _ files: [String: String]) throws {
        let lease = try temporary.versions.store.makeLease()
        let address = try temporary.versions.store.put(sent, protectedBy: lease)
        var manifest = try makeManifest("1", files, ordinal: 0, createdAt: 0)
        manifest.received = .init(
            format: "meteor/1", address: address, byteCount: Int64(sent.count))
        try temporary.versions.register(manifest)
    }

    @Test func `is written and read`() throws {
        var manifest = try makeManifest("1", ["a": "x"])
        manifest.received = .init(format: "meteor/1", address: try address(of: sent), byteCount: 28)
        let bytes = try manifest.serialized()
        let again = try Manifest(parsing: bytes)
        expect(again.received, equals: manifest.received)
        try expect(again.serialized(), equals: bytes)
        try expect(again.contentAddress(), equals: makeManifest("2", ["a": "x"]).contentAddress())
    }

    @Test(arguments: [
        #""received":{}"#, #""received":7"#, #""received":{"address":"00","bytes":1,"format":""}"#,
        #""received":{"bytes":1,"format":"x"}"#,
    ])
    func `is refused when it is not whole`(_ field: String) throws {
        let text = #"{"castree":1,"createdAt":1,"entries":[],"order":1,\#(field),"version":"1"}"#
        expectRefusal(.badManifest) { try Manifest(parsing: Array(text.utf8)) }
    }

    @Test func `outlives collections, rebuilds and checks, and goes with its version`() throws {
        let temporary = try TemporaryStore()
        try register(temporary, ["a": "x"])
        let sentAddress = try address(of: sent)
        try expect(temporary.versions.store.collect().objectCount, equals: 0)
        shell("rm -f \(temporary.path)/index.sqlite*")
        let versions = try temporary.reopened()
        _ = try versions.store.collect()
        try expect(versions.store.read(sentAddress, limit: 100), equals: sent)
        try expect(versions.missing(of: "1").map(\.paths), equals: [["a"]])
        try temporary.expectClean()
        _ = try versions.retire("1")
        _ = try versions.store.collect()
        try expect(versions.store.contains(sentAddress), equals: false)
    }

    @Test func `may be a file of the version, too`() throws {
        let temporary = try TemporaryStore()
        let text = String(decoding: sent, as: UTF8.self)
        try register(temporary, ["program.json": text])
        try expect(temporary.versions.missing(of: "1").isEmpty)
        try temporary.versions.activate("1")
        try expect(temporary.shown(), equals: ["program.json": text])
        try temporary.expectClean()
    }

    /// The publisher's manifest cannot be had from a directory: the version does not wait for it.
    @Test(arguments: ["never came", "was lost"])
    func `an add of what was fetched heals the version without it, and keeps the rest`(
        how: String
    ) throws {
        let temporary = try TemporaryStore()
        let files = ["a": "x", "b": "y"]
        if how == "was lost" {
            try register(temporary, files)
            Damage.remove(temporary.objectPath(try address(of: sent)))
        } else {
            var manifest = try makeManifest("1", files, ordinal: 0, createdAt: 0)
            manifest.received = .init(
                format: "meteor/1", address: try address(of: sent), byteCount: 28)
            try temporary.versions.register(manifest)
        }
        let createdAt = try temporary.versions.manifest(of: "1").createdAt
        try temporary.add("1", files)
        try expect(temporary.versions.versions()[0].state != .incomplete)
        let manifest = try temporary.versions.manifest(of: "1")
        expect(manifest.received == nil && manifest.createdAt == createdAt)
        try temporary.versions.activate("1")
        // The object that was taken away by hand is missed, and nothing else.
        let lost = try address(of: sent)
        try expect(temporary.versions.check().findings.allSatisfy { $0.object == lost })
    }
}
