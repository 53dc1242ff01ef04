/// Returns a text without the secrets that the addresses in it may carry: names and passwords, values of queries, fragments.
///
/// An address may be spelled with characters that look like those of its syntax, or with `%40`: browsers and keyboards
/// write such. Where it hides a secret then, it is shown with what it stands for.
///
/// - Parameters:
///   - mark: as for ``withoutCredentials(_:mark:)``.
///   - ofAddressesOnly: as for ``withoutQueries(_:ofAddressesOnly:)``.
package func withoutSecrets(_ text: String, mark: String?, ofAddressesOnly: Bool) -> String {
    let plain = plainlySpelled(text)
    let shown = withoutQueries(
        withoutCredentials(plain, mark: mark), ofAddressesOnly: ofAddressesOnly)
    return shown == plain ? text : shown
}

/// The text with the ASCII characters that others look like (of those that NFKC changes, and slashes).
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

/// A text of somebody else's without secrets that it may repeat, nor parts of them, however they are spelled.
package func hiding(_ secrets: [String], in text: String) -> String {
    var text = text
    for secret in secrets where !secret.isEmpty { text = text.replacing(secret, with: "…") }
    for secret in secrets { text = masked(text, partsOf: secret) }
    return text
}

/// A text without what a part of a secret is: whoever repeats it may cut it.
private func masked(_ text: String, partsOf secret: String) -> String {
    let (length, lower) = (12, Array(secret.lowercased()))
    guard lower.count > length else { return text }
    let parts = Set((0...lower.count - length).map { String(lower[$0..<$0 + length]) })
    let (shown, compared) = (Array(text), Array(text.lowercased()))
    guard shown.count == compared.count, shown.count >= length else { return text }
    var isSecret = Array(repeating: false, count: shown.count)
    for start in 0...shown.count - length
    where parts.contains(String(compared[start..<start + length])) {
        for place in start..<start + length { isSecret[place] = true }
    }
    var masked = ""
    for place in shown.indices {
        if !isSecret[place] {
            masked.append(shown[place])
        } else if masked.last != "…" {
            masked.append("…")
        }
    }
    return masked
}
