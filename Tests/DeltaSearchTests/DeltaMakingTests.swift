import Delta
import DeltaSearch
import Platform
import StorageTestSupport

@Suite("Making deltas") struct DeltaMakingTests {
    /// Makes a frame and decodes it.
    static func frame(
        of content: [UInt8], from base: [UInt8], limit: Int = .max
    ) throws -> [UInt8]? {
        let frame = try content.span.bytes.withUnsafeBytes { (content) throws(StoreError) in
            try base.span.bytes.withUnsafeBytes { (base) throws(StoreError) in
                try DeltaMaking.frame(
                    of: content, from: base, limit: limit, isInterrupted: { false })
            }
        }
        if let frame {
            let decoded = try DeltaDecoder.decode(frame, base: base, byteCount: content.count)
            expect(decoded == content)
        }
        return frame
    }

    @Test func `equal contents take a few bytes`() throws {
        var random = SeededRandom(seed: 1)
        let content = random.bytes(100_000)
        let frame = try require(try Self.frame(of: content, from: content))
        expect(frame.count < 16, "\(frame.count)")
    }
}
