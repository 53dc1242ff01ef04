import ProgramTestSupport

/// An origin on a mount whose server is gone: whoever looks there waits, and takes no signal meanwhile.
@Suite(
    .enabled(if: FileManager.default.fileExists(atPath: CallCounter.library.path)),
    .timeLimit(.minutes(60)))
struct HungOriginTests {
    private let place = Workplace(inMemory: true)
    private let origin: String
    private let hanging: [String: String]

    init() throws {
        try place.write(["index.html": "page"], to: "r")
        try place.done("--store", "p", "add", "r", "--version", "1")
        try place.done("--store", "p", "publish", "1", "o")
        try place.done("pull", "o", "--activate")
        origin = place.directory.appending(path: "o").path
        hanging = ["LD_PRELOAD": CallCounter.library.path, "CASTREE_HANGING": origin]
    }

    @Test func `keeps no server from showing what its store has, nor from ending`() throws {
        let served = try Served(
            place, ["--store", ".castree", "--updates", origin], environment: hanging)
        expect(served.ready.contains("Serving version 1"), "\(served.ready)")
        try expect(served.get().body, equals: "page")
        try served.end().ended()
    }

    @Test func `is said once nothing has come of it for a quarter of an hour`() throws {
        let passing = hanging.merging(["CASTREE_HUNG_SECONDS": "1000"]) { $1 }
        let kiosk = try Kiosk(
            place, origin, ["--every", "1s"], store: ".castree", environment: passing)
        try kiosk.hear("unable to update: the pull has made no progress for 15 minutes")
        try expect(place.castree("log").text.contains("made no progress for 15 minutes"))
        try expect(kiosk.visit(), equals: "page")
        try kiosk.served.end().ended()
    }

    @Test(arguments: [["pull"], ["pull", "--dry-run"], ["channels"], ["fsck", "--from"]])
    func `keeps no command from obeying the second signal`(_ words: [String]) throws {
        let errors = Pipe()
        let running = try Running(
            ProgramUnderTest.castree.url, words + [origin], in: place.directory,
            environment: hanging, errors: errors)
        try errors.fileHandleForWriting.close()
        var said = Data()
        while !said.contains(10) {
            let more = errors.fileHandleForReading.availableData
            if more.isEmpty { break }
            said += more
        }
        expect(String(decoding: said, as: UTF8.self), equals: "hangs\n")
        // Two of a kind may become one.
        for number in [SIGINT, SIGTERM] { running.signal(number) }
        try running.finished().ended(130)
    }
}
