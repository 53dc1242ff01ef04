/// Why a WebSocket connection ends (RFC 6455, section 7.4).
package struct CloseCode: Sendable, Hashable, CustomStringConvertible {
    package let value: UInt16

    package init(_ value: UInt16) { self.value = value }

    package var description: String { "\(value)" }

    package static let normal = Self(1000)
    package static let protocolError = Self(1002)
    /// A kind of message that this endpoint does not accept.
    package static let unsupported = Self(1003)
    /// Stands for a Close frame without a code; never sent.
    package static let absent = Self(1005)
    /// Stands for an end without a Close frame; never sent.
    package static let abnormal = Self(1006)
    package static let notUTF8 = Self(1007)
    package static let policy = Self(1008)
    package static let tooLarge = Self(1009)
    /// The server has no space now.
    package static let tryAgainLater = Self(1013)

    /// Whether a Close frame may carry the code.
    ///
    /// 1000 to 1003 and 1007 to 1014 are registered with IANA; 3000 to 4999 belong to libraries and applications; the
    /// rest is reserved (RFC 6455, section 7.4.2).
    package var isSendable: Bool {
        switch value {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

package struct CloseReason: Sendable, Hashable {
    /// The code received; `.absent` or `.abnormal` when there was none.
    package var code: CloseCode
    /// The text beside the code, for people; may be empty.
    package var text: String
    package var isClean: Bool

    package init(_ code: CloseCode, _ text: String = "", isClean: Bool) {
        self.code = code
        self.text = text
        self.isClean = isClean
    }
}

/// Received bytes that break RFC 6455: the code to close with, and what was wrong.
package struct WebSocketViolation: Error, Sendable, Hashable {
    package var code: CloseCode
    /// Short enough for a Close frame (123 bytes).
    package var message: String

    package init(_ code: CloseCode, _ message: String) {
        self.code = code
        self.message = message
    }
}
