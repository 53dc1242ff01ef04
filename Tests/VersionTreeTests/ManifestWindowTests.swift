import StorageTestSupport

// A manifest is read from its file piece by piece; nobody can tell.

@Suite struct ManifestWindowTests {
    /// The text of a manifest longer than several windows, with one entry that is longer than one.
    private func longText() throws -> [UInt8] {
        let digits = String(repeating: "7", count: 64)
        var entries: [String] = []
        for number in 1000..<2500 {
            let note = number == 1700 ? String(repeating: "é\\n", count: 40_000) : "é"
            entries.append(
                "{\"address\":\"\(digits)\",\"bytes\":7,\"note\":\"\(note)\","
                    + "\"path\":\"directory/\(number)\"}")
        }
        let text =
            "{\"castree\":1,\"createdAt\":5,\"entries\":[\n" + entries.joined(separator: ",\n")
            + "],\"order\":1,\"version\":\"1\"}"
        return Array(text.utf8)
    }

    private func makeStore(_ text: [UInt8]) throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        try writeFile(temporary.path + "/manifests/1.json", text)
        return temporary
    }

    @Test func `a manifest longer than a window is what its bytes say`() throws {
        let text = try longText()
        expect(text.count > 4 * 65_536)
        let temporary = try makeStore(text)
        let read = try temporary.versions.manifest(of: "1")
        let parsed = try Manifest(parsing: text)
        expect(read.count, equals: 1500)
        try expect(read.serialized(), equals: parsed.serialized())
    }

    @Test func `damage anywhere near the edge of a window is told as if the text were whole`()
        throws
    {
        let text = try longText()
        let path = "/manifests/1.json"
        let temporary = try makeStore(text)
        for edge in [65_536, 131_072, text.count - 40] {
            for place in stride(from: edge - 170, through: edge + 30, by: 25) {
                for byte in [UInt8(ascii: "{"), 0xFF] {
                    var damaged = text
                    damaged[place] = byte
                    let whole = expectMessage { try Manifest(parsing: damaged) }
                    try writeFile(temporary.path + path, damaged)
                    let pieces = expectMessage { try temporary.versions.manifest(of: "1") }
                    expect(pieces, equals: whole.map { "version 1: " + $0 })
                }
            }
        }
    }

    @Test func `a manifest that is cut is refused wherever it is cut`() throws {
        let text = try longText()
        let temporary = try makeStore(text)
        for count in [0, 1, 65_535, 65_536, 65_537, 131_072, text.count - 1] {
            let cut = Array(text.prefix(count))
            let whole = expectMessage { try Manifest(parsing: cut) }
            try writeFile(temporary.path + "/manifests/1.json", cut)
            let pieces = expectMessage { try temporary.versions.manifest(of: "1") }
            expect(whole != nil)
            expect(pieces, equals: whole.map { "version 1: " + $0 })
        }
    }

    private func expectMessage(_ body: () throws -> Manifest) -> String? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? StoreError)?.message
        }
    }
}
