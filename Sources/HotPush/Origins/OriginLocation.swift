package import CASStore
package import S3
import Storage

package enum OriginLocation: Sendable, Hashable, CustomStringConvertible {
    /// A path on this machine.
    case directory(String)
    /// An absolute `http` or `https` URL without a trailing slash.
    case web(String)
    /// A bucket, whose requests are signed.
    case bucket(BucketLocation)

    /// The URL or path of a file, from its path in ``OriginLayout``.
    package func appending(_ path: String) -> String {
        switch self {
        case .directory(let directory):
            directory.hasSuffix("/") ? directory + path : "\(directory)/\(path)"
        case .web(let base): "\(base)/\(path)"
        case .bucket(let bucket): bucket.url(path)
        }
    }

    /// Says what came in place of a file; a directory has no server that answers.
    func answer(_ status: Int) -> String {
        if case .directory = self, status == 404 { return "is not there" }
        return "answered \(status)"
    }

    /// Suggests what to try if there is no release, for the usual mistakes.
    package var advice: String {
        switch self {
        case .directory(let path):
            let host = path.prefix { $0 != "/" }
            let name = host.prefix { $0 != ":" }
            let isHost =
                name.first.map { $0.isLetter || $0.isNumber } ?? false
                && (host.contains(":") || name == "localhost" || name.contains("."))
            return isHost
                ? "a server's URL begins with http:// or https://: http://\(path)"
                : "check the path"
        case .web:
            if let end = description.firstRange(of: "/__cordova") {
                return "this is inside a Meteor server: give \(description[..<end.lowerBound])"
            }
        case .bucket: break
        }
        return "check the URL"
    }

    /// The path, or the URL without user and password, for messages and stored records of an origin.
    package var description: String {
        switch self {
        case .directory(let directory): return directory
        case .web(let base):
            let (scheme, rest) = OriginReference.split(base)
            let authority = rest.dropFirst(2).utf8.prefix { $0 != 47 }
            guard let at = authority.lastIndex(of: 64) else { return base }
            return "\(scheme ?? "")://***\(rest[at...])"
        case .bucket(let bucket):
            // The same name at another service is another bucket.
            let named = [("endpoint", bucket.endpoint), ("region", bucket.region)]
                .compactMap { name, value in value.map { "\(name)=\($0)" } }
            return bucket.description + (named.isEmpty ? "" : "?" + named.joined(separator: "&"))
        }
    }
}

