import VersionTree
import WebServer

/// The pages to which other origins have led, by browser and path, newest last.
///
/// Where such a page goes by itself, or if it loads itself again, that is the other's doing too: it may close the window
/// at any time. What a person does there is not.
struct LedPages {
    private struct Place: Hashable {
        /// `nil` if its requests had no cookie yet.
        var browser: String?
        var path: [UInt8]
    }

    private var places: [(place: Place, at: Duration)] = []

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
                    now - led.at < Self.lifetime
                        && (led.place.browser == nil || led.place.browser == browser)
                        && (led.place.path == request.path || led.place.path == request.referrer)
                }
        guard isLed else { return false }
        let place = Place(browser: browser, path: request.path)
        places.removeAll { $0.place == place }
        places = places.suffix(Self.countMax - 1) + [(place, now)]
        return true
    }
}
