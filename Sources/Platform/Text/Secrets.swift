/// Removes the secrets in the addresses of a text: names and passwords, values of queries, fragments.
///
/// An address may be spelled with look-alikes of its syntax characters, or with `%40`, as browsers and keyboards
/// write. If it hides a secret that way, it is shown in plain spelling.
/// - Parameters:
///   - mark: as for ``withoutCredentials(_:mark:)``.
///   - ofAddressesOnly: as for ``withoutQueries(_:ofAddressesOnly:)``.
package func withoutSecrets(_ text: String, mark: String?, ofAddressesOnly: Bool) -> String {
    let plain = plainlySpelled(text)
    let shown = withoutQueries(
        withoutCredentials(plain, mark: mark), ofAddressesOnly: ofAddressesOnly)
    return shown == plain ? text : shown
}

/// Replaces characters that look like ASCII ones (those that NFKC changes, and slashes) by these.
private func plainlySpelled(_ text: String) -> String {
    var plain = ""
    for scalar in text.unicodeScalars {
        switch scalar.value {
        case 0xFF20, 0xFE6B: plain += "@"
        case 0xFF1A, 0xFE55, 0xFE13, 0x2236, 0xA789: plain += ":"
        case 0xFF0F, 0x2044, 0x2215, 0x29F8: plain += "/"
        case 0xFF1F, 0xFE56, 0xFE16: plain += "?"
        case 0xFF03, 0xFE5F: plain += "#"
        default: plain.unicodeScalars.append(scalar)
        }
    }
    return plain.replacing("%40", with: "@")
}

/// Hides secrets, and parts of them, in a text from outside that may repeat them, in any spelling: also in other
/// case, and percent-encoded (RFC 3986, section 2.1), even several times over.
package func hiding(_ secrets: [String], in text: String) -> String {
    let spelled = SpelledBytes(text)
    var isSecret = Array(repeating: false, count: spelled.plain.count)
    for secret in secrets {
        // Its own percent signs may be encoded, too, or not.
        let (plain, length) = (SpelledBytes(secret).plain, 12)
        spelled.find([plain[...]], among: spelled.plain, &isSecret)
        guard plain.count > length else { continue }
        // A repeated secret may be truncated.
        let lower = plain.map(\.lowercased)
        let parts = Set((0...lower.count - length).map { lower[$0..<$0 + length] })
        spelled.find(parts, among: spelled.plain.map(\.lowercased), &isSecret)
    }
    guard isSecret.contains(true) else { return text }
    var shown: [UInt8] = []
    for (place, isHidden) in isSecret.enumerated() {
        if !isHidden {
            shown += spelled.text[spelled.starts[place]..<spelled.starts[place + 1]]
        } else if place == 0 || !isSecret[place - 1] {
            shown += Array("…".utf8)
        }
    }
    return String(decoding: shown, as: UTF8.self)
}

/// A text's bytes with percent-encoded ones decoded.
private struct SpelledBytes {
    let text: [UInt8]
    private(set) var plain: [UInt8] = []
    /// Where each of ``plain`` begins in the text, followed by the text's end.
    private(set) var starts: [Int] = [0]

    init(_ string: String) {
        text = Array(string.utf8)
        while let start = starts.last, start < text.count {
            var (byte, end) = (text[start], start + 1)
            while byte == 37, let value = hexadecimal(at: end) { (byte, end) = (value, end + 2) }
            plain.append(byte)
            starts.append(end)
        }
    }

    private func hexadecimal(at place: Int) -> UInt8? {
        guard place + 2 <= text.count, let high = Hex.value(ofEitherCase: text[place]),
            let low = Hex.value(ofEitherCase: text[place + 1])
        else { return nil }
        return high << 4 | low
    }

    /// Marks the occurrences of words that have the same length.
    func find(_ words: Set<ArraySlice<UInt8>>, among bytes: [UInt8], _ isFound: inout [Bool]) {
        guard let length = words.first?.count, length > 0, bytes.count >= length else { return }
        for start in 0...bytes.count - length where words.contains(bytes[start..<start + length]) {
            for place in start..<start + length { isFound[place] = true }
        }
    }
}
