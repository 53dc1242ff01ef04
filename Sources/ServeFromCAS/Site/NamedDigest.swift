import CASStore

/// A digest of content in the name of its file: the one proof that a name changes whenever its content does.
///
/// It counts if the name contains, delimited, at least the first eight digits (hexadecimal or base64url) of the
/// content's SHA-256, SHA-1 or MD5. A name that only looks so (`feed2024.json`, a record's identifier, a bundler's
/// hash of something else) would be a stale file that no reload mends.
enum NamedDigest {
    private static let digitsMin = 8

    /// Whether a decoded URL path has a digest of the content.
    /// - Parameter digests: the content's SHA-1 and MD5, requested only if the name may have one.
    static func stands(
        in path: ArraySlice<UInt8>, of address: ObjectID, _ byteCount: Int64,
        _ digests: (ObjectID, Int64) -> [Label]
    ) -> Bool {
        let starts = starts(in: path)
        guard !starts.isEmpty else { return false }
        if isNamed(path, starts, address.bytes) { return true }
        guard starts.contains(where: { looksLikeDigits(path[$0...]) }) else { return false }
        return digests(address, byteCount).contains { isNamed(path, starts, $0.bytes) }
    }

    /// Where in a path digits may begin: after a character that is neither letter nor digit.
    private static func starts(in path: ArraySlice<UInt8>) -> [Int] {
        path.indices.filter { position in
            guard position == path.startIndex || !path[position - 1].isWord else {
                return false
            }
            let digits = path[position...].prefix(digitsMin)
            // Eight lower-case letters are a word: one digest in two thousand begins so.
            return digits.count == digitsMin && digits.allSatisfy(isDigit)
                && digits.contains { !(97...122).contains($0) }
        }
    }

    private static func isNamed(
        _ path: ArraySlice<UInt8>, _ starts: [Int], _ digest: [UInt8]
    ) -> Bool {
        let hex = Array(Hex.string(digest).utf8)
        let base64 = Array(Base64.urlString(digest).utf8)
        return starts.contains { start in
            isPrefix(path[start...].map { FieldText.lowercased($0) }, of: hex)
                || isPrefix(Array(path[start...]), of: base64)
        }
    }

    /// Whether a text begins with enough digits, and something else follows them.
    private static func isPrefix(_ text: [UInt8], of digits: [UInt8]) -> Bool {
        let same = zip(text, digits).prefix { $0 == $1 }.count
        guard same >= digitsMin else { return false }
        return (digitsMin...same).contains { $0 == text.count || !text[$0].isWord }
    }

    /// Whether digits of a kind that words rarely have begin here: only then is a file read to find its digests.
    private static func looksLikeDigits(_ text: ArraySlice<UInt8>) -> Bool {
        let run = text.prefix { $0 != 46 && $0 != 47 }
        let hex = run.prefix(while: \.isWord)
        if hex.count >= digitsMin, hex.allSatisfy({ Hex.value(ofEitherCase: $0) != nil }) {
            return true
        }
        return run.contains { (48...57).contains($0) } && run.contains { (65...90).contains($0) }
            && run.contains { (97...122).contains($0) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte.isPlain && byte != 46
    }
}

extension UInt8 {
    /// Whether it is a letter or digit, or of a character beyond ASCII.
    var isWord: Bool { isAlphanumeric || self >= 128 }
}
