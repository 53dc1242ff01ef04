import ProgramTestSupport

/// `castree pull` where nobody answers, or something else than an origin.
@Suite struct FailedPullTests {
    let place = Workplace()

    @Test func `where nobody listens, two retries are all, and the log has each`() throws {
        /// Each time by a store of its own: what is in vain again counts together.
        func retries(_ arguments: String...) throws -> Int {
            let store = "store-\(arguments.count)-\(arguments.last ?? "")"
            try place.castree("--store", store, "init", "--no-sync")
            let pull = try place.run(
                .castree, ["--store", store, "pull", "http://127.0.0.1:9/app"] + arguments)
            expect(pull.status != 0 && pull.errors.contains("127.0.0.1"))
            // Nobody watches, so nothing is said meanwhile.
            expect(pull.errors.split(separator: "\n").count, equals: 1, "\(pull.errors)")
            return try place.castree("--store", store, "log", "--json").text
                .components(separatedBy: #""event":"retry""#).count - 1
        }
        try expect(retries(), equals: 2)
        try expect(retries("--retries", "0"), equals: 0)
        try expect(retries("--retries", "3"), equals: 3)
    }

    @Test func `a slip in the URL is told what was probably meant`() throws {
        let slip = try place.device("pull", "127.0.0.1:8080/app")
        expect(slip.errors.contains("http://127.0.0.1:8080/app"), "\(slip)")
        let plain = try place.device("pull", "nothing-here")
        expect(plain.errors.contains("check the path"), "\(plain)")
        try place.write(["index.html": "a"], to: "site")
        let origin = try place.origin()
        let inside = try place.device("pull", "\(origin.url)/__cordova/")
        expect(inside.errors.contains("inside a Meteor server: give \(origin.url)\n"), "\(inside)")
    }

    @Test("a pull that fails before anything came leaves no store, and takes none away")
    func nothingCame() throws {
        for _ in 1...2 {
            let refused = try place.device("pull", "http://127.0.0.1:9/app", "--retries", "0")
            expect(refused.status != 0)
            expect(!place.exists("device"))
        }
        // A store that was there stays.
        try place.castree("--store", "device", "init", "--no-sync")
        _ = try place.device("pull", "http://127.0.0.1:9/app", "--retries", "0")
        expect(place.exists("device/FORMAT"))
        try place.done("--store", "device", "fsck")
    }

    @Test func `a pull that fails after something came keeps it`() throws {
        try place.add("1", Release.first)
        try place.castree("publish", "1", "site", "--no-sync", "--no-packs")
        let lost = try place.address(of: "js/app.js", in: "1")
        try place.remove(place.object(lost, in: "site"))
        try place.device("pull", "site", "--retries", "0").ended(1)
        expect(place.exists("device/manifests/1.json"))
    }

    @Test func `a plan says so where the format tells no sizes, which nobody knows then`() throws {
        let file = #"{"path":"a.js","route":"/a.js"}"#
        try place.write(
            ["manifest.json": #"{"commit":"c","files":[\#(file)]}"#, "a.js": "a"], to: "frontend")
        let plan = try place.castree("pull", "frontend", "--format", "8fit", "--dry-run")
        expect(plan.text.contains("fetch 1 object of unknown size; already here"), "\(plan)")
    }
}
