import Platform

/// A path of a request, its percent-escapes decoded once (RFC 3986, section 2.1).
package enum DecodedPath: Equatable {
    /// What is looked up, byte by byte.
    ///
    /// If it is not UTF-8 it is the path of nothing, because paths of trees are UTF-8.
    case bytes([UInt8])
    /// An escaped slash is part of a name, not a separator, and no name in a tree has one.
    case nothing
    /// A `%` without two hexadecimal digits, or NUL: 400.
    case malformed

    /// Decodes once and does not look at the result again: `%252e` is the text `%2e`.
    package init(_ path: FieldText) {
        var result: [UInt8] = []
        result.reserveCapacity(path.count)
        var hasSlash = false
        var position = path.startIndex
        while position < path.endIndex {
            var byte = path[position]
            position += 1
            if byte == 37 {
                guard position + 1 < path.endIndex,
                    let high = Hex.value(ofEitherCase: path[position]),
                    let low = Hex.value(ofEitherCase: path[position + 1])
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
}
