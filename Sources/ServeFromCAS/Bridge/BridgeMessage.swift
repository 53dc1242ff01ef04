/// A message from a page.
public struct BridgeMessage: Sendable, Hashable {
    /// The content of a message.
    public enum Content: Sendable, Hashable {
        /// Text in well-formed UTF-8.
        case text(ArraySlice<UInt8>)
        /// Bytes (an ArrayBuffer in the page).
        case binary(ArraySlice<UInt8>)
    }

    /// The page that sent it.
    public let session: BridgeSessionID
    /// Its content.
    public let content: Content
    /// Whether an expired session or an earlier process may have delivered it before.
    public let mayRepeat: Bool

    /// The text; `nil` for a binary message.
    public var text: String? {
        if case .text(let bytes) = content { String(decoding: bytes, as: UTF8.self) } else { nil }
    }

    /// The payload's bytes.
    public var bytes: ArraySlice<UInt8> {
        switch content {
        case .text(let bytes), .binary(let bytes): bytes
        }
    }
}

/// The start or the end of a page's session.
public enum BridgeSessionChange: Sendable, Hashable {
    /// A page has connected for the first time.
    case opened(BridgeSessionID)
    /// A page is gone; it has not acknowledged this many messages.
    case closed(BridgeSessionID, undelivered: Int)
    /// A page got none: there are as many as may be (``BridgeLimits/sessionCount``), all connected.
    case refused
}
