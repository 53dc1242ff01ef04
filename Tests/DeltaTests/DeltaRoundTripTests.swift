import Delta
import Platform
import StorageTestSupport

/// Contents made from bases by steps.
struct DeltaSample: Sendable {
    var name: String
    var base: [UInt8]
    var content: [UInt8]
    var steps: [DeltaStep]

    func encoded(_ tables: [DeltaTable] = []) throws -> [UInt8] {
        try content.span.bytes.withUnsafeBytes { (content) throws(StoreError) in
            try base.span.bytes.withUnsafeBytes { (base) throws(StoreError) in
                try DeltaEncoder.encode(content, base: base, steps: steps, tables: tables)
            }
        }
    }
}

@Suite("Deltas") struct DeltaRoundTripTests {
    @Test func `content without a base comes back`() throws {
        let content = Array("abcabcabc".utf8)
        let sample = DeltaSample(
            name: "literals", base: [], content: content,
            steps: [DeltaStep(copyByteCount: 0, literalByteCount: 9, seek: 0)])
        let frame = try sample.encoded()
        expect(try DeltaDecoder.decode(frame, base: [], byteCount: 9) == content)
    }
}
