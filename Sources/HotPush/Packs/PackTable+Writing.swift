extension PackTable {
    /// Its numbers, not yet compressed: what a reader decodes.
    var serialized: [UInt8] {
        var bytes: [UInt8] = []
        Self.append(Int64(frames.count), to: &bytes)
        for (position, frame) in frames.enumerated() {
            Self.append(Int64(frame.codec.rawValue), to: &bytes)
            Self.append(frame.byteCount, to: &bytes)
            // The manifest's frame has neither.
            guard position > 0 else { continue }
            if frame.codec == .prefixed { Self.append(frame.bases, to: &bytes) }
            Self.append(frame.objects, to: &bytes)
        }
        return bytes
    }

    private static func append(_ numbers: [UInt32], to bytes: inout [UInt8]) {
        append(Int64(numbers.count), to: &bytes)
        for number in numbers { append(Int64(number), to: &bytes) }
    }

    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        var rest = UInt64(number)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
