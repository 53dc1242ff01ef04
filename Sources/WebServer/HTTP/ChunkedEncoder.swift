/// The bytes around the pieces of a chunked body (RFC 9112, section 7.1).
enum ChunkedEncoder {
    static let end = Array("0\r\n\r\n".utf8)

    /// The line before a piece of `count` bytes; a line end follows the piece.
    static func sizeLine(_ count: Int) -> [UInt8] {
        Array("\(String(count, radix: 16))\r\n".utf8)
    }
}
