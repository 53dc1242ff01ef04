import VersionTree
import WebServer

/// The pages to which other origins have led, by browser and path, newest last.
///
/// Where such a page goes by itself, or if it loads itself again, that is the other's doing too: it may close the window
/// at any time. What a person does there is not.
struct LedPages: Sendable {
    /// `browser`: `nil` if its requests had no cookie yet.
    private var places: [(browser: String?, path: [UInt8], at: Duration)] = []

    private static let countMax = 256
    private static let lifetime = Duration.seconds(3600)

    mutating func leads(
        to head: borrowing RequestHead, _ request: PinRequest, _ now: Duration
    ) -> Bool {
        let browser = request.cookie?.browser
        let isLed =
            head.isFromAnotherOrigin
            || head.isUnaskedOwn
                && places.contains { led in
                    now - led.at < Self.lifetime && (led.browser == nil || led.browser == browser)
                        && (led.path == request.path || led.path == request.referrer)
                }
        guard isLed else { return false }
        places.removeAll { $0.browser == browser && $0.path == request.path }
        places = places.suffix(Self.countMax - 1) + [(browser, request.path, now)]
        return true
    }
}
