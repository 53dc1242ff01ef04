import ProgramTestSupport

// A log that nobody reads must hold up nobody: neither who asks for a page nor who ends the server.
@Suite struct UnreadLogTests {
    let place: Workplace
    /// Its reading end stays open, and nobody reads from it.
    let pipe = Pipe()

    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.castree("activate", "1")
    }

    /// More than any pipe holds: 64 KiB on Linux and macOS.
    private func flood(_ served: Served, times: Int, status: Int = 404) throws {
        let query = String(repeating: "x", count: 3000)
        for _ in 0..<times {
            try expect(served.get("/nothing.js?\(query)", ["Accept": "*/*"]).status, equals: status)
        }
    }

    @Test func `an access log that nobody reads holds up neither pages nor SIGTERM`() throws {
        let served = try Served(place, ["--access-log", "-"], errors: pipe)
        try flood(served, times: 100)
        try expect(served.get().body, equals: Release.first["index.html"])
        try expect(served.end(SIGTERM).status, equals: 0)
    }

    @Test func `notices that nobody reads hold up neither pages nor SIGINT`() throws {
        try place.damage(place.object(try place.address(of: "js/app.js", in: "1")), with: "evil()")
        let served = try Served(place, errors: pipe)
        for _ in 0..<500 { try expect(served.get("/js/app.js").status, equals: 500) }
        try expect(served.get().body, equals: Release.first["index.html"])
        try expect(served.end(SIGINT).status, equals: 130)
    }

    @Test func `an access log in a named pipe that nobody reads holds up nobody either`() throws {
        let path = place.directory.appending(path: "log").path
        try require(mkfifo(path, 0o600) == 0)
        // Opened for both, it is there for who opens it to write.
        let end = open(path, O_RDWR)
        defer { close(end) }
        let served = try Served(place, ["--access-log", "log"])
        try flood(served, times: 100)
        try expect(served.get().body, equals: Release.first["index.html"])
        try expect(served.end(SIGTERM).status, equals: 0)
    }

    @Test func `lines that were dropped are counted where they are missing`() throws {
        let served = try Served(place, ["--access-log", "-"], errors: pipe)
        // More than waits in memory.
        try flood(served, times: 500)
        let reader = pipe.fileHandleForReading
        var text = ""
        while !text.contains("lines were dropped") {
            let more = reader.availableData
            try require(!more.isEmpty)
            text += String(decoding: more, as: UTF8.self)
        }
        try expect(served.get().status, equals: 200)
        while !text.contains("GET / 200") {
            text += String(decoding: reader.availableData, as: UTF8.self)
        }
        let lines = text.split(separator: "\n").filter { !$0.isEmpty }
        let warning = try require(lines.first { $0.contains("dropped") })
        expect(warning.hasPrefix("castree: warning: "))
        let lost = try require(warning.split(separator: " ").compactMap { Int($0) }.first)
        expect(lines.filter { $0.contains("/nothing.js") }.count + lost, equals: 500)
        try expect(served.end().status, equals: 0)
    }
}
