import ProgramTestSupport

// docs/maintenance.md, "When another process has the store": nobody waits in silence, nor for ever, and nobody
// but the owner can make others wait.
@Suite("A store whose lock somebody else has") struct LockTests {
    private let place = Workplace()

    init() throws {
        chmod(place.directory.path, 0o755)
        try place.add("1", ["index.html": "one"], "--activate")
        try place.add("2", ["index.html": "two"])
    }

    /// A program that has locked a file and is stopped, as a hostile or forgotten one is.
    private final class Holder {
        private let running: Running
        var processIdentifier: Int32 { running.processIdentifier }

        /// Locks, tells so, stops itself.
        init(_ lock: String, in place: Workplace, as user: [String] = []) throws {
            let script = """
                import fcntl, os, signal, sys
                file = open(sys.argv[1])
                fcntl.flock(file, fcntl.LOCK_EX)
                print("locked", flush=True)
                os.kill(os.getpid(), signal.SIGSTOP)
                """
            let words = user + ["/usr/bin/python3", "-c", script, lock]
            let pipe = Pipe()
            running = try Running(
                URL(filePath: words[0]), Array(words.dropFirst()), in: place.directory, output: pipe
            )
            try pipe.fileHandleForWriting.close()
            hasLocked = pipe.fileHandleForReading.availableData == Data("locked\n".utf8)
        }

        let hasLocked: Bool

        deinit { running.signal(SIGKILL) }
    }

    private static let python: String? =
        access("/usr/bin/python3", X_OK) == 0 ? nil : "needs python3, to hold a lock"
    private static let nobody = Workplace.words(as: Workplace.nobody)

    private func lease(_ name: String) -> String { place.path(".castree/leases/\(name)") }

    private func hold(_ name: String, as user: [String] = []) throws -> Holder {
        let holder = try Holder(lease(name), in: place, as: user)
        expect(holder.hasLocked)
        return holder
    }

    /// The commands that stumble over each lock.
    private static let stuck: [(lock: String, words: [String])] = [
        (".index", ["versions"]), (".index", ["add", "release-2", "--version", "3"]),
        (".index", ["retire", "2"]),
        (".writer", ["add", "release-2", "--version", "3"]), (".writer", ["gc"]),
        (".lifecycle", ["activate", "2"]), (".lifecycle", ["boot"]),
    ]

    @Test(.disabled(for: python), arguments: stuck)
    func `is waited for with an end, and by name`(_ lock: String, _ words: [String]) throws {
        let holder = try hold(lock)
        let finished = try place.ended(24, words: words + ["--wait", "2500ms"])
        let name = "process \(holder.processIdentifier) (python3, stopped)"
        // Once: whoever has waited in vain does not begin again.
        expect(finished.errors.split(separator: "waiting for \(name)\n").count == 2, "\(finished)")
        expect(finished.errors.contains("castree: the store is in use: \(name)"), "\(finished)")
        expect(finished.errors.contains("kill -CONT \(holder.processIdentifier)"), "\(finished)")
    }

    @Test(.disabled(for: python), arguments: ["status", "report"])
    func `is waited for once by what asks for it several times`(_ word: String) throws {
        let holder = try hold(".index")
        defer { withExtendedLifetime(holder) {} }
        let finished = try place.run(.castree, [word, "--wait", "2500ms"])
        expect(finished.status, equals: word == "status" ? 1 : 0, "\(finished)")
        expect(finished.errors.split(separator: "waiting for").count == 2, "\(finished)")
        let told = finished.text.split(separator: "the store is in use").count - 1
        expect(word == "status" ? told == 1 : told >= 1, "\(finished)")
    }

    /// How long everything that is not waiting takes at most, here.
    private static let slack = Duration.seconds(8)

    // docs/serving.md, "Limits".
    @Test(
        "is waited for by a server once for each request, once at its start, and not at its end",
        .disabled(for: python), arguments: [".lifecycle", ".index"])
    func server(_ lock: String) throws {
        try place.start()
        try place.castree("activate", "2", "--at-next-boot")
        let clock = ContinuousClock()
        var holder: Holder?
        let options = ["--confirm-within", "60m", "--wait", "6s", "--app-id", "q", "--next-port"]
        if lock == ".index" { holder = try hold(lock) }
        let begun = clock.now
        let served = try Served(place, options)
        // Three waits or more would be 18 s.
        if holder != nil { expect(clock.now - begun < .seconds(6) + Self.slack) }
        if holder == nil {
            try expect(served.get("/app.js").status, equals: 404)
            holder = try hold(lock)
        }
        let asked = clock.now
        let page = try served.get()
        expect(page.status == 503 && !page.body.contains("No version is current"), "\(page)")
        expect(clock.now - asked < .seconds(6) + Self.slack)
        let ended = clock.now
        try expect(served.end().status, equals: 0)
        expect(clock.now - ended < .seconds(10) + Self.slack)
        holder = nil
        let lifecycle = try place.castree("lifecycle", "--json").text
        expect(lifecycle.contains("\"current\":\"1\"") && !lifecycle.contains("trials"))
    }

    @Test(arguments: [".lifecycle", ".start"])
    func `that is no file is named with what to do`(_ lock: String) throws {
        let path = lease(lock)
        unlink(path)
        mkdir(path, 0o755)
        try place.ended(1, "boot", saying: "leases/\(lock) in the store is a directory")
        let check = try place.ended(4, "fsck", "--json")
        expect(check.text.contains("leases/\(lock)"), "\(check)")
        rmdir(path)
        try expect(place.run(.castree, ["boot"]).status, equals: 0)
        try place.done("fsck")
    }

