import CASStore
import StrictJSON
import Synchronization
import VersionTree

// The server's own answers, below /_castree/.
extension AppHandler {
    private static let prefix = Array(ReservedRoute.directory.utf8)

    func isReserved(_ head: borrowing RequestHead) -> Bool {
        // The second byte excludes nearly every path.
        guard head.path.count > 1, head.bytes[head.path.lowerBound + 1] == 95 else { return false }
        return head.isBelow(Self.prefix)
    }

    /// - Parameter cookies: what a later answer sets; the caller adds those of other answers.
    func answerReserved(
        _ head: RequestHead, _ exchange: Exchange, _ cookies: [String]
    ) -> Answer {
        let route = ReservedRoute(path: head.text(head.path))
        do throws(Refusal) {
            switch route {
            case .script: return .response(script(head))
            case .bridge: return answerBridge(head, exchange)
            case .confirm: return try confirm(head, exchange, cookies)
            case .check: return try ask(.check, head)
            case .update: return try ask(.update, head)
            case .hidden, .visible: return try noteVisibility(head, isHidden: route == .hidden)
            case .status: return .response(status(head))
            case .stalePage: return try noteStalePage(head, exchange)
            case .mixed: return try judgeMixed(head, exchange)
            case nil: return .plain(404, "The server has nothing at this address.", head.method)
            }
        } catch { return .response(error.response) }
    }

    func script(_ head: RequestHead) -> Response {
        guard head.method == .get || head.method == .head else {
            return PlainAnswer.methodNotAllowed(head.method)
        }
        let bytes =
            options.refusesServiceWorkers ? BridgeScript.refusingBytes : BridgeScript.bytes
        // A page that a worker keeps may load before the server runs; the script must then be in the cache to find
        // it.
        return Self.document(
            bytes, "text/javascript; charset=utf-8",
            caching: "max-age=0, stale-while-revalidate=31536000", head.method)
    }

    /// A document of the server itself, for its own pages and for no other site's.
    private static func document(
        _ bytes: [UInt8], _ type: String, caching: String, _ method: Method
    ) -> Response {
        var response = ResponseHead(200).carrying(bytes, type, caching: caching, method: method)
        response.head.add(SiteOptions.resourcePolicy, "same-origin")
        return response
    }

    /// Whether a request comes from a page of this server.
    /// - Parameter hasSecret: whether it carries something that only such a page knows.
    func isOwn(_ head: RequestHead, hasSecret: Bool = false) -> Bool {
        // A token policy has let only its own requests pass.
        let origin = BridgeOrigin(head, hasSecret: hasSecret || tokenPolicy != nil)
        return origin.isAllowed(hosts: HostPolicy.loopback + options.hosts)
    }

    private func confirm(
        _ head: RequestHead, _ exchange: Exchange, _ cookies: [String]
    ) throws(Refusal) -> Answer {
        let session = try ownSession(head, "A confirmation")
        let name = session.description
        let query = BridgeQuery(head)
        let (isKnown, answered, word) = pins.withLock { pins in
            if let word = query.word { pins.sessions[name]?.word = word }
            let isKnown = pins.knows(session: name) || pins.isInDoubt(session: name)
            return (isKnown, pins.answered(session: name), query.word ?? pins.sessions[name]?.word)
        }
        if word == nil, isPageOfUpstream(head, exchange) {
            return .plain(
                409, "A page that another server has rendered (--proxy) confirms nothing.",
                head.method)
        }
        // Requests alone may point to another page's version.
        let witness = Witness(
            session: session,
            answered: isKnown ? answered?.description : version(of: head, exchange),
            word: word, browser: browser(of: head, exchange, given: word?.version))
        let method = head.method
        return later(head, exchange) { _ in
            self.takeBackUnshown(session)
            let response =
                self.proven(witness).map { self.confirmed($0, witness, method) }
                ?? self.unproven(witness, method)
            return self.adding(cookies, to: response)
        } then: {
            .response($0)
        }
    }

    private func ask(_ wish: ServedUpdates.Wish, _ head: RequestHead) throws(Refusal) -> Answer {
        _ = try ownSession(head, "A page's wish")
        guard let updates = options.updates else {
            return .plain(
                404, "This server brings no updates (castree serve --updates ORIGIN).", head.method)
        }
        updates.ask(wish)
        return Self.empty(202)
    }

