import ProgramTestSupport

// A link that is switched, a backup that is put back, while `castree origin serve` runs.
@Suite struct OriginReplacingTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.add("2", Release.second)
        try place.castree("publish", "1", "one", "--no-sync", "--no-packs")
        try place.castree("publish", "2", "two", "--no-sync", "--no-packs")
    }

    private func shell(_ script: String) throws {
        try place.shell(script).ended()
    }

    @Test(
        "a server answers from what stands at its path, and with 503 while there is nothing",
        arguments: [
            "ln -s one origin|ln -sfn two origin", "ln -s one origin|rm origin; cp -a two origin",
            "mv one origin|mv origin old; mv two origin",
            "mv one origin|rm -rf origin; cp -a two origin",
        ])
    func replaced(_ steps: String) throws {
        let steps = steps.split(separator: "|").map(String.init)
        try shell(steps[0])
        let served = try Served(
            [
                ProgramUnderTest.castree.url.path, "origin", "serve", "origin", "--listen",
                "127.0.0.1:0",
            ], in: place.directory)
        func offers(_ version: String) throws {
            let answer = try served.get("/channels/stable.json")
            expect(
                answer.status == 200 && answer.body.contains("\"version\":\"\(version)\""),
                "\(answer)")
            try place.done(
                "--store", "device-\(version)", "pull", served.url, "--quiet")
        }
        try offers("1")
        try shell(steps[1])
        try offers("2")
        // What is published there counts, too.
        try place.add("3", ["index.html": "three"])
        try place.castree("publish", "3", "origin", "--no-sync", "--no-packs")
        try offers("3")
        // Nothing, no origin, and the same once more.
        try shell("mv origin away")
        try expect(served.get("/channels/stable.json").status, equals: 503)
        try shell("mkdir origin")
        try expect(served.get("/origin.json").status, equals: 503)
        try shell("rmdir origin; mv away origin")
        try offers("3")
        let errors = try served.end().errors
        for words in [
            "another origin at origin now", "there is no origin in origin", "is back",
        ] {
            expect(errors.components(separatedBy: words).count, equals: 2, "\(words): \(errors)")
        }
    }
}
