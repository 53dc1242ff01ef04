package import Platform

package struct BucketEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// Whether TLS is used; only an endpoint that names `http` does without.
    package let isHTTPS: Bool
    /// With the port if it is not the scheme's.
    package private(set) var host: String
    /// What precedes bucket and key; empty, or begins with a slash.
    package let basePath: String
    package let bucket: String
    /// Whether the bucket is named in the path, not in the host.
    package let isPathStyle: Bool
    /// The region of the signature.
    package private(set) var region: String
    /// Whether the host follows from the region, as nobody named an endpoint.
    package let isDefault: Bool

    /// `https://HOST`, for messages.
    package var description: String { (isHTTPS ? "https://" : "http://") + host + basePath }

    package var requestHost: String { isPathStyle ? host : "\(bucket).\(host)" }

    /// The path of a key, or of the bucket; not encoded.
    package func path(_ key: String?) -> String {
        let start = isPathStyle ? "\(basePath)/\(bucket)" : basePath
        guard let key else { return isPathStyle ? start : start + "/" }
        return "\(start)/\(key)"
    }

    /// Scheme and host of a request's URL.
    package var origin: String { (isHTTPS ? "https://" : "http://") + requestHost }

    package func moved(to region: String) -> BucketEndpoint {
        var moved = self
        moved.region = region
        if isDefault { moved.host = Self.defaultHost(region) }
        return moved
    }

    /// - Parameters:
    ///   - endpoint: as named by the location, an option, the environment or the profile.
    ///   - region: likewise; `us-east-1` without it.
    /// - Throws: `.badOrigin` if the endpoint is no `http` or `https` URL of a host, or the region's name is invalid.
    package init(bucket: String, endpoint: String?, region: String?) throws(StoreError) {
        let region = region ?? "us-east-1"
        guard Self.isName(region) else {
            throw StoreError(.badOrigin, "\"\(printable(region))\" cannot be the name of a region")
        }
        self.bucket = bucket
        self.region = region
        isDefault = endpoint == nil
        guard let endpoint else {
            isHTTPS = true
            host = Self.defaultHost(region)
            basePath = ""
            // A certificate for *.s3.… fits no name with a further dot.
            isPathStyle = bucket.contains(".")
            return
        }
        isPathStyle = true
        (isHTTPS, host, basePath) = try Self.parse(endpoint)
    }

    private static func defaultHost(_ region: String) -> String {
        "s3.\(region).amazonaws.com" + (region.hasPrefix("cn-") ? ".cn" : "")
    }

    private static func parse(
        _ endpoint: String
    ) throws(StoreError) -> (isHTTPS: Bool, host: String, path: String) {
        // The text may hold a password, so it is not shown.
        guard !endpoint.contains("@") else {
            throw StoreError(
                .badOrigin,
                "the URL of an endpoint holds neither user nor password, and this one has an @; give the keys "
                    + "in the environment or in a profile")
        }
        let text = endpoint.lowercased()
        let isHTTPS = text.hasPrefix("https://")
        guard isHTTPS || text.hasPrefix("http://") else {
            throw refuse(endpoint, "it begins with https:// or http://")
        }
        let rest = endpoint.dropFirst(isHTTPS ? 8 : 7)
        var host = rest.prefix { $0 != "/" }.lowercased()
        var path = rest.dropFirst(host.count)
        while path.hasSuffix("/") { path.removeLast() }
        for byte in path.utf8 where !byte.isPlain && byte != UInt8(ascii: "/") {
            throw refuse(endpoint, "its path has letters, digits and . _ - / only")
        }
        let isBracketed = host.hasPrefix("[")
        for byte in host.utf8
        where !byte.isPlain && byte != UInt8(ascii: ":")
            && !(isBracketed && [UInt8(ascii: "["), UInt8(ascii: "]")].contains(byte))
        {
            throw refuse(endpoint, "a host and perhaps a port follow, and nothing else")
        }
        let standard = isHTTPS ? ":443" : ":80"
        if host.hasSuffix(standard) { host.removeLast(standard.count) }
        guard !host.isEmpty, host.first != ":", host.last != ":" else {
            throw refuse(endpoint, "it has no host")
        }
        return (isHTTPS, host, String(path))
    }

    static func isName(_ region: String) -> Bool {
        (1...64).contains(region.utf8.count) && region.utf8.allSatisfy(\.isPlain)
    }

    private static func refuse(_ endpoint: String, _ rule: String) -> StoreError {
        StoreError(.badOrigin, "\"\(printable(endpoint))\" is not the URL of an endpoint: \(rule)")
    }
}
