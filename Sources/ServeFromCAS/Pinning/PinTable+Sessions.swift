import VersionTree

// Pages with a session of the bridge: the session identifies its page in every request, on whichever connection, and
// ends when the page goes.
extension PinTable {
    /// Begins a session: its page exists, and every page that begins later is another one.
    ///
    /// So while a successor loads, a request or end of a page that cannot be told from others is never taken for the
    /// successor's.
    mutating func open(session: String, isNewcomer: Bool = false) {
        var known = sessions[session] ?? Session(isNewcomer: isNewcomer)
        known.opened = known.opened ?? nextLoad
        sessions[session] = known
    }

    /// Notes that a session uses a connection, which then holds the load of the session's page.
    ///
    /// The first time, the load is found: one of the path and version which the page reports, or else of the version
    /// of the load chosen for the connection's last request, with a page that has no session yet. The choice matters,
    /// because the page ends the load when it goes. If all pages have sessions, this one came without a navigation,
    /// and is one more (``keptPage(of:_:_:_:)``). If that request was in doubt and the report does not help, all
    /// loads that may be the page's are held until the connection ends.
    /// - Parameters:
    ///   - word: the page's report of its version; it cannot hold a version that its browser was not given.
    ///   - address: the path that it was loaded from.
    ///   - isEmbedded: whether the page says that it is in a frame of another origin's page, which a server that was
    ///     restarted has not seen.
    ///   - isFromNetwork: whether the page says that no worker can have shown it: then no other page was shown in place
    ///     of the one that a navigation was answered with, and its version is what it says.
    /// - Returns: whether nothing held the session's version before, since its page was away for longer than the grace.
    @discardableResult
    mutating func hold(
        session: String, connection: UInt64, word: PageWord? = nil, address: [UInt8]? = nil,
        isEmbedded: Bool = false, isFromNetwork: Bool = false, now: Duration
    ) -> Bool {
        open(session: session)
        kept[session] = nil
        if let word { sessions[session]?.word = word }
        if isEmbedded { sessions[session]?.isEmbedded = true }
        if isFromNetwork { sessions[session]?.isFromNetwork = true }
        if sessions[session]?.address == nil { sessions[session]?.address = address }
        guard let holder = sessions[session]?.page ?? begin(session, connection, now) else {
            return false
        }
        let isBack = !isThere(holder)
        if isBack { revive(session, holder, now) }
        guard let held = sessions[session]?.page else { return isBack }
        change(held.browser, held.load) {
            $0.usedAt = max($0.usedAt, now)
            guard isEmbedded else { return }
            // Of an earlier run's page nobody knows.
            $0.isSilent = $0.isSilent || !$0.isEmbedded
            $0.isEmbedded = true
            // Of several pages that a cookie names, its reload tells this one by its path.
            if $0.path.isEmpty, let address { $0.path = address }
        }
        attach(connection, held.browser, held.load, now)
        return isBack
    }

    /// Whether a page without a session (or none yet) is open; of one version, or of any.
    ///
    /// A frame counts with the page around it: it needs no session, and if it has one, that covers both.
    /// - Parameter loose: how many sessions belong to such pages without being assigned to one.
    func hasPageWithoutSession(
        of version: VersionName? = nil, besides loose: Int = 0, now: Duration
    ) -> Bool {
        var all: [VersionName: Int] = [:]
        for browser in browsers.values {
            var open: [VersionName: Int] = [:]
            for load in browser.loads where isLive(load, now) {
                open[load.version, default: 0] +=
                    (load.parent == nil ? load.pages : 0) - load.sessions
            }
            all.merge(open.mapValues { max(0, $0) }, uniquingKeysWith: +)
        }
        return all.contains { $0.value > loose && $0.key == version ?? $0.key }
    }

    func knows(session: String) -> Bool { sessions[session]?.page != nil }

    /// The version of a session's page, if it is known: the page's own report counts.
    func version(session: String) -> VersionName? {
        switch sessions[session]?.word {
        case .version(let own)?: own
        case .unknown?: nil
        case nil: answered(session: session)
        }
    }

    /// The version that the navigation of a session's page was answered with, as far as requests tell.
    ///
    /// `nil` also if there was no navigation and the page reports another version than its requests.
    func answered(session: String) -> VersionName? {
        guard let known = sessions[session], let holder = known.page else { return nil }
        let isSaid = known.word.map { $0.version == holder.version } ?? true
        return holder.isAnswered || isSaid ? holder.version : nil
    }

    func isInDoubt(session: String) -> Bool {
        crowds.values.contains { crowd in
            let loads = browsers[crowd.browser]?.loads.filter { crowd.loads.contains($0.number) }
            return crowd.session == session && Set(loads?.map(\.version) ?? []).count > 1
        }
    }

