import VersionTree

// Pages with a session of the bridge: the session identifies its page in every request, on
// whichever connection, and ends when the page goes.
extension PinTable {
    /// A session uses a connection, which now holds the load of the session's page.
    ///
    /// The first time, that is the load chosen for the connection's last request, or another load
    /// of that version with a page that has no session yet: it does not matter which, because all
    /// have the same version. If all pages have theirs, this one came without a navigation, and is one more
    /// (``keptPage(of:_:_:_:)``). If that request was in doubt, all loads that may be the page's are
    /// held until the connection ends.
    ///
    /// - Parameter word: what the page says of its version; it holds nothing that its browser was not given.
    mutating func hold(
        session: String, connection: UInt64, word: PageWord? = nil, now: Duration
    ) {
        if let word { words[session] = word }
        if sessions[session] == nil, let browser = doubts[connection] {
            return holdAll(browser, session, connection, now)
        }
        guard let holder = sessions[session] ?? begin(session, connection, now) else { return }
        if !isThere(holder) { revive(session, holder, now) }
        guard let held = sessions[session] else { return }
        change(held.browser, held.load) { $0.usedAt = max($0.usedAt, now) }
        attach(connection, held.browser, held.load, now)
    }

    /// Whether a page is open that has no session, or none yet; of one version, or of any.
    ///
    /// A frame is seen with the page around it: it needs no session, and one that it has speaks for both.
    func hasPageWithoutSession(of version: VersionName? = nil, now: Duration) -> Bool {
        browsers.values.contains { browser in
            var open: [VersionName: Int] = [:]
            for load in browser.loads where isLive(load, now) {
                open[load.version, default: 0] +=
                    (load.parent == nil ? load.pages : 0) - load.sessions
            }
            return open.contains { $0.value > 0 && $0.key == version ?? $0.key }
        }
    }

    /// Whether a session's page is known.
    func knows(session: String) -> Bool { sessions[session] != nil }

    /// The version of a session's page, if it is known: what the page says counts.
    func version(session: String) -> VersionName? {
        switch words[session] {
        case .version(let own)?: own
        case .unknown?: nil
        case nil: answered(session: session)
        }
    }

    /// The version that the navigation of a session's page was answered with, as far as requests tell.
    ///
    /// `nil` also if there was no navigation.
    func answered(session: String) -> VersionName? {
        sessions[session].flatMap { $0.isAnswered ? $0.version : nil }
    }

    /// The browser of a session's page, if any request of it has told.
    func browser(ofSession session: String) -> String? {
        sessions[session]?.browser ?? crowds.values.first { $0.session == session }?.browser
    }

    /// A session has ended: there is one page less, without any doubt.
    mutating func leave(session: String, now: Duration) {
        words[session] = nil
        for (connection, crowd) in crowds where crowd.session == session {
            release(crowdOf: connection, now)
        }
        guard let holder = sessions.removeValue(forKey: session) else { return }
        var isOver = false
        change(holder.browser, holder.load) { load in
            load.pages -= 1
            load.sessions -= 1
            load.usedAt = max(load.usedAt, now)
            if load.pages <= 0, !load.isOver { load.isOver = true; isOver = true }
        }
        if isOver { browsers[holder.browser]?.endFrames(of: holder.load) }
    }

    private mutating func begin(
        _ session: String, _ connection: UInt64, _ now: Duration
    ) -> Holder? {
        guard let held = connections[connection], let browser = browsers[held.browser],
            let asking = browser.loads.first(where: { $0.number == held.load })
        else { return nil }
        let free = browser.loads.filter {
            $0.version == asking.version && $0.sessions < $0.pages && isLive($0, now)
        }
        let answered = free.first { $0.number == held.load } ?? free.last
        let load = answered ?? keptPage(of: session, held.browser, asking, now)
        change(held.browser, load.number) { $0.sessions += 1 }
        let holder = Holder(
            browser: held.browser, load: load.number, path: load.path, version: load.version,
            isAnswered: answered != nil)
        sessions[session] = holder
        return holder
    }

    /// A page that no navigation brought, since a service worker had it, or whose navigation a worker sent on as a
    /// request of its own: it is one page more of the version that it says, where its browser was given that.
    private mutating func keptPage(
        of session: String, _ name: String, _ asking: Load, _ now: Duration
    ) -> Load {
        var browser = browsers[name] ?? Browser(usedAt: now)
        let said = words[session]?.version.flatMap { browser.wasGiven($0) ? $0 : nil }
        let version = said ?? asking.version
        let same = browser.loads.lastIndex {
            $0.version == version && $0.parent == nil && isLive($0, now)
        }
        if let same {
            browser.loads[same].pages += 1
            browsers[name] = browser
            return browser.loads[same]
        }
        nextLoad += 1
        let load = Load(
            number: nextLoad, path: asking.path, version: version, usedAt: now, askedAt: now,
            begunAt: now)
        browser.loads.append(load)
        browsers[name] = browser
        return load
    }

    private func isThere(_ holder: Holder) -> Bool {
        browsers[holder.browser]?.loads.contains { $0.number == holder.load } ?? false
    }

    /// A page silent for longer than the grace is back (a machine that slept, a page from the
    /// back/forward cache): its load counts again, as the oldest.
    private mutating func revive(_ session: String, _ holder: Holder, _ now: Duration) {
        var browser = browsers[holder.browser] ?? Browser(usedAt: now)
        nextLoad += 1
        var load = Load(
            number: nextLoad, path: holder.path, version: holder.version, usedAt: now,
            askedAt: now - limits.grace, begunAt: now - limits.loadingMax - .seconds(1))
        load.sessions = 1
        browser.loads.insert(load, at: 0)
        browsers[holder.browser] = browser
        sessions[session]?.load = load.number
    }
}