    private static let unshare: String? = {
        let words = ["-c", "unshare -pf --mount-proc true 2>/dev/null"]
        let finished = try? Running(.shell, words, in: URL(filePath: "/")).finished()
        return finished?.status == 0 ? python : "needs unshare(1), and the right to"
    }()

    @Test(
        "is not called a server where the kernel names nobody", .disabled(for: unshare))
    func unnamed() throws {
        let pin = ".pin-abababababababab-2"
        expect(FileManager.default.createFile(atPath: lease(pin), contents: nil))
        do {
            let holder = try hold(pin)
            defer { withExtendedLifetime(holder) {} }
            let elsewhere = try place.shell(
                "unshare -pf --mount-proc \(ProgramUnderTest.castree.url.path) retire 2"
            ).ended(1, saying: "another process, which cannot be named")
            expect(!elsewhere.errors.contains("a server"), "\(elsewhere)")
        }
        try place.done("retire", "2")
    }

    @Test(.disabled(for: python)) func `is told of in JSON`() throws {
        let holder = try hold(".index")
        defer { withExtendedLifetime(holder) {} }
        let finished = try place.ended(24, "versions", "--json", "--wait", "1ms")
        try expect(finished.error().code, equals: "locked")
        // A check has statuses of its own.
        try expect(place.castree("fsck", "--wait", "1ms").status, equals: 8)
        try expect(place.checker("check", ".castree", "--wait", "1ms").status, equals: 8)
    }

    @Test(
        .disabled(
            if: access("/usr/bin/strace", X_OK) != 0,
            "needs strace(1), to stop a program while it has a lock"))
    func `waits for a command of castree by its name`() throws {
        try place.write(["index.html": "three"], to: "release-3")
        // Stopped as it takes the lock of all that write.
        let traced = try Running(
            URL(filePath: "/usr/bin/strace"),
            [
                "-f", "-o", place.path("trace"), "-e", "trace=flock",
                "-e", "inject=flock:signal=SIGSTOP:when=9", ProgramUnderTest.castree.url.path,
                "--store", ".castree", "add", "release-3", "--version", "3",
            ], in: place.directory)
        defer { traced.signal(SIGKILL) }
        // Not before it has got so far: a command beside it would have it ask for locks more than once.
        var isStopped = false
        while !isStopped, kill(traced.processIdentifier, 0) == 0 {
            sched_yield()
            // Not written yet.
            isStopped = (try? place.contents("trace").contains("stopped by SIGSTOP")) == true
        }
        try place.ended(24, "gc", "--wait", "2100ms", saying: " (add, stopped)")
    }

    @Test(.disabled(for: python)) func `does not stop the event log's writers`() throws {
        let holder = try hold(".events")
        defer { withExtendedLifetime(holder) {} }
        try place.done("activate", "2", "--wait", "1ms")
    }

    @Test(.needsOtherUser, .disabled(for: python))
    func `waits for nobody who may only read the store`() throws {
        for lock in [".index", ".writer", ".lifecycle"] {
            try expect(!Holder(lease(lock), in: place, as: Self.nobody).hasLocked)
        }
        try place.done("versions", "--wait", "1ms")
    }

    @Test(.needsOtherUser, .disabled(for: python))
    func `closes a lock that an older castree has left open, and then waits for nobody`() throws {
        let names = [".index", ".writer", ".lifecycle"]
        for name in names { chmod(lease(name), 0o644) }
        // Whoever has got it before keeps it until he is found.
        var holder: Holder? = try hold(".index", as: Self.nobody)
        try place.ended(
            24, "versions", "--wait", "2100ms",
            saying: "process \(holder?.processIdentifier ?? 0) (python3, stopped)")
        holder = nil
        try place.done("activate", "2")
        for name in names {
            try expect(place.fileStatus(lease(name)).st_mode & 0o777, equals: 0o600, "\(name)")
        }
    }

    @Test(.disabled(for: python)) func `is let go of by Ctrl-C`() throws {
        let holder = try hold(".index")
        defer { withExtendedLifetime(holder) {} }
        let running = try Running(.castree, ["versions"], in: place.directory)
        // The first line says that it waits.
        while true {
            let names = try FileManager.default.contentsOfDirectory(atPath: place.directory.path)
            let said = names.contains {
                $0.hasPrefix(".errors-")
                    && (try? place.contents($0).contains("waiting for")) == true
            }
            if said { break }
            sched_yield()
        }
        running.signal(SIGINT)
        try expect(running.finished().status, equals: 130)
    }

    @Test(.disabled(for: python))
    func `answers by a server that is running, and 503 where it cannot`() throws {
        // What a page of version 2 has; the key is the store's, so the next server knows it again.
        try expect(place.run(.castree, ["activate", "2"]).status, equals: 0)
        let earlier = try Served(place, [])
        let shown = try earlier.get("/", ["Accept": "text/html"])
        let set = try require(
            shown.head.split(separator: "\r\n").first { $0.contains("castree_page_") })
        let value = try require(set.split(separator: "=").dropFirst().first?.prefix { $0 != ";" })
        _ = try earlier.end()
        try expect(place.run(.castree, ["activate", "1"]).status, equals: 0)
        let served = try Served(place, ["--wait", "500ms"])
        try expect(served.get().body, equals: "one")
        let holder = try hold(".lifecycle")
        defer { withExtendedLifetime(holder) {} }
        // Its page is here.
        try expect(served.get().status, equals: 200)
        // What only the store knows.
        let page = "castree_page_\(served.port)=\(value)"
        let answer = try served.get(
            "/index.html", ["Cookie": page, "Sec-Fetch-Dest": "empty", "Referer": "\(served.url)/"])
        expect(answer.status, equals: 503, "\(answer)")
        expect(answer.head.contains("Retry-After"), "\(answer)")
        _ = try served.end()
    }
}
