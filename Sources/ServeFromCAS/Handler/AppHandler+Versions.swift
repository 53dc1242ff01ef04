import CASStore
import Synchronization
import VersionTree

// Which version a request gets.
//
// A loop never waits for the store: another process may keep its lock for as long as it likes. What is
// not at hand is fetched on another thread, and the request is answered then.
extension AppHandler {
    /// What was fetched for a request.
    struct Fetched: Sendable {
        /// Versions; `nil` for those that cannot be had.
        var entries: [VersionName: SiteShelf.Entry?] = [:]
        /// Whether the begin of the page has been seen to.
        var hasBegun = false
        /// Whether another process has kept the store for so long that it was given up.
        var isBusy = false
        /// The request as it is to be answered, where that is not as it came.
        var head: RequestHead?
        /// When another process must have let go of the store, whatever is fetched one after the other.
        var end: SuspendingClock.Instant?
    }

    func respondCurrent(_ head: borrowing RequestHead, _ state: LoopState) -> Response {
        let generation = shelf.currentGeneration
        if state.generation != generation {
            state.current = shelf.current.map { Responder(site: $0.site) }
            state.others = [:]
            state.generation = generation
        }
        guard state.current != nil else { return nothingCurrent(head.method) }
        return state.current?.respond(to: head) ?? nothingCurrent(head.method)
    }

    private func respond(
        _ head: borrowing RequestHead, _ entry: SiteShelf.Entry, _ state: LoopState
    ) -> Response {
        if entry.site === state.current?.site, state.generation == shelf.currentGeneration {
            return respondCurrent(head, state)
        }
        let version = entry.site.version
        if state.others[version]?.site !== entry.site {
            if state.others.count >= 8 { state.others = [:] }
            state.others[version] = Responder(site: entry.site, headCountMax: 256)
        }
        return state.others[version]?.respond(to: head)
            ?? Responder.respond(to: head, site: entry.site)
    }

    /// Answers a request of a page.
    ///
    /// - Parameter cookies: what is set beside the pins' cookie.
    func respondPinned(
        _ head: RequestHead, _ exchange: Exchange, _ cookies: [String],
        _ fetched: Fetched = Fetched()
    ) -> Answer {
        let request = PinRequest(
            head, cookieName: cookieName, connection: exchange.connection.raw)
        if request.load == .page, !fetched.hasBegun, isPageNews(head) {
            let method = head.method
            return later(head, exchange, until: fetched.end) { end in
                var fetched = fetched
                fetched.end = end
                fetched.hasBegun = true
                fetched.head = self.pageBegins(head, SystemClock.now, by: end)
                fetched.isBusy = fetched.head == nil
                return fetched
            } then: {
                if $0.isBusy { return .response(Self.busy(method)) }
                return self.respondPinned($0.head ?? head, exchange, cookies, $0)
            }
        }
        guard let current = shelf.current else {
            return .response(adding(cookies, to: nothingCurrent(head.method)))
        }
        var unknown: [VersionName] = []
        let decision = decide(request, current) { version, path in
            if let entry = find(version, fetched) { return entry?.site.contains(path) ?? false }
            unknown.append(version)
            return nil
        }
        guard let decision else {
            return fetch(unknown, head, exchange, fetched) {
                self.respondPinned(head, exchange, cookies, $0)
            }
        }
        return carryOut(decision, of: request, head, exchange, cookies, fetched)
    }

    private func carryOut(
        _ decision: PinTable.Decision, of request: PinRequest, _ head: RequestHead,
        _ exchange: Exchange, _ cookies: [String], _ fetched: Fetched
    ) -> Answer {
        let then: @Sendable (Fetched) -> Answer = {
            self.carryOut(decision, of: request, head, exchange, cookies, $0)
        }
        switch decision {
        case .serve(let version, let cookie, let mark):
            guard let found = find(version, fetched) else {
                return fetch([version], head, exchange, fetched, then: then)
            }
            guard let entry = found else {
                return .response(adding(cookies, to: Self.gone(head.method)))
            }
            var response = respond(head, entry, fetched, exchange)
            if request.load != .subresource, mark != nil || request.hints == 7 {
                // On a 304, too: the stored response may have another.
                response.head.add("Permissions-Policy", PageMark.policy(mark))
            }
            // What any cache may keep and give to others holds nobody's cookie.
            if let cookie, request.load != .subresource || !response.head.isPublic {
                response.head.add("Set-Cookie", cookie.setCookie(cookieName, isSecure: isSecure))
            }
            return .response(adding(cookies, to: response))
        case .doubt(let versions):
            let unknown = versions.filter { find($0, fetched) == nil }
            guard unknown.isEmpty else {
                return fetch(unknown, head, exchange, fetched, then: then)
            }
            // What a version had that was retired while no server held it cannot be told: it may be
            // the page's.
            let entries = versions.compactMap { find($0, fetched) ?? nil }
            guard entries.count == versions.count, let first = entries.first,
                PinTable.agree(entries.map(\.site), on: head)
            else { return .response(adding(cookies, to: PinTable.refusal(head.method))) }
            let response = respond(head, first, fetched, exchange)
            return .response(adding(cookies, to: response))
        }
    }

    private func respond(
        _ head: borrowing RequestHead, _ entry: SiteShelf.Entry, _ fetched: Fetched,
        _ exchange: Exchange
    ) -> Response {
        // Pinned by the decision: what was taken from the shelf since it was fetched belongs there.
        if !fetched.entries.isEmpty { shelf.keep(entry) }
        return respond(head, entry, loops[exchange.loop.number])
    }

