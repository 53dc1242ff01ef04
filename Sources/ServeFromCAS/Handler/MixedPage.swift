import CASStore
import Synchronization
import VersionTree
import WebServer

/// A page's report of scripts and styles with another version's name, `VERSION PATH` a line; without any, the
/// sessions that its tab has had, each after a space.
///
/// A service worker or the browser's cache may keep a file of another version and show it in a page. That is harmless
/// if the page's version has the same bytes there.
struct MixedPage: Sendable {
    /// The most bytes that are read of it, and the most files.
    static let byteCountMax = 8 << 10
    private static let countMax = 64

    private let files: [(version: VersionName, path: ArraySlice<UInt8>)]
    /// The sessions of its tab; `nil` if it names files.
    let tab: [String]?

    /// Skips unreadable lines.
    init(_ body: [UInt8]) {
        files = body.split(separator: 10).prefix(Self.countMax).compactMap { line in
            guard let space = line.firstIndex(of: 32) else { return nil }
            let version = String(decoding: line[..<space], as: UTF8.self)
            let path = line[(space + 1)...].prefix { $0 != 63 && $0 != 35 }
            // Skip a line whose version cannot be one.
            return (try? VersionName(version)).map { (version: $0, path: path) }
        }
        let words = body.split(separator: 32).map { String(decoding: $0, as: UTF8.self) }
        tab = files.isEmpty ? words.filter { BridgeSessionID($0) != nil } : nil
    }

    /// The version of the first file whose bytes differ from those that a version has at its path.
    /// - Parameter open: opens a version; `nil` if it is gone, and its files are unknown.
    func stranger(in version: VersionName, open: (VersionName) -> Site?) -> VersionName? {
        guard let own = open(version) else { return nil }
        return files.first { file in
            guard file.version != version, let other = open(file.version),
                let address = other.address(of: file.path)
            else { return false }
            return own.address(of: file.path) != address
        }?.version
    }

    /// Whether a later version has the bytes of each file; files of a version that is gone count as the page's own.
    func isOf(
        _ version: VersionName, besides own: VersionName, open: (VersionName) -> Site?
    ) -> Bool {
        guard let new = open(version) else { return false }
        func bytes(_ site: Site, _ path: ArraySlice<UInt8>) -> ObjectID? {
            site.address(of: path) ?? site.indexResource?.address
        }
        return files.allSatisfy { file in
            guard let old = open(file.version) ?? open(own) else { return false }
            return bytes(old, file.path) == bytes(new, file.path)
        }
    }
}

extension AppHandler {
    /// Answers a page's report that it has scripts or styles of other versions: 409 if their bytes differ from its
    /// own version's.
    ///
    /// Such a page confirms nothing, and the start that it hides is taken back. A page mixed by a service worker
    /// belongs to no version. If the browser's cache mixed it, the page's script has the cache fetch the files anew.
    /// If they appear again, the version waits as after a failed start, or each page would start it in vain.
    func judgeMixed(_ head: RequestHead, _ exchange: Exchange) throws(Refusal) -> Answer {
        let session = try ownSession(head, "What a page says of its files")
        return .readBody(limit: MixedPage.byteCountMax) { head, body, exchange in
            let query = BridgeQuery(head)
            guard let own = query.word?.version else { return Self.empty(204) }
            let browser = self.browser(of: head, exchange)
            let method = head.method
            return self.later(head, exchange) { _ -> Response in
                let page = MixedPage(body)
                if let next = query.successor {
                    guard page.isOf(next, besides: own, open: self.siteOrNone) else {
                        return Self.empty(409)
                    }
                    return page.tab.map { self.adopt(session, own, next, besides: $0) }
                        ?? Self.empty(204)
                }
                guard let other = page.stranger(in: own, open: self.siteOrNone) else {
                    return Self.empty(204)
                }
                let witness = Witness(
                    session: session, answered: own.description, word: .version(other),
                    browser: browser)
                if query.hasWorker {
                    self.pins.withLock { $0.sessions[session.description]?.word = .unknown }
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

    /// Takes a page that a worker keeps as one of the current version, if its document has the same bytes.
    ///
    /// Answers 205 if its next load is one, too, judging by its files.
    /// - Parameter tab: the sessions that the page's tab has had, which all go with it.
    private func adopt(
        _ session: BridgeSessionID, _ own: VersionName, _ next: VersionName, besides tab: [String]
    ) -> Response {
        guard next == cache.current?.site.version, let old = siteOrNone(own),
            let new = siteOrNone(next)
        else { return Self.empty(409) }
        func isSame(_ path: [UInt8]) -> Bool { old.address(of: path) == new.address(of: path) }
        let (name, now) = (session.description, SystemClock.now)
        // A live page connects again within 23 seconds.
        let absent = bridge.absent(for: .seconds(30), now: now).union(tab)
        let cookie = pins.withLock { pins in
            // A worker may show the start page in place of any other.
            isSame([47]) && isSame(pins.sessions[name]?.address ?? [47])
                ? pins.adopt(
                    session: name, from: own, as: next, isOther: { !isSame($0) },
                    absent: absent, now: now) : nil
        }
        guard let cookie else { return Self.empty(409) }
        return adding([setting(cookie)], to: Self.empty(205))
    }

    private func siteOrNone(_ version: VersionName) -> Site? {
        // A version that cannot be opened is compared with nothing.
        try? cache.open(version).site
    }
}

/// The page for a browser without the token, whose cookie any server at another port of the host name may have
/// deleted.
///
/// The bridge keeps the token in the page's own storage, which belongs to one port. This page's script finds it there
/// and restores it, but only if the user or the app's own page navigates here. Other navigations would bypass
/// `SameSite=Strict`, so they end here until a person continues.
enum LostTokenPage {
    static let key = "castreeToken"

    static func kept(_ name: String, _ token: String) -> String { "\(name)=\(token)" }

    static func response(to head: RequestHead, _ name: String) -> Response? {
        guard head.mayBeginPage else { return nil }
        let text = page + (isOwn(head) ? script(name) : "")
        var response = ResponseHead(403).carrying(
            Array(text.utf8), "text/html; charset=utf-8", method: head.method)
        response.head.add(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'"
        )
        response.head.add("Referrer-Policy", "same-origin")
        return response
    }

    /// Whether a person or one of the app's own pages sends a request, as far as the request tells.
    static func isOwn(_ head: RequestHead) -> Bool {
        head.value(of: "sec-fetch-site").map {
            head.matches($0, "none") || head.matches($0, "same-origin")
        } ?? (head.value(of: "referer") != nil && !head.isFromAnotherOrigin)
    }

    private static let page = """
        <!doctype html><html lang="en"><meta charset="utf-8"><title>Only for the app</title>
        <p>This server answers only to the app that it belongs to.</p>
        <p>If this is the app's browser, it has lost the cookie that says so: <a href="">show the app</a>, or open the address
        with the token, which castree serve has printed.</p>

        """

    private static func script(_ name: String) -> String {
        """
        <script>
        (async () => {
          const kept = localStorage.\(key) || '', status = '/_castree/status';
          if (!kept.startsWith('\(name)=')) return;
          const answer = await fetch(status + '?' + kept);
          if (answer.status === 403) delete localStorage.\(key);
          // Without it, to see that the browser keeps the cookie.
          if (answer.ok && (await fetch(status)).ok) location.reload();
        })().catch(() => {});
        </script>

        """
    }
}
