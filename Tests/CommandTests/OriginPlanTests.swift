import ProgramTestSupport

/// Archives that are put together, and the checks beside them (docs/clients.md, "What the server does").
@Suite struct OriginPlanTests {
    let place: Workplace

    init() throws {
        place = Workplace()
        try place.makeDirectory("bucket")
    }

    private func publish(_ count: Int) throws {
        for number in 1...count {
            try place.add("\(number)", ["index.html": "page \(number)", "same": "same"])
            try place.castree("publish", "\(number)", "bucket/app", "--no-sync", "--no-packs")
            guard number == 1 else { continue }
            try place.enable("codepush", "KEY=stable", of: "bucket/app")
        }
    }

    /// The archives and the differences of all that is offered.
    private func archives() throws -> [String] {
        let pointer = try JSON(place.contents("bucket/app/channels/stable.json"))
        let contents = pointer.releases.map(\.content)
        let root = "/for/codepush/archives/"
        return contents.map { "\(root)\($0).zip" }
            + contents.flatMap { new in
                contents.filter { $0 != new }.map { "\(root)\(new).from.\($0).zip" }
            }
    }

    /// A request of a client that a proxy names, on a connection of its own; its answer is yet to be read.
    private func ask(_ served: Served, _ path: String, from client: String) throws -> Int32 {
        let raw = try TestSocket.connected(to: served.port)
        let request =
            "GET \(path) HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: \(client)\r\nConnection: close\r\n\r\n"
        let count = write(raw, request, request.utf8.count)
        try require(count == request.utf8.count)
        return raw
    }

    /// Waits until one of them is answered, and takes it out.
    private func first(_ asked: inout [Int32]) throws -> (status: Int, head: String, body: String) {
        var polls = asked.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        try require(poll(&polls, numericCast(polls.count), 120_000) > 0, "nobody was answered")
        let position = try require(polls.firstIndex { $0.revents != 0 })
        return try Served.answer(asked.remove(at: position))
    }

    private static let check =
        "/v0.1/public/codepush/update_check?deployment_key=KEY&app_version=1.0.0"

    /// The bucket stands still: no archive can be put together until it continues.
    @Test("a check waits for no archive, and a client has eight of them made, all have 64")
    func bounds() throws {
        try publish(9)
        let web = try WebOrigin(place.directory)
        let served = try Served(
            origin: "s3://bucket/app", place,
            [
                "--endpoint", web.url, "--anonymous", "--cache", "cache", "--refresh", "1h",
                "--timeout", "10m", "--forwarded-by", "127.0.0.1",
            ])
        try expect(served.get(Self.check).status, equals: 200)
        web.pause()
        var paths = try archives()
        expect(paths.count, equals: 81)
        func next() throws -> String { try require(paths.popLast()) }
        func isRefused(_ answer: (status: Int, head: String, body: String)) -> Bool {
            answer.status == 503 && answer.head.contains("Retry-After: 5")
        }
        let shared = try next()
        var waiting = [try ask(served, shared, from: "192.0.2.1")]
        for _ in 0..<8 { waiting.append(try ask(served, next(), from: "192.0.2.1")) }
        try expect(isRefused(first(&waiting)), "the ninth of a client")
        try expect(served.get(Self.check).status, equals: 200)
        for client in 2...8 {
            for _ in 0..<8 {
                // All addresses of a network of IPv6 are one client's.
                let address = client == 8 ? "2001:db8::\(waiting.count)" : "192.0.2.\(client)"
                waiting.append(try ask(served, next(), from: address))
            }
        }
        waiting.append(try ask(served, next(), from: "192.0.2.9"))
        try expect(isRefused(first(&waiting)), "the 65th of all")
        // What is being made already is waited for, whoever asks.
        waiting.append(try ask(served, shared, from: "192.0.2.9"))
        waiting.append(try ask(served, shared, from: "192.0.2.1"))
        for _ in 0..<10 { try expect(served.get(Self.check).status, equals: 200) }
        web.goOn()
        expect(waiting.count, equals: 66)
        while !waiting.isEmpty {
            let answer = try first(&waiting)
            expect(answer.status, equals: 200, "\(answer.head)")
        }
        try expect(served.get(next()).status, equals: 200)
        try expect(served.end().status, equals: 0)
    }

    @Test("an archive whose head alone was asked for is still compared before it is sent")
    func headOnly() throws {
        try publish(2)
        let served = try Served(origin: "bucket/app", place)
        let object = try require(
            FileManager.default.enumerator(
                at: place.url("bucket/app/objects"), includingPropertiesForKeys: nil)?
                .compactMap { ($0 as? URL)?.path(percentEncoded: false) }
                .first { (try? String(contentsOfFile: $0, encoding: .utf8)) == "same" })
        try Data("SAME".utf8).write(to: URL(filePath: object))
        for path in try archives().prefix(2) {
            for _ in 0..<2 {
                let head = try served.ask("HEAD", path, [:])
                expect(head.status == 200 && head.head.contains("Content-Length: "), "\(head)")
                try expect(served.get(path).status, equals: 503)
            }
        }
        try Data("same".utf8).write(to: URL(filePath: object))
        for path in try archives() { try expect(served.get(path).status, equals: 200) }
    }
}
