/// Returns a text without the values of queries, which may be tokens and signatures.
///
/// In every word, replaces them with `*` and removes a fragment after them; names stay. What closes a quotation or a
/// sentence after an address stays, too.
///
/// - Parameter ofAddressesOnly: only in words with a `//` before the query; file names may have a question mark.
package func withoutQueries(_ text: String, ofAddressesOnly: Bool) -> String {
    guard text.utf8.contains(questionMark) else { return text }
    var result: [UInt8] = []
    var word: [UInt8] = []
    func end() {
        let start = word.firstIndex(of: questionMark) ?? 0
        if ofAddressesOnly, word[..<start].firstRange(of: [0x2F, 0x2F]) == nil {
            result += word
        } else {
            result += withoutQueryValues(word)
        }
        word.removeAll(keepingCapacity: true)
    }
    for byte in text.utf8 {
        if endsWord(byte) {
            end()
            result.append(byte)
        } else {
            word.append(byte)
        }
    }
    end()
    return String(decoding: result, as: UTF8.self)
}

private let questionMark: UInt8 = 0x3F

private func withoutQueryValues(_ word: [UInt8]) -> [UInt8] {
    let closing: [UInt8] = [0x27, 0x29, 0x2C, 0x2E, 0x3A, 0x3B]
    let end = (word.lastIndex { !closing.contains($0) } ?? -1) + 1
    guard let mark = word.firstIndex(of: questionMark), mark + 1 < end else { return word }
    let query = word[(mark + 1)..<end].prefix { $0 != 0x23 }
    let pairs = query.split(separator: 0x26).map { pair -> [UInt8] in
        guard let sign = pair.firstIndex(of: 0x3D) else { return [0x2A] }
        return Array(pair[...sign]) + [0x2A]
    }
    return Array(word[...mark]) + Array(pairs.joined(separator: [0x26])) + word[end...]
}
