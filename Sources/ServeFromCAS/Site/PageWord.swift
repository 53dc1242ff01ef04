package import VersionTree

/// A page's own report of its version.
///
/// Every HTML document, script and style comes with `Server-Timing: castree;desc="VERSION"` (Server Timing, section
/// 2). A copy keeps the field wherever it is stored, even in a service worker's cache. The bridge's script reads the
/// field of its own navigation (`PerformanceNavigationTiming.serverTiming`, in secure contexts, which workers
/// require) and reports it to the server, because the browser may not show the version with which the server answered
/// the navigation. The fields of its scripts and styles are compared as well (``MixedPage``).
package enum PageWord: Sendable, Hashable {
    case version(VersionName)
    /// A service worker made the document without the field.
    case unknown

    static let field = "Server-Timing"

    /// The value of the field for documents of a version; the characters of a name need no escapes.
    static func value(for version: VersionName) -> String { "castree;desc=\"\(version)\"" }

    /// The parameter of a query; the value is a version, or empty.
    static let parameter = "version="

    init(_ text: String) {
        // The reason does not matter: a text that cannot be a version is none.
        self = (try? VersionName(text)).map { .version($0) } ?? .unknown
    }

    var version: VersionName? { if case .version(let own) = self { own } else { nil } }
}
