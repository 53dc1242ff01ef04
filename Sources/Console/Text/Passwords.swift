/// Returns a message without the user names and passwords of the URLs in it (RFC 3986, section 3.2.1): what
/// is printed ends up in logs and in questions to strangers.
func withoutPasswords(_ text: String) -> String {
    guard text.contains("://") else { return text }
    var result = ""
    var rest = text[...]
    while let scheme = rest.firstRange(of: "://") {
        result += rest[..<scheme.upperBound]
        rest = rest[scheme.upperBound...]
        // The end of the authority, or of a word: a blank, a quote or an angle bracket ends a URL.
        let end = rest.unicodeScalars.firstIndex { "/?# \t\n\"'<>".unicodeScalars.contains($0) }
        let authority = rest[..<(end ?? rest.endIndex)]
        if let sign = authority.lastIndex(of: "@") {
            result += "…"
            rest = rest[sign...]
        }
    }
    return result + rest
}
