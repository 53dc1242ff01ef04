/// The secret that requests must carry, so that other programs and users of the machine can read nothing.
///
/// The page's address carries it once, as a query parameter; the answer sets a cookie for later requests. The cookie
/// has an age, so it outlives a web process that the system kills.
package struct TokenPolicy: Sendable {
    package enum Verdict: Sendable {
        case granted
        /// The parameter is right: add this as Set-Cookie.
        case grantedWithCookie(String)
        /// Neither is right: send this.
        case refused(Response)
    }

    private let token: [UInt8]
    private let name: [UInt8]
    private let cookie: String

    /// - Parameters:
    ///   - token: letters and digits; made by the caller from enough randomness.
    ///   - name: of the parameter and the cookie. Cookies ignore ports: two servers on one host need two names.
    ///   - isSecure: whether the cookie is for https alone.
    ///   - path: of the URLs that the cookie is sent to.
    ///   - seconds: how long the browser keeps the cookie; `nil` for as long as it runs.
    package init(
        token: String, name: String, isSecure: Bool = false, path: String = "/",
        seconds: Int? = 31_536_000
    ) {
        precondition(!token.isEmpty && token.utf8.allSatisfy(CookieText.isPlain))
        precondition(!name.isEmpty && name.utf8.allSatisfy(CookieText.isPlain))
        self.token = Array(token.utf8)
        self.name = Array(name.utf8)
        cookie =
            "\(name)=\(token); Path=\(path)" + (seconds.map { "; Max-Age=\($0)" } ?? "")
            + "; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
    }

    /// Checks a request's cookie, then its query, in a time that depends on lengths only.
    package func verdict(on request: borrowing RequestHead) -> Verdict {
        for value in CookieText.values(of: name, in: request) where value.isEqual(to: token) {
            return .granted
        }
        if let query = request.query {
            for parameter in request.bytes[query].split(separator: 38) {
                guard let equals = parameter.firstIndex(of: 61),
                    parameter[..<equals].elementsEqual(name)
                else { continue }
                if parameter[(equals + 1)...].isEqual(to: token) {
                    return .grantedWithCookie(cookie)
                }
            }
        }
        return .refused(
            PlainAnswer.response(
                403, "This server answers only to the app that it belongs to.",
                method: request.method))
    }
}

/// The Cookie field (RFC 6265, section 4.2.1).
package enum CookieText {
    /// The prefix of the server's own cookies: nobody else may set one.
    package static let ownPrefix = "castree_"

    /// Whether a Set-Cookie sets one of the server's own cookies.
    ///
    /// Also as browsers read it: they drop white space before the name, and send only the value of a cookie without a
    /// name, so that `=castree_page_1=x` comes back as `castree_page_1=x` (RFC 6265bis, section 5.6).
    static func setsOwn(_ value: [UInt8]) -> Bool {
        let rest = value.drop { [9, 32, 61].contains($0) }
        return rest.prefix(ownPrefix.utf8.count).map { FieldText.lowercased($0) }
            .elementsEqual(ownPrefix.utf8)
    }

    package static func values(
        of name: [UInt8], in request: borrowing RequestHead
    ) -> [ArraySlice<UInt8>] {
        var result: [ArraySlice<UInt8>] = []
        for field in request.values(of: "cookie") {
            for pair in request.bytes[field].split(separator: 59) {
                let pair = pair.trimmed()
                guard pair.count > name.count, pair[pair.startIndex + name.count] == 61,
                    pair.starts(with: name)
                else { continue }
                result.append(pair.dropFirst(name.count + 1))
            }
        }
        return result
    }

    /// Whether a byte may occur in a name or value without quotes: letters, digits and `- . _ ~ + @`.
    package static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, 43, 45, 46, 64, 95, 126: true
        default: false
        }
    }
}
