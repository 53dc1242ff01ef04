/// A path of a request, its percent-escapes decoded once (RFC 3986, section 2.1).
enum DecodedPath: Equatable {
    /// What is looked up, byte by byte.
    ///
    /// It may be no UTF-8; then it is the path of nothing, since paths of trees are UTF-8.
    case bytes([UInt8])
    /// An escaped slash is a character of a name, not a separator, and no name in a tree has one.
    case nothing
    /// A `%` without two hexadecimal digits, or NUL: 400.
    case malformed

    /// Decodes once; what the result looks like decides nothing: `%252e` is the text `%2e`.
    init(_ path: FieldText) {
        var result: [UInt8] = []
        result.reserveCapacity(path.count)
        var hasSlash = false
        var position = path.startIndex
        while position < path.endIndex {
            var byte = path[position]
            position += 1
            if byte == 37 {
                guard position + 1 < path.endIndex, let high = Self.digit(path[position]),
                    let low = Self.digit(path[position + 1])
                else {
                    self = .malformed
                    return
                }
                byte = high << 4 | low
                position += 2
                if byte == 47 { hasSlash = true }
            }
            if byte == 0 {
                self = .malformed
                return
            }
            result.append(byte)
        }
        self = hasSlash ? .nothing : .bytes(result)
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case 48...57: character - 48
        case 65...70: character - 55
        case 97...102: character - 87
        default: nil
        }
    }
}

/// A decoded path as it is written in a URL (RFC 3986, section 3.3).
func percentEncodedPath(_ path: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var result: [UInt8] = []
    for byte in path {
        switch byte {
        case 48...57, 65...90, 97...122, 47, 45, 46, 95, 126, 33, 36, 38, 39, 40, 41, 42, 43, 44,
            59,
            61, 58, 64:
            result.append(byte)
        default:
            result.append(37)
            result.append(digits[Int(byte >> 4)])
            result.append(digits[Int(byte & 15)])
        }
    }
    return String(decoding: result, as: UTF8.self)
}
