import CASStore
import Synchronization
import VersionTree

// A store may be deleted and made again while the server runs. Everything made from the old one goes with it.
extension AppHandler {
    /// Checks whether the store still exists; continues with one that has taken its place.
    ///
    /// May wait for the disk.
    /// - Returns: whether there is a store to follow.
    func lookForStore() -> Bool {
        // One thread at a time: a second one uses what the first has found.
        lookingForStore.withLock { _ in
            switch store.look() {
            case .same: return true
            case .other(let versions, let isGone): return goOn(with: versions, isGone)
            case .gone(let error):
                if !shelf.isEmptied { letGoOfStore() }
                storeTrouble.tell("the store that is served is gone: \(error.message)")
                return false
            case .broken(let error):
                // Continue to serve what is open and pinned: pages matter more than news.
                storeTrouble.tell(
                    "the served store has changed since it was opened: \(error.message)")
                return true
            }
        }
    }

    private func goOn(with versions: VersionStore, _ isGone: Bool) -> Bool {
        do throws(StoreError) {
            try shelf.move(to: versions)
        } catch {
            if isGone, !shelf.isEmptied { letGoOfStore() }
            storeTrouble.tell(
                "unable to continue with the store that is now at \(printable(store.path)): "
                    + error.message)
            return !shelf.isEmptied
        }
        letGoOfPages()
        objects.move(to: versions.store)
        replaceStartup(versions)
        remember(in: versions)
        storeTrouble.end()
        notice(
            "another store is now at \(printable(store.path)), and is served from now on")
        return true
    }

    /// From here on nothing is served or pinned, and no open file keeps anything on the disk.
    private func letGoOfStore() {
        shelf.empty()
        letGoOfPages()
        objects.close { _ in false }
        replaceStartup(nil)
    }

    /// The pages come from the old store; they are treated as after a restart of the server.
    private func letGoOfPages() {
        pins.withLock { $0 = PinTable(limits: $0.limits, run: Self.newRun()) }
        announced.withLock { $0 = nil }
        rollbacks.withLock { $0 = [] }
    }

    static func newRun() -> String { String(newBrowser().prefix(8)) }

    static func newBrowser() -> String {
        // Without random numbers, a counter still distinguishes browsers.
        let token = try? randomToken()
        return token ?? String(String(SystemClock.nanoseconds).reversed()) + "withoutrandomness"
    }

    // MARK: The same name again

    /// Whether a page's version now has other content under the same name, so that the page's own version is gone.
    ///
    /// Its cookie tells, until a newer page of its browser begins.
    func isOfOtherContent(_ request: PinRequest) -> Bool {
        guard request.load != .page, !request.isWorkerScript, !request.asksForPage,
            let tag = request.contentTag, let cookie = request.cookie
        else { return false }
        return shelf.entry(cookie.version)?.tag.map { $0 != tag } ?? false
    }

    /// The cookie of a new page, or of a worker, whose cookie says everything but the content of its version.
    func renewed(_ request: PinRequest, _ entry: SiteShelf.Entry) -> PinCookie? {
        guard request.load == .page && request.leadsToPage || request.isWorkerScript,
            request.contentTag != entry.tag,
            request.cookie?.version == entry.site.version
        else { return nil }
        return request.cookie
    }

    /// Removes cookies that other servers of this host's name have set in the pins' name: at longer paths, or without
    /// a name (`=castree_page_1=…`).
    func removals(of request: PinRequest, _ head: RequestHead) -> [String] {
        guard !request.strays.isEmpty else { return [] }
        let path = head.text(head.path)
        var paths = [path]
        for slash in path.indices.dropFirst().filter({ path[$0] == "/" }).prefix(8) {
            paths += [String(path[..<slash]), String(path[...slash])]
        }
        let end = "; Max-Age=0"
        return ["=x; Path=/" + end]
            + paths.filter { $0 != "/" && !$0.contains(";") }.flatMap {
                ["\(cookieName)=x; Path=\($0)" + end, "=x; Path=\($0)" + end]
            }
    }

    func setting(_ cookie: PinCookie) -> String {
        cookie.setCookie(
            cookieName, parts.pageSeal, tag: shelf.entry(cookie.version)?.tag, isSecure: isSecure)
    }

    private func replaceStartup(_ versions: VersionStore?) {
        let new = versions.flatMap { options.watch($0, showing: startPage.isShown) }
        let old = starting.withLock { starting -> StartWatch? in
            defer { starting.watch = new }
            if !starting.isForeground { new?.setForeground(false, now: SystemClock.now) }
            new?.deferPending(starting.rule.waitsForStart)
            return starting.watch
        }
        old?.letGo()
    }

    func setSwitching(_ rule: SwitchingRule) {
        let watch = starting.withLock { starting -> StartWatch? in
            starting.rule = rule
            return starting.watch
        }
        watch?.deferPending(rule.waitsForStart)
    }

    func setForeground(_ isForeground: Bool) {
        // The judge may wait for the store, so it must not be called under a lock that each page needs.
        let watch = starting.withLock { starting -> StartWatch? in
            starting.isForeground = isForeground
            return starting.watch
        }
        watch?.setForeground(isForeground, now: SystemClock.now)
    }

    /// Lets the time of a start run or stop, by what the program and the pages report.
    func noteSight(now: Duration) {
        let (watch, isForeground) = starting.withLock { ($0.watch, $0.isForeground) }
        guard let watch else { return }
        let isUnseen = watch.ask { $0.watchedToken != nil } && isUnseen(now: now)
        watch.setForeground(isForeground && !isUnseen, now: now)
    }
}

extension AppHandler {
    /// How many rounds every loop makes until a waiting connection is accepted, its request is read, and the work for
    /// it is in the queue.
    private static let rounds = 3

    /// Does `work` after all requests that have arrived by now are read and their work on the store is done.
    func readWhatWaits(then work: @escaping @Sendable () -> Void) {
        let loops = loopsToRead.withLock { $0 }
        goRound(Array(repeatElement(loops, count: Self.rounds).joined())[...], then: work)
    }

    private func goRound(_ loops: ArraySlice<EventLoop>, then work: @escaping @Sendable () -> Void)
    {
        guard let next = loops.first else {
            // If the queue is full, nothing is judged now: this is called again soon.
            _ = storeWork.add(work)
            return
        }
        let rest = loops.dropFirst()
        guard next.submit({ _ in self.goRound(rest, then: work) }) else { return }
    }
}
