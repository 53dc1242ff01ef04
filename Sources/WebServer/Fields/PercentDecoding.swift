import Platform

/// A path of a request, its percent-escapes decoded once (RFC 3986, section 2.1).
package enum DecodedPath: Equatable {
    /// The bytes to look up. If they are not UTF-8 they match nothing, because paths of trees are UTF-8.
    case bytes([UInt8])
    /// The path has an escaped slash, which is part of a name, not a separator; no name in a tree has one.
    case nothing
    /// A `%` without two hexadecimal digits, or NUL: 400.
    case malformed

    /// Decodes once and does not look at the result again: `%252e` is the text `%2e`.
    package init(_ path: FieldText) {
        guard let bytes = PercentEncoding.decoded(path), !bytes.contains(0) else {
            self = .malformed
            return
        }
        let isSlash = { (byte: UInt8) in byte == 47 }
        self = bytes.count(where: isSlash) > path.count(where: isSlash) ? .nothing : .bytes(bytes)
    }
}
