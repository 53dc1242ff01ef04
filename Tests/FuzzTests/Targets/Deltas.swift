import CASStore
import Delta

// What comes of deltas, which are decoded without any library.

extension FuzzTarget {
    /// A base of 2,000 bytes, half of them words.
    static let base: [UInt8] =
        (0..<1000).map { UInt8(truncatingIfNeeded: $0 * ($0 >> 3)) }
        + (0..<250).flatMap { (number: Int) -> [UInt8] in
            [UInt8(truncatingIfNeeded: number), 1, 0, 0]
        }

    /// The input is a frame that should give three thousand bytes from that base, or from nothing.
    static let deltas = FuzzTarget(
        name: "deltas",
        words: [
            "\u{1}\u{0}\u{0}", "\u{1}\u{1}\u{0}", "\u{1}\u{6}\u{7f}", "\u{8}\u{1}\u{0}\u{0}\u{20}",
        ]
    ) { input in
        let header = try unlessRefused(as: [.badFrame]) {
            try input.span.bytes.withUnsafeBytes { (frame) throws(StoreError) in
                try DeltaHeader(of: frame)
            }
        }
        if let header {
            try hold(header.memoryByteCount <= DeltaLimits.memoryByteCountMax, "much memory")
            try hold(header.modelledByteCount <= DeltaLimits.modelledByteCountMax, "much work")
        }
        for base in [base, []] {
            let content = try unlessRefused(as: [.badFrame]) {
                try DeltaDecoder.decode(input, base: base, byteCount: 3000)
            }
            guard let content else { continue }
            try hold(header.map { $0.modelledByteCount <= 3000 } ?? false, "more than is declared")
            let again = try DeltaDecoder.decode(input, base: base, byteCount: 3000)
            try hold(content == again, "other bytes the second time")
        }
    }
}
