/// A request's method (RFC 9110, section 9).
package enum Method: Sendable, Hashable {
    /// The methods of RFC 9110, and PATCH (RFC 5789).
    case get, head, post, put, delete, options, patch, connect, trace
    /// Any other token, as sent: methods are case-sensitive.
    case other(String)
}
