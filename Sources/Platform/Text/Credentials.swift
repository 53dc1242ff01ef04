/// Removes names and passwords from the addresses in a text, because printed text ends up in logs and questions.
///
/// Removes what precedes the `@` of an authority (RFC 3986, section 3.2.1), whatever comes before its `//`, since a
/// person may have left out a colon or the scheme. Without a `//`, removes what is between a colon and an `@`, as in
/// `user:secret@host`. A password may contain unencoded characters. In doubt it removes too much.
/// - Parameter mark: replaces a name and a password before the `@`; `nil` removes the `@`, too.
package func withoutCredentials(_ text: String, mark: String?) -> String {
    guard text.utf8.contains(atSign) else { return text }
    var result: [UInt8] = []
    // Blanks, quotes and angle brackets end an address in running text (RFC 3986, appendix C).
    var rest = withoutUnencodedSecrets(Array(text.utf8), mark)[...]
    while let end = rest.firstIndex(where: endsWord) {
        appendWord(rest[..<end], mark, to: &result)
        result.append(rest[end])
        rest = rest[(end + 1)...]
    }
    appendWord(rest, mark, to: &result)
    return String(decoding: result, as: UTF8.self)
}

func endsWord(_ byte: UInt8) -> Bool {
    byte <= 0x20 || [0x22, 0x3C, 0x3E].contains(byte)
}

/// Removes names and passwords that a blank, a quotation mark, `<`, `>`, `?` or `#` would cut in two.
///
/// A text that begins with a port or nothing before one of the first four, or with an IPv6 address, is not one.
private func withoutUnencodedSecrets(_ text: [UInt8], _ mark: String?) -> [UInt8] {
    var (result, rest) = ([UInt8](), text[...])
    while let slashes = rest.firstRange(of: [slash, slash]) {
        result += rest[..<slashes.upperBound]
        rest = rest[slashes.upperBound...]
        let run = authority(of: rest)
        guard let sign = run.lastIndex(of: atSign), let middle = run.firstIndex(of: colon),
            middle < sign, run.first != 0x5B
        else { continue }
        let isCut = { (byte: UInt8) in endsWord(byte) || endsPath(byte) }
        let secret = run[(middle + 1)..<sign]
        let beginning = secret.prefix { !isCut($0) }
        let isPort = beginning.allSatisfy { (0x30...0x39).contains($0) }
        guard beginning.count < secret.count, !run[..<middle].contains(where: isCut),
            !isPort || !secret.contains(where: endsWord)
        else { continue }
        if let mark { result += Array(mark.utf8) + [atSign] }
        rest = rest[(sign + 1)...]
    }
    return result + rest
}

/// The possible authority at the start of a text: it ends at a slash, unless that belongs to a password.
private func authority(of text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let line = text.prefix { $0 != 0x0A }
    let run = line.prefix { $0 != slash }
    guard !run.contains(atSign), let middle = run.firstIndex(of: colon),
        !run[(middle + 1)...].prefix(while: { !endsWord($0) })
            .allSatisfy({ (0x30...0x39).contains($0) })
    else { return run }
    // Not beyond the next address.
    let rest = line[
        ..<(line[run.endIndex...].firstRange(of: [slash, slash])?.lowerBound ?? line.endIndex)]
    guard let sign = rest.firstIndex(of: atSign) else { return run }
    return rest[..<(rest[sign...].firstIndex(of: slash) ?? rest.endIndex)]
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

/// The `@` that ends the secret at the start of a text; `nil` if there is none.
///
/// A password may contain an unencoded slash; what looks like the port is then not a number.
private func endOfSecret(_ text: ArraySlice<UInt8>, _ port: ArraySlice<UInt8>) -> Int? {
    if let sign = text.prefix(while: isOfAuthority).lastIndex(of: atSign) { return sign }
    if port.allSatisfy({ (0x30...0x39).contains($0) }) { return nil }
    return text.lastIndex(of: atSign)
}
