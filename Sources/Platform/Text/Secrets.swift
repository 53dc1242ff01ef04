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
