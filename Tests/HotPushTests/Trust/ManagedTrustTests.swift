import StorageTestSupport

@testable import HotPush

/// `UpdateOptions.trust`: the keys are part of the app.
@Suite("An app that names keys", .timeLimit(.minutes(60))) struct ManagedTrustTests {
    private let origin: SignedOrigin

    init() throws { origin = try SignedOrigin(isTrusted: false) }

    private func process() throws -> UpdateManager {
        var options = UpdateOptions()
        try options.trust([origin.keys[0].verificationKey.pem], origin: SignedOrigin.id)
        return try .pulling(from: origin.url, into: origin.device, options)
    }

    private func failure() async throws -> StoreError? {
        do {
            _ = try await process().update()
            return nil
        } catch let error as StoreError {
            return error
        }
    }

    @Test("updates from what they have signed, and continues with what it has otherwise")
    func updates() async throws {
        let unsigned = try origin.publish("1")
        origin.write(unsigned.serialized(), at: SignedOrigin.pointer)
        try await expect(failure()?.code, equals: .untrusted)
        try expect(origin.device.versions.versions().isEmpty)
        origin.write(try origin.signed(unsigned), at: SignedOrigin.pointer)
        try await expect(failure() == nil)
        let started = try require(try await process().start())
        expect(started.version, equals: "1")
        try expect(origin.trusted?.sequences["stable"], equals: unsigned.sequence)
        try expect(origin.trusted?.appKeys != nil)
        let state = try origin.state()
        let next = try origin.publish("2")
        for bytes in [
            next.serialized(), try origin.signed(next, by: [origin.stranger]),
            try origin.signed(next) { $0.origin = SignedOrigin.otherID },
        ] {
            origin.write(bytes, at: SignedOrigin.pointer)
            try await expect(failure()?.code, equals: .untrusted)
            try expect(origin.state(), equals: state)
        }
        let log = try origin.sentences().last ?? ""
        expect(log.contains("another origin"), "\(log)")
        origin.write(try origin.signed(next), at: SignedOrigin.pointer)
        try await expect(failure() == nil)
        try expect(origin.device.versions.lifecycle().pending, equals: "2")
    }
}
