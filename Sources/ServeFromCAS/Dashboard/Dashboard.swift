package import Platform

/// A page about the store, below `/_castree/dashboard/`, for whoever runs the server.
///
/// The server guards it: it answers on loopback names only, needs its own token, and refuses other
/// sites. The program makes the page's content on another thread and keeps it for some seconds.
package struct Dashboard: Sendable {
    /// A page, and the policy that it needs (Content-Security-Policy).
    package struct Page: Sendable {
        /// The document, in HTML and UTF-8.
        package var bytes: [UInt8]
        /// What the page may load and run; the server adds that nothing may frame it.
        package var policy: String

        /// Makes a page.
        package init(bytes: [UInt8], policy: String) {
            self.bytes = bytes
            self.policy = policy
        }
    }

    /// The versions that a server keeps from being retired.
    package struct Held: Sendable, Hashable {
        /// The versions that some page was loaded from.
        package var byPages: [String]
        /// The version that new pages get.
        package var current: String?
    }

    /// The token: at least 16 letters, digits and `- . _ ~ + @`; `nil` for a new one at each start.
    package var token: String?
    /// Makes the page.
    package var page: @Sendable () throws(StoreError) -> Page
    /// Makes `status.json`, which the page requests every few seconds: small and quick to make.
    package var status: @Sendable (_ held: Held) throws(StoreError) -> [UInt8]
    /// Makes `usage.json`, which the page requests when the store has changed.
    package var usage: @Sendable () throws(StoreError) -> [UInt8]

    /// Makes a dashboard.
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

    /// The shortest token: nobody can try out 16 letters.
    static let tokenByteCountMin = 16

    /// Refuses an invalid token.
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
