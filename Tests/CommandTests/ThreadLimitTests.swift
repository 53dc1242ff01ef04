import ProgramTestSupport

// docs/serving.md: SIGTERM ends a server, and what it is missing is said at its start.
@Suite(
    "A limit of tasks (LimitNPROC=, TasksMax=)",
    .needsOtherUser)
struct ThreadLimitTests {
    private let place = Workplace(inMemory: true)

    /// Serves with `limit` threads, as a user who has no other ones; what is served is told to end as soon as it is ready.
    private func served(_ words: String, _ limit: Int) throws -> Finished {
        try place.write(["index.html": "page"], to: "r")
        try place.done("--store", "s", "add", "r", "--version", "1", "--activate")
        try place.done("--store", "s", "publish", "1", "o", "--no-packs")
        let user = 5100 + limit
        return try place.shell(
            """
            chmod 755 . && chown -R \(user) s o && mkfifo out
            setpriv --reuid=\(user) --regid=\(user) --clear-groups \
                \(ProgramUnderTest.castree.url.path) --store s versions --quiet 2>err
            setpriv --reuid=\(user) --regid=\(user) --clear-groups prlimit --nproc=\(limit) \\
                \(ProgramUnderTest.castree.url.path) \(words) >out & p=$!
            exec 3<out; if read line <&3; then kill -TERM $p; fi; wait $p
            """)
    }

    private static let servers = [
        "--store s serve --app-id limited --next-port", "origin serve o --listen 127.0.0.1:0",
    ]

    @Test(arguments: servers, [1, 2, 3, 4])
    func `that no server can do with is said at its start`(_ words: String, _ limit: Int) throws {
        try served(words, limit).ended(1, saying: "unable to start a thread")
    }

    @Test(arguments: servers)
    func `that is large enough lets a server serve, and end when it is told to`(_ words: String)
        throws
    {
        let finished = try served(words, 40)
        expect(finished.status == 0 && finished.errors == "", "\(finished)")
    }
}
