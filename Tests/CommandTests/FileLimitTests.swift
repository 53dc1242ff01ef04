import ProgramTestSupport

@Suite("A limit of open files (LimitNOFILE=, ulimit -n)") struct FileLimitTests {
    @Test(
        arguments: [
            "--store s serve --app-id few --next-port", "origin serve o --listen 127.0.0.1:0",
            "--store s serve --app-id few --next-port --updates o --pull-option=--jobs=256",
        ], [(20, 1), (63, 1), (100, 64)])
    func `that no server can do with is said at its start`(
        _ words: String, _ limits: (files: Int, workers: Int)
    ) throws {
        let place = Workplace(inMemory: true)
        try place.write(["index.html": "page"], to: "r")
        try place.done("--store", "s", "add", "r", "--version", "1", "--activate")
        try place.done("--store", "s", "publish", "1", "o", "--no-packs")
        let castree = ProgramUnderTest.castree.url.path
        try place.shell(
            "ulimit -n \(limits.files) && exec \(castree) \(words) --workers \(limits.workers)"
        ).ended(1, saying: "raise the limit (LimitNOFILE= of its unit, ulimit -n)")
    }

    @Test func `counts the connections of the pulls that a server makes`() throws {
        let place = Workplace(inMemory: true)
        try place.write(["index.html": "page"], to: "r")
        try place.done("--store", "s", "add", "r", "--version", "1", "--activate")
        try place.done("--store", "s", "publish", "1", "o", "--no-packs")
        let serve =
            "ulimit -n 200 && exec \(ProgramUnderTest.castree.url.path) --store s serve --app-id few --workers 1 --next-port"
        try place.shell("\(serve) --updates o --pull-option=--jobs=256").ended(
            1, saying: "it may have 200 open files and needs 368")
    }
}
