import VersionTree

// What the open sessions of the bridge report of their pages, and which have not been told what waits for them.
extension PinTable {
    /// The pages come from another store: they are treated as after a restart of the server.
    mutating func forgetPages(run: String) {
        var new = PinTable(limits: limits, run: run)
        (new.polls, new.led) = (polls, led)
        new.sessions = sessions.mapValues {
            Session(
                isHidden: $0.isHidden, isNewcomer: $0.isNewcomer, heardAt: $0.heardAt,
                earlyWord: $0.earlyWord)
        }
        self = new
    }

    /// A page's version and browser, as far as they are known.
    typealias Heard = (version: String?, browser: String?)

    /// - Returns: what is known of a page whose session has not been told what waits for it.
    mutating func hear(session: String, now: Duration) -> Heard? {
        guard sessions[session]?.isNewcomer == true else { return nil }
        if sessions[session]?.heardAt == nil { sessions[session]?.heardAt = now }
        return (version(session: session)?.description, browser(ofSession: session))
    }

    /// - Returns: whether the session is to be told now what waits for it.
    mutating func welcome(session: String) -> Bool {
        defer { sessions[session]?.isNewcomer = false }
        return sessions[session]?.isNewcomer == true
    }

    /// Whether a session's page may start a version; one embedded elsewhere does so only once.
    func mayStart(session: String, again isKnown: Bool) -> Bool {
        !isForeign(session: session) && (isKnown || sessions[session]?.isEmbedded != true)
    }

    /// Whether a page has reported that may be in a browser.
    /// - Parameter since: for the first time then, or later.
    func hasHeard(from browser: String?, since: Duration?) -> Bool {
        sessions.contains { session, known in
            let own = self.browser(ofSession: session)
            return (own == nil || browser == nil || own == browser)
                && since.map { known.heardAt ?? .zero >= $0 } ?? true
        }
    }

    /// Whether a page is visible, or has no bridge to report that it is not.
    /// - Parameter absent: the sessions whose browsers were killed.
    func isInForeground(absent: Set<String>, now: Duration) -> Bool {
        sessions.contains { !$0.value.isHidden && !absent.contains($0.key) }
            || hasPageWithoutSession(now: now)
    }

    /// Whether all open pages of a version report that they are hidden; then the time of its start does not run.
    ///
    /// False without any page: one that has no bridge yet may be visible.
    func isUnseen(_ version: VersionName, now: Duration) -> Bool {
        let own = sessions.filter { self.version(session: $0.key) ?? version == version }
        guard !own.isEmpty, own.values.allSatisfy(\.isHidden) else { return false }
        // Without a cookie, the navigation of a page with a session cannot be identified.
        let looseCount = own.values.count { $0.page == nil }
        return !hasPageWithoutSession(of: version, besides: looseCount, now: now)
    }

    /// How many requests of one browser wait at once: it has six connections for all its pages and their frames.
    private static let pollCountMax = 2

    /// Counts one more waiting request of a browser, until its ticket is returned; `false` if there are too many.
    ///
    /// A request that names no browser need not come from one.
    mutating func beginPoll(of browser: String?, ticket: UInt64) -> Bool {
        guard let browser else { return true }
        guard polls.values.count(where: { $0 == browser }) < Self.pollCountMax else { return false }
        polls[ticket] = browser
        return true
    }
}
