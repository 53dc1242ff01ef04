import VersionTree

// How long a load counts, and which versions are pinned.
extension PinTable {
    /// Whether requests may still come from a load's page.
    func isLive(_ load: Load, _ now: Duration) -> Bool { !load.isOver && isHeld(load, now) }

    func isHeld(_ load: Load, _ now: Duration) -> Bool {
        load.connections > 0 || now - load.usedAt <= limits.grace
    }

    /// Whether a load's page still requests what it needs at its start.
    func isLoading(_ load: Load, _ now: Duration) -> Bool {
        !load.isLoaded && now - load.askedAt <= limits.loading
            && now - load.begunAt <= limits.loadingMax
    }

    /// Lets a connection hold a load instead of its previous one: a browser's connections serve one page after
    /// another.
    mutating func attach(
        _ connection: UInt64, _ browser: String, _ number: UInt64, _ now: Duration
    ) {
        if !doubts.isEmpty { doubts[connection] = nil }
        if !crowds.isEmpty { release(crowdOf: connection, now) }
        if let held = connections[connection], held.browser == browser, held.load == number {
            return
        }
        detach(connection, now)
        var isThere = false
        change(browser, number) { load in
            load.connections += 1
            isThere = true
        }
        if isThere { connections[connection] = (browser, number) }
    }

    /// Notes that a connection has ended: from now on, the grace runs for its page.
    mutating func close(connection: UInt64, now: Duration) {
        doubts[connection] = nil
        release(crowdOf: connection, now)
        detach(connection, now)
    }

    mutating func doubt(
        _ versions: [VersionName], of request: PinRequest, _ cookie: PinCookie
    ) -> Decision {
        doubts[request.connection] = cookie.browser
        return .doubt(versions)
    }

    /// Holds all live loads of a browser; the choice stays the same while the connection lasts.
    mutating func holdAll(
        _ name: String, _ session: String, _ connection: UInt64, _ now: Duration
    ) {
        guard crowds[connection] == nil, var browser = browsers[name] else { return }
        var numbers: [UInt64] = []
        for index in browser.loads.indices where isLive(browser.loads[index], now) {
            browser.loads[index].connections += 1
            numbers.append(browser.loads[index].number)
        }
        browsers[name] = browser
        crowds[connection] = Crowd(session: session, browser: name, loads: numbers)
    }

    mutating func release(crowdOf connection: UInt64, _ now: Duration) {
        guard let crowd = crowds.removeValue(forKey: connection) else { return }
        for number in crowd.loads {
            change(crowd.browser, number) { $0.loses(connectionAt: now) }
        }
    }

    mutating func detach(_ connection: UInt64, _ now: Duration) {
        guard let held = connections.removeValue(forKey: connection) else { return }
        change(held.browser, held.load) { $0.loses(connectionAt: now) }
    }

    mutating func change(
        _ name: String, _ number: UInt64, _ body: (inout Load) -> Void
    ) {
        guard var browser = browsers[name],
            let index = browser.loads.firstIndex(where: { $0.number == number })
        else { return }
        body(&browser.loads[index])
        browsers[name] = browser
    }

    mutating func expire(now: Duration) {
        for (name, browser) in browsers {
            var rest = browser
            rest.loads.removeAll { !isHeld($0, now) }
            browsers[name] = rest.loads.isEmpty && rest.marks.isEmpty ? nil : rest
        }
    }

    func pinned(now: Duration) -> [VersionName] {
        var result: Set<VersionName> = []
        for browser in browsers.values {
            for load in browser.loads where isHeld(load, now) { result.insert(load.version) }
        }
        return result.sorted()
    }
}
