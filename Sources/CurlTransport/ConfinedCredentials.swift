internal import CCurl
internal import HotPush

/// The credentials of an origin, and which requests get them.
struct ConfinedCredentials {
    private let origin: URLParts
    private let authorization: String?
    /// A file in which libcurl looks for a user.
    let netrcFile: String?

    init?(_ credentials: OriginCredentials?) {
        guard let credentials, let origin = URLParts(credentials.origin) else { return nil }
        self.origin = origin
        authorization = credentials.authorization
        netrcFile = credentials.netrcFile
    }

    /// - Parameter isForeign: whether a redirect led to an origin other than the request's own.
    func isFor(_ url: String, isForeign: Bool) -> Bool {
        guard !isForeign, let parts = URLParts(url) else { return false }
        return parts.hasOrigin(of: origin)
    }

    /// Nil if the URL names a user, who takes precedence.
    func field(for url: String) -> String? {
        guard let authorization, URLParts(url)?.hasUser == false else { return nil }
        return "Authorization: \(authorization)"
    }
}
