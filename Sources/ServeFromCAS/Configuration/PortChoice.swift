import CASStore

/// Which port a server takes.
///
/// The port is part of the web origin, and the origin owns the app's local storage, so it must be the same at every
/// start.
public enum PortChoice: Sendable, Hashable {
    /// This port.
    case exactly(UInt16)
    /// The port taken before, else one computed from the app's identifier.
    case app(String)
    /// Like `app`; if another program has the port, the next free one of the twenty after it.
    case appOrNext(String)

    /// Registered ports, which no system gives to clients (ephemeral ports begin at 32,768 on Linux and at 49,152
    /// elsewhere, RFC 6335).
    static let range: ClosedRange<UInt16> = 20_000...32_767

    /// The port of an app, from the first bytes of the SHA-256 of its identifier: all ports are equally likely, and
    /// similar identifiers have unrelated ports.
    static func port(of app: String) throws(StoreError) -> UInt16 {
        let digest = try Digester.digest(.sha256, of: Array(("castree-port 1\n" + app).utf8))
        let word = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // 64 bits over 12,768 ports: the remaining bias is below one in 10^15.
        return range.lowerBound + UInt16(word % UInt64(range.count))
    }

    var app: String? {
        switch self {
        case .exactly: nil
        case .app(let app), .appOrNext(let app): app
        }
    }

    private func first(_ app: String, _ remembered: UInt16?) throws(StoreError) -> UInt16 {
        if let remembered { return remembered }
        return try Self.port(of: app)
    }

    func candidates(remembered: UInt16?) throws(StoreError) -> [UInt16] {
        switch self {
        case .exactly(let port): return [port]
        case .app(let app): return [try first(app, remembered)]
        case .appOrNext(let app):
            let first = try first(app, remembered)
            return [first]
                + (1...20).map { step in
                    let place = (Int(first) - Int(Self.range.lowerBound) + step) % Self.range.count
                    return Self.range.lowerBound + UInt16(max(place, 0))
                }
        }
    }
}
