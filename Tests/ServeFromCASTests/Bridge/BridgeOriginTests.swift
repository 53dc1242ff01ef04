import WebTestSupport

@testable import ServeFromCAS

/// docs/bridge-protocol.md, "Who may connect".
@Suite("The bridge's rule of origins")
struct BridgeOriginTests {
    static let allowed: [BridgeOrigin] = [
        BridgeOrigin(host: "localhost:12008", origin: "http://localhost:12008"),
        BridgeOrigin(host: "LOCALHOST:12008", origin: "http://localhost:12008"),
        BridgeOrigin(host: "127.0.0.1:12008", origin: "http://127.0.0.1:12008"),
        BridgeOrigin(host: "[::1]:12008", origin: "http://[::1]:12008"),
        BridgeOrigin(host: "localhost", origin: "http://localhost"),
        BridgeOrigin(host: "localhost:80", origin: "http://localhost"),
        BridgeOrigin(host: "localhost", origin: "https://localhost"),
        BridgeOrigin(host: "localhost:443", origin: "https://localhost"),
        BridgeOrigin(host: "localhost:1", origin: "http://localhost:1", fetchSite: "same-origin"),
        BridgeOrigin(host: "localhost:1", fetchSite: "same-origin"),
        BridgeOrigin(host: "localhost:1", fetchSite: "none"),
        BridgeOrigin(host: "localhost:1", hasSecret: true),
        BridgeOrigin(host: "kiosk.local:1", origin: "http://kiosk.local:1"),
    ]

    static let refused: [BridgeOrigin] = [
        // DNS rebinding: the browser believes it talks to evil.example.
        BridgeOrigin(host: "evil.example:1", origin: "http://evil.example:1"),
        BridgeOrigin(host: "evil.example:1", fetchSite: "same-origin", hasSecret: true),
        BridgeOrigin(host: "localhost.evil.example:1", origin: "http://localhost.evil.example:1"),
        BridgeOrigin(host: "evil-localhost:1", origin: "http://evil-localhost:1"),
        BridgeOrigin(host: "127.0.0.1.evil.example", fetchSite: "none"),
        BridgeOrigin(host: nil, origin: "http://localhost:1"),
        BridgeOrigin(host: "", hasSecret: true),
        // Another site in the same browser.
        BridgeOrigin(host: "localhost:1", origin: "http://evil.example"),
        BridgeOrigin(host: "localhost:1", origin: "https://evil.example", hasSecret: true),
        BridgeOrigin(host: "localhost:1", origin: "http://localhost:2"),
        BridgeOrigin(host: "localhost:1", origin: "http://localhost"),
        BridgeOrigin(host: "localhost:1", origin: "http://localhost:11"),
        BridgeOrigin(host: "localhost:1", origin: "http://127.0.0.1:1"),
        BridgeOrigin(host: "localhost:1", origin: "null", hasSecret: true),
        BridgeOrigin(host: "localhost:1", origin: ""),
        BridgeOrigin(host: "localhost:1", origin: "http://localhost:1/"),
        BridgeOrigin(host: "localhost:1", origin: "http://localhost:1@evil.example"),
        BridgeOrigin(host: "localhost:1", origin: "ws://localhost:1"),
        BridgeOrigin(host: "localhost:1", origin: "file://"),
        BridgeOrigin(host: "localhost:1", origin: "app://kiosk"),
        BridgeOrigin(host: "localhost", origin: "http://localhost:443"),
        BridgeOrigin(host: "localhost:1", fetchSite: "cross-site", hasSecret: true),
        BridgeOrigin(host: "localhost:1", fetchSite: "same-site"),
        BridgeOrigin(host: "localhost:1"),
        BridgeOrigin(host: "localhost:1x", hasSecret: true),
        BridgeOrigin(host: "[::1]x", hasSecret: true),
        BridgeOrigin(host: "[::1", hasSecret: true),
        BridgeOrigin(host: "user@localhost", hasSecret: true),
    ]

    func isAllowed(_ origin: BridgeOrigin) -> Bool {
        origin.isAllowed(hosts: HostPolicy.loopback + ["kiosk.local"])
    }

    @Test(arguments: allowed)
    func `lets this server's pages in`(_ origin: BridgeOrigin) { expect(isAllowed(origin)) }

    @Test(arguments: refused)
    func `keeps everybody else out`(_ origin: BridgeOrigin) { expect(!isAllowed(origin)) }

    @Test func `reads a request's fields, and two of a kind as none`() throws {
        func origin(_ fields: [(String, String)]) throws -> BridgeOrigin {
            BridgeOrigin(
                try RequestHead(method: "GET", target: "/", fields: fields), hasSecret: false)
        }
        let one = try origin([("Host", "localhost:1"), ("Origin", "http://localhost:1")])
        expect(isAllowed(one))
        let two = try origin([
            ("Host", "localhost:1"), ("Origin", "http://localhost:1"), ("Origin", "http://evil"),
        ])
        expect(!isAllowed(two))
        let absolute = try RequestHead(
            method: "GET", target: "http://evil.example/",
            fields: [("Host", "localhost:1"), ("Sec-Fetch-Site", "none")])
        expect(!isAllowed(BridgeOrigin(absolute, hasSecret: true)))
    }
}
