/// Returns a text without the names and passwords that the addresses in it may carry: what is printed or noted ends up in
/// logs and in questions to strangers.
///
/// Removed is what stands before the `@` of an authority (RFC 3986, section 3.2.1), whatever comes before its `//`:
/// a person may have left out a colon or the scheme. Without a `//`, what stands between a colon and an `@` is removed,
/// as in `user:secret@host`. In doubt it removes too much.
///
/// - Parameter mark: what is put in place of a name and a password, before the `@`; `nil` removes the `@`, too.
package func withoutCredentials(_ text: String, mark: String?) -> String {
    guard text.utf8.contains(atSign) else { return text }
    var result: [UInt8] = []
    // Blanks, quotes and angle brackets end an address in running text (RFC 3986, appendix C).
    var rest = Array(text.utf8)[...]
    while let end = rest.firstIndex(where: { $0 <= 0x20 || [0x22, 0x3C, 0x3E].contains($0) }) {
        appendWord(rest[..<end], mark, to: &result)
        result.append(rest[end])
        rest = rest[(end + 1)...]
    }
    appendWord(rest, mark, to: &result)
    return String(decoding: result, as: UTF8.self)
}

private let (atSign, colon, slash): (UInt8, UInt8, UInt8) = (0x40, 0x3A, 0x2F)

private func appendWord(_ word: ArraySlice<UInt8>, _ mark: String?, to result: inout [UInt8]) {
    var rest = word
    while rest.contains(atSign) {
        if rest.starts(with: [slash, slash]) {
            result += [slash, slash]
            rest = rest.dropFirst(2)
            let authority = rest.prefix(while: isOfAuthority)
            let port = authority.lastIndex(of: colon).map { authority[($0 + 1)...] } ?? []
            // An IPv6 address in brackets has colons, and no port.
            guard let sign = endOfSecret(rest, authority.last == 0x5D ? [] : port) else {
                result += authority
                rest = rest[authority.endIndex...]
                continue
            }
            if let mark { result += Array(mark.utf8) + [atSign] }
            rest = rest[(sign + 1)...]
        } else if rest.first == colon, !rest.dropFirst().starts(with: [slash, slash]),
            let sign = endOfSecret(rest.dropFirst(), rest.dropFirst().prefix(while: isOfAuthority))
        {
            result += [colon] + Array("…@".utf8)
            rest = rest[(sign + 1)...]
        } else {
            result.append(rest.removeFirst())
        }
    }
    result += rest
}

private func isOfAuthority(_ byte: UInt8) -> Bool { byte != slash && !endsPath(byte) }

private func endsPath(_ byte: UInt8) -> Bool { byte == 0x3F || byte == 0x23 }

/// The `@` that ends the secret which a text begins with; `nil` if it begins with none.
///
/// A password may have a slash that nobody has encoded. Then what stands for the port is no number.
private func endOfSecret(_ text: ArraySlice<UInt8>, _ port: ArraySlice<UInt8>) -> Int? {
    if let sign = text.prefix(while: isOfAuthority).lastIndex(of: atSign) { return sign }
    if port.allSatisfy({ (0x30...0x39).contains($0) }) { return nil }
    return text.prefix { !endsPath($0) }.lastIndex(of: atSign)
}