    func browser(ofSession session: String) -> String? {
        sessions[session]?.page?.browser ?? crowds.values.first { $0.session == session }?.browser
    }

    /// Ends a session: there is certainly one page less.
    mutating func leave(session: String, now: Duration) {
        kept[session] = nil
        for (connection, crowd) in crowds where crowd.session == session {
            release(crowdOf: connection, now)
        }
        guard let holder = sessions.removeValue(forKey: session)?.page else { return }
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
        let held = connections[connection]
        guard let name = doubts[connection] ?? held?.browser, let browser = browsers[name] else {
            return bareLoad(of: session, now).map {
                begin(session, $0.load, of: $0.browser, isAnswered: true)
            }
        }
        let asking =
            addressed(session, browser, now)
            ?? browser.loads.first { $0.number == held?.load && held?.browser == name }
        if let said = saidPage(session, name, asking, now) {
            return begin(session, said.load, of: said.browser, isAnswered: true)
        }
        if doubts[connection] != nil {
            guard let said = sessions[session]?.word?.version, browser.wasGiven(said) else {
                holdAll(name, session, connection, now)
                return nil
            }
            // Other open pages report themselves, so this page must not hold theirs, or it stays in doubt.
            let kept = keptPage(of: session, name, said, asking?.path ?? [47], now)
            return begin(session, kept, of: name, isAnswered: false)
        }
        guard let asking, isEarlier(asking, than: session) else { return nil }
        let isOther =
            sessions[session]?.isFromNetwork == true
            && sessions[session]?.word?.version.map { $0 != asking.version } ?? false
        let free = browser.loads.filter {
            $0.version == asking.version && !isOther && isFree($0, session, now)
        }
        if let own = free.first(where: { $0.number == asking.number }) ?? free.last {
            return begin(session, own, of: name, isAnswered: own.isAnswered)
        }
        let said = sessions[session]?.word?.version.flatMap { browser.wasGiven($0) ? $0 : nil }
        if let said, said != asking.version, !asking.isAnswered, asking.sessions == 0 {
            // Only the requests of this page have named the load.
            change(name, asking.number) { $0.isOver = true }
        }
        let kept = keptPage(of: session, name, said ?? asking.version, asking.path, now)
        return begin(session, kept, of: name, isAnswered: false)
    }

    private mutating func begin(
        _ session: String, _ load: Load, of name: String, isAnswered: Bool
    ) -> Holder {
        change(name, load.number) { $0.sessions += 1 }
        let holder = Holder(
            browser: name, load: load.number, path: load.path, version: load.version,
            isAnswered: isAnswered)
        sessions[session, default: Session()].page = holder
        return holder
    }

    /// Whether a load began before a session: a load known only from a cookie may have begun at any time.
    private func isEarlier(_ load: Load, than session: String) -> Bool {
        !load.isAnswered || load.number <= sessions[session]?.opened ?? .max
    }

    /// Whether one of a load's pages (of any path, if only a cookie names it) has no session yet and may be this
    /// one's.
    private func isFree(_ load: Load, _ session: String, _ now: Duration) -> Bool {
        load.sessions < load.pages && isLive(load, now) && isEarlier(load, than: session)
            && (!load.isAnswered || load.path == sessions[session]?.address ?? load.path)
    }

    /// The load answered at the path which a session's page reports, if all such loads are of one version.
    private func addressed(_ session: String, _ browser: Browser, _ now: Duration) -> Load? {
        guard sessions[session]?.address != nil else { return nil }
        let own = browser.loads.filter { $0.isAnswered && isFree($0, session, now) }
        return own.allSatisfy { $0.version == own[0].version } ? own.last : nil
    }

    /// The load of the version that a page reports: its request may have been attributed to another page.
    ///
    /// The cookie may also be another browser's. If that browser was never given the version, the page may be any
    /// browser's. But if its request belongs to a page that was just sent, a service worker may have shown another
    /// page in its place.
    private func saidPage(
        _ session: String, _ name: String, _ asking: Load?, _ now: Duration
    ) -> (browser: String, load: Load)? {
        guard let said = sessions[session]?.word?.version, let browser = browsers[name] else {
            return nil
        }
        func pages(_ browser: Browser) -> [Load] {
            browser.loads.filter { $0.version == said && $0.isAnswered && isFree($0, session, now) }
        }
        let own = pages(browser)
        if let load = own.first(where: { $0.number == asking?.number }) { return (name, load) }
        let mayBeHidden =
            asking.map {
                $0.isAnswered && isFree($0, session, now) && now - $0.begunAt <= limits.loadingMax
            } ?? false
        if let load = own.last, !mayBeHidden || !browser.hasWorker { return (name, load) }
        guard !mayBeHidden, !browser.wasGiven(said) else { return nil }
        return browsers.flatMap { name, browser in pages(browser).map { (name, $0) } }
            .max { $0.1.number < $1.1.number }
    }

