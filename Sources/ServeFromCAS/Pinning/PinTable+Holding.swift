package import VersionTree

// How long a load counts, and which versions are pinned.
extension PinTable {
    /// Whether requests may still come from a load's page.
    func isLive(_ load: Load, _ now: Duration) -> Bool { !load.isOver && isHeld(load, now) }

    /// Whether a load's version is still needed.
    func isHeld(_ load: Load, _ now: Duration) -> Bool {
        load.connections > 0 || now - load.usedAt <= limits.grace
    }

    /// Whether a load's page still asks for what it begins with.
    func isLoading(_ load: Load, _ now: Duration) -> Bool {
        now - load.askedAt <= limits.loading && now - load.begunAt <= limits.loadingMax
    }

    /// Lets a connection hold a load, and no longer the one it held before: a browser's connections
    /// serve one page after another.
    mutating func attach(
        _ connection: UInt64, _ browser: String, _ number: UInt64, _ now: Duration
    ) {
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

    /// A connection has ended: its page counts for the grace from now on.
    package mutating func close(connection: UInt64, now: Duration) {
        detach(connection, now)
    }

    private mutating func detach(_ connection: UInt64, _ now: Duration) {
        guard let held = connections.removeValue(forKey: connection) else { return }
        change(held.browser, held.load) { load in
            load.connections -= 1
            load.usedAt = max(load.usedAt, now)
        }
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

    /// Forgets what no longer counts.
    package mutating func expire(now: Duration) {
        for (name, browser) in browsers {
            var rest = browser
            rest.loads.removeAll { !isHeld($0, now) }
            browsers[name] = rest.loads.isEmpty && rest.labels.isEmpty ? nil : rest
        }
    }

    /// The versions that must not be collected now, sorted.
    package func pinned(now: Duration) -> [VersionName] {
        var result: Set<VersionName> = []
        for browser in browsers.values {
            for load in browser.loads where isHeld(load, now) { result.insert(load.version) }
        }
        return result.sorted()
    }

    /// When to look again at ``pinned(now:)``, if no request comes: the first moment at which a load
    /// ends; `nil` if none will.
    package func nextExpiry(now: Duration) -> Duration? {
        var next: Duration?
        for browser in browsers.values {
            for load in browser.loads where load.connections == 0 && isHeld(load, now) {
                let end = load.usedAt + limits.grace
                if let earlier = next, earlier <= end { continue }
                next = end
            }
        }
        return next
    }
}
