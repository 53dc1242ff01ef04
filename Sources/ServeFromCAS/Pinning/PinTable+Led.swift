// Browsers that another origin has led to a page of ours. It may close its window at any time, so what its page does
// without being asked (it goes elsewhere, or loads itself again) may be the other's doing. Which of a browser's pages
// that is cannot be told, because scripts change addresses: for an hour it may be any of them. The cookie carries this
// over restarts, and past the limit of browsers.
extension PinTable {
    static let ledMinutesMax: Int64 = 60

    /// Until when another origin may be behind what the pages of a navigation's browser do; `nil` if none may.
    /// - Parameter isFromAnother: whether another origin sends it.
    mutating func ledUntil(
        _ request: PinRequest, isFromAnother: Bool, _ now: Duration
    ) -> Duration? {
        if let cookie = request.cookie { recallLed(cookie, now) }
        let name = request.cookie?.browser ?? Self.bare
        if isFromAnother { lead(name, until: now + .seconds(60 * Self.ledMinutesMax), now) }
        return ledUntil(name, now)
    }

    func ledUntil(_ browser: String, _ now: Duration) -> Duration? {
        led[browser].flatMap { $0 > now ? $0 : nil }
    }

    mutating func recallLed(_ cookie: PinCookie, _ now: Duration) {
        guard cookie.ledMinutes > 0 else { return }
        lead(cookie.browser, until: now + .seconds(60 * cookie.ledMinutes), now)
    }

    mutating func lead(_ browser: String, until: Duration?, _ now: Duration) {
        guard let until, until > led[browser] ?? now else { return }
        led[browser] = until
        if led.count <= limits.browsers { return }
        led = led.filter { $0.value > now }
        let first = led.filter { $0.key != Self.bare && $0.key != browser }.min {
            $0.value < $1.value
        }
        if led.count > limits.browsers, let first { led[first.key] = nil }
    }

    /// The key of all browsers that send no cookie; no browser is called so.
    private static let bare = ""
}
