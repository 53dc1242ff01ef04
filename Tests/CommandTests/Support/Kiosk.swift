import ProgramTestSupport

/// `castree serve --updates` over a store of its own, and a browser that shows its app.
final class Kiosk {
    /// The programs that it may have, beside what it runs itself.
    let served: Served
    private let errors = Pipe()
    private var heardBytes = Data()
    /// The lines of standard error so far.
    private(set) var lines: [String] = []
    private var cookie = ""
    private var open: KioskPage?

    /// - Parameter program: castree, if another than the one that was built.
    init(
        _ place: Workplace, _ origin: String, _ arguments: [String] = [], store: String = "device",
        environment: [String: String] = [:], program: URL = ProgramUnderTest.castree.url
    ) throws {
        served = try Served(
            [
                program.path, "serve", "--app-id", Served.newApp(), "--next-port", "--store", store,
                "--updates", origin,
            ] + arguments, in: place.directory, environment: environment, errors: errors)
        // Ours is closed, so that a server that ends is noticed.
        try errors.fileHandleForWriting.close()
    }

    /// A kiosk that shows version 1, confirmed.
    convenience init(
        showingFirst place: Workplace, _ origin: String, _ arguments: [String] = [],
        environment: [String: String] = [:]
    ) throws {
        try self.init(
            place, origin, ["--confirm-within", "10m"] + arguments, environment: environment)
        try hear("version 1 is downloaded")
        try expect(visit(), equals: "<h1>one</h1>")
        try expect(confirm(), equals: 204)
        try hear("version 1 is confirmed")
    }

    /// Reads standard error up to a line that has all these words in it.
    @discardableResult
    func hear(_ words: String...) throws -> String {
        while true {
            while let end = heardBytes.firstIndex(of: 10) {
                let line = String(decoding: heardBytes[heardBytes.startIndex..<end], as: UTF8.self)
                heardBytes.removeSubrange(heardBytes.startIndex...end)
                lines.append(line)
                if words.allSatisfy({ line.contains($0) }) { return line }
            }
            // Far longer than anything takes: a server that says nothing must not stop the tests.
            var request = pollfd(
                fd: errors.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
            let isThere = poll(&request, 1, 60_000) > 0
            let more = isThere ? errors.fileHandleForReading.availableData : Data()
            try require(!more.isEmpty, "\(words) was not said, but \(lines)")
            heardBytes += more
        }
    }

    /// Reads standard error to its end.
    func hearAll() {
        while true {
            let more = errors.fileHandleForReading.availableData
            if more.isEmpty { break }
            heardBytes += more
        }
        lines += String(decoding: heardBytes, as: UTF8.self).split(separator: "\n").map(String.init)
        heardBytes = Data()
    }

    /// A navigation of its browser: what the page says.
    @discardableResult
    func visit() throws -> String {
        if let open { try open.leave() }
        open = nil
        var fields = ["Accept": "text/html"]
        if !cookie.isEmpty { fields["Cookie"] = cookie }
        let answer = try served.get("/", fields)
        for line in answer.head.split(separator: "\r\n") {
            guard line.lowercased().hasPrefix("set-cookie: castree_page_") else { continue }
            cookie = String(line.dropFirst("set-cookie: ".count).prefix { $0 != ";" })
        }
        return answer.body
    }

    /// The page says that it works.
    func confirm() throws -> Int { try page().post("confirm").status }

    /// The page that is open, with a session of the bridge: one until the next visit.
    func page() throws -> KioskPage {
        if let open { return open }
        let page = KioskPage(served, try served.beginSession(["Cookie": cookie]), cookie)
        open = page
        return page
    }

    /// The page that is open, which has asked for an update.
    func askingPage() throws -> KioskPage {
        let page = try page()
        try expect(page.post("update").status, equals: 202)
        return page
    }
}

/// A page that hears what is announced, by long polling.
final class KioskPage {
    private let served: Served
    let session: String
    private let cookie: String
    private var received = 0
    /// The names of the events so far.
    private(set) var names: [String] = []
    /// Those that nobody has waited for yet.
    private var coming: [(name: String, detail: [String: Any])] = []

    init(_ served: Served, _ session: String, _ cookie: String) {
        self.served = served
        self.session = session
        self.cookie = cookie
    }

    /// Posts as the script does: the status, and what is said.
    func post(_ wish: String) throws -> (status: Int, body: String) {
        let answer = try served.post("/_castree/\(wish)?session=\(session)", "", ["Cookie": cookie])
        return (answer.status, answer.body)
    }

    /// The page goes.
    func leave() throws {
        _ = try served.post("/_castree/bridge?session=\(session)", "1\nC", ["Cookie": cookie])
    }

    /// Waits for an event of one of these names, and passes over those before it: its name, and its detail.
    func hear(_ wanted: String...) throws -> (name: String, detail: [String: Any]) {
        let end = ContinuousClock.now + .seconds(60)
        while true {
            while !coming.isEmpty {
                let next = coming.removeFirst()
                if wanted.contains(next.name) { return next }
            }
            try require(ContinuousClock.now < end, "\(wanted) was not heard, but \(names)")
            try listen()
        }
    }

    /// One request for what has been announced since the last.
    private func listen() throws {
        let answer = try served.get(
            "/_castree/bridge?session=\(session)&ack=\(received)",
            ["Cookie": cookie, "Sec-Fetch-Site": "same-origin"])
        try require(answer.status == 200, "\(answer)")
        var rest = Data(answer.body.utf8)
        while let end = rest.firstIndex(of: 10) {
            let size = try require(
                Int(String(decoding: rest[rest.startIndex..<end], as: UTF8.self)))
            let frame = rest[(end + 1)...].prefix(size)
            rest = rest[(end + 1)...].dropFirst(size)
            let parts = frame.split(separator: 10, maxSplits: 1)
            let words = String(decoding: parts[0], as: UTF8.self).split(separator: " ")
            guard words.count == 4, words[0] == "E" else { continue }
            received = max(received, Int(words[1]) ?? 0)
            names.append(String(words[3]))
            let detail = try JSONSerialization.jsonObject(with: Data(parts[1]))
            coming.append((String(words[3]), detail as? [String: Any] ?? [:]))
        }
    }
}
