import VersionTree

// Pages that report that they go away. A page in the back/forward cache requests nothing until it is back. Frames go
// with the page around them, even where the browser does not say which navigation is a frame's.
extension PinTable {
    /// Handles the report that a session's page goes away.
    /// - Parameters:
    ///   - paths: those that it and the frames in it were loaded from, its own first.
    ///   - isKept: whether the page may come back with them; else its session ends.
    mutating func goes(session: String, paths: [[UInt8]], isKept: Bool, now: Duration) {
        guard let holder = sessions[session], let browser = browsers[holder.browser] else { return }
        var going = [holder.load]
        for path in paths.dropFirst() {
            // A frame with a session reports its own end, and one that is known as a frame ends with its page.
            let load = browser.loads.last { load in
                load.path == path && load.version == holder.version && isLive(load, now)
                    && (isKept || load.parent == nil)
                    && load.sessions + going.dropFirst().count { $0 == load.number } < load.pages
            }
            if let load { going.append(load.number) }
        }
        if isKept {
            kept[session] = going
            return
        }
        for number in going.dropFirst() {
            change(holder.browser, number) { load in
                load.pages -= 1
                if load.pages <= 0 { load.isOver = true }
            }
        }
    }

    func isKept(_ load: Load) -> Bool {
        !kept.isEmpty && load.pages <= kept.values.joined().count { $0 == load.number }
    }

    /// The loads that may send a request: not those in the back/forward cache, unless such a page may be back
    /// already, since no other has the address that the request names.
    func awake(_ loads: [Load], _ request: PinRequest) -> [Load] {
        guard !kept.isEmpty else { return loads }
        let awake = loads.filter { !isKept($0) }
        if awake.contains(where: { $0.path == request.referrer }) { return awake }
        let rest = loads.filter { load in
            load.path == request.referrer || awake.contains { $0.number == load.number }
        }
        return rest.isEmpty ? loads : rest
    }
}
