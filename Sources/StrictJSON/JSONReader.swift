// The reader: its state, its position, and the end.

/// Reads one JSON text (RFC 8259) strictly, by pulling one value after the other.
///
/// ```swift
/// var reader = try JSONReader(bytes)
/// try reader.enterObject()
/// while let key = try reader.nextKey() {
///     switch key {
///     case "size": size = try reader.readInteger()
///     default: try reader.skipValue()
///     }
/// }
/// try reader.finish()
/// ```
///
/// Stricter than the RFC: it refuses duplicate keys, U+0000 even as an escape, lone surrogates and a byte order mark.
/// Keys are equal if their decoded bytes are; `String` also equates different spellings of an accented letter, so a
/// decoder that puts keys into a `Dictionary` MUST expect a collision there.
///
/// After an error every method throws that error again, except after ``JSONError/Reason/wrongType`` and
/// ``JSONError/Reason/integerOutOfRange``, which leave the reader where it was. Asking for a value where none can be is
/// a programmer's mistake and stops the program.
public struct JSONReader: ~Copyable, Sendable {
    /// The six types of values (RFC 8259 §3).
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case object, array, string, number, bool, null
    }

    enum State {
        /// A value is due, at `position`.
        case value
        /// A container was entered: its first key or element is due, or its end.
        case first
        /// A value inside a container was read: a comma is due, or the end.
        case next
        case done
        case failed
    }

    /// The window: the whole text, or the kept keys and the part that is being read.
    var bytes: [UInt8]
    /// Supplies the next piece of a text that is not in memory as a whole.
    let pieces: Pieces?
    /// The offset in the text of index 0 if there were no kept keys.
    var base = 0
    /// The bytes of kept keys at the front of the window, which ``discard(atLeast:)`` moved there.
    var keptCount = 0
    /// The place of the text that begins after the kept keys.
    var windowStart = TextPlace()
    var byteCount: Int
    let depthMax: Int
    var position = 0
    var state = State.value
    var containers: [JSONContainer] = []
    var keys = KeyTable()
    var firstError: JSONError?

    /// Begins to read `bytes`, which are shared, not copied.
    ///
    /// - Throws: `tooLong` above the limit, `byteOrderMark` if the text begins with one.
    public init(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
        try self.init(bytes, bytes.count, nil, limits)
    }

    init(
        _ bytes: [UInt8], _ byteCount: Int, _ pieces: Pieces?, _ limits: JSONLimits
    ) throws(JSONError) {
        precondition(
            (0...JSONLimits.depthMax).contains(limits.depth),
            "JSONLimits.depth is outside 0...JSONLimits.depthMax")
        precondition(
            (0...JSONLimits.byteCountMax).contains(limits.byteCount),
            "JSONLimits.byteCount is outside 0...JSONLimits.byteCountMax")
        self.bytes = bytes
        self.byteCount = byteCount
        self.pieces = pieces
        depthMax = limits.depth
        guard byteCount <= limits.byteCount else {
            throw JSONError(
                reason: .tooLong, offset: limits.byteCount,
                message: "The JSON text has \(byteCount) bytes; "
                    + "at most \(limits.byteCount) are allowed.")
        }
        _ = has(2)
        for mark: [UInt8] in [[0xEF, 0xBB, 0xBF], [0xFE, 0xFF], [0xFF, 0xFE]]
        where self.bytes.starts(with: mark) {
            throw fail(.byteOrderMark, at: 0, "The text begins with a byte order mark")
        }
        skipSpace()
    }

    /// The reader's position: where a value is due, its first byte.
    public var offset: Int { base + position }

    /// Returns the type of the value that is due, without reading it.
    ///
    /// - Throws: `unexpectedEnd`, or `unexpectedByte` or `invalidNumber` if no value begins so.
    public mutating func peekKind() throws(JSONError) -> Kind {
        try requireValue()
        guard has(position) else {
            throw fail(.unexpectedEnd, at: position, "The text ends where a value is expected")
        }
        switch bytes[position] {
        case ASCII.openBrace: return .object
        case ASCII.openBracket: return .array
        case ASCII.quote: return .string
        case ASCII.minus, ASCII.zero...ASCII.nine: return .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        default: throw failNoValue()
        }
    }

    /// Requires that nothing but white space follows the value; may be repeated.
    ///
    /// - Throws: `trailingBytes`.
    public mutating func finish() throws(JSONError) {
        guard state == .done else {
            throw misuse("finish() before the value was read to its end")
        }
        skipSpace()
        guard !has(position) else {
            throw fail(
                .trailingBytes, at: position, "\(describeByte(at: position)) follows the value")
        }
    }

    mutating func skipSpace() {
        while has(position), bytes[position].isJSONSpace { position += 1 }
    }

    func requireValue() throws(JSONError) {
        guard state == .value else { throw misuse("no value is due here") }
    }

    mutating func completeValue(at end: Int) {
        position = end
        state = containers.isEmpty ? .done : .next
    }
}