    private func noteVisibility(_ head: RequestHead, isHidden: Bool) throws(Refusal) -> Answer {
        let session = try ownSession(head, "What is seen")
        pins.withLock { $0.sessions[session.description]?.isHidden = isHidden }
        return Self.empty(204)
    }

    static func empty(_ status: Int) -> Response {
        var head = ResponseHead(status)
        head.add("Cache-Control", "no-store")
        if status != 204 { head.add("Content-Length", "0") }
        return Response(head: head)
    }

    static func empty(_ status: Int) -> Answer {
        .response(empty(status))
    }

    func isInForeground(now: Duration) -> Bool {
        // A visible page reconnects within 25 seconds. If it has had no connection for a minute, its browser was killed.
        let absent = bridge.absent(for: .seconds(60), now: now)
        return pins.withLock { $0.isInForeground(absent: absent, now: now) }
    }

    func isUnseen(now: Duration) -> Bool {
        guard let version = cache.current?.site.version else { return false }
        return pins.withLock { $0.isUnseen(version, now: now) }
    }

    struct Refusal: Error {
        let response: Response
    }

    /// The session of the page that posts something.
    ///
    /// Only the page knows it. Other programs can send any Origin, and the browser sends the cookies for pages of
    /// other ports, too.
    func ownSession(_ head: RequestHead, _ what: String) throws(Refusal) -> BridgeSessionID {
        func refusal(
            _ status: Int, _ sentence: String, fields: [(name: String, value: String)] = []
        ) -> Refusal {
            Refusal(
                response: PlainAnswer.response(
                    status, sentence, method: head.method, fields: fields))
        }
        guard head.method == .post else {
            throw refusal(405, "\(what) must be a POST.", fields: [("Allow", "POST")])
        }
        let path = head.text(head.path)
        guard isOwn(head) else {
            throw refusal(403, "Only a page of this server may POST \(path).")
        }
        guard let session = BridgeQuery(head).session else {
            throw refusal(
                403,
                "\(what) must name its page's session of the bridge: POST \(path)?session=SESSION.")
        }
        guard bridge.knowsSession(of: head) else {
            throw refusal(410, "There is no such session of the bridge; begin another one.")
        }
        return session
    }

    /// Records the confirmation; may wait for other processes.
    private func confirmed(
        _ version: String, _ witness: Witness, _ method: Method
    ) -> Response {
        do throws(StoreError) {
            // A server that watches no start waits for nothing, so the page counts as confirmed.
            var isGood = try startup?.confirm(version) ?? true
            if !isGood, let startup, try startsUnasked(version, witness, startup) {
                isGood = try startup.confirm(version)
            }
            guard isGood else {
                pins.withLock { $0.sessions[witness.session.description]?.earlyWord = version }
                let watcher = try otherWatcher().map { " " + $0.watching + "." } ?? ""
                return PlainAnswer.response(
                    409, "Version \(version) is not the one that was started." + watcher,
                    method: method)
            }
            endStalePages(insteadOf: version)
            follow()
            return Self.empty(204)
        } catch {
            notice("unable to confirm version \(version): \(error.message)")
            return PlainAnswer.response(500, error.message, method: method)
        }
    }

    var held: Dashboard.Held {
        let pinned = pins.withLock { $0.pinned(now: SystemClock.now) }
        return Dashboard.Held(
            byPages: pinned.map(\.description), current: cache.current?.site.version.description)
    }

    /// Which version is served and which are pinned, as JSON; for scripts and health checks.
    private func status(_ head: RequestHead) -> Response {
        guard head.method == .get || head.method == .head else {
            return PlainAnswer.methodNotAllowed(head.method)
        }
        guard isOwn(head) || head.value(of: "origin") == nil else {
            return PlainAnswer.response(
                403, "Only this server's pages may ask.", method: head.method)
        }
        let held = held
        let status = JSONWriter.document { writer in
            writer.member("version", held.current)
            writer.member("pinned", held.byPages)
        }
        return Self.document(status, "application/json", caching: "no-store", head.method)
    }
}

extension Answer {
    static func plain(
        _ status: Int, _ sentence: String, _ method: Method,
        fields: [(name: String, value: String)] = []
    ) -> Answer {
        .response(PlainAnswer.response(status, sentence, method: method, fields: fields))
    }
}

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
