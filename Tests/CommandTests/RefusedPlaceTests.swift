import ProgramTestSupport

@Suite("What is asked for in the wrong place or words") struct RefusedPlaceTests {
    private func prepared() throws -> Workplace {
        try Workplace(adding: "1", ["index.html": "one"], "--activate")
    }

    @Test(arguments: [
        ".castree/objects/zz", ".castree/zz", ".castree/versions/zz", "link/zz",
        ".castree/current/zz", "origin/zz", "origin/objects/zz",
    ])
    func `is not checked out into a store or an origin`(_ target: String) throws {
        let place = try prepared()
        try FileManager.default.createSymbolicLink(
            at: place.url("link"), withDestinationURL: place.url(".castree/objects"))
        try place.done("publish", "1", "origin", "--no-packs")
        try place.ended(1, "checkout", "1", target, saying: "it is inside a")
        expect(!place.exists(target))
        try place.done("checkout", "1", "out")
        try place.done("fsck")
    }

    @Test(arguments: [".castree/objects/zz", ".castree/zz/", ".castree", ".castree/manifests"])
    func `is not published into a store`(_ target: String) throws {
        let place = try prepared()
        try place.ended(1, "publish", "1", target, saying: "it is inside a store")
        try place.done("publish", "1", "origin")
        try place.done("fsck")
    }

    @Test(arguments: [
        ["pull", "ftp://me:secret@host/x"], ["pull", "http://host/", "http://me:secret@host/"],
        ["serve", "--proxy", "/api=http://me:secret@host"], ["http://me:secret@host/"],
        ["gc", "--keep", "http://me:secret@host/"],
        ["pull", "http://h/", "--proxy=x://me:secret@host"],
    ])
    func `is told of without the password of a URL`(_ words: [String]) throws {
        let place = try prepared()
        for more in [[], ["--json"]] {
            let finished = try place.run(.castree, words + more)
            expect(finished.status != 0)
            expect(!finished.errors.contains("secret"), "\(finished)")
        }
    }

    @Test(
        .disabled(
            if: geteuid() != 0 || access("/usr/bin/unshare", X_OK) != 0,
            "needs root and unshare(1), to hide /proc"))
    func `is told, or done, where there is no /proc, too`() throws {
        let place = try prepared()
        let commands: [([String], Int32)] = [
            (["versions"], 0), (["gc"], 0), (["boot"], 0), (["fsck"], 0), (["fsck", "--what"], 16),
            (["show", "99"], 3),
        ]
        for (words, status) in commands {
            try place.run(
                [
                    "/usr/bin/unshare", "-m", "--", "/bin/sh", "-c",
                    "mount -t tmpfs none /proc && exec \"$0\" \"$@\"",
                    ProgramUnderTest.castree.url.path,
                ] + words
            ).ended(status, in: "\(words)")
        }
    }
}
