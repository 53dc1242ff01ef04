/// What the server itself answers, by its name below `/_castree/`; the dashboard has a handler of its own.
///
/// Each route says here which parameters of its query are secrets: no log shows them.
package enum ReservedRoute: String, CaseIterable, Sendable {
    case script = "bridge.js"
    case bridge, confirm, check, update, hidden, visible, status
    case stalePage = "stale-page"
    case mixed

    static let directory = "/_castree"

    /// The route at a path; `nil` if there is none.
    init?(path: String) {
        guard path.hasPrefix(Self.directory + "/") else { return nil }
        self.init(rawValue: String(path.dropFirst(Self.directory.utf8.count + 1)))
    }

    /// The path in a URL.
    package var path: String { "\(Self.directory)/\(rawValue)" }

    /// The parameters of the query that only one page may know.
    package var secretParameters: [String] {
        switch self {
        case .bridge, .confirm, .check, .update, .hidden, .visible, .stalePage, .mixed: ["session"]
        case .script, .status: []
        }
    }

    /// The secret parameters of all routes: a client that misspells a path still sends its secrets.
    static let allSecretParameters = Set(allCases.flatMap(\.secretParameters))
}
