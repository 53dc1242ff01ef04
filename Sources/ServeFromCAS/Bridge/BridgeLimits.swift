/// The limits of a bridge's memory and deadlines.
public struct BridgeLimits: Sendable, Hashable {
    /// The most bytes in the payload of one message.
    public var messageByteCount = 1 << 20
    /// The most messages queued for one page, sent or not, until it acknowledges them.
    public var queueCount = 1024
    /// The most bytes queued for one page.
    public var queueByteCount = 8 << 20
    /// The most pages, connected or not.
    public var sessionCount = 256
    /// How long a session lives without a connection.
    public var sessionExpiry = Duration.seconds(300)
    /// The most bytes, from all pages, that the app has not taken; each message counts 160 more.
    public var inboxByteCount = 64 << 20

    /// The limits of docs/bridge-protocol.md.
    public init() {}

    /// Messages in flight in one direction (docs/bridge-protocol.md, Limits).
    static let windowCount = 256
    /// The cost of a message besides its bytes while it waits for the app.
    static let messageOverhead = 160
    static let windowByteCount = 4 << 20
    /// The number of messages after which an acknowledgement is sent at once.
    static let acknowledgementCount: UInt64 = 32
    /// How long an acknowledgement waits for a message to carry it.
    static let acknowledgementDelay = Duration.milliseconds(20)
    static let pollHold = Duration.seconds(25)
    /// The most bytes of a POST, or a WebSocket's first message, that begins or resumes a session.
    package static let greetingByteCount = 1 << 10
    package static let postByteCount = 9 << 20
}
