package import Platform

/// An origin in a bucket, as a user writes it: `s3://BUCKET/PREFIX[?endpoint=URL&region=NAME&profile=NAME]`.
package struct BucketLocation: Sendable, Hashable, CustomStringConvertible {
    package var bucket: String
    /// What precedes each key, without slashes at its ends; may be empty.
    package var prefix: String
    package var endpoint: String?
    package var region: String?
    /// The profile in the text, which tells two buckets' keys apart.
    package var profile: String?

    /// Keys have at most 1,024 bytes.
    package static let prefixByteCountMax = 700

    package func key(_ relative: String) -> String {
        prefix.isEmpty ? relative : "\(prefix)/\(relative)"
    }

    /// `s3://BUCKET/PREFIX/KEY`, which names a file for people and not for a network.
    package func url(_ relative: String) -> String { "s3://\(bucket)/\(key(relative))" }

    /// Whether they are the same, or one is within the other.
    package func overlaps(_ other: BucketLocation) -> Bool {
        guard bucket == other.bucket, endpoint == other.endpoint else { return false }
        let (mine, theirs) = (key(""), other.key(""))
        return mine.hasPrefix(theirs) || theirs.hasPrefix(mine)
    }

    /// `s3://BUCKET/PREFIX`: without endpoint, region and profile.
    package var description: String { "s3://\(bucket)/\(prefix)" }

    /// Whether a text is meant as a bucket: `S3://…` and `s3:/…` are, and are refused as such.
    package static func isOne(_ text: String) -> Bool {
        text.utf8.prefix(3).elementsEqual("s3:".utf8)
            || text.utf8.prefix(3).elementsEqual("S3:".utf8)
    }

    /// Reads a text whose query values may be percent-encoded.
    /// - Throws: `.badOrigin` with what is wrong.
    package init(parsing text: String) throws(StoreError) {
        guard !text.contains("@"), !text.contains("%40") else {
            throw StoreError(
                .badOrigin,
                "the name of an origin in a bucket holds neither user nor password, and this one has an @; give "
                    + "the keys in the environment or in a profile")
        }
        guard text.utf8.starts(with: "s3://".utf8) else {
            throw Self.refuse(text, "such a name begins with s3://, a small s and two slashes")
        }
        let rest = text.dropFirst(5)
        let path = rest.prefix { $0 != "?" }
        let name = path.prefix { $0 != "/" }
        guard Self.isBucketName(name) else {
            throw Self.refuse(
                text,
                "a bucket's name has 3 to 63 small letters, digits, dots and hyphens, "
                    + "and begins and ends with a letter or digit")
        }
        bucket = String(name)
        var prefix = path.dropFirst(name.count)
        // One at each end: a key that begins with a slash is another one.
        if prefix.hasPrefix("/") { prefix.removeFirst() }
        if prefix.hasSuffix("/") { prefix.removeLast() }
        try Self.check(prefix, text)
        self.prefix = String(prefix)
        guard path.count < rest.count else { return }
        try readQuery(rest.dropFirst(path.count + 1), text)
    }

    private mutating func readQuery(_ query: Substring, _ text: String) throws(StoreError) {
        for item in query.split(separator: "&", omittingEmptySubsequences: false) {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let bytes = PercentEncoding.decoded(parts[1].utf8),
                let value = String(validating: bytes, as: UTF8.self), !value.isEmpty
            else { throw Self.refuse(text, Self.queryAdvice) }
            switch parts[0] {
            case "endpoint" where endpoint == nil: endpoint = value
            case "region" where region == nil: region = value
            case "profile" where profile == nil: profile = value
            case "endpoint", "region", "profile":
                throw Self.refuse(text, "\(parts[0]) stands there twice")
            default: throw Self.refuse(text, Self.queryAdvice)
            }
        }
    }

    private static var queryAdvice: String {
        "after the ? stand endpoint=URL, region=NAME and profile=NAME"
    }

    private static func check(_ prefix: Substring, _ text: String) throws(StoreError) {
        guard prefix.utf8.count <= prefixByteCountMax else {
            throw refuse(text, "its prefix has more than \(prefixByteCountMax) bytes")
        }
        for byte in prefix.utf8 where !byte.isPlain && byte != UInt8(ascii: "/") {
            throw refuse(text, "a prefix has letters, digits and . _ - / only")
        }
        // Clients and proxies remove empty and dotted segments, and the signature fails.
        for part in prefix.split(separator: "/", omittingEmptySubsequences: false)
        where part == "." || part == ".." || (part.isEmpty && !prefix.isEmpty) {
            throw refuse(text, "a prefix has neither // nor . or .. between slashes")
        }
    }

    /// The rules for names of buckets, without those that distinguish them from addresses.
    private static func isBucketName(_ name: Substring) -> Bool {
        let isEdge = { (byte: UInt8?) in byte?.isAlphanumeric == true }
        return (3...63).contains(name.utf8.count) && isEdge(name.utf8.first)
            && isEdge(name.utf8.last)
            && name.utf8.allSatisfy { $0.isPlain && !(65...90).contains($0) && $0 != 95 }
            && !name.contains("..")
    }

    private static func refuse(_ text: String, _ problem: String) -> StoreError {
        // Keys do not belong here; if somebody writes them here, no log must show them.
        let secret = text.utf8.lastIndex(of: UInt8(ascii: "@"))
        let text = secret.map { "s3://***" + text[$0...] } ?? text
        return StoreError(
            .badOrigin, "\"\(printable(text))\" does not name an origin in a bucket: \(problem)")
    }
}
