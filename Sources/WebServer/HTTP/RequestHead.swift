/// What a request says before its body: the bytes received, and where its parts are in them.
///
/// The parser has made sure that it is well-formed (RFC 9112, sections 2 to 5); nothing is decoded.
/// It is a value, so that the rules of HTTP can be tested without a socket; it keeps positions
/// instead of strings, so that an ordinary request allocates nothing.
package struct RequestHead: Sendable {
    /// A part of `bytes`.
    package typealias Slice = Range<Int>

    /// One header field: its name as sent and its value without the white space around it.
    package struct Field: Sendable, Hashable {
        /// Its name, as sent.
        package var name: Slice
        /// Its value.
        package var value: Slice
    }

    /// The head as received.
    package internal(set) var bytes: [UInt8] = []
    /// The method.
    package internal(set) var method = Method.get
    /// The path of the target, starting with its first slash; `*` for `OPTIONS *`.
    ///
    /// An absolute target's scheme and authority are not in it.
    package internal(set) var path = 0..<0
    /// The query without its question mark; `nil` if there is none.
    package internal(set) var query: Slice?
    /// The authority of an absolute target, which takes precedence over the Host field.
    package internal(set) var authority: Slice?
    /// 0 or 1: HTTP/1.0 or HTTP/1.1.
    package internal(set) var minorVersion = 1
    /// In the order received.
    package internal(set) var fields: [Field] = []
    /// The value of the Host field; `nil` if there is none.
    package internal(set) var host: Slice?
    /// Whether it brought a secret of the server's in its query: whatever page sent the browser had it from the server.
    package var hasSecret = false
    /// Whether a frame of another server's page shows the answer, so that it is a page of its own here.
    package var isEmbeddedPage = false
    /// Whether a person loads a page again that this server has shown to the browser.
    package var isShownAgain = false
    /// Whether a service worker that shows pages asks for one by its address, in place of a navigation.
    package var isPageOfWorker = false
    /// What it has taken of the budget for bodies, if its cookies make it long.
    var held: HeldHead?
    /// A bit for each length of a field's name: most fields that we look for are absent.
    var nameLengths: UInt64 = 0
}
