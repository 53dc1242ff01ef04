import StorageTestSupport

@testable import HotPush

/// docs/origin-format.md, *Bounds*: what all frames together have their bases read is bounded by what comes out.
@Suite("The bases of a pack") struct PackBaseBoundTests {
    /// A pack of small frames, each based on the same object.
    /// - Parameter baseByteCount: the size of that object.
    private func open(frames count: Int, baseByteCount: Int64) throws {
        let text = (0..<count).map { "content \($0)" }
        let base = try Self.manifest(
            "old", [("base", try ObjectID(of: Array("base".utf8)), baseByteCount)])
        let new = try Self.manifest(
            "new",
            text.enumerated().map { number, text in
                ("file-\(number)", try ObjectID(of: Array(text.utf8)), Int64(text.utf8.count))
            })
        var contents: [ObjectID: [UInt8]] = [:]
        for text in text { contents[try ObjectID(of: Array(text.utf8))] = Array(text.utf8) }
        let (bytes, pack) = try TestPack(new, from: base, contents: contents, perFrame: 1).made()
        let manifest = try new.serialized()
        let version = PublishedVersion(
            name: new.version, manifest: try ObjectID(of: manifest),
            manifestByteCount: Int64(manifest.count), content: try new.contentAddress())
        let opening = Array(bytes.prefix(Int(pack.openingByteCount)))
        _ = try opening.withUnsafeBytes { opening in
            try PackOpening(
                parsing: opening, of: pack, to: version, from: base, limits: Manifest.Limits())
        }
    }

    private static func manifest(
        _ name: String, _ files: [(String, ObjectID, Int64)]
    ) throws -> Manifest {
        try Manifest(
            version: VersionName(name), ordinal: 0, createdAt: 0,
            entries: files.map {
                Manifest.Entry(path: try TreePath($0.0), address: $0.1, byteCount: $0.2)
            })
    }

    @Test func `may be read again and again, up to 512 times what comes out and 256 MiB`() throws {
        // Five frames of nine bytes.
        let limit: Int64 = 256 << 20 + 512 * 45
        expect(code { try open(frames: 4, baseByteCount: 64 << 20) } == nil)
        expect(code { try open(frames: 5, baseByteCount: limit / 5) } == nil)
        expectRefusal(.badPack) { try open(frames: 5, baseByteCount: limit / 5 + 1) }
        expectRefusal(.badPack) { try open(frames: 5, baseByteCount: 64 << 20) }
    }
}
