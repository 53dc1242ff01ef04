extension PackTable {
    /// Its numbers, not yet compressed: what a reader decodes.
    var serialized: [UInt8] {
        var bytes: [UInt8] = []
        Self.append(Int64(bases.count), to: &bytes)
        for base in bases { Self.append(Int64(base), to: &bytes) }
        Self.append(Int64(frames.count), to: &bytes)
        for frame in frames {
            Self.append(Int64(frame.codec.rawValue), to: &bytes)
            Self.append(frame.byteCount, to: &bytes)
            Self.append(frame.contentByteCount, to: &bytes)
            Self.append(Int64(frame.bases.count), to: &bytes)
            for base in frame.bases { Self.append(Int64(base), to: &bytes) }
        }
        Self.append(Int64(entries.count), to: &bytes)
        for (position, frame) in frames.enumerated() {
            for entry in entries[frame.entries] {
                Self.append(Int64(entry.number), to: &bytes)
                Self.append(Int64(position), to: &bytes)
                Self.append(entry.byteCount, to: &bytes)
            }
        }
        return bytes
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
