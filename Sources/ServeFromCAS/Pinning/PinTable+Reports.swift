import VersionTree

// What sessions of the bridge report of their pages, and which of them have not been told what waits for them. The
// caller says which sessions are open.
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

    mutating func note(word: PageWord, session: String) {
        sessions[session, default: Session()].word = word
    }

    mutating func note(isHidden: Bool, session: String) {
        sessions[session, default: Session()].isHidden = isHidden
    }

    /// Notes that a page reports; it may be gone again when the time of a start ends.
    /// - Returns: whether its session has not been told yet what waits for it.
    mutating func hear(session: String, now: Duration) -> Bool {
        guard sessions[session]?.isNewcomer == true else { return false }
        if sessions[session]?.heardAt == nil { sessions[session]?.heardAt = now }
        return true
    }

    /// - Returns: whether the session is to be told now what waits for it, for the first time.
    mutating func welcome(session: String) -> Bool {
        defer { sessions[session]?.isNewcomer = false }
        return sessions[session]?.isNewcomer == true
    }

    func isWelcome(session: String) -> Bool { sessions[session]?.isNewcomer != true }

    /// Whether a session's page may start a version; one embedded elsewhere does so only once.
    func mayStart(session: String, again isKnown: Bool) -> Bool {
        !isForeign(session: session) && (isKnown || sessions[session]?.isEmbedded != true)
    }

    /// Whether an open session's page may be in a browser; an unknown one may be.
    /// - Parameter since: when it must have reported for the first time, or later.
    func hasPage(in open: [String], of browser: String?, heardSince since: Duration?) -> Bool {
        open.contains { session in
            let own = self.browser(ofSession: session)
            return (own == nil || browser == nil || own == browser)
                && since.map { sessions[session]?.heardAt ?? .zero >= $0 } ?? true
        }
    }

    /// Whether a page is visible, or has no bridge to report that it is not.
    /// - Parameter absent: the sessions whose browsers were killed.
    func isInForeground(open: [String], absent: Set<String>, now: Duration) -> Bool {
        open.contains { sessions[$0]?.isHidden != true && !absent.contains($0) }
            || hasPageWithoutSession(now: now)
    }

    /// Whether all open pages of a version report that they are hidden; then the time of its start does not run.
    ///
    /// False without any page: one that has no bridge yet may be visible.
    func isUnseen(_ version: VersionName, open: [String], now: Duration) -> Bool {
        let own = open.filter { self.version(session: $0) ?? version == version }
        guard !own.isEmpty, own.allSatisfy({ sessions[$0]?.isHidden == true }) else { return false }
        // Without a cookie, the navigation of a page with a session cannot be identified.
        let looseCount = own.count { !knows(session: $0) }
        return !hasPageWithoutSession(of: version, besides: looseCount, now: now)
    }

    /// How many requests of one browser wait at once: it has six connections for all its pages and their frames.
    private static let pollCountMax = 2

    /// Counts one more waiting request of a browser; `false` if there are too many.
    mutating func beginPoll(of browser: String) -> Bool {
        guard polls[browser, default: 0] < Self.pollCountMax else { return false }
        polls[browser, default: 0] += 1
        return true
    }

    mutating func endPoll(of browser: String) {
        let rest = polls[browser, default: 1] - 1
        polls[browser] = rest > 0 ? rest : nil
    }
}
