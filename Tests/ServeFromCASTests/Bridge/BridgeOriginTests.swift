import ServeFromCAS
import Testing

/// docs/bridge-protocol.md, "Who may connect".
@Suite("The bridge's rule of origins")
struct BridgeOriginTests {
    typealias Claims = BridgeOrigin.Claims

    static let allowed: [Claims] = [
        Claims(host: "localhost:12008", origin: "http://localhost:12008"),
        Claims(host: "LOCALHOST:12008", origin: "http://localhost:12008"),
        Claims(host: "127.0.0.1:12008", origin: "http://127.0.0.1:12008"),
        Claims(host: "[::1]:12008", origin: "http://[::1]:12008"),
        Claims(host: "localhost", origin: "http://localhost"),
        Claims(host: "localhost:80", origin: "http://localhost"),
        Claims(host: "localhost", origin: "https://localhost"),
        Claims(host: "localhost:443", origin: "https://localhost"),
        Claims(host: "localhost:1", origin: "http://localhost:1", fetchSite: "same-origin"),
        Claims(host: "localhost:1", fetchSite: "same-origin"),
        Claims(host: "localhost:1", fetchSite: "none"),
        Claims(host: "localhost:1", hasSecret: true),
        Claims(host: "localhost:1", origin: "app://kiosk"),
        Claims(host: "kiosk.local:1", origin: "http://kiosk.local:1"),
    ]

    static let refused: [Claims] = [
        // DNS rebinding: the browser believes it talks to evil.example.
        Claims(host: "evil.example:1", origin: "http://evil.example:1"),
        Claims(host: "evil.example:1", fetchSite: "same-origin", hasSecret: true),
        Claims(host: "localhost.evil.example:1", origin: "http://localhost.evil.example:1"),
        Claims(host: "evil-localhost:1", origin: "http://evil-localhost:1"),
        Claims(host: "127.0.0.1.evil.example", fetchSite: "none"),
        Claims(host: nil, origin: "http://localhost:1"), Claims(host: "", hasSecret: true),
        // Another site in the same browser.
        Claims(host: "localhost:1", origin: "http://evil.example"),
        Claims(host: "localhost:1", origin: "https://evil.example", hasSecret: true),
        Claims(host: "localhost:1", origin: "http://localhost:2"),
        Claims(host: "localhost:1", origin: "http://localhost"),
        Claims(host: "localhost:1", origin: "http://localhost:11"),
        Claims(host: "localhost:1", origin: "http://127.0.0.1:1"),
        Claims(host: "localhost:1", origin: "null", hasSecret: true),
        Claims(host: "localhost:1", origin: ""),
        Claims(host: "localhost:1", origin: "http://localhost:1/"),
        Claims(host: "localhost:1", origin: "http://localhost:1@evil.example"),
        Claims(host: "localhost:1", origin: "ws://localhost:1"),
        Claims(host: "localhost:1", origin: "file://"),
        Claims(host: "localhost", origin: "http://localhost:443"),
        Claims(host: "localhost:1", fetchSite: "cross-site", hasSecret: true),
        Claims(host: "localhost:1", fetchSite: "same-site"), Claims(host: "localhost:1"),
        Claims(host: "localhost:1x", hasSecret: true), Claims(host: "[::1]x", hasSecret: true),
        Claims(host: "[::1", hasSecret: true), Claims(host: "user@localhost", hasSecret: true),
    ]

    func isAllowed(_ claims: Claims) -> Bool {
        BridgeOrigin.isAllowed(
            claims, allowedHosts: BridgeOrigin.loopbackNames + ["kiosk.local"],
            allowedOrigins: ["app://kiosk"])
    }

    @Test("lets this server's pages in", arguments: allowed)
    func allows(_ claims: Claims) { #expect(isAllowed(claims)) }

    @Test("keeps everybody else out", arguments: refused)
    func refuses(_ claims: Claims) { #expect(!isAllowed(claims)) }

    @Test("reads a request's fields, and two of a kind as none")
    func fields() throws {
        func claims(_ fields: [(String, String)]) throws -> Claims {
            Claims(
                try RequestHead(method: "GET", target: "/", fields: fields), hasSecret: false)
        }
        let one = try claims([("Host", "localhost:1"), ("Origin", "http://localhost:1")])
        #expect(isAllowed(one))
        let two = try claims([
            ("Host", "localhost:1"), ("Origin", "http://localhost:1"), ("Origin", "http://evil"),
        ])
        #expect(!isAllowed(two))
        let absolute = try RequestHead(
            method: "GET", target: "http://evil.example/",
            fields: [("Host", "localhost:1"), ("Sec-Fetch-Site", "none")])
        #expect(!isAllowed(Claims(absolute, hasSecret: true)))
    }
}
