/// Escapes control characters, bidirectional overrides and backslashes, and truncates long text, so that a name from
/// a network can neither rewrite a terminal, nor hide in a message, nor fill one.
/// - Parameter byteCountMax: the most bytes to keep, not counting the rest of the last character and the dots; `.max`
///   for what programs read, such as logs and the paths of findings.
package func printable(_ text: String, _ byteCountMax: Int = 1024) -> String {
    // A cut must not separate a secret from what marks it as one.
    let text =
        text.utf8.count > byteCountMax
        ? withoutSecrets(text, mark: "…", ofAddressesOnly: true) : text
    var result = ""
    for scalar in text.unicodeScalars {
        guard result.utf8.count < byteCountMax else { return result + "…" }
        switch scalar.value {
        case 0x20...0x5B, 0x5D...0x7E: result.unicodeScalars.append(scalar)
        case 0...0x1F, 0x5C, 0x7F...0x9F, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x2069, 0xFEFF:
            result += "\\u{" + String(scalar.value, radix: 16) + "}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}

extension UInt8 {
    /// Changes ASCII letters only.
    package var lowercased: UInt8 { (65...90).contains(self) ? self | 0x20 : self }

    package var isAlphanumeric: Bool {
        switch self {
        case 48...57, 65...90, 97...122: true
        default: false
        }
    }

    /// Whether it is an ASCII letter or digit or one of `. _ -`.
    package var isPlain: Bool {
        isAlphanumeric || self == 45 || self == 46 || self == 95
    }
}

extension BidirectionalCollection {
    /// The part without the elements at both ends that are blank.
    package func trimmed(where isBlank: (Element) -> Bool) -> SubSequence {
        guard let first = firstIndex(where: { !isBlank($0) }),
            let last = lastIndex(where: { !isBlank($0) })
        else { return self[endIndex...] }
        return self[first...last]
    }
}
