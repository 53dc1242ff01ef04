import CASStore
package import StrictJSON

/// The frames of one codec in a pack, without the manifest's: what it takes, and what comes out.
package struct CodecShare: Sendable, Hashable {
    package var codec: PackCodec
    package var objectCount: Int
    package var byteCount: Int64
    package var contentByteCount: Int64
}

extension PackTable {
    /// What each codec does, once the frames have their sizes (``measure(manifest:_:from:)``).
    package var shares: [CodecShare] {
        PackCodec.allCases.compactMap { codec in
            let own = frames.dropFirst().filter { $0.codec == codec }
            guard !own.isEmpty else { return nil }
            return CodecShare(
                codec: codec, objectCount: own.reduce(0) { $0 + $1.objects.count },
                byteCount: own.reduce(0) { $0.addingClamped($1.byteCount) },
                contentByteCount: own.reduce(0) { $0.addingClamped($1.contentByteCount) })
        }
    }
}

extension [CodecShare] {
    /// Writes the member `shares`, as `publish`, `pack` and `du` give it; nothing if there are none.
    package func writeMember(to writer: inout JSONWriter) {
        guard !isEmpty else { return }
        writer.member("shares", self) { writer, share in
            writer.member("codec", Int(share.codec.rawValue))
            writer.member("objects", share.objectCount)
            writer.member("bytes", share.byteCount)
            writer.member("content", share.contentByteCount)
        }
    }

    /// The same in words, such as `3.1 MB in 24 KB by deltas`.
    package func text(size: (Int64) -> String) -> String {
        map { "\(size($0.contentByteCount)) in \(size($0.byteCount)) \($0.codec.method)" }
            .joined(separator: ", ")
    }
}

extension PackCodec {
    fileprivate var method: String {
        switch self {
        case .stored: "as it is"
        case .compressed: "by zstd"
        case .prefixed: "by zstd with old files as prefix"
        case .delta: "by deltas"
        }
    }
}
