import CASStore
import Synchronization
import VersionTree
import WebServer

/// What a page says of its scripts and styles that came with another version's name: `VERSION PATH`, a line each.
///
/// A service worker, or the browser's own cache, may show a file that it kept of another version in a page. If the page's
/// version has the same bytes there, nothing is wrong.
struct MixedPage: Sendable {
    /// The most bytes that are read of it, and the most files.
    static let byteCountMax = 8 << 10
    private static let countMax = 64

    private let files: [(version: VersionName, path: ArraySlice<UInt8>)]

    /// Lines that cannot be read say nothing of use.
    init(_ body: [UInt8]) {
        files = body.split(separator: 10).prefix(Self.countMax).compactMap { line in
            guard let space = line.firstIndex(of: 32) else { return nil }
            let version = String(decoding: line[..<space], as: UTF8.self)
            let path = line[(space + 1)...].prefix { $0 != 63 && $0 != 35 }
            // What cannot be a version is none.
            return (try? VersionName(version)).map { (version: $0, path: path) }
        }
    }

    /// The version of the first file whose bytes are other than those that a version has at its path.
    ///
    /// - Parameter open: what a version has; `nil` if that cannot be told any more: then nothing is known of its files.
    func stranger(in version: VersionName, open: (VersionName) -> Site?) -> VersionName? {
        guard let own = open(version) else { return nil }
        return files.first { file in
            guard file.version != version, let other = open(file.version),
                let address = other.address(of: file.path)
            else { return false }
            return own.address(of: file.path) != address
        }?.version
    }
}

extension AppHandler {
    /// A page says that it has scripts or styles of other versions: 409 if they are other ones than its own has.
    ///
    /// Such a page confirms nothing, and the start that it hides is taken back. Where a service worker mixes it, it is of no
    /// version. Else the browser's cache does, and the page's script has that fetch the files anew: if they are there
    /// again, the version waits as after a strike, or each page would start it in vain.
    func judgeMixed(_ head: RequestHead, _ exchange: Exchange) -> Answer {
        let session: BridgeSessionID
        switch ownSession(head, ReservedRoute.mixed.rawValue, "What a page says of its files") {
        case .page(let named): session = named
        case .refused(let answer): return answer
        }
        return .readBody(limit: MixedPage.byteCountMax) { head, body, exchange in
            let query = BridgeQuery(head)
            guard let own = query.word?.version else { return Self.empty(204) }
            let browser = self.browser(of: head, exchange)
            let method = head.method
            return self.later(head, exchange) { _ -> Response in
                let page = MixedPage(body)
                guard let other = page.stranger(in: own, open: self.siteOrNone) else {
                    return Self.empty(204)
                }
                let witness = Witness(
                    session: session, answered: own.description, word: .version(other),
                    browser: browser)
                if query.hasWorker {
                    self.pins.withLock { $0.words[session.description] = .unknown }
                    self.takeBackUnshown(own.description, witness, "showed files of")
                } else {
                    self.takeBackMixed(own.description, witness, rests: query.isAgain)
                }
                return PlainAnswer.response(
                    409,
                    "This page of version \(own) has files of version \(other): load it again.",
                    method: method)
            } then: {
                .response($0)
            }
        }
    }

    /// What a version has; `nil` if it is retired or cannot be opened.
    private func siteOrNone(_ version: VersionName) -> Site? {
        // Nothing is compared with it then.
        try? shelf.open(version).site
    }
}
