/// Replaces the values of queries, and fragments, by `*` in every word of a text, because they may be secrets.
///
/// Names stay, and so does what closes a quotation or a sentence after an address.
/// - Parameter ofAddressesOnly: only in words with a `//` before the query, since file names may have a question
///   mark. A fragment counts only in such words, and after a query.
package func withoutQueries(_ text: String, ofAddressesOnly: Bool) -> String {
    guard text.utf8.contains(where: { $0 == questionMark || $0 == numberSign }) else { return text }
    var result: [UInt8] = []
    var word: [UInt8] = []
    func end() {
        let start = word.firstIndex { $0 == questionMark || $0 == numberSign } ?? 0
        let isAddress = word[..<start].firstRange(of: [0x2F, 0x2F]) != nil
        if isAddress || !ofAddressesOnly && word.contains(questionMark) {
            result += withoutQueryValues(word, from: start)
        } else {
            result += word
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

private let (questionMark, numberSign): (UInt8, UInt8) = (0x3F, 0x23)

/// - Parameter mark: where the query begins, or the fragment.
private func withoutQueryValues(_ word: [UInt8], from mark: Int) -> [UInt8] {
    let closing: [UInt8] = [0x27, 0x29, 0x2C, 0x2E, 0x3A, 0x3B]
    let end = (word.lastIndex { !closing.contains($0) } ?? -1) + 1
    guard mark + 1 < end else { return word }
    if word[mark] == numberSign { return word[...mark] + [0x2A] + word[end...] }
    let query = word[(mark + 1)..<end].prefix { $0 != numberSign }
    let pairs = query.split(separator: 0x26).map { pair -> [UInt8] in
        guard let sign = pair.firstIndex(of: 0x3D) else { return [0x2A] }
        return Array(pair[...sign]) + [0x2A]
    }
    return Array(word[...mark]) + Array(pairs.joined(separator: [0x26])) + word[end...]
}
