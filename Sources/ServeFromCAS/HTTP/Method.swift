/// A request's method (RFC 9110, section 9).
public enum Method: Sendable, Hashable {
    case get, head, post, put, delete, options, patch, connect, trace
    /// Any other token, as it was sent: methods are case-sensitive.
    case other(String)
}
