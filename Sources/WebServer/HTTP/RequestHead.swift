/// The head of a request: the bytes received, and the positions of its parts in them.
///
/// The parser has made sure that it is well-formed (RFC 9112, sections 2 to 5); nothing is decoded. It is a value, so
/// that the rules of HTTP can be tested without a socket. It keeps positions instead of strings, so that an ordinary
/// request allocates nothing.
package struct RequestHead: Sendable {
    package typealias Slice = Range<Int>

    /// One header field: its name as sent and its value without the white space around it.
    package struct Field: Sendable, Hashable {
        package var name: Slice
        package var value: Slice
    }

    package internal(set) var bytes: [UInt8] = []
    package internal(set) var method = Method.get
    /// The path of the target, from its first slash, after any scheme and authority; `*` for `OPTIONS *`.
    package internal(set) var path = 0..<0
    package internal(set) var query: Slice?
    /// The authority of an absolute target, which takes precedence over the Host field.
    package internal(set) var authority: Slice?
    /// 0 or 1: HTTP/1.0 or HTTP/1.1.
    package internal(set) var minorVersion = 1
    /// In the order received.
    package internal(set) var fields: [Field] = []
    package internal(set) var host: Slice?
    /// Whether its query carried one of the server's secrets: whichever page sent the browser had it from the server.
    package var hasSecret = false
    /// Whether a frame of another server's page shows the answer, so that it is a page of its own here.
    package var isEmbeddedPage = false
    /// Whether that page is another site's, whoever sends this.
    package var isInAnotherSite = false
    /// Whether a person reloads a page that this server has shown to the browser.
    package var isShownAgain = false
    /// Whether a service worker that shows pages requests one by its address, in place of a navigation.
    package var isPageOfWorker = false
    /// Whether a browser loads a script that a service worker imports.
    package var isImportOfWorker = false
    /// Its share of the budget for bodies, if its cookies make it long.
    var held: BudgetShare?
    /// A bit for each length of a field's name, to find quickly that a field is absent, as most are.
    var nameLengths: UInt64 = 0
}
