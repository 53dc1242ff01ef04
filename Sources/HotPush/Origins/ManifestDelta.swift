import CASStore
import StrictJSON

/// Turns the bytes of one manifest, the base, into those of another.
///
/// Pieces of the base, with text between them. It needs no trust: whoever applies it compares the
/// result with the manifest's address. `docs/origin-format.md` describes its JSON.
struct ManifestDelta: Hashable {
    /// A part of the result.
    enum Part: Hashable {
        /// These bytes of the base.
        case copy(Range<Int>)
        /// These bytes, which are UTF-8.
        case text([UInt8])
    }

    /// The version of the format.
    static let formatVersion: Int64 = 1
    /// Smaller manifests are fetched whole: a second request costs more than it can save.
    static let manifestByteCountMin: Int64 = 16 * 1024
    /// Larger manifests have no delta: publisher and client hold both of them in memory.
    static let manifestByteCountMax: Int64 = 64 << 20
    /// How many of a channel's older releases get one.
    static let baseCountMax = 4

    /// The result, one part after the other.
    var parts: [Part] = []

    /// Finds what two manifests have in common, entry by entry.
    init(from base: [UInt8], to manifest: [UInt8]) {
        var starts: [ArraySlice<UInt8>: Int] = [:]
        Self.forEachPiece(of: base) { starts[base[$0]] = $0.lowerBound }
        var text: [UInt8] = []
        Self.forEachPiece(of: manifest) { piece in
            // A piece that can continue the previous one does so, however often it occurs.
            if text.isEmpty, case .copy(let last) = parts.last,
                base[last.upperBound...].starts(with: manifest[piece])
            {
                let end = last.upperBound + piece.count
                parts[parts.count - 1] = .copy(last.lowerBound..<end)
            } else if let start = starts[manifest[piece]] {
                if !text.isEmpty { parts.append(.text(text)) }
                text.removeAll()
                parts.append(.copy(start..<start + piece.count))
            } else {
                text.append(contentsOf: manifest[piece])
            }
        }
        if !text.isEmpty { parts.append(.text(text)) }
    }

    // An entry ends with a brace; a brace inside a path only makes more pieces. The byte is never
    // part of another character, so every piece is UTF-8 on its own.
    private static func forEachPiece(of bytes: [UInt8], _ body: (Range<Int>) -> Void) {
        var start = 0
        for position in bytes.indices where bytes[position] == 125 {
            body(start..<position + 1)
            start = position + 1
        }
        if start < bytes.count { body(start..<bytes.count) }
    }

    /// The manifest; `nil` if a piece lies outside the base or the result has another size.
    func applied(to base: [UInt8], byteCount: Int64) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(Int(byteCount))
        for part in parts {
            let piece: ArraySlice<UInt8>
            switch part {
            case .copy(let range):
                guard range.upperBound <= base.count else { return nil }
                piece = base[range]
            case .text(let text): piece = text[...]
            }
            // Checked first, so that no text makes the result larger than promised.
            guard Int64(result.count) + Int64(piece.count) <= byteCount else { return nil }
            result.append(contentsOf: piece)
        }
        return Int64(result.count) == byteCount ? result : nil
    }
}

// MARK: JSON

extension ManifestDelta {
    /// Reads a delta.
    /// - Throws: what is wrong with the text; a delta of a newer format is wrong as well.
    init(parsing bytes: [UInt8]) throws(JSONError) {
        var reader = try JSONReader(bytes)
        var format: Int64?
        try reader.enterObject()
        while let key = try reader.nextKey() {
            switch key {
            case "castreeDelta": format = try reader.readInteger()
            case "parts":
                try reader.enterArray()
                while try reader.nextElement() { parts.append(try Self.readPart(&reader)) }
            default: try reader.skipValue()
            }
        }
        try reader.finish()
        guard format == Self.formatVersion else {
            throw reader.failure("the delta has a format that this castree does not know")
        }
    }

    private static func readPart(_ reader: inout JSONReader) throws(JSONError) -> Part {
        if try reader.peekKind() == .string {
            var text: [UInt8] = []
            try reader.readStringBytes(appendingTo: &text)
            return .text(text)
        }
        var numbers: [Int64] = []
        try reader.enterArray()
        while numbers.count < 3, try reader.nextElement() {
            numbers.append(try reader.readInteger())
        }
        let limit = manifestByteCountMax
        guard numbers.count == 2, 0...limit ~= numbers[0], 0...limit ~= numbers[1] else {
            throw reader.failure("a piece of the base is its offset and its size")
        }
        return .copy(Int(numbers[0])..<Int(numbers[0] + numbers[1]))
    }

    /// Its bytes.
    func serialized() -> [UInt8] {
        let document = JSONWriter.document { writer in
            writer.member("castreeDelta", Self.formatVersion)
            writer.key("parts")
            writer.array(parts) { writer, part in
                switch part {
                case .text(let text): writer.string(utf8: text)
                case .copy(let range):
                    writer.array([range.lowerBound, range.count]) { $0.integer($1) }
                }
            }
        }
        return document + [10]
    }
}
