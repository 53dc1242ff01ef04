import StorageTestSupport

/// Staged bytes: suspended, begun again, and what they complete.
@Suite struct ResumingTests {
    static let content = SampleBytes.ramp(600_000)

    @Test func `what is suspended is not visible, and no finding`() throws {
        let temporary = try TemporaryStore()
        do {
            let incoming = try IncomingContents(temporary.store)
            var item = try incoming.begin(
                address(of: Self.content), byteCount: Int64(Self.content.count))
            try item.append(Self.content.span.bytes)
            try item.suspend()
        }
        try expect(temporary.store.contains(address(of: Self.content)), equals: false)
        try expect(temporary.versions.check().findings, equals: [])
        try expect(temporary.store.usage().stagedBytes, equals: 600_000)
    }

    /// The content arrives from its beginning, and is there.
    private func expectWhole(in temporary: TemporaryStore) throws {
        let incoming = try IncomingContents(temporary.store)
        var item = try incoming.begin(
            address(of: Self.content), byteCount: Int64(Self.content.count))
        expect(item.offset, equals: 0)
        try item.append(Self.content.span.bytes)
        _ = try item.finish()
        try incoming.commit()
        try expect(
            temporary.store.read(address(of: Self.content), limit: 1 << 20), equals: Self.content)
    }

    @Test func `a staged file that is longer than the object starts over`() throws {
        let temporary = try TemporaryStore()
        let staged = try temporary.path + "/staging/" + address(of: Self.content).description
        try Damage.replace(staged, by: .emptyFile)
        try Damage.extend(staged, by: Self.content + [0])
        try expectWhole(in: temporary)
    }

    @Test(arguments: [Damage.Stranger.symbolicLink("/etc/hostname"), .directory, .fifo, .socket])
    func `something else in place of a part is set aside, and the content comes`(
        stranger: Damage.Stranger
    ) throws {
        let temporary = try TemporaryStore()
        let staged = try temporary.path + "/staging/" + address(of: Self.content).description
        try Damage.replace(staged, by: stranger)
        try expectWhole(in: temporary)
        expect(Damage.names(temporary.path + "/quarantine").count, equals: 1)
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test func `what arrives completes the version that waits for the object`() throws {
        let temporary = try TemporaryStore()
        let source = try TemporaryStore(adding: "1", ["a": "one", "b": "two"])
        let manifest = try source.versions.manifest(of: "1")
        try expect(temporary.versions.register(manifest), equals: false)
        try expect(temporary.versions.versions().map(\.state), equals: [.incomplete])
        var completed: [[String]] = []
        for missing in try temporary.versions.missing(of: "1") {
            let content = try require(try source.store.read(missing.address, limit: 100))
            let incoming = try IncomingContents(temporary.store)
            _ = try bring(content, incoming)
            completed.append(try incoming.commit())
        }
        expect(completed, equals: [[], ["1"]])
        try expect(temporary.versions.missing(of: "1"), equals: [])
        try expect(temporary.versions.check().findings, equals: [])
    }
}