    /// The load of a page whose browser keeps no cookie, by the page's report alone.
    ///
    /// Such browsers are not told apart, but when the page says that it goes, there is one less of its version.
    private func bareLoad(
        of session: String, _ now: Duration
    ) -> (browser: String, load: Load)? {
        guard let said = sessions[session]?.word?.version, let address = sessions[session]?.address
        else {
            return nil
        }
        let pages = browsers.filter { !$0.value.hasShownCookie }.flatMap { name, browser in
            browser.loads.filter {
                $0.isAnswered && $0.version == said && $0.path == address
                    && isFree($0, session, now)
            }.map { (name, $0) }
        }
        return pages.max { $0.1.number < $1.1.number }
    }

    /// A page that came without a navigation, because a service worker had it or forwarded the navigation as its own
    /// request, is one more page of its version.
    private mutating func keptPage(
        of session: String, _ name: String, _ version: VersionName, _ path: [UInt8],
        _ now: Duration
    ) -> Load {
        var browser = browsers[name] ?? Browser(usedAt: now)
        // Its own requests may have named it already; for an earlier run's pages nobody knows which it is.
        let own = browser.loads.last {
            $0.version == version && !$0.isAnswered && !$0.path.isEmpty && $0.parent == nil
                && isFree($0, session, now)
        }
        if let own { return own }
        let address = sessions[session]?.address
        let same = browser.loads.lastIndex {
            $0.version == version && $0.parent == nil && isLive($0, now)
                && $0.path == address ?? $0.path
        }
        if let same {
            browser.loads[same].pages += 1
            browsers[name] = browser
            return browser.loads[same]
        }
        // It existed before this run of the server, or has no address of its own and is part of an open page.
        let isOld =
            address.map { $0.first != 47 } ?? false
            || browser.loads.contains {
                $0.path.isEmpty && $0.version == version && isLive($0, now)
            }
        nextLoad += 1
        var load = Load(
            number: nextLoad, path: address ?? path, version: version, usedAt: now,
            askedAt: now, begunAt: now, isAnswered: false)
        if isOld {
            // Insert it as an old page: it must not become the newest.
            load.begunAt -= limits.loadingMax + .seconds(1)
            browser.loads.insert(load, at: 0)
            if browser.loads.count > limits.loads {
                browser.loads.removeAll {
                    $0.number != load.number && ($0.isOver || !isHeld($0, now))
                }
            }
        } else {
            append(load, to: &browser, now)
        }
        browsers[name] = browser
        return load
    }

    private func isThere(_ holder: Holder) -> Bool {
        browsers[holder.browser]?.loads.contains { $0.number == holder.load } ?? false
    }

    /// A page silent for longer than the grace is back (a machine that slept, a page from the back/forward cache):
    /// its load counts again, as the oldest.
    private mutating func revive(_ session: String, _ holder: Holder, _ now: Duration) {
        var browser = browsers[holder.browser] ?? Browser(usedAt: now)
        nextLoad += 1
        var load = Load(
            number: nextLoad, path: holder.path, version: holder.version, usedAt: now,
            askedAt: now - limits.grace, begunAt: now - limits.loadingMax - .seconds(1))
        load.sessions = 1
        browser.loads.insert(load, at: 0)
        browsers[holder.browser] = browser
        sessions[session]?.page?.load = load.number
    }

    // MARK: Marks: requests that name their page's version

    /// The mark of a version's pages in a browser; assigns one if there was none.
    ///
    /// `nil` if pages of six other versions are still open there, or pages with unknown marks.
    /// - Parameter hints: those that the page's own requests may carry.
    mutating func mark(
        for version: VersionName, _ name: String, within hints: UInt8 = 7, _ now: Duration
    ) -> PageMark? {
        guard var browser = browsers[name] else { return nil }
        defer { browsers[name] = browser }
        var found: PageMark?
        let known = browser.marks.firstIndex {
            $0.version == version && $0.mark.isProperPart(of: hints)
                && given[$0.mark.hints] ?? version == version
        }
        if let known {
            found = browser.marks.remove(at: known).mark
        } else if browser.hasLostMarks {
            return nil
        } else {
            let free = inTurn(after: browser, version).filter { mark in
                mark.isProperPart(of: hints) && mark.hints != browser.hintsAround
                    && !browser.marks.contains { $0.mark == mark }
            }
            found =
                free.first { given[$0.hints] == version } ?? free.first { given[$0.hints] == nil }
                ?? free.first { isSpare($0, now) }
        }
        if found == nil {
            // The version absent for the longest time gives up its mark.
            let free = browser.marks.firstIndex { (mark, version) in
                mark.isProperPart(of: hints) && isSpare(mark, now)
                    && !browser.loads.contains { $0.version == version && isLive($0, now) }
            }
            guard let free else { return nil }
            found = browser.marks.remove(at: free).mark
        }
        if let found {
            browser.marks.append((found, version))
            given[found.hints] = version
        }
        return found
    }

