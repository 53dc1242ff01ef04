// The writer: layout, commas and colons.

/// Writes one JSON text without white space, in the layout of RFC 8785 §3.2.1.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.beginObject()
/// writer.key("size")
/// writer.integer(42)
/// writer.endObject()
/// let bytes = writer.drain()  // {"size":42}
/// ```
///
/// The writer adds commas and colons; the caller orders the keys and avoids duplicates. A call that does not fit the
/// grammar is a programmer's mistake and stops the program.
public struct JSONWriter: Sendable {
    private enum State {
        /// A value is due: the outermost, or that of a key.
        case value
        case first
        case next
        case done
    }

    /// The text that was not yet drained.
    public internal(set) var bytes: [UInt8] = []
    private var levels: [JSONContainer] = []
    private var state = State.value

    /// Creates an empty writer.
    public init() {}

    /// Whether one whole value was written, so that the text is valid.
    public var isComplete: Bool { state == .done }

    /// Begins an object, as a value.
    public mutating func beginObject() {
        begin(.object, with: ASCII.openBrace)
    }

    /// Ends the object begun last.
    public mutating func endObject() {
        end(.object, with: ASCII.closeBrace)
    }

    /// Begins an array, as a value.
    public mutating func beginArray() {
        begin(.array, with: ASCII.openBracket)
    }

    /// Ends the array begun last.
    public mutating func endArray() {
        end(.array, with: ASCII.closeBracket)
    }

    /// Writes the key of the next value.
    public mutating func key(_ key: String) {
        precondition(
            levels.last == .object && state != .value,
            "JSONWriter: a key stands in an object, not after another key")
        if state == .next { bytes.append(ASCII.comma) }
        appendString(key)
        bytes.append(ASCII.colon)
        state = .value
    }

    /// Writes the comma before a value, and checks that a value fits here.
    mutating func beginValue() {
        switch state {
        case .value: break
        case .first, .next:
            precondition(levels.last == .array, "JSONWriter: a key is due, not a value")
            if state == .next { bytes.append(ASCII.comma) }
        case .done: preconditionFailure("JSONWriter: the text is complete")
        }
    }

    mutating func endValue() {
        state = levels.isEmpty ? .done : .next
    }

    private mutating func begin(_ level: JSONContainer, with opening: UInt8) {
        beginValue()
        bytes.append(opening)
        levels.append(level)
        state = .first
    }

    private mutating func end(_ level: JSONContainer, with closing: UInt8) {
        precondition(
            levels.last == level && state != .value,
            "JSONWriter: what ends here was not begun, or a key has no value")
        bytes.append(closing)
        levels.removeLast()
        endValue()
    }

    /// Takes the bytes written so far, so that a long text can be passed on in pieces.
    public mutating func drain() -> [UInt8] {
        var drained: [UInt8] = []
        swap(&drained, &bytes)
        return drained
    }
}
