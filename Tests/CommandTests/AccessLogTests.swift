import Expectations
import Foundation
import ProgramTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What logrotate(8) does with the log of a server.
@Suite struct AccessLogTests {
    let place = Workplace()

    /// At a terminal SIGHUP says that it has gone.
    static let hasTerminal: Bool = {
        let terminal = open("/dev/tty", O_RDONLY | O_NOCTTY)
        if terminal >= 0 { close(terminal) }
        return terminal >= 0
    }()

    /// Starts each of the two servers in turn.
    private func forEachServer(
        _ arguments: [String], _ work: (Served) throws -> Void
    ) throws {
        try place.add("1", Release.first)
        try place.castree("activate", "1")
        try place.castree("publish", "1", "site", "--no-sync", "--no-packs")
        let origin = [
            ProgramUnderTest.castree.url.path, "origin", "serve", "site", "--listen", "127.0.0.1:0",
        ]
        try work(Served(place, arguments))
        try work(Served(origin + arguments, in: place.directory))
    }

    /// Waits for what another thread writes.
    private func wait(until isSo: () throws -> Bool) throws {
        let end = ContinuousClock.now + .seconds(120)
        while try !isSo() {
            try require(ContinuousClock.now < end, "it never came")
            sched_yield()
        }
    }

    private func lines(_ name: String) throws -> Int {
        try place.exists(name) ? place.contents(name).split(separator: "\n").count : 0
    }

    @Test(.enabled(if: !hasTerminal, "a terminal controls these tests"))
    func `after it was moved away, and SIGHUP, it goes on in a new file, and no line is lost`()
        throws
    {
        try forEachServer(["--access-log", "log"]) { served in
            var count = 0
            func get() throws {
                try expect(served.get("/nothing.js", ["Accept": "*/*"]).status, equals: 404)
                count += 1
            }
            try get()
            try get()
            let log = place.directory.appending(path: "log")
            let moved = place.directory.appending(path: "log.1")
            // Written by a thread of its own.
            try wait { try lines("log") == 2 }
            try FileManager.default.moveItem(at: log, to: moved)
            // Whoever has not heard the signal goes on in the old file.
            try get()
            try wait { try lines("log.1") == 3 }
            expect(!place.exists("log"))
            kill(served.processIdentifier, SIGHUP)
            try wait {
                try get()
                return try lines("log") >= 2
            }
            let ended = try served.end()
            expect(ended.status == 0 && ended.errors.isEmpty, "\(ended)")
            try expect(lines("log") + lines("log.1"), equals: count)
            try FileManager.default.removeItem(at: log)
            try FileManager.default.removeItem(at: moved)
        }
    }

    @Test(.enabled(if: !hasTerminal, "a terminal controls these tests"))
    func `without a log SIGHUP changes nothing`() throws {
        try forEachServer([]) { (served) throws in
            kill(served.processIdentifier, SIGHUP)
            try expect(served.get("/nothing.js", ["Accept": "*/*"]).status, equals: 404)
            try expect(served.end().status, equals: 0)
        }
    }
}
