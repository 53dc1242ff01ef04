package import Archives
package import CASStore
package import HotPush
import Origin

/// A body of known length that never changes, read from objects as it is sent; any range of it can be sent.
package struct AnswerBody: Sendable {
    package enum Source: Sendable {
        case object(OriginKey)
        /// A deflated copy as a gzip file (RFC 1952).
        case gzip(head: [UInt8], deflatedCopy: ObjectID, byteCount: Int64, tail: [UInt8])
        case archive(ZipArchive)
    }

    package let source: Source
    package var isArchive: Bool { if case .archive = source { true } else { false } }
    package let byteCount: Int64
    /// A digest unique to this body, for the entity tag.
    package let tag: ObjectID

    init?(_ body: ClientAnswer.Body) throws(StoreError) {
        switch body {
        case .none, .bytes, .document: return nil
        case .object(let address, let count):
            self.init(object: address, byteCount: count)
        case .gzip(let deflatedCopy, let deflatedCount, let crc32, let count):
            self.init(
                source: .gzip(
                    head: Self.gzipHead, deflatedCopy: deflatedCopy, byteCount: deflatedCount,
                    tail: Self.gzipTail(crc32, count)),
                byteCount: Int64(Self.gzipHead.count) + deflatedCount + 8, tag: deflatedCopy)
        case .archive(let archive):
            guard let tag = ObjectID(try archive.entityTag()) else {
                throw StoreError(.unsupported, "an archive has no digest")
            }
            self.init(source: .archive(archive), byteCount: archive.byteCount, tag: tag)
        }
    }

    private init(source: Source, byteCount: Int64, tag: ObjectID) {
        self.source = source
        self.byteCount = byteCount
        self.tag = tag
    }

    /// An object, or another file named by the SHA-256 of its bytes.
    package init(
        object: ObjectID, of kind: OriginKey.Kind = .object, byteCount: Int64
    ) {
        self.init(
            source: .object(OriginKey(kind, object)), byteCount: byteCount, tag: object)
    }

    /// No name, no time, unknown system (RFC 1952, section 2.3).
    private static let gzipHead: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]

    private static func gzipTail(_ crc32: UInt32, _ byteCount: Int64) -> [UInt8] {
        [crc32, UInt32(truncatingIfNeeded: byteCount)].flatMap { word in
            [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }

    /// The pieces of a range, in order.
    /// - Precondition: the range lies within the body.
    package func pieces(in range: Range<Int64>) -> [ZipArchive.Piece] {
        switch source {
        case .object(let name):
            return [.object(name.address, range: range, size: byteCount)]
        case .archive(let archive): return archive.pieces(in: range)
        case .gzip(let head, let deflatedCopy, let count, let tail):
            let start = Int64(head.count)
            var cut = ZipCut(range)
            cut.add(head, at: 0)
            if let part = cut.part(of: count, at: start) {
                cut.add(.deflatedCopy(deflatedCopy, range: part, size: count))
            }
            cut.add(tail, at: start + count)
            return cut.finish()
        }
    }

    package typealias File = (name: OriginKey, byteCount: Int64)

    package var files: [File] {
        switch source {
        case .object(let name): return [(name, byteCount)]
        case .gzip(_, let deflatedCopy, let count, _):
            return [(OriginKey(.deflatedCopy, deflatedCopy), count)]
        case .archive(let archive):
            return archive.members.compactMap { member in
                switch member.content {
                case .bytes: nil
                case .object(let address):
                    (OriginKey(.object, address), member.byteCount)
                case .deflatedCopy(let address, let count):
                    (OriginKey(.deflatedCopy, address), count)
                }
            }
        }
    }

    /// Approximate bytes in memory.
    var cost: Int {
        guard case .archive(let archive) = source else { return 256 }
        return archive.members.reduce(512) { sum, member in
            var own = 192 + member.path.utf8.count
            if case .bytes(let bytes) = member.content { own += bytes.count }
            return sum + own
        }
    }
}
