import VersionTree

// Loads begin, and browsers are forgotten when there are too many.
extension PinTable {
    /// Begins a load.
    ///
    /// A reload ends the page that it replaces at once only if that is certain: scripts change addresses, so any page
    /// of the browser may be reloading at another one's. A page with a session reports its own end.
    /// - Returns: the load of one page that a reload replaces, as far as its address tells.
    mutating func begin(
        _ request: PinRequest, _ name: String, _ version: VersionName, _ now: Duration
    ) -> UInt64? {
        var replaced: UInt64?
        if request.isReload, var browser = browsers[name] {
            let live = browser.loads.indices.filter { isLive(browser.loads[$0], now) }
            let there = live.filter { browser.loads[$0].path == request.path }
            if there.count == 1, browser.loads[there[0]].pages == 1 {
                let load = browser.loads[there[0]]
                replaced = load.number
                let isOnly = live.allSatisfy { $0 == there[0] || browser.loads[$0].parent != nil }
                if isOnly, load.sessions == 0 {
                    browser.loads[there[0]].isOver = true
                    browser.endFrames(of: load.number)
                    browsers[name] = browser
                }
            }
        }
        note(request, name, version, now)
        return replaced
    }

    /// Makes the load of a path and version the newest one; creates it if it is missing.
    mutating func note(
        _ request: PinRequest, _ name: String, _ version: VersionName, _ now: Duration,
        parent: UInt64? = nil
    ) {
        var browser = browsers[name] ?? Browser(usedAt: now)
        browser.usedAt = now
        if request.cookie != nil { browser.hasShownCookie = true }
        // A subresource that only the cookie explains belongs to the page in its Referer.
        let path = request.load == .subresource ? request.referrer ?? [] : request.path
        nextLoad += 1
        var load = Load(
            number: nextLoad, path: path, version: version, usedAt: now, askedAt: now, begunAt: now)
        load.parent = parent
        load.isEmbedded = request.isEmbedded
        load.isSilent = browser.loads.contains { $0.number == parent && $0.isSilent }
        load.isAnswered = request.load != .subresource
        let same = browser.loads.firstIndex {
            isLive($0, now) && $0.version == version && $0.path == path
                && ($0.parent == nil) == (parent == nil)
        }
        if let same {
            let old = browser.loads.remove(at: same)
            load.number = old.number
            if parent == old.number { load.parent = old.parent }
            load.isEmbedded = load.isEmbedded || old.isEmbedded
            load.isSilent = load.isSilent || old.isSilent
            load.pages = min(old.pages + 1, 1_000_000)
            load.sessions = old.sessions
            load.connections = old.connections
            load.isAnswered = load.isAnswered || old.isAnswered
        }
        append(load, to: &browser, now)
        browsers[name] = browser
        attach(request.connection, name, load.number, now)
        if browsers.count > limits.browsers { makeSpace(keeping: name, now) }
    }

    /// Makes a load a browser's newest one; drops the oldest if there are too many.
    func append(_ load: Load, to browser: inout Browser, _ now: Duration) {
        browser.loads.append(load)
        guard browser.loads.count > limits.loads else { return }
        browser.loads.removeAll { !isHeld($0, now) }
        // The numbers of dropped loads are no longer found, so they do no harm.
        if browser.loads.count > limits.loads { browser.loads.removeFirst() }
    }

    mutating func makeSpace(keeping name: String, _ now: Duration) {
        expire(now: now)
        guard browsers.count > limits.browsers else { return }
        let others = browsers.filter { $0.key != name }
        let first = others.min {
            ($0.value.hasShownCookie ? 1 : 0, $0.value.usedAt)
                < ($1.value.hasShownCookie ? 1 : 0, $1.value.usedAt)
        }
        if let first { browsers[first.key] = nil }
    }
}
