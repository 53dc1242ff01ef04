import StorageTestSupport

@testable import HotPush

@Suite("A version of the trust") struct TrustFileTests {
    static let origin = String(repeating: "5e", count: 16)
    let keys: [SigningKey]

    init() throws {
        keys = try (0..<3).map { _ in try SigningKey.generate() }.sorted {
            $0.verificationKey.id < $1.verificationKey.id
        }
    }

    private func trusted(_ numbers: Int..., threshold: Int = 1) throws -> TrustedKeys {
        try TrustedKeys(numbers.map { keys[$0].verificationKey }, threshold: threshold)
    }

    private func file(
        _ trusted: TrustedKeys, version: Int64 = 2, by numbers: Int...
    ) throws -> TrustFile {
        var file = TrustFile(origin: Self.origin, version: version, trusted: trusted, createdAt: 7)
        for number in numbers {
            file.signatures.append(
                PointerSignature(
                    key: keys[number].verificationKey.id,
                    signature: try keys[number].sign(file.signedBytes)))
        }
        return file
    }

    @Test
    func `is read and written without a byte of difference, in its canonical form alone`() throws {
        let file = try file(try trusted(0, 1, threshold: 2), by: 0, 1)
        let text = String(decoding: file.serialized(), as: UTF8.self)
        let lines = keys[0...1].map { "\"\($0.verificationKey.base64)\"" }
        expect(
            text.hasPrefix(
                "{\"castreeTrust\":1,\"createdAt\":7,\"keys\":[\(lines.joined(separator: ","))],"
                    + "\"origin\":\"\(Self.origin)\",\"signatures\":[{\"key\":"))
        expect(text.hasSuffix("],\"threshold\":2,\"version\":2}\n"))
        try expect(TrustFile(parsing: Array(text.utf8), version: 2), equals: file)
        let signed = String(decoding: file.signedBytes, as: UTF8.self)
        expect(signed.hasPrefix("castree-trust 1\n{\"castreeTrust\":1,") && !signed.hasSuffix("\n"))
        let wrong = [
            text.replacingOccurrences(of: "\"version\":2", with: "\"version\":3"),
            text.replacingOccurrences(of: "\"threshold\":2", with: "\"threshold\":3"),
            text.replacingOccurrences(of: "\"threshold\":2", with: "\"threshold\":0"),
            text.replacingOccurrences(
                of: "\(lines[0]),\(lines[1])", with: "\(lines[1]),\(lines[0])"),
            text.replacingOccurrences(of: "\(lines[0]),", with: "\(lines[0]),\(lines[0]),"),
            text.replacingOccurrences(of: lines[0], with: "\"\""),
            text.replacingOccurrences(of: ",\"threshold\"", with: ", \"threshold\""),
            text.replacingOccurrences(of: "\"createdAt\":7", with: "\"createdAt\":7.0"),
            String(text.dropLast()), text + "\n", "", "[]",
        ]
        for text in wrong {
            expectRefusal(.untrusted, "\(text)") {
                try TrustFile(parsing: Array(text.utf8), version: 2)
            }
        }
        let newer = text.replacingOccurrences(of: "\"castreeTrust\":1", with: "\"castreeTrust\":2")
        expectRefusal(.unsupportedFormat) { try TrustFile(parsing: Array(newer.utf8), version: 2) }
    }

    @Test("follows only if the threshold before it and its own have signed it, one after the other")
    func following() throws {
        let old = try trusted(0)
        func objection(
            _ file: TrustFile, _ previous: TrustedKeys, _ version: Int64 = 1,
            _ origin: String = Self.origin
        ) -> StoreError.Code? {
            refusal { try file.check(follows: previous, version, of: origin) }?.code
        }
        expect(objection(try file(trusted(1), by: 0, 1), old) == nil)
        expect(objection(try file(trusted(1), by: 1), old), equals: .untrusted)
        expect(objection(try file(trusted(1), by: 0), old), equals: .untrusted)
        expect(objection(try file(trusted(1), by: 1, 2), old), equals: .untrusted)
        expect(objection(try file(trusted(1), version: 3, by: 0, 1), old), equals: .untrusted)
        expect(objection(try file(trusted(1), by: 0, 1), old, 2), equals: .untrusted)
        expect(objection(try file(trusted(1), by: 0, 1), old, 3), equals: .untrusted)
        let other = String(repeating: "0", count: 32)
        expect(objection(try file(trusted(1), by: 0, 1), old, 1, other), equals: .untrusted)
        let two = try trusted(0, 1, threshold: 2)
        expect(objection(try file(trusted(2), by: 0, 2), two), equals: .untrusted)
        expect(objection(try file(trusted(2), by: 0, 1, 2), two) == nil)
        expect(objection(try file(trusted(1, 2, threshold: 2), by: 0, 1), old), equals: .untrusted)
        expect(objection(try file(trusted(1, 2, threshold: 2), by: 0, 1, 2), old) == nil)
    }

    @Test func `is signed as such: a signature of a pointer is none of it`() throws {
        var file = try file(try trusted(0))
        let bytes = Array("castree-pointer 1\n".utf8) + file.signedBytes.dropFirst(16)
        file.signatures = [
            PointerSignature(key: keys[0].verificationKey.id, signature: try keys[0].sign(bytes))
        ]
        expectRefusal(.untrusted) { try file.check(follows: trusted(0), 1, of: Self.origin) }
    }
}
