import CASStore
import Synchronization
import VersionTree

/// Answers requests below `/_castree/dashboard`: decides who may ask, and sends the documents.
final class DashboardHandler: Sendable {
    static let path = "/_castree/dashboard"

    private let tokenPolicy: TokenPolicy
    private let page: DashboardDocument
    private let status: DashboardDocument
    private let usage: DashboardDocument
    private let notice: FailureNotice

    /// - Parameter held: what the server keeps from being retired; may be called from any thread.
    init(
        _ dashboard: Dashboard, token: String, port: UInt16, isSecure: Bool,
        notice: @escaping @Sendable (String) -> Void,
        held: @escaping @Sendable () -> Dashboard.Held
    ) {
        tokenPolicy = TokenPolicy(
            token: token, name: Self.tokenName(port: port), isSecure: isSecure, path: Self.path,
            seconds: nil)
        page = DashboardDocument(freshFor: .seconds(3), dashboard.page)
        status = DashboardDocument(freshFor: .seconds(1)) { () throws(StoreError) in
            Dashboard.Page(bytes: try dashboard.status(held()), policy: Self.nothing)
        }
        usage = DashboardDocument(freshFor: .seconds(3)) { () throws(StoreError) in
            Dashboard.Page(bytes: try dashboard.usage(), policy: Self.nothing)
        }
        self.notice = FailureNotice(notice)
    }

    /// The name of the cookie and of the first address's parameter, with the port, because cookies ignore ports.
    static func tokenName(port: UInt16) -> String { tokenPrefix + String(port) }

    static let tokenPrefix = CookieText.ownPrefix + "dashboard_"

    static func owns(_ head: borrowing RequestHead) -> Bool { head.isBelow(path.utf8) }

    private static let nothing = "default-src 'none'"
    private static let unframed = "; frame-ancestors 'none'"

    // MARK: Requests

    func answer(_ head: RequestHead, _ exchange: Exchange) -> Answer {
        if let response = refusal(of: head) {
            return response.head.status == 403 ? .refusal(response) : .response(response)
        }
        switch head.text(head.path) {
        case Self.path: return .response(Self.redirect(head))
        case Self.path + "/": return answer(head, exchange, page, "text/html; charset=utf-8")
        case Self.path + "/status.json": return answer(head, exchange, status, "application/json")
        case Self.path + "/usage.json": return answer(head, exchange, usage, "application/json")
        default:
            return .response(
                Self.plain(404, "The dashboard has nothing at this address.", head))
        }
    }

    private func refusal(of head: RequestHead) -> Response? {
        // Only by a name of this machine, even if the app has others: a proxy in front of the server must not show
        // the dashboard. Pages of other sites get nothing, whatever they send.
        guard BridgeOrigin(head, hasSecret: true).isAllowed() else {
            return Self.plain(
                403, "The dashboard is for this machine only, and for no other site.", head)
        }
        let cookie: String?
        switch tokenPolicy.verdict(on: head) {
        case .granted: cookie = nil
        case .grantedWithCookie(let text): cookie = text
        case .refused:
            return Self.plain(
                403,
                "Open the dashboard at the address that castree serve --dashboard has printed; a "
                    + "server that was restarted has printed a new one.", head)
        }
        guard head.method == .get || head.method == .head else {
            return Self.plain(405, "The dashboard is read only.", head, [("Allow", "GET, HEAD")])
        }
        // The token must not stay in the address, even if the browser already had its cookie.
        guard let cookie else { return head.query == nil ? nil : Self.redirect(head) }
        return Self.redirect(head, [("Set-Cookie", cookie)])
    }

    private static func redirect(
        _ head: RequestHead, _ fields: [(name: String, value: String)] = []
    ) -> Response {
        plain(303, "The dashboard.", head, [("Location", path + "/")] + fields)
    }

    private static func plain(
        _ status: Int, _ sentence: String, _ head: RequestHead,
        _ fields: [(name: String, value: String)] = []
    ) -> Response {
        PlainAnswer.response(
            status, sentence, method: head.method,
            fields: fields + [
                ("Content-Security-Policy", nothing + unframed),
                ("Referrer-Policy", "no-referrer"),
            ])
    }

    // MARK: Documents

