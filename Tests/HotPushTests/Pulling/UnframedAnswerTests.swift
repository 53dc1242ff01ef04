import StorageTestSupport

@testable import HotPush

/// RFC 9112, section 6.3: a body without Content-Length and chunks ends with the connection, wherever that was cut.
@Suite("An answer that only its connection ends") struct UnframedAnswerTests {
    private let fixture: PullingFixture
    private static let text = "the whole file"
    private static let part = "the whole"

    init() throws { fixture = try PullingFixture() }

    /// What a release may say of its file.
    enum Proof: String, CaseIterable, Sendable {
        case nothing, tag, size, sha256, sha1, crc32

        var file: ReleaseFile {
            get throws {
                let text = UnframedAnswerTests.text
                var file = ReleaseFile(path: try TreePath("a"))
                switch self {
                case .nothing: break
                case .tag: file.checks = [.entityTag("\"t\"")]
                case .size: file.byteCount = Int64(text.utf8.count)
                case .sha256: file.address = try address(of: text)
                case .sha1: file.checks = [.digest(try label(.sha1, text))]
                case .crc32: file.checks = [.unknownDigest(algorithm: "crc32", text: "00000000")]
                }
                return file
            }
        }

        /// Whether it shows where the file ends.
        var showsEnd: Bool { [.size, .sha256, .sha1].contains(self) }
    }

    private func run(_ proof: Proof, _ body: String, _ fields: String = "") throws -> StoreError? {
        fixture.offer("1", [:])
        fixture.origin.always(.raw("HTTP/1.1 200 OK\r\n\(fields)\r\n\(body)"), on: "/a")
        let format = KnownFormat(try proof.file)
        return refusal { try fixture.run(format) }
    }

    @Test(
        "is refused where neither the answer nor the release shows its end",
        arguments: Proof.allCases)
    func cut(_ proof: Proof) throws {
        let error = try require(try run(proof, Self.part))
        try expect(fixture.device.reopened().versions().allSatisfy { $0.state == .incomplete })
        guard !proof.showsEnd else { return }
        expect(error.code, equals: .network)
        expect(error.transferKind, equals: .broken)
        expect(error.message.contains("Content-Length"), "\(error.message)")
        // Nobody can tell that this one is whole.
        try expect(run(proof, Self.text)?.code, equals: .network)
    }

    @Test("is taken where something shows it", arguments: Proof.allCases)
    func whole(_ proof: Proof) throws {
        let length = "Content-Length: \(Self.text.utf8.count)\r\n"
        let error = try run(proof, Self.text, proof.showsEnd ? "" : length)
        expect(error == nil, "\(proof): \(error?.message ?? "")")
        try expect(fixture.tree("1"), equals: ["a": Self.text])
    }

    @Test("is another one than an answer in chunks, which says where it ends")
    func chunks() throws {
        let body = "e\r\n\(Self.text)\r\n0\r\n\r\n"
        try expect(run(.nothing, body, "Transfer-Encoding: chunked\r\n") == nil)
        try expect(fixture.tree("1"), equals: ["a": Self.text])
    }
}
