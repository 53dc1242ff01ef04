import VersionTree

// Labels: requests that say which version their page is of.
extension PinTable {
    /// The label of a version's pages in a browser; one for both if there was none.
    ///
    /// `nil` if pages of six other versions still live there.
    mutating func label(
        for version: VersionName, _ name: String, _ now: Duration
    ) -> PageLabel? {
        guard var browser = browsers[name] else { return nil }
        defer { browsers[name] = browser }
        var found: PageLabel?
        if let known = browser.labels.firstIndex(where: { $0.version == version }) {
            found = browser.labels.remove(at: known).label
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
    mutating func recall(_ cookie: PinCookie, _ now: Duration) {
        guard let label = cookie.label, browsers[cookie.browser]?.labels.isEmpty ?? true else {
            return
        }
        browsers[cookie.browser, default: Browser(usedAt: now)].labels = [(label, cookie.version)]
        if browsers.count > limits.browsers { makeRoom(keeping: cookie.browser, now) }
    }

    /// Serves a request whose version its label says.
    mutating func serve(
        _ request: PinRequest, _ name: String, _ version: VersionName, _ label: PageLabel,
        _ now: Duration
    ) -> Decision {
        browsers[name]?.hasShownCookie = true
        browsers[name]?.usedAt = now
        let live = browsers[name]?.loads.filter { $0.version == version && isLive($0, now) } ?? []
        let load = live.last { $0.path == request.referrer } ?? live.last
        guard let load else {
            // It was taken for closed.
            note(request, name, version, now)
            return .serve(version, cookie: nil, label: label)
        }
        change(name, load.number) { load in
            load.usedAt = now
            load.askedAt = now
        }
        attach(request.connection, name, load.number, now)
        if request.load == .frame { note(request, name, version, now, parent: load.number) }
        return .serve(version, cookie: nil, label: label)
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
