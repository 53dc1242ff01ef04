import VersionTree

// Labels: requests that say which version their page is of.
extension PinTable {
    /// The label of a version's pages in a browser; one for both if there was none.
    ///
    /// `nil` if pages of six other versions still live there, or pages whose labels are not known.
    mutating func label(
        for version: VersionName, _ name: String, _ now: Duration
    ) -> PageLabel? {
        guard var browser = browsers[name] else { return nil }
        defer { browsers[name] = browser }
        var found: PageLabel?
        if let known = browser.labels.firstIndex(where: { $0.version == version }) {
            found = browser.labels.remove(at: known).label
        } else if browser.hasLostLabels {
            return nil
        } else {
            // In turn, so that one is used again as late as can be.
            let last = Int(browser.labels.last?.label.hints ?? 0)
            let inTurn = PageLabel.all[(last % 6)...] + PageLabel.all[..<(last % 6)]
            found = inTurn.first { label in !browser.labels.contains { $0.label == label } }
        }
        if found == nil {
            // The version longest away gives its label up.
            let free = browser.labels.firstIndex { (_, version) in
                !browser.loads.contains { $0.version == version && isHeld($0, now) }
            }
            guard let free else { return nil }
            found = browser.labels.remove(at: free).label
        }
        if let found { browser.labels.append((found, version)) }
        return found
    }

    /// After a restart of the server the cookie says which label the newest page's version had.
    ///
    /// Not which labels the others have: none is given to a further version then.
    ///
    /// - Parameter isLabelling: whether the browser is known to be one that labels requests, although
    ///   the cookie has no label.
    mutating func recall(_ cookie: PinCookie, isLabelling: Bool, _ now: Duration) {
        let hasOthers = !cookie.others.isEmpty
        guard cookie.label != nil || (isLabelling && hasOthers),
            browsers[cookie.browser]?.labels.isEmpty ?? true
        else { return }
        var browser = browsers[cookie.browser] ?? Browser(usedAt: now)
        if let label = cookie.label { browser.labels = [(label, cookie.version)] }
        if hasOthers { browser.hasLostLabels = true }
        browsers[cookie.browser] = browser
        if browsers.count > limits.browsers { makeRoom(keeping: cookie.browser, now) }
    }

    /// Notes a request whose version its label says.
    mutating func serve(
        _ request: PinRequest, _ name: String, _ version: VersionName, _ now: Duration
    ) {
        browsers[name]?.hasShownCookie = true
        browsers[name]?.usedAt = now
        let live = browsers[name]?.loads.filter { $0.version == version && isLive($0, now) } ?? []
        let load = live.last { $0.path == request.referrer } ?? live.last
        guard let load else {
            // It was taken for closed. It is the oldest again, not one that is loading: what others ask
            // for without a label is not its own.
            note(request, name, version, now)
            guard var browser = browsers[name], var old = browser.loads.popLast() else { return }
            old.begunAt = now - limits.loadingMax - .seconds(1)
            browser.loads.insert(old, at: 0)
            browsers[name] = browser
            return
        }
        change(name, load.number) { load in
            load.usedAt = now
            load.askedAt = now
        }
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
