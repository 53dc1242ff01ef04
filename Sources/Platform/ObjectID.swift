/// The address of an object: the SHA-256 of its bytes (FIPS 180-4).
///
/// An address has one spelling, 64 lower-case hexadecimal digits, by which addresses are ordered. Two objects with
/// the same address are the same object.
public struct ObjectID: Hashable, Sendable, Comparable, LosslessStringConvertible {
    package static let byteCount = 32

    // Four big-endian words: hashing and comparing them is several times faster than an array.
    package let w0: UInt64
    package let w1: UInt64
    package let w2: UInt64
    package let w3: UInt64

    /// Makes an address of exactly 32 bytes; `nil` for any other count.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self = Array(bytes).withUnsafeBytes { ObjectID(unchecked: $0) }
    }

    /// 32 zero bytes: a placeholder, the address of no object.
    package static let zero = ObjectID(0, 0, 0, 0)

    /// The address of empty content: SHA-256 of the empty message.
    package static let ofNothing = ObjectID(
        0xe3b0_c442_98fc_1c14, 0x9afb_f4c8_996f_b924, 0x27ae_41e4_649b_934c, 0xa495_991b_7852_b855)

    private init(_ w0: UInt64, _ w1: UInt64, _ w2: UInt64, _ w3: UInt64) {
        (self.w0, self.w1, self.w2, self.w3) = (w0, w1, w2, w3)
    }

    /// - Parameter bytes: at least 32; the first 32 are read.
    package init(unchecked bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count >= Self.byteCount, "an address has 32 bytes")
        w0 = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        w1 = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        w2 = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
        w3 = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
    }

    /// Reads an address from its one spelling; `nil` for anything else (upper case, other lengths).
    public init?(_ description: String) {
        var copy = description
        let parsed = copy.withUTF8 { Self.parse($0) }
        guard let parsed else { return nil }
        self = parsed
    }

    package static func parse(_ digits: UnsafeBufferPointer<UInt8>) -> ObjectID? {
        guard digits.count == byteCount * 2 else { return nil }
        let raw = UnsafeRawBufferPointer(digits)
        guard let w0 = Hex.word(raw, at: 0), let w1 = Hex.word(raw, at: 16),
            let w2 = Hex.word(raw, at: 32), let w3 = Hex.word(raw, at: 48)
        else { return nil }
        return ObjectID(w0, w1, w2, w3)
    }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        withBytes { Array($0) }
    }

    /// Calls `body` with the 32 bytes, without an allocation.
    @inline(__always)
    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        let words = (w0.bigEndian, w1.bigEndian, w2.bigEndian, w3.bigEndian)
        return withUnsafeBytes(of: words) { body($0) }
    }

    /// - Parameter target: has space for 64 digits.
    package func writeDigits(to target: UnsafeMutablePointer<UInt8>) {
        let raw = UnsafeMutableRawPointer(target)
        Hex.write(w0, to: raw)
        Hex.write(w1, to: raw + 16)
        Hex.write(w2, to: raw + 32)
        Hex.write(w3, to: raw + 48)
    }

    /// The 64 lower-case hexadecimal digits.
    public var description: String {
        String(unsafeUninitializedCapacity: Self.byteCount * 2) { target in
            if let start = target.baseAddress { writeDigits(to: start) }
            return Self.byteCount * 2
        }
    }

    /// The first twelve digits, for messages to people.
    package var shortDescription: String { String(description.prefix(12)) }

    /// Orders like the spelling.
    public static func < (left: ObjectID, right: ObjectID) -> Bool {
        if left.w0 != right.w0 { return left.w0 < right.w0 }
        if left.w1 != right.w1 { return left.w1 < right.w1 }
        if left.w2 != right.w2 { return left.w2 < right.w2 }
        return left.w3 < right.w3
    }
}
