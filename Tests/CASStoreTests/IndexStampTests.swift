import Expectations

@testable import CASStore

@Suite struct IndexStampTests {
    static let stamp = IndexStamp(
        epoch: "0123456789abcdef", committed: 41, pending: 42, byteCount: 53_248,
        changedAt: 1_700_000_000_123_456_789)

    @Test func `is read back as it was written`() {
        expect(IndexStamp(Self.stamp.encoded), equals: Self.stamp)
        // The file has one size for ever: it is filled up with line ends.
        let padded = Self.stamp.encoded + [UInt8](repeating: 10, count: 100)
        expect(IndexStamp(padded), equals: Self.stamp)
    }

    @Test func `any cut is no stamp`() {
        let whole = Self.stamp.encoded
        let accepted = (0..<whole.count).filter { IndexStamp(Array(whole.prefix($0))) != nil }
        expect(accepted, equals: [])
    }

    @Test func `any flipped bit is no stamp`() {
        let whole = Self.stamp.encoded
        for position in whole.indices {
            for bit in 0..<8 {
                var flipped = whole
                flipped[position] ^= 1 << UInt8(bit)
                expect(IndexStamp(flipped) == nil, "bit \(bit) of byte \(position)")
            }
        }
    }

    @Test(arguments: ["", "\n", "\n\n", "castree-stamp 1\n\n", "castree-stamp 2 x 1 1 1 1\n\n"])
    func `something else is no stamp`(text: String) {
        expect(IndexStamp(bytes(text)) == nil)
    }

    @Test func `a mixture of two stamps is no stamp`() {
        let old = Self.stamp.encoded
        var newer = Self.stamp
        newer.committed = 42
        newer.pending = 43
        let new = newer.encoded
        expect(old.count, equals: new.count)
        for cut in 1..<old.count {
            let torn = Array(new.prefix(cut)) + Array(old.dropFirst(cut))
            let found = IndexStamp(torn)
            expect(found == nil || found == Self.stamp || found == newer, "torn at \(cut)")
        }
    }

    @Test(arguments: [(40, false), (41, true), (42, true), (43, true), (1000, true), (0, false)])
    func `agrees with the index it knows and with a newer one, never with an older`(
        generation: Int64, agrees: Bool
    ) {
        expect(Self.stamp.agrees(epoch: Self.stamp.epoch, generation: generation), equals: agrees)
        // Another epoch is another file.
        expect(!Self.stamp.agrees(epoch: "fedcba9876543210", generation: generation))
    }
}
