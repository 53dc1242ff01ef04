import VersionTree

// Marks: requests that say which version their page is of.
extension PinTable {
    /// The mark of a version's pages in a browser; one for both if there was none.
    ///
    /// `nil` if pages of six other versions still live there, or pages whose marks are not known.
    mutating func mark(
        for version: VersionName, _ name: String, _ now: Duration
    ) -> PageMark? {
        guard var browser = browsers[name] else { return nil }
        defer { browsers[name] = browser }
        var found: PageMark?
        if let known = browser.marks.firstIndex(where: { $0.version == version }) {
            found = browser.marks.remove(at: known).mark
        } else if browser.hasLostMarks {
            return nil
        } else {
            // In turn, so that one is used again as late as can be.
            let last = Int(browser.marks.last?.mark.hints ?? 0)
            let inTurn = PageMark.all[(last % 6)...] + PageMark.all[..<(last % 6)]
            found = inTurn.first { mark in !browser.marks.contains { $0.mark == mark } }
        }
        if found == nil {
            // The version longest away gives its mark up.
            let free = browser.marks.firstIndex { (_, version) in
                !browser.loads.contains { $0.version == version && isHeld($0, now) }
            }
            guard let free else { return nil }
            found = browser.marks.remove(at: free).mark
        }
        if let found { browser.marks.append((found, version)) }
        return found
    }

    /// After a restart of the server the cookie says which mark the newest page's version had.
    ///
    /// Not which marks the others have: none is given to a further version then.
    ///
    /// - Parameter isMarking: whether the browser is known to be one that marks requests, although
    ///   the cookie has no mark.
    mutating func recall(_ cookie: PinCookie, isMarking: Bool, _ now: Duration) {
        let hasOthers = !cookie.others.isEmpty
        guard cookie.mark != nil || (isMarking && hasOthers),
            browsers[cookie.browser]?.marks.isEmpty ?? true
        else { return }
        var browser = browsers[cookie.browser] ?? Browser(usedAt: now)
        if let mark = cookie.mark { browser.marks = [(mark, cookie.version)] }
        if hasOthers { browser.hasLostMarks = true }
        browsers[cookie.browser] = browser
        if browsers.count > limits.browsers { makeRoom(keeping: cookie.browser, now) }
    }

    /// Notes a request whose version its mark says.
    mutating func noteMarked(
        _ request: PinRequest, _ name: String, _ version: VersionName, _ now: Duration
    ) {
        browsers[name]?.hasShownCookie = true
        browsers[name]?.usedAt = now
        let live = browsers[name]?.loads.filter { $0.version == version && isLive($0, now) } ?? []
        let load = live.last { $0.path == request.referrer } ?? live.last
        guard let load else {
            // It was taken for closed. It is the oldest again, not one that is loading: what others ask
            // for without a mark is not its own.
            note(request, name, version, now)
            guard var browser = browsers[name], var old = browser.loads.popLast() else { return }
            old.begunAt = now - limits.loadingMax - .seconds(1)
            browser.loads.insert(old, at: 0)
            browsers[name] = browser
            return
        }
        change(name, load.number) { $0.asks(at: now) }
        attach(request.connection, name, load.number, now)
        if request.load == .frame { note(request, name, version, now, parent: load.number) }
    }
}

extension PinTable.Browser {
    /// The frames of a page go with it.
    mutating func endFrames(of number: UInt64) {
        for index in loads.indices where loads[index].parent == number && !loads[index].isOver {
            loads[index].pages -= 1
            if loads[index].pages <= 0 { loads[index].isOver = true }
        }
    }
}