    /// The mark for a prefetched page: that of its browser's other pages of the version.
    mutating func markAhead(
        _ request: PinRequest, _ version: VersionName, _ now: Duration
    ) -> PageMark? {
        guard request.canBeMarked, let cookie = request.cookie else { return nil }
        return mark(for: version, cookie.browser, now)
    }

    /// All marks, in the order in which a browser gets them: each is reused as late as possible, and a version's
    /// first is mostly the same in the next run.
    private func inTurn(after browser: Browser, _ version: VersionName) -> [PageMark] {
        let first = version.description.utf8.reduce(0) { ($0 * 31 + Int($1)) % 6 }
        let next = browser.marks.last.map { Int($0.mark.hints) % 6 } ?? first
        return Array(PageMark.all[next...] + PageMark.all[..<next])
    }

    /// Whether no page is open, in any browser, of the version to which a mark was given last.
    private func isSpare(_ mark: PageMark, _ now: Duration) -> Bool {
        guard let version = given[mark.hints] else { return true }
        return !browsers.values.contains { browser in
            browser.loads.contains { $0.version == version && isLive($0, now) }
        }
    }

    /// The versions that a request's mark names in the browsers that have pages, or else in those that had some.
    ///
    /// Without a cookie it may be of any of these. None if it has no mark.
    func marked(_ request: PinRequest, _ now: Duration) -> [VersionName] {
        guard let mark = request.mark else { return [] }
        var (live, gone): (Set<VersionName>, Set<VersionName>) = ([], [])
        for browser in browsers.values {
            let versions = browser.marks.filter { $0.mark == mark }.map(\.version)
            if browser.loads.contains(where: { isLive($0, now) }) {
                live.formUnion(versions)
            } else {
                gone.formUnion(versions)
            }
        }
        return (live.isEmpty ? gone : live).sorted()
    }

    /// After a restart of the server, restores from the cookie which marks the versions of open pages had.
    ///
    /// If the mark of one is missing (an older castree set the cookie, or there were too many), no further version
    /// gets a mark.
    /// - Parameter isMarking: whether the browser is known to mark requests, even if the cookie has no mark.
    mutating func recall(_ cookie: PinCookie, isMarking: Bool, _ now: Duration) {
        if cookie.isLasting, browsers[cookie.browser]?.hasEarlierWorker != true {
            browsers[cookie.browser, default: Browser(usedAt: now)].hasEarlierWorker = true
        }
        let others = cookie.others.filter { $0 != cookie.version }
        // The marks of pages that this run has begun are known.
        guard !cookie.marks.isEmpty || (isMarking && !others.isEmpty),
            browsers[cookie.browser].map({ $0.told == nil && $0.marks.isEmpty }) ?? true
        else { return }
        var browser = browsers[cookie.browser] ?? Browser(usedAt: now)
        for version in others.reversed() + [cookie.version] {
            for mark in PageMark.all where cookie.marks[mark] == version {
                browser.marks.append((mark, version))
            }
        }
        browser.hasRecalled = true
        for (mark, version) in browser.marks where given[mark.hints] == nil {
            given[mark.hints] = version
        }
        browser.hasLostMarks = browser.hasLostMarks || cookie.lacksMarks
        browsers[cookie.browser] = browser
        if browsers.count > limits.browsers { makeSpace(keeping: cookie.browser, now) }
    }

    mutating func noteMarked(
        _ request: PinRequest, _ name: String, _ version: VersionName, _ now: Duration
    ) {
        browsers[name]?.hasShownCookie = true
        browsers[name]?.usedAt = now
        let live = browsers[name]?.loads.filter { $0.version == version && isLive($0, now) } ?? []
        let load = live.last { $0.path == request.referrer } ?? live.last
        guard let load else {
            // The load was considered closed. It is now the oldest, and not loading: unmarked requests of other pages
            // are not its own.
            note(request, name, version, now)
            guard var browser = browsers[name], var old = browser.loads.popLast() else { return }
            old.begunAt = now - limits.loadingMax - .seconds(1)
            old.isMarked = true
            browser.loads.insert(old, at: 0)
            browsers[name] = browser
            return
        }
        change(name, load.number) { [limits] load in
            load.asks(at: now, limits)
            load.isMarked = true
        }
        attach(request.connection, name, load.number, now)
        if request.load == .frame { note(request, name, version, now, parent: load.number) }
    }
}

extension PinTable.Browser {
    mutating func endFrames(of number: UInt64) {
        for index in loads.indices where loads[index].parent == number && !loads[index].isOver {
            loads[index].pages -= 1
            if loads[index].pages <= 0 { loads[index].isOver = true }
        }
    }
}
