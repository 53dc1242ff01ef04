/// Rewrites the upstream's own URLs and cookies in an answer for the app's origin.
///
/// Otherwise a browser would leave the app for the upstream's URL, and refuse its cookie. Like nginx's
/// proxy_redirect, proxy_cookie_domain, proxy_cookie_path and proxy_cookie_flags. Values that name neither the
/// upstream nor what the route replaces stay as they are.
struct UpstreamNames {
    let route: ProxyRoute
    /// Whether the browser is at an http address, where some browsers keep no cookie that is for https alone.
    var isPlain = false

    /// The value of a field for the client; `nil` if it stays.
    func rewritten(_ bytes: Span<UInt8>, _ field: RequestHead.Field) -> [UInt8]? {
        func isNamed(_ name: StaticString) -> Bool { FieldName.matches(bytes, field.name, name) }
        switch field.name.count {
        case 8 where isNamed("location"), 16 where isNamed("content-location"):
            return address(value(bytes, field))
        case 10 where isNamed("set-cookie"): return cookie(value(bytes, field))
        case 15 where isNamed("clear-site-data"):
            return ClearedData.withoutCookies(value(bytes, field))
        default: return nil
        }
    }

    /// Whether a field must not reach the client: it sets one of this server's own cookies (for pages and access), or
    /// does nothing but delete them.
    func isRefused(_ bytes: Span<UInt8>, _ field: RequestHead.Field) -> Bool {
        switch field.name.count {
        case 10:
            FieldName.matches(bytes, field.name, "set-cookie")
                && CookieText.setsOwn(value(bytes, field))
        case 15:
            FieldName.matches(bytes, field.name, "clear-site-data")
                && ClearedData.withoutCookies(value(bytes, field)) == []
        default: false
        }
    }

    private func value(_ bytes: Span<UInt8>, _ field: RequestHead.Field) -> [UInt8] {
        bytes.extracting(field.value).withUnsafeBufferPointer { Array($0) }
    }

    /// A URL of the upstream, or a path of it, as a path of the app; `nil` for anything else.
    private func address(_ value: [UInt8]) -> [UInt8]? {
        if value.starts(with: [47]), !value.starts(with: [47, 47]) {
            return route.base == nil ? nil : route.path(ofUpstream: value[...])
        }
        for start in route.origin.spellings {
            let begins = value.prefix(start.count).map { FieldText.lowercased($0) } == start
            guard begins else { continue }
            let rest = value[start.count...]
            if rest.isEmpty { return route.path(ofUpstream: [47]) }
            // A longer port or name is another server's.
            guard [47, 63, 35].contains(value[start.count]) else { continue }
            return route.path(ofUpstream: rest.first == 47 ? rest : [47] + rest)
        }
        return nil
    }

    /// A cookie without the upstream's domain, with the path of its pages in the app (RFC 6265, section 5.2), and for
    /// the scheme of the app; `nil` if it stays.
    private func cookie(_ value: [UInt8]) -> [UInt8]? {
        var parts = value.split(separator: 59, omittingEmptySubsequences: false)
        let count = parts.count
        var hasChanged = false
        let losesSecure = isPlain && !Self.needsSecure(value)
        parts = parts.enumerated().compactMap { index, part -> ArraySlice<UInt8>? in
            guard index > 0 else { return part }
            let attribute = Attribute(part)
            if losesSecure, attribute.isForSecure { return nil }
            // Without Secure, browsers refuse it; without the attribute, most take Lax.
            if losesSecure, attribute.isSameSiteNone {
                hasChanged = true
                return Array(" SameSite=Lax".utf8)[...]
            }
            if attribute.name == Array("domain".utf8), isOwn(domain: attribute.value) { return nil }
            if attribute.name == Array("path".utf8), route.base != nil,
                let path = route.path(ofUpstream: attribute.value)
            {
                hasChanged = true
                return (Array(" Path=".utf8) + path)[...]
            }
            return part
        }
        guard hasChanged || parts.count < count else { return nil }
        return Array(parts.joined(separator: [59]))
    }

    /// Whether a cookie's own name says that it is Secure: without that, every browser refuses it (RFC 6265bis,
    /// section 4.1.3).
    private static func needsSecure(_ value: [UInt8]) -> Bool {
        let name = value[...].trimmed().map { FieldText.lowercased($0) }
        return name.starts(with: "__secure-".utf8) || name.starts(with: "__host-".utf8)
    }

    private struct Attribute {
        let name: [UInt8]
        let value: ArraySlice<UInt8>

        init(_ part: ArraySlice<UInt8>) {
            let equals = part.firstIndex(of: 61)
            name = part[..<(equals ?? part.endIndex)].trimmed().map { FieldText.lowercased($0) }
            value = equals.map { part[($0 + 1)...].trimmed() } ?? []
        }

        /// Whether the attribute is refused without https, or requires Secure (CHIPS).
        var isForSecure: Bool {
            name == Array("secure".utf8) || name == Array("partitioned".utf8)
        }

        var isSameSiteNone: Bool { name == Array("samesite".utf8) && value.isWord("none") }
    }

    /// Whether the upstream may set cookies for a domain: its host, or one above it.
    private func isOwn(domain: ArraySlice<UInt8>) -> Bool {
        let name = domain.drop { $0 == 46 }.map { FieldText.lowercased($0) }
        let host = Array(route.origin.host.utf8)
        return !name.isEmpty && (host == name || host.suffix(name.count + 1) == [46] + name)
    }
}

extension UpstreamOrigin {
    /// The beginnings of URLs that mean this origin, in lower case, the longest first.
    fileprivate var spellings: [[UInt8]] {
        let usual: UInt16 = isSecure ? 443 : 80
        let names = (port == usual ? ["\(authority):\(port)"] : []) + [authority]
        return names.flatMap { name in
            [Array("\(isSecure ? "https" : "http")://\(name)".utf8), Array("//\(name)".utf8)]
        }
    }
}
