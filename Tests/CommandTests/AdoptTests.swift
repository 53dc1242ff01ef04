import ProgramTestSupport

/// `castree adopt`: what an app was shipped with.
@Suite struct AdoptTests {
    let place = Workplace()

    private func adopt(_ arguments: String...) throws -> Finished {
        try place.run(.castree, ["adopt"] + arguments)
    }

    private func lifecycle() throws -> JSON { try place.lifecycle() }

    @Test("what was shipped becomes current, is embedded, and costs nothing the second time")
    func shipped() throws {
        try place.write(Release.first, to: "shipped")
        let first = try adopt("shipped", "--version", "1", "--json").document(.adopted)
        expect(first.version == "1" && first.isNew.isTrue && first.becameCurrent.isTrue)
        try expect(lifecycle().current == "1" && lifecycle().embedded == "1")
        let second = try adopt("shipped", "--version", "1", "--json").document(.adopted)
        expect(!second.isNew && !second.becameCurrent)
        try expect(adopt("shipped", "--version", "1").text.contains("adopted before"))
        // Nothing that cleans up takes it.
        try place.add("2", Release.second, "--activate")
        try expect(place.castree("retire", "1").status, equals: 1)
    }

    @Test func `a directory without files is refused, and leaves no store behind`() throws {
        let empties: [(files: [String: String], options: [String])] = [
            ([:], []), (["a/b.txt": "x"], ["--exclude", "*"]), ([".git/HEAD": "x"], []),
            ([".DS_Store": "x"], ["--skip-junk"]),
        ]
        for (files, options) in empties {
            let directory = place.directory.appending(path: "shipped")
            try? FileManager.default.removeItem(at: directory)
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true)
            try place.write(files, to: "shipped")
            let words = ["adopt", "shipped", "--version", "1"] + options
            try place.run(.castree, words).ended(
                1, saying: "shipped has no files", in: "\(options)")
            expect(!place.exists(".castree"))
        }
        // In a store that is there, nothing changes; what was adopted needs its directory no more.
        try place.write(Release.first, to: "shipped")
        try expect(adopt("shipped", "--version", "1").status, equals: 0)
        try place.remove("shipped")
        try place.makeDirectory("shipped")
        try expect(adopt("shipped", "--version", "1").status, equals: 0)
        try expect(adopt("shipped", "--version", "2").status, equals: 1)
        try expect(lifecycle().embedded == "1" && lifecycle().current == "1")
    }

    @Test("an app update wins over a download, unless the download comes first by choice")
    func appUpdate() throws {
        try place.add("9", Release.first, "--activate")
        try place.write(Release.second, to: "shipped")
        let late = try adopt(
            "shipped", "--version", "2", "--downloads-first", "--json"
        ).document(.adopted)
        expect(late.isNew.isTrue && !late.becameCurrent)
        try expect(lifecycle().current, equals: "9")
        try place.write(["index.html": "three"], to: "shipped")
        let next = try adopt("shipped", "--version", "3", "--json").document(.adopted)
        expect(next.becameCurrent.isTrue)
        try expect(lifecycle().current, equals: "3")
    }

    /// The name of app/a.js is the SHA-1 of its bytes, "run(1)".
    private static let program =
        #"{"format":"web-program-pre1","version":"m1","cordovaCompatibilityVersions":{"ios":"k"},"#
        + #""manifest":[{"where":"client","type":"js","path":"app/a.js","url":"/app/a.js?hash=d0a55228bb8abafd12a3e77fad5ac7062c461136","#
        + #""size":6,"hash":"d0a55228bb8abafd12a3e77fad5ac7062c461136","cacheable":true}]}"#

    @Test func `a Meteor bundle is adopted under its own version, whatever it is called`() throws {
        let page =
            "<script>__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"%7B%22autoupdateVersion"
            + "Cordova%22%3A%22m1%22%7D\"))</script>"
        try place.write(
            ["program.json": Self.program, "app/a.js": "run(1)", "index.html": page], to: "shipped")
        for arguments in [["--version", "build-7"], []] {
            let answer = try place.run(.castree, ["adopt", "shipped", "--json"] + arguments)
            try expect(answer.document(.adopted).version, equals: "m1", "\(answer)")
        }
        try expect(place.castree("versions", "--json").text.contains("m1"))
        try expect(!place.castree("versions", "--json").text.contains("build-7"))
        // An add takes the files as they are, and says what else there is.
        let added = try place.done("add", "shipped", "--version", "plain")
        expect(added.errors.contains("castree adopt shipped"))
    }

    @Test func `what has no name, or is not there, is refused and leaves no store`() throws {
        try place.write(Release.first, to: "shipped")
        try adopt("shipped").ended(2, saying: "--version")
        try expect(adopt("nowhere", "--version", "1").status, equals: 1)
        expect(!place.exists(".castree"))
    }
}