    /// How long making a document may take; then the page asks again, and it may be ready.
    private static let makingMilliseconds: Int64 = 60_000

    private func answer(
        _ head: RequestHead, _ exchange: Exchange, _ document: DashboardDocument,
        _ type: String
    ) -> Answer {
        let method = head.method
        let tags = ConditionalFields(head)
        let known = tags.list(head, tags.ifNoneMatch)
        document.ask(now: SystemClock.now) { [notice] outcome in
            switch outcome {
            case .success(let made):
                notice.end()
                let isKnown =
                    known.map { EntityTagList.matches($0, Array(made.tag.utf8), .weak) } ?? false
                exchange.answer(Self.response(made, type, method, isKnown: isKnown))
            case .failure(let error):
                notice.tell("unable to show the dashboard: \(error.message)")
                exchange.answer(Self.plain(500, error.message, head))
            }
        }
        return .later(
            within: Self.makingMilliseconds,
            otherwise: {
                Self.plain(
                    503, "Reading the store takes long; ask again.", head,
                    [("Retry-After", "10")])
            }, gone: nil)
    }

    private static func response(
        _ made: DashboardDocument.Made, _ type: String, _ method: Method, isKnown: Bool
    ) -> Response {
        var head = ResponseHead(isKnown ? 304 : 200)
        head.add("ETag", made.tag)
        head.add("Cache-Control", "no-store")
        head.add("Content-Security-Policy", made.policy + unframed)
        head.add("X-Content-Type-Options", "nosniff")
        head.add("X-Frame-Options", "DENY")
        head.add("Referrer-Policy", "no-referrer")
        head.add(SiteOptions.resourcePolicy, "same-origin")
        head.add("Cross-Origin-Opener-Policy", "same-origin")
        if isKnown { return Response(head: head) }
        head.add("Content-Type", type)
        head.add("Content-Length", String(made.bytes.count))
        return Response(head: head, body: method == .head ? .none : .piece(.bytes(made.bytes)))
    }
}

/// One document of the dashboard: made on another thread, and kept for a while for all requests.
///
/// Requests that come while it is being made share the result, so a hundred windows cost as much as one.
final class DashboardDocument: Sendable {
    struct Made: Sendable {
        var bytes: [UInt8]
        var policy: String
        /// The strong entity tag with its quotes.
        var tag: String
    }

    typealias Outcome = Result<Made, StoreError>

    private struct State {
        var made: Made?
        var freshUntil = Duration.zero
        var waiting: [@Sendable (Outcome) -> Void] = []
        var isMaking = false
    }

    private let make: @Sendable () throws(StoreError) -> Dashboard.Page
    private let freshFor: Duration
    private let state = Mutex(State())

    /// - Parameter freshFor: how long it is kept at least. If making it takes long, it is kept ten times as long as
    ///   that, so that it never takes more than a tenth of one processor.
    init(
        freshFor: Duration, _ make: @escaping @Sendable () throws(StoreError) -> Dashboard.Page
    ) {
        self.freshFor = freshFor
        self.make = make
    }

    /// Calls `answer` with the document: at once if it is fresh, otherwise from another thread.
    func ask(now: Duration, _ answer: @escaping @Sendable (Outcome) -> Void) {
        let (fresh, begins) = state.withLock { state -> (Made?, Bool) in
            if let made = state.made, now < state.freshUntil { return (made, false) }
            state.waiting.append(answer)
            defer { state.isMaking = true }
            return (nil, !state.isMaking)
        }
        if let fresh { return answer(.success(fresh)) }
        if begins { Parallel.detach { self.run() } }
    }

    private func run() {
        let began = SystemClock.now
        let outcome = Outcome { () throws(StoreError) in
            let page = try make()
            let digest = try Digester.digest(.sha256, of: page.bytes)
            let tag = "\"\(Hex.string(digest.prefix(16)))\""
            return Made(bytes: page.bytes, policy: page.policy, tag: tag)
        }
        let now = SystemClock.now
        let waiting = state.withLock { state -> [@Sendable (Outcome) -> Void] in
            // After a failure, the next request makes it again.
            state.made = nil
            if case .success(let made) = outcome { state.made = made }
            state.freshUntil = now + max(freshFor, (now - began) * 10)
            state.isMaking = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for answer in waiting { answer(outcome) }
    }
}