    /// The version that a request belongs to, for the page's own requests to the server.
    ///
    /// `nil` also while it could only be told by fetching.
    func version(of head: borrowing RequestHead, _ exchange: Exchange) -> String? {
        let request = PinRequest(
            head, cookieName: cookieName, connection: exchange.connection.raw)
        guard let current = shelf.current else { return nil }
        let decision = decide(request, current) { version, path in
            shelf.entry(version).map { $0.site.contains(path) }
        }
        switch decision {
        case .serve(let version, _, _): return version.description
        case .doubt, nil: return nil
        }
    }

    /// Which version a request gets; `nil` if what `contains` does not know is needed.
    private func decide(
        _ request: PinRequest, _ current: SiteShelf.Entry,
        contains: (VersionName, [UInt8]) -> Bool?
    ) -> PinTable.Decision? {
        pins.withLock { pins in
            pins.decide(
                request, current: current.site.version, now: SystemClock.now,
                newBrowser: Self.newBrowser(), contains: contains)
        }
    }

    // MARK: Fetching

    /// Whether something is to be done before a page is answered.
    private func isPageNews(_ head: borrowing RequestHead) -> Bool {
        if shelf.hasNews { return true }
        guard let startup, StartRule.mayStart(head) else { return false }
        let lifecycle = shelf.lifecycle
        // Somebody is at it: whoever comes meanwhile has to wait for it elsewhere.
        return startup.askIfFree { $0.isDue(lifecycle) } ?? true
    }

    /// A version that is at hand, `.some(nil)` if it cannot be had; `nil` if nobody has looked.
    private func find(_ version: VersionName, _ fetched: Fetched) -> SiteShelf.Entry?? {
        if let entry = shelf.entry(version) { return .some(entry) }
        return fetched.entries[version]
    }

    private func fetch(
        _ versions: [VersionName], _ head: RequestHead, _ exchange: Exchange, _ fetched: Fetched,
        then: @escaping @Sendable (Fetched) -> Answer
    ) -> Answer {
        let method = head.method
        return later(
            head, exchange, until: fetched.end,
            { end in
                var fetched = fetched
                fetched.end = end
                for version in versions where !fetched.isBusy {
                    fetched.entries[version] = .some(self.open(version, &fetched.isBusy))
                }
                return fetched
            }, then: { $0.isBusy ? .response(Self.busy(method)) : then($0) })
    }

    /// Answers when another thread has done its work.
    ///
    /// - Parameters:
    ///   - end: when nothing is waited for any more; that of this request's earlier work, if there was any.
    ///   - work: is told that end.
    func later<Result: Sendable>(
        _ head: RequestHead, _ exchange: Exchange, until end: SuspendingClock.Instant? = nil,
        _ work: @escaping @Sendable (_ end: SuspendingClock.Instant) -> Result,
        then: @escaping @Sendable (Result) -> Answer
    ) -> Answer {
        let end = end ?? SuspendingClock.now + waitLimit
        let isTaken = storeWork.add {
            let result = LockPatience.until(end, unless: self.isGivenUp) { work(end) }
            exchange.answer { then(result) }
        }
        guard isTaken else { return .response(Self.busy(head.method)) }
        let method = head.method
        // What has been waited for in vain says so itself.
        let left = max(.zero, end - SuspendingClock.now) + .seconds(1)
        return .soon(within: left.milliseconds, otherwise: { Self.busy(method) })
    }

    /// How long work for a request waits for other processes, or a look after everything.
    ///
    /// A browser that waits longer shows nothing.
    var waitLimit: Duration { min(.seconds(30), store.versions.store.options.waitLimit) }

    /// Whether nothing is waited for any more: the server ends.
    var isGivenUp: @Sendable () -> Bool {
        { [weak self] in self?.isStopping.load(ordering: .acquiring) ?? true }
    }

    private func open(_ version: VersionName, _ isBusy: inout Bool) -> SiteShelf.Entry? {
        do throws(StoreError) {
            return try shelf.open(version)
        } catch {
            isBusy = error.code == .locked
            // Retired while nobody held it: its page has to be loaded again.
            if error.code != .noVersion { notice(error.message) }
            return nil
        }
    }

    /// Tells what pages hold from now on from what they held before.
    static func newRun() -> String { String(newBrowser().prefix(8)) }

    static func newBrowser() -> String {
        // Without random numbers a counter still tells one browser from another.
        let token = try? randomToken()
        return token ?? String(String(SystemClock.nanoseconds).reversed()) + "withoutrandomness"
    }

    // MARK: Answers of its own

    private static func busy(_ method: Method) -> Response {
        PlainAnswer.response(
            503, "The store is busy: another process has kept its lock for long.", method: method,
            fields: [("Retry-After", "5")])
    }

    private func nothingCurrent(_ method: Method) -> Response {
        let sentence =
            shelf.isEmptied
            ? "The store is gone; castree add makes a new one, which is served then."
            : "No version is current; castree activate VERSION makes one so."
        return PlainAnswer.response(
            503, sentence, method: method, fields: [("Retry-After", "1")])
    }

    private static func gone(_ method: Method) -> Response {
        PlainAnswer.response(
            409, "The version that this page was loaded from is gone: load the page again.",
            method: method)
    }
}
