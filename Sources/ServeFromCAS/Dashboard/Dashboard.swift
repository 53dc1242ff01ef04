package import Platform

/// A page about the store itself, below `/_castree/dashboard/`, for whoever runs the server.
///
/// The server guards it: it answers on loopback names only, to a token of its own, and to no other
/// site. What the page shows is made by the program, on a thread of its own, and kept for some seconds.
package struct Dashboard: Sendable {
    /// A page, and the policy that it needs (Content-Security-Policy).
    package struct Page: Sendable {
        /// The document, in HTML and UTF-8.
        package var bytes: [UInt8]
        /// What it may load and run; the server adds that nothing frames it.
        package var policy: String

        /// Makes a page.
        package init(bytes: [UInt8], policy: String) {
            self.bytes = bytes
            self.policy = policy
        }
    }

    /// The versions that a server keeps from being retired.
    package struct Held: Sendable, Hashable {
        /// Those that some page was loaded from.
        package var byPages: [String]
        /// What new pages get.
        package var current: String?
    }

    /// The token, of letters, digits and `- . _ ~ + @`, at least 16 of them; `nil` for a new one at
    /// each start.
    package var token: String?
    /// Makes the page.
    package var page: @Sendable () throws(StoreError) -> Page
    /// Makes `status.json`, for which the page asks every few seconds: small, and quickly made.
    package var status: @Sendable (_ held: Held) throws(StoreError) -> [UInt8]
    /// Makes `usage.json`, for which the page asks when the store has changed.
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

    /// The least length of a token: 16 letters cannot be tried out.
    static let tokenByteCountMin = 16

    /// Refuses a token that is none.
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
