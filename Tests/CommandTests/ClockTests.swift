import ProgramTestSupport

/// Clocks that were never set, or of which a battery has lost the time.
@Suite("A clock that is far off") struct ClockTests {
    private static let program = "/usr/bin/faketime"

    @Test(
        .disabled(if: !FileManager.default.fileExists(atPath: program), "needs faketime"),
        arguments: [
            "1000-01-01", "1600-01-01", "1969-06-01", "2262-04-12", "2300-01-01", "9999-12-30",
        ])
    func `ends no command`(_ day: String) throws {
        let work = Workplace()
        try work.write(["index.html": "1"], to: "release")
        for words in [
            "add release --version 1 --activate", "boot", "status", "log", "fsck --since 30d",
            "fsck --repair",
            "gc --older-than 1d", "versions", "publish 1 origin", "pull origin --version 2 --keep",
            "fsck origin",
            "prune origin", "du", "checkout 1 out", "retire 2", "gc",
        ] {
            func run() throws -> Finished {
                try work.run(
                    [Self.program, "-m", "--exclude-monotonic", "\(day) 00:00:00"]
                        + [ProgramUnderTest.castree.url.path]
                        + words.split(separator: " ").map(String.init),
                    environment: ["NO_FAKE_STAT": "1"])
            }
            var finished = try run()
            // faketime names its semaphore by its process, and one that was killed has left it.
            for _ in 0..<5 where finished.errors.contains("sem_open") { finished = try run() }
            expect(finished.status, equals: 0, "\(day), \(words): \(finished)")
        }
    }
}
