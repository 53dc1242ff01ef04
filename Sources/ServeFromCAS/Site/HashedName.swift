import CASStore

/// Whether a URL's name looks as if it changed whenever its content does, like the names that build tools write.
///
/// Looks decide whether a missing file is one that a page needs, but never alone what a cache may keep
/// (``NamedDigest``). A file name with an ending counts as hashed if it has a run of at least 8 hexadecimal digits of
/// one case, including a digit and a letter, between characters that are neither letters nor digits:
/// `app.3f2a9c1b.js`, `style-0badcafe42.css`. So do all names under a directory whose name has such a run of at least
/// 32. Not counted: decimal numbers (`report-20240115.pdf` is a date), UUIDs (they name records), and base64 hashes
/// (`index-DzX3k2a9.js`), which look like words.
package enum HashedName {
    package static func matches(_ path: ArraySlice<UInt8>) -> Bool {
        path.withUnsafeBufferPointer { path in
            let name = (path.lastIndex(of: 47) ?? -1) + 1
            guard let dot = path.lastIndex(of: 46), dot > name, dot + 1 < path.count else {
                return false
            }
            return hasRun(path, 0..<name, atLeast: 32)
                || hasRun(path, name..<path.count, atLeast: 8)
        }
    }

    /// Whether a script or style has such digits after a name of its own: `app.3f2a9c1b.js`.
    ///
    /// Bundlers write such names; few others do for code. Digits that are a word and a number (`face2face`,
    /// `feed2024`) do not count. The file is immutable only if the versions of a store confirm it (``Site/Names``).
    static func isOfBuild(_ path: ArraySlice<UInt8>) -> Bool {
        guard let name = path.lastIndex(of: 47).map({ path[($0 + 1)...] }),
            [".js", ".mjs", ".css"].contains(where: { Array(name).hasEnding($0.utf8) }),
            let mark = name.firstIndex(where: { $0 == 45 || $0 == 46 }), mark > name.startIndex
        else { return false }
        let rest = name[(mark + 1)...]
        guard matches([47] + rest) else { return false }
        return rest.split(whereSeparator: { !$0.isWord }).contains {
            isMixed($0) && matches(Array("/x.".utf8) + $0)
        }
    }

    /// Whether letters and digits alternate at least three times: in names that people write they do once or twice.
    private static func isMixed(_ run: ArraySlice<UInt8>) -> Bool {
        zip(run, run.dropFirst()).count { (48...57).contains($0) != (48...57).contains($1) } >= 3
    }

    /// Whether there is a run of 40 lower-case hexadecimal digits anywhere: Meteor's rule.
    static func hasMeteorLabel(_ path: some Collection<UInt8>) -> Bool {
        var length = 0
        for byte in path {
            let isDigit = byte >= 48 && byte <= 57 || byte >= 97 && byte <= 102
            length = isDigit ? length + 1 : 0
            if length == 40 { return true }
        }
        return false
    }

    private static func hasRun(
        _ path: UnsafeBufferPointer<UInt8>, _ part: Range<Int>, atLeast least: Int
    ) -> Bool {
        var start = part.lowerBound
        while start < part.upperBound {
            var end = start
            while end < part.upperBound, path[end].isWord { end += 1 }
            if end - start >= least, isHash(path, start..<end), !isOfUUID(path, start..<end) {
                return true
            }
            start = end + 1
        }
        return false
    }

    /// Whether a run is the first or the last group of a UUID, 8-4-4-4-12 digits.
    private static func isOfUUID(_ path: UnsafeBufferPointer<UInt8>, _ run: Range<Int>) -> Bool {
        switch run.count {
        case 8: isUUID(path, at: run.lowerBound)
        case 12: isUUID(path, at: run.lowerBound - 24)
        default: false
        }
    }

    private static func isUUID(_ path: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
        guard start >= 0, start + 36 <= path.count else { return false }
        for offset in 0..<36 {
            let isDash = [8, 13, 18, 23].contains(offset)
            if isDash != (path[start + offset] == 45) { return false }
        }
        return true
    }

    private static func isHash(_ path: UnsafeBufferPointer<UInt8>, _ run: Range<Int>) -> Bool {
        var (digits, lower, upper) = (false, false, false)
        for position in run {
            switch path[position] {
            case 48...57: digits = true
            case 97...102: lower = true
            case 65...70: upper = true
            default: return false
            }
        }
        return digits && lower != upper
    }
}

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
