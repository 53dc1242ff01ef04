internal import CCurl
internal import S3

/// Whether the bytes of an answer come fast enough: a peer that sends one now and then would hold a request for ever.
///
/// Judged when bytes come. While none does, and while a request is sent, libcurl counts how long nothing moves: it
/// hands on what is sent by the buffer, so whatever moves then is no drip.
struct CarryPace {
    private let byteCount: Int64
    private let milliseconds: Int64
    /// When the current stretch began; nil before the first byte.
    private var began: Int64?
    private var came: Int64 = 0

    init(_ request: CarriedRequest) {
        byteCount = request.leastByteCount
        // Who may be silent for longer may not be too slow sooner.
        milliseconds = max(
            Int64(request.paceMilliseconds), Int64(request.stallSeconds) * 1_000)
    }

    /// Notes that bytes have come; returns whether they do so fast enough.
    mutating func keeps(_ count: Int) -> Bool {
        let now = castree_milliseconds()
        came += Int64(count)
        guard let began else {
            began = now
            return true
        }
        guard came < byteCount else {
            (self.began, came) = (now, 0)
            return true
        }
        return now - began <= milliseconds
    }
}
