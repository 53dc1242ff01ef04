import Platform

/// Makes the pins' cookie one that only this store's servers can write: `<mac>.<time>.<content>`.
///
/// Whoever names a version by a cookie reads it and keeps it from being retired, so a cookie may only name what a
/// server has shown to its bearer. The key is of the store (``ServerMemory``): a cookie outlives a restart.
struct PageSeal: Sendable {
    /// The half of the digest that the cookie carries, in hexadecimal digits: 128 bits.
    private static let digitCount = 32
    private let key: [UInt8]

    /// - Parameter key: what only the store's servers know.
    init(key: String) { self.key = Array(key.utf8) }

    /// A content, sealed now.
    func sealed(_ content: String) -> String {
        let text = String(secondsNow(), radix: 16) + "." + content
        return mac(Array(text.utf8)) + "." + text
    }

    /// What is under the seal, and how many seconds ago it was sealed; `nil` if another key, or nobody, has sealed it.
    func content(
        of value: ArraySlice<UInt8>, at now: Int64 = secondsNow()
    ) -> (content: ArraySlice<UInt8>, age: Int64)? {
        let start = value.startIndex + Self.digitCount
        guard value.count > Self.digitCount, value[start] == 46 else { return nil }
        let text = value[(start + 1)...]
        guard let dot = text.firstIndex(of: 46), dot > text.startIndex else { return nil }
        // Every byte is compared, so that the time tells nothing of the right ones.
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
        // The pins go on without a cookie: each page is then a browser of its own.
        let digest = (try? HMAC.sha256(key: key, text)) ?? []
        return Hex.string(digest.prefix(Self.digitCount / 2))
    }
}
