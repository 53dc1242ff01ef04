// Passwords and tokens, which must not reach a log or a report.

import Platform

/// Returns a text without the secrets that URLs may carry.
///
/// Removes names and passwords. In every word, replaces the values of a query with `*` and removes a fragment after it.
func redacted(_ text: String) -> String {
    withoutSecrets(text, mark: nil, ofAddressesOnly: false)
}

/// Returns the sentence of an error without the names of files that it may contain.
///
/// Removes quoted texts, unless the word before shows that they name no file, and what follows the host in URLs. An
/// absolute path may contain spaces: it ends where the sentence surely continues, with a URL in brackets or the last
/// colon (as in the system's errors), or with the text. It is better to remove a word too many.
func withoutPaths(_ text: String) -> String {
    let sentence = withoutQuotations(Array(text.utf8))
    var result: [UInt8] = []
    var position = 0
    while position < sentence.count {
        var word = sentence[position...].prefix { $0 != 0x20 }
        // Brackets before a word are not part of it.
        while word.first == 0x28 { result.append(word.removeFirst()) }
        if word.first == 0x2F {
            result += hidden
            position = endOfPath(in: sentence, from: word.startIndex)
            continue
        }
        result += word.contains(0x2F) ? withoutPath(word) : Array(word)
        position = word.endIndex
        if position < sentence.count {
            result.append(0x20)
            position += 1
        }
    }
    return String(decoding: result, as: UTF8.self)
}

private let hidden = Array("…".utf8)

/// A quotation after these words is neither a file nor a secret.
private let namingWords = ["as", "channel", "field", "format", "kind", "type", "version"].map {
    Array(" \($0) ".utf8)
}

/// Replaces all other quotations with `"…"`; if one does not end, everything from the first mark to the last.
private func withoutQuotations(_ text: [UInt8]) -> [UInt8] {
    let marks = text.indices.filter { text[$0] == 0x22 }
    guard let first = marks.first, let last = marks.last else { return text }
    let quotation = [0x22] + hidden + [0x22]
    guard marks.count % 2 == 0 else {
        return Array(text[..<first]) + quotation + Array(text[(last + 1)...])
    }
    var result: [UInt8] = []
    var position = 0
    for pair in stride(from: 0, to: marks.count, by: 2) {
        let isName = namingWords.contains { ([0x20] + text[..<marks[pair]]).ends(with: $0) }
        result += text[position..<marks[pair]]
        result += isName ? Array(text[marks[pair]...marks[pair + 1]]) : quotation
        position = marks[pair + 1] + 1
    }
    return result + text[position...]
}

extension [UInt8] {
    fileprivate func ends(with end: [UInt8]) -> Bool { suffix(end.count).elementsEqual(end) }
}

private func endOfPath(in sentence: [UInt8], from start: Int) -> Int {
    if let address = sentence[start...].firstRange(of: Array(" (http".utf8)) {
        return address.lowerBound
    }
    let colon = (start..<max(start, sentence.count - 1)).last { position in
        sentence[position] == 0x3A && sentence[position + 1] == 0x20
    }
    return colon ?? sentence.count
}

/// Keeps the host of a URL, and nothing of a path.
private func withoutPath(_ word: ArraySlice<UInt8>) -> [UInt8] {
    let ends: [UInt8] = [0x29, 0x2C, 0x2E, 0x3A, 0x3B]
    let end = word.lastIndex { !ends.contains($0) } ?? word.endIndex - 1
    let tail = word[(end + 1)...]
    guard let scheme = word.firstRange(of: Array("://".utf8)) else { return hidden + tail }
    // Empty if there is nothing but `://`.
    let authority = word[scheme.upperBound..<(end + 1)].prefix {
        $0 != 0x2F && $0 != 0x3F && $0 != 0x23
    }
    guard authority.endIndex <= end else { return Array(word) }
    return word[..<authority.endIndex] + [0x2F] + hidden + tail
}

extension String {
    /// Cuts the text to at most `byteCount` bytes, at the end of a whole scalar.
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
