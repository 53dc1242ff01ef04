import Platform

/// Seals the pins' cookie, `<mac>.<time>.<content>`, so that only this store's servers can write one.
///
/// A cookie that names a version lets its bearer read it and keeps it from being retired, so it may only name what a
/// server has shown to its bearer. The key is the store's (``ServerMemory``), so a cookie outlives a restart.
struct PageSeal: Sendable {
    private static let digitCount = 32
    private let key: [UInt8]

    init(key: String) { self.key = Array(key.utf8) }

    func sealed(_ content: String) -> String {
        let text = String(secondsNow(), radix: 16) + "." + content
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
