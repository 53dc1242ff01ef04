package import Platform

/// A page about the store, below `/_castree/dashboard/`, for the server's operator.
///
/// The server guards it: it answers on loopback names only, needs its own token, and refuses other sites. The program
/// makes the page's content on another thread and keeps it for some seconds.
package struct Dashboard: Sendable {
    package struct Page: Sendable {
        package var bytes: [UInt8]
        /// The Content-Security-Policy, to which the server adds that nothing may frame the page.
        package var policy: String

        package init(bytes: [UInt8], policy: String) {
            self.bytes = bytes
            self.policy = policy
        }
    }

    package struct Held: Sendable, Hashable {
        package var byPages: [String]
        package var current: String?
    }

    /// At least 16 letters, digits and `- . _ ~ + @`; `nil` for a new token at each start.
    package var token: String?
    package var page: @Sendable () throws(StoreError) -> Page
    /// Makes `status.json`, which the page requests every few seconds: small and quick to make.
    package var status: @Sendable (_ held: Held) throws(StoreError) -> [UInt8]
    /// Makes `usage.json`, which the page requests when the store has changed.
    package var usage: @Sendable () throws(StoreError) -> [UInt8]

    package init(
        token: String? = nil, page: @escaping @Sendable () throws(StoreError) -> Page,
        status: @escaping @Sendable (_ held: Held) throws(StoreError) -> [UInt8],
        usage: @escaping @Sendable () throws(StoreError) -> [UInt8]
    ) {
        self.token = token
        self.page = page
        self.status = status
        self.usage = usage
    }

    /// Too many letters to guess.
    static let tokenByteCountMin = 16

    package func check() throws(StoreError) {
        guard let token else { return }
        guard token.utf8.count >= Self.tokenByteCountMin, token.utf8.allSatisfy(CookieText.isPlain)
        else {
            throw StoreError(
                .badOption,
                "the dashboard's token must have \(Self.tokenByteCountMin) letters and digits at "
                    + "least")
        }
    }
}
