/// The server's own routes, by name below `/_castree/`; the dashboard has a handler of its own.
///
/// Each route declares which parameters of its query are secrets: no log shows them.
package enum ReservedRoute: String, CaseIterable, Sendable {
    case script = "bridge.js"
    case bridge, confirm, check, update, hidden, visible, status
    case stalePage = "stale-page"
    case mixed

    static let directory = "/_castree"

    init?(path: String) {
        guard path.hasPrefix(Self.directory + "/") else { return nil }
        self.init(rawValue: String(path.dropFirst(Self.directory.utf8.count + 1)))
    }

    package var path: String { "\(Self.directory)/\(rawValue)" }

    package var secretParameters: [String] {
        switch self {
        case .bridge, .confirm, .check, .update, .hidden, .visible, .stalePage, .mixed: ["session"]
        case .script, .status: []
        }
    }

    /// The secret parameters of all routes: a client that misspells a path still sends its secrets.
    static let allSecretParameters = Set(allCases.flatMap(\.secretParameters))
}