/// A user's reference to an origin, which may name a channel.
package struct OriginReference: Sendable, Hashable {
    package var location: OriginLocation
    /// The channel, if the text is the URL or path of a pointer (`…/channels/beta.json`).
    package var channel: ChannelName?

    /// Reads a path, a `file:` URL (RFC 8089), an `http` or `https` URL, or `s3://BUCKET/PREFIX`.
    /// - Throws: `.badOrigin` with what is wrong; `.badChannelName` if it is the pointer of an impossible channel.
    package init(parsing text: String) throws(StoreError) {
        if BucketLocation.isOne(text) {
            var bucket = try BucketLocation(parsing: text)
            // With a slash as in a URL, since the prefix may be the whole path.
            (bucket.prefix, channel) = try Self.splitPointer("/" + bucket.prefix)
            while bucket.prefix.hasPrefix("/") { bucket.prefix.removeFirst() }
            location = .bucket(bucket)
            return
        }
        let (path, channel) = try Self.splitPointer(text)
        self.channel = channel
        for byte in path.utf8 where byte < 0x20 || byte == 0x7F {
            throw Self.refuse(text, "it has a control character")
        }
        guard !path.isEmpty else { throw Self.refuse(text, "it is empty") }
        let (scheme, rest) = Self.split(path)
        switch scheme?.lowercased() {
        case nil:
            // A path with a user name and password is a URL without its scheme.
            if !path.hasPrefix("/") || path.hasPrefix("//"), !path.hasPrefix("."),
                withoutCredentials(path, mark: nil) != path
            {
                throw Self.refuse(
                    text,
                    "it has a password and no https:// before it; write ./… if it is a directory")
            }
            location = .directory(path)
        case "file": location = .directory(try Self.directory(rest, text))
        case "http", "https": location = .web(try Self.base(path, rest, text))
        case let other?:
            throw Self.refuse(
                text,
                "\(other): is not a scheme that castree knows (file, http, https, s3); "
                    + "write ./\(path) if it is a directory")
        }
    }

    /// Separates a scheme (RFC 3986, section 3.1) from the rest; a single letter is not a scheme.
    static func split(_ text: String) -> (scheme: String?, rest: Substring) {
        guard let colon = text.utf8.firstIndex(of: 58) else { return (nil, text[...]) }
        let scheme = text[..<colon]
        guard scheme.utf8.count > 1, let first = scheme.utf8.first, isLetter(first) else {
            return (nil, text[...])
        }
        for byte in scheme.utf8
        where !isLetter(byte) && !(48...57).contains(byte) && ![43, 45, 46].contains(byte) {
            return (nil, text[...])
        }
        return (String(scheme), text[text.utf8.index(after: colon)...])
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (65...90).contains(byte) || (97...122).contains(byte)
    }

    private static func splitPointer(
        _ text: String
    ) throws(StoreError) -> (origin: String, channel: ChannelName?) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count > 2, parts[parts.count - 2] == OriginLayout.channels,
            let file = parts.last, file.hasSuffix(OriginLayout.suffix)
        else { return (text, nil) }
        let channel = try ChannelName(String(file.dropLast(OriginLayout.suffix.count)))
        let origin = parts.dropLast(2).joined(separator: "/")
        return (origin.isEmpty ? "/" : origin, channel)
    }

    private static func base(
        _ url: String, _ rest: Substring, _ text: String
    ) throws(StoreError) -> String {
        let authority = rest.dropFirst(2).utf8.prefix { $0 != 47 && $0 != 63 && $0 != 35 }
        guard rest.hasPrefix("//"), !authority.isEmpty, authority.last != 64 else {
            throw refuse(text, "it has no host")
        }
        // After the last colon outside of brackets comes the port (RFC 3986, section 3.2.3).
        let host = authority[
            (authority.lastIndex(of: 64).map(authority.index(after:)) ?? authority.startIndex)...]
        if let colon = host.lastIndex(of: 58), host.last != 93,
            !host[host.index(after: colon)...].allSatisfy({ (48...57).contains($0) })
        {
            throw refuse(text, "its port is not a number; a slash in a password is written %2F")
        }
        for byte in url.utf8 {
            if byte == 63 || byte == 35 {
                throw refuse(text, "an origin is a directory, so its URL has neither ? nor #")
            }
            if byte == 32 || byte >= 0x80 {
                throw refuse(text, "spaces and letters beyond ASCII are written with %")
            }
        }
        var base = url
        while base.hasSuffix("/") { base.removeLast() }
        return base
    }

    // RFC 8089, section 2: file:/path, file:///path, file://localhost/path.
    private static func directory(_ rest: Substring, _ text: String) throws(StoreError) -> String {
        var path = rest
        if path.hasPrefix("//") {
            path = path.dropFirst(2)
            let host = path.prefix { $0 != "/" }
            guard host.isEmpty || host.lowercased() == "localhost" else {
                throw refuse(text, "file: names a directory of this machine, not of \(host)")
            }
            path = path.dropFirst(host.count)
        }
        guard path.hasPrefix("/") else {
            throw refuse(text, "file: is followed by an absolute path")
        }
        guard let bytes = PercentEncoding.decoded(path.utf8), !bytes.contains(0),
            let decoded = String(validating: bytes, as: UTF8.self)
        else {
            throw refuse(text, "it has a % without two hexadecimal digits, NUL, or is not UTF-8")
        }
        return decoded
    }

    private static func refuse(_ text: String, _ problem: String) -> StoreError {
        StoreError(.badOrigin, "\"\(printable(text))\" does not name an origin: \(problem)")
    }
}

/// An origin in a bucket of an S3-compatible store.
///
/// `CurlTransport` makes one from `s3://BUCKET/PREFIX`. Publishers write to it, and a `Pull` reads from it through its
/// transport. No request is sent before it is used. Several threads may use one at once.
public struct OriginBucket: Sendable {
    package let storage: S3Storage
    /// The certificates to trust instead of the system's.
    package let certificatesFile: String?

    package init(_ storage: S3Storage, certificatesFile: String? = nil) {
        (self.storage, self.certificatesFile) = (storage, certificatesFile)
    }
}
