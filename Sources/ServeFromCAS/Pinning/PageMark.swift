import Platform

/// A mark on every request of a page, which the page's response tells the browser to send.
///
/// Browsers of the Chromium family send three short client hints with every request to this machine: Sec-CH-UA,
/// Sec-CH-UA-Mobile, Sec-CH-UA-Platform (User-Agent Client Hints, section 3). A document's Permissions-Policy says
/// which of them its requests may carry, and frames inherit it. So the hints that are missing identify a page with
/// its own policy. Six combinations are marks. All hints or none are no mark: another browser, or a worker, whose
/// requests carry none.
///
/// The page around an embedded one may have a policy too: another castree server's. What that leaves comes with the
/// embedded page's navigations, so the page's mark is a proper part of it; of one hint, none is left (``silent``).
///
/// The cost: servers that the page asks do not see some hints. Scripts see no difference.
struct PageMark: Sendable, Hashable {
    /// Which hints are sent, one bit each: 1 to 6; 0 only of ``silent``.
    let hints: UInt8

    init?(digit: UInt8) {
        guard (49...54).contains(digit) else { return nil }
        hints = digit - 48
    }

    init(hints: UInt8) { self.hints = hints }

    /// No mark, for a page whose requests must not carry that of the page around it.
    static let silent = PageMark(hints: 0)

    func isProperPart(of other: UInt8) -> Bool { hints & ~other == 0 && hints != other }

    static let all: [PageMark] = (1...6).map { PageMark(hints: $0) }

    /// The hints a request carries, as bits; 7 if all of them.
    static func hints(of request: borrowing RequestHead) -> UInt8 {
        var hints: UInt8 = 0
        for field in request.fields {
            switch field.name.count {
            case 9 where request.matches(field.name, "sec-ch-ua"): hints |= 1
            case 16 where request.matches(field.name, "sec-ch-ua-mobile"): hints |= 2
            case 18 where request.matches(field.name, "sec-ch-ua-platform"): hints |= 4
            default: continue
            }
        }
        return hints
    }

    /// The value of Permissions-Policy that makes a page's requests carry a mark.
    ///
    /// `nil` removes the mark of a cached response: then all hints are sent.
    static func policy(_ mark: PageMark?) -> String {
        let sent = mark?.hints ?? 7
        func value(_ bit: UInt8) -> String { sent & bit == 0 ? "()" : "*" }
        return "ch-ua=\(value(1)), ch-ua-mobile=\(value(2)), ch-ua-platform=\(value(4))"
    }
}

extension PinRequest {
    var mark: PageMark? { (1...6).contains(hints) ? PageMark(hints: hints) : nil }
    var canBeMarked: Bool { hints == 7 }
}

/// Seals the pins' cookie, `<mac>.<time>.<content>`, so that only this store's servers can write one.
///
/// A cookie that names a version lets its bearer read it and keeps it from being retired, so it may only name what a
/// server has shown to its bearer. The key is the store's (``ServerMemory``), so a cookie outlives a restart.
struct PageSeal: Sendable {
    private static let digitCount = 32
    private let key: [UInt8]

    init(key: String) { self.key = Array(key.utf8) }

    func sealed(_ content: String, at now: Int64 = secondsNow()) -> String {
        let text = String(now, radix: 16) + "." + content
        return mac(Array(text.utf8)) + "." + text
    }

    /// The sealed content and its age in seconds; `nil` if it was not sealed with this key.
    func content(
        of value: ArraySlice<UInt8>, at now: Int64 = secondsNow()
    ) -> (content: ArraySlice<UInt8>, age: Int64)? {
        let start = value.startIndex + Self.digitCount
        guard value.count > Self.digitCount, value[start] == 46 else { return nil }
        let text = value[(start + 1)...]
        guard let dot = text.firstIndex(of: 46), dot > text.startIndex else { return nil }
        // Compare every byte, so that timing does not reveal the right ones.
        var difference: UInt8 = 0
        let mac = Array(mac(text).utf8)
        guard mac.count == Self.digitCount else { return nil }
        for (own, given) in zip(mac, value) { difference |= own ^ given }
        guard difference == 0,
            let time = Int64(String(decoding: text[..<dot], as: UTF8.self), radix: 16)
        else { return nil }
        return (text[(dot + 1)...], now &- time)
    }

    /// Empty where libcrypto fails: then no cookie counts.
    private func mac(_ text: some Sequence<UInt8>) -> String {
        // The pins continue without a cookie: each page is then a browser of its own.
        let digest = (try? HMAC.sha256(key: key, text)) ?? []
        return Hex.string(digest.prefix(Self.digitCount / 2))
    }
}
