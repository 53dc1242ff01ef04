// What the tests share: texts as bytes, and one call per way of reading.

import StrictJSON

/// Ways to read a whole text.
///
/// All of them promise the same strictness.
enum Reading: CaseIterable, Sendable {
    case asTree, bySkipping, byPulling, bySingleBytes, byPieces

    func read(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
        var reader =
            switch self {
            case .bySingleBytes: try makeReader(bytes, pieceByteCount: 1, limits: limits)
            case .byPieces: try makeReader(bytes, pieceByteCount: 7, limits: limits)
            default: try JSONReader(bytes, limits: limits)
            }
        switch self {
        case .asTree: _ = try reader.readValue()
        case .bySkipping: try reader.skipValue()
        case .byPulling, .bySingleBytes, .byPieces: try pull(&reader)
        }
        try reader.finish()
    }

    /// Reads like a decoder does: one typed verb after the other.
    private func pull(_ reader: inout JSONReader) throws(JSONError) {
        switch try reader.peekKind() {
        case .object:
            try reader.enterObject()
            while try reader.nextKey() != nil {
                reader.discard(atLeast: 1)
                try pull(&reader)
            }
        case .array:
            try reader.enterArray()
            while try reader.nextElement() {
                reader.discard(atLeast: 1)
                try pull(&reader)
            }
        case .string:
            var decoded: [UInt8] = []
            try reader.readStringBytes(appendingTo: &decoded)
        case .number:
            do {
                _ = try reader.readInteger()
            } catch  where error.reason == .wrongType || error.reason == .integerOutOfRange {
                try reader.skipValue()
            }
        case .bool: _ = try reader.readBool()
        case .null: try reader.readNull()
        }
    }
}

/// Returns the error that `read` throws.
func refusal(_ read: () throws(JSONError) -> Void) -> JSONError? {
    do throws(JSONError) {
        try read()
        return nil
    } catch {
        return error
    }
}

/// Returns the error that reading `bytes` throws.
func refusal(
    of bytes: [UInt8], limits: JSONLimits = JSONLimits(), reading: Reading = .asTree
) -> JSONError? {
    refusal { () throws(JSONError) in try reading.read(bytes, limits: limits) }
}

func refusal(of text: String, limits: JSONLimits = JSONLimits()) -> JSONError? {
    refusal(of: Array(text.utf8), limits: limits)
}

func parse(_ text: String) throws -> JSONValue { try JSONValue.parse(Array(text.utf8)) }

/// Returns a reader of `text`, at its first value.
func makeReader(_ text: String) throws(JSONError) -> JSONReader { try JSONReader(Array(text.utf8)) }

/// Returns a reader that gets `bytes` in pieces of a few bytes.
func makeReader(
    _ bytes: [UInt8], pieceByteCount: Int, limits: JSONLimits = JSONLimits()
) throws(JSONError) -> JSONReader {
    try JSONReader(byteCount: bytes.count, limits: limits) { offset, count in
        Array(bytes[offset..<min(offset + min(count, pieceByteCount), bytes.count)])
    }
}

/// Returns what `write` makes of a new writer.
func written(_ write: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    write(&writer)
    return String(decoding: writer.drain(), as: UTF8.self)
}

/// A text with one of everything: every type, every escape, characters of two to four bytes.
let oneOfEverything = #"""
    {"null": null, "bools": [true,false], "numbers": [0,-1,12.5e+3,1E-2,9223372036854775807],
     "plain": "text of some length", "escapes": "\"\\\/\b\f\n\r\t\u0041\uD83D\ude00",
     "raw": "é€😀", "empty": [{}, [], ""], "k\u0065y": {"a": {"a": [[["deep"]]]}}}
    """#
