// What a log must not hold: whoever reads a report has no business with passwords and tokens.

/// Returns a text without the secrets that URLs may carry.
///
/// In every word that has a `://`, what stands before an `@` of the authority goes (RFC 3986, section
/// 3.2.1). In every word, the values of a query become `*` and a fragment behind it goes.
func redacted(_ text: String) -> String {
    var result: [UInt8] = []
    var word: [UInt8] = []
    for byte in text.utf8 {
        // Blanks, quotes and angle brackets end a URL in running text (RFC 3986, appendix C).
        if byte <= 0x20 || byte == 0x22 || byte == 0x3C || byte == 0x3E {
            result += redacted(word: word)
            result.append(byte)
            word.removeAll(keepingCapacity: true)
        } else {
            word.append(byte)
        }
    }
    result += redacted(word: word)
    return String(decoding: result, as: UTF8.self)
}

private func redacted(word: [UInt8]) -> [UInt8] {
    withoutQueryValues(withoutUser(word))
}

private func withoutUser(_ word: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var position = 0
    while position < word.count {
        guard word[position...].starts(with: [0x3A, 0x2F, 0x2F]) else {
            result.append(word[position])
            position += 1
            continue
        }
        position += 3
        let rest = word[position...]
        let end = rest.firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? word.count
        if let sign = word[position..<end].lastIndex(of: 0x40) { position = sign + 1 }
        result += [0x3A, 0x2F, 0x2F]
    }
    return result
}

private func withoutQueryValues(_ word: [UInt8]) -> [UInt8] {
    guard let mark = word.firstIndex(of: 0x3F), mark + 1 < word.count else { return word }
    let query = word[(mark + 1)...].prefix { $0 != 0x23 }
    let pairs = query.split(separator: 0x26).map { pair -> [UInt8] in
        guard let sign = pair.firstIndex(of: 0x3D) else { return [0x2A] }
        return Array(pair[...sign]) + [0x2A]
    }
    return Array(word[...mark] + pairs.joined(separator: [0x26]))
}

extension String {
    /// The text, cut so that it has at most `byteCount` bytes and ends with a whole scalar.
    func clipped(to byteCount: Int) -> String {
        guard utf8.count > byteCount else { return self }
        var result = ""
        for scalar in unicodeScalars {
            guard result.utf8.count + UTF8.width(scalar) + 3 <= byteCount else { break }
            result.unicodeScalars.append(scalar)
        }
        return result + "…"
    }
}
