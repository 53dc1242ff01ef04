import VersionTree

// Marks: requests that name their page's version.
extension PinTable {
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
