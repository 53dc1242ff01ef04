/// A message from a page.
public struct BridgeMessage: Sendable, Hashable {
    /// What a message holds.
    public enum Content: Sendable, Hashable {
        /// Text, as well-formed UTF-8.
        case text(ArraySlice<UInt8>)
        /// Bytes (an ArrayBuffer in the page).
        case binary(ArraySlice<UInt8>)
    }

    /// The page that sent it.
    public let session: BridgeSessionID
    /// What it holds.
    public let content: Content
    /// Whether it may have been delivered before: by a session that expired or by an earlier process.
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

/// The beginning or the end of a page's session.
public enum BridgeSessionChange: Sendable, Hashable {
    /// A page has connected for the first time.
    case opened(BridgeSessionID)
    /// A page is gone; so many messages for it were not acknowledged.
    case closed(BridgeSessionID, undelivered: Int)
}
