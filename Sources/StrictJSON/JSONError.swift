// What is wrong with a JSON text, for programs and for people.

/// Why a text was refused, and where.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A reason that programs can branch on.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// The input ends inside the value: everything so far could still become valid.
        case unexpectedEnd
        /// The grammar does not allow this byte here (RFC 8259 §2).
        case unexpectedByte
        /// An object has the same key twice, compared after decoding escapes (RFC 8259 §4).
        case duplicateKey
        /// A number breaks the grammar, such as `01`, `1.` or `+1` (RFC 8259 §6).
        case invalidNumber
        /// An integer does not fit 64 bits.
        case integerOutOfRange
        /// A string has a bad escape, a raw control character, a lone surrogate or U+0000.
        case invalidString
        /// A string is not UTF-8: overlong, a surrogate, above U+10FFFF or cut (RFC 3629 §3).
        case invalidUTF8
        /// The input begins with a byte order mark (RFC 8259 §8.1).
        case byteOrderMark
        /// Arrays and objects are nested deeper than ``JSONLimits/depth``.
        case tooDeep
        /// The input is longer than ``JSONLimits/byteCount``.
        case tooLong
        /// Something other than white space follows the value.
        case trailingBytes
        /// The text is valid, but holds a type other than the one requested.
        case wrongType
    }

    /// The reason, for programs.
    public var reason: Reason
    /// The offset of the wrong byte in the input, counted from zero.
    public var offset: Int
    /// A sentence for people with the error and its place; bytes of the input are escaped.
    public var message: String

    /// The message.
    public var description: String { message }
}
