package import Platform

/// The format of an archive, by its first bytes and its name.
package enum ArchiveFormat: Sendable, Hashable {
    case zip
    /// A tar archive, compressed or not.
    case tar(Compression)

    package enum Compression: Sendable, Hashable { case none, gzip, zstd, brotli }

    /// How many bytes at the beginning tell the format.
    package static let headByteCount = 512

    /// The beginning of a split zip archive, even if it has only one part (APPNOTE.TXT, 8.5.3 and 8.5.4).
    static let partMarks: [[UInt8]] = [[0x50, 0x4B, 7, 8], [0x50, 0x4B, 0x30, 0x30]]

    private static let suffixes: [(String, ArchiveFormat)] = [
        (".zip", .zip), (".tar", .tar(.none)), (".tar.gz", .tar(.gzip)), (".tgz", .tar(.gzip)),
        (".tar.zst", .tar(.zstd)), (".tzst", .tar(.zstd)), (".tar.br", .tar(.brotli)),
    ]

    /// Known formats that are not read.
    private static let others: [([UInt8], String)] = [
        (Array("Rar!\u{1a}\u{07}".utf8), "a RAR archive"),
        ([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], "a 7-Zip archive"),
        ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], "compressed by xz"),
        (Array("BZh".utf8), "compressed by bzip2"), (Array("LZIP".utf8), "compressed by lzip"),
        ([0x04, 0x22, 0x4D, 0x18], "compressed by lz4"),
        (Array("!<arch>\n".utf8), "an ar archive"), (Array("MSCF".utf8), "a cabinet file"),
        (Array("xar!".utf8), "a xar archive"), (Array("hsqs".utf8), "a squashfs image"),
    ]

    package var name: String {
        switch self {
        case .zip: "a zip archive"
        case .tar(.none): "a tar archive"
        case .tar(.gzip): "compressed by gzip"
        case .tar(.zstd): "compressed by zstd"
        case .tar(.brotli): "a tar archive compressed by brotli"
        }
    }

    /// - Parameters:
    ///   - head: the file's first ``headByteCount`` bytes; fewer if it has no more.
    ///   - name: its name, for the message and for brotli, which has no magic bytes.
    /// - Throws: `.badArchive` for anything that is not read, and for a name that contradicts.
    package init(_ head: [UInt8], named name: ArchiveName) throws(StoreError) {
        guard !head.isEmpty else { throw name.refusal("it is empty") }
        let lower = name.text.lowercased()
        let said = Self.suffixes.first { lower.hasSuffix($0.0) }?.1
        if let other = Self.others.first(where: { head.starts(with: $0.0) }) {
            throw name.refusal("it is \(other.1), which castree does not read; \(Self.advice)")
        }
        // The last part of several begins anywhere.
        let trusted: [ArchiveFormat] = [.tar(.brotli), .zip]
        guard let found = Self.detected(head) ?? trusted.first(where: { $0 == said }) else {
            throw name.refusal(
                "it is no archive that castree knows; \(Self.advice) "
                    + "(brotli is recognized by the name .tar.br alone)")
        }
        if let said, said != found {
            throw name.refusal("it is \(found.name), but its name is that of \(said.kind)")
        }
        self = found
    }

    private static let advice =
        "unpack it and add the directory, or make a .zip, .tar, .tar.gz, .tar.zst or .tar.br of it"

    private var kind: String {
        switch self {
        case .zip: "a zip archive"
        case .tar(.none): "a tar archive that is not compressed"
        case .tar(.gzip): "a tar archive compressed by gzip"
        case .tar(.zstd): "a tar archive compressed by zstd"
        case .tar(.brotli): name
        }
    }

    private static func detected(_ head: [UInt8]) -> ArchiveFormat? {
        // The first local header, or the end record of an empty archive (APPNOTE.TXT, 4.3.7 and 4.3.16).
        if head.starts(with: Array("PK\u{3}\u{4}".utf8)) { return .zip }
        if head.starts(with: Array("PK\u{5}\u{6}".utf8)) { return .zip }
        if partMarks.contains(where: { head.starts(with: $0) }) { return .zip }
        // RFC 1952, section 2.3.1: DEFLATE is the only method.
        if head.starts(with: [0x1F, 0x8B, 0x08]) { return .tar(.gzip) }
        // RFC 8878, sections 3.1.1 and 3.1.2.
        if head.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) { return .tar(.zstd) }
        if head.count >= 4, head[0] & 0xF0 == 0x50, head[1...3].elementsEqual([0x2A, 0x4D, 0x18]) {
            return .tar(.zstd)
        }
        return isTar(head) ? .tar(.none) : nil
    }

    /// Whether a block is the header of a tar archive, by its sum, or the end of an empty one.
    private static func isTar(_ head: [UInt8]) -> Bool {
        guard head.count == 512 else { return false }
        if head.allSatisfy({ $0 == 0 }) { return true }
        // pax(1), ustar: eight octal digits, of all bytes with blanks in place of the sum itself.
        let sum = head.enumerated().reduce(0) {
            $0 + ((148..<156).contains($1.offset) ? 32 : Int($1.element))
        }
        let digits = head[148..<156].drop { $0 == 32 }.prefix { (48..<56).contains($0) }
        return !digits.isEmpty && digits.reduce(0) { $0 * 8 + Int($1) - 48 } == sum
    }
}
