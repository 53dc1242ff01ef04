package import VersionTree

/// What a page itself says of its version.
///
/// Every HTML document, script and style comes with `Server-Timing: castree;desc="VERSION"` (Server Timing, section 2). A copy keeps the field,
/// wherever it is kept: in a service worker's cache too. The bridge's script reads it of its own navigation
/// (`PerformanceNavigationTiming.serverTiming`, in secure contexts, as workers are) and says it to the server, which may
/// have answered the navigation with another version that the browser did not show.
/// What its scripts and styles say is compared as well (``MixedPage``).
package enum PageWord: Sendable, Hashable {
    case version(VersionName)
    /// A service worker made the document without the field.
    case unknown

    /// The field of a response.
    static let field = "Server-Timing"

    /// The value of the field for documents of a version; the characters of a name need no escapes.
    static func value(for version: VersionName) -> String { "castree;desc=\"\(version)\"" }

    /// The parameter of a query; the value is a version, or empty.
    static let parameter = "version="

    /// Reads the value of the parameter; what is no name says nothing of use.
    init(_ text: String) {
        // The reason does not matter: what cannot be a version is none.
        self = (try? VersionName(text)).map { .version($0) } ?? .unknown
    }

    /// The version that it names.
    var version: VersionName? { if case .version(let own) = self { own } else { nil } }
}
