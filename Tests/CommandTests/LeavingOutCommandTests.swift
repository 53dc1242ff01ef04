import ProgramTestSupport

/// What `add` and `adopt` leave out of a build, and what they say of the rest.
@Suite("What is not for users") struct LeavingOutCommandTests {
    let place: Workplace

    init() throws {
        place = Workplace()
        try place.write(
            [
                ".git/HEAD": "ref", ".env": "SECRET=1", ".DS_Store": "", "js/app.js": "x",
                "js/app.js.map": "{}",
                "index.html": "<html>", "node_modules/a/b": "", "tls.pem": "", "sub/.npmrc": "",
                ".castreeignore": "*.map\n",
            ], to: "v")
        let packed = try place.shell(
            "tar -C v -cf v.tar . && cd v && python3 -c \"import shutil; shutil.make_archive('../v', 'zip', '.')\""
        )
        try require(packed.status == 0, "\(packed.errors)")
    }

    /// Makes a store, so that nothing is said of one that is made.
    private func makeStore() throws { try place.castree("init") }

    private func add(_ words: String...) throws -> Finished {
        try place.done("add", "--no-sync", words: words)
    }

    @Test(arguments: ["v", "v.tar", "v.zip"])
    func `is said in two lines: what was left out, and what is in the version`(_ source: String)
        throws
    {
        try makeStore()
        let added = try add(source, "--version", "1")
        let lines = added.errors.split(separator: "\n")
        expect(lines.count, equals: source == "v" ? 2 : 3, "\(added)")
        expect(added.errors.contains("has no effect in an archive"), equals: source != "v")
        for words in [".git/ is left out", "--exclude '!NAME'"] {
            expect(lines.contains { $0.contains(words) }, "\(added)")
        }
        for words in [
            ".DS_Store, .env, node_modules/, sub/.npmrc, 1 more are in", "--exclude PATTERN",
            ".castreeignore",
        ] {
            expect(lines.contains { $0.contains(words) }, "\(added)")
        }
        try expect(add(source, "--version", "1", "--quiet").errors, equals: "")
        let document = try add(source, "--version", "1", "--json").document(.leftOut)
        expect(
            document.unwanted,
            equals: [".DS_Store", ".env", "node_modules/", "sub/.npmrc", "tls.pem"])
        // In an archive nobody but the command line says what is left out.
        let own = source == "v" ? ["js/app.js.map"] : []
        expect(document.leftOut, equals: [".castreeignore", ".git/"] + own)
    }

    @Test(
        "is left out by --exclude and --skip-junk, and then directory and archives are one version")
    func oneVersion() throws {
        for (position, source) in ["v", "v.tar", "v.zip"].enumerated() {
            let added = try add(
                source, "--version", "1", "--exclude", ".env*", "--exclude", "node_modules/",
                "--exclude", "*.pem",
                "--exclude", "**/.npmrc", "--exclude", "*.map", "--skip-junk")
            expect(!added.errors.contains("probably"), "\(added)")
            expect(
                added.text.contains("2 files")
                    && added.text.contains(position == 0 ? "2 new" : "0 new"), "\(added)")
        }
        for gone in [".git", ".env", ".DS_Store", "js/app.js.map", ".castreeignore"] {
            expect(!place.exists(".castree/versions/1/\(gone)"), "\(gone)")
        }
    }

    @Test func `is taken without a word if a pattern names it`() throws {
        try makeStore()
        for source in ["v", "v.tar", "v.zip"] {
            let added = try add(
                source, "--version", source, "--exclude", "!.git", "--exclude", "!.env",
                "--exclude", "!.DS_Store",
                "--exclude", "!*.pem", "--exclude", "/sub", "--exclude", "!node_modules")
            expect(added.errors, equals: "")
            try expect(place.contents(".castree/versions/\(source)/.git/HEAD"), equals: "ref")
        }
    }

    @Test func `is left out and said by adopt, too`() throws {
        let adopted = try place.done(
            "adopt", "v", "--version", "1", "--exclude", "tls.pem", "--exclude", "node_modules",
            "--skip-junk")
        expect(adopted.errors.contains(".git/ is left out"), "\(adopted)")
        expect(adopted.errors.contains(".env, sub/.npmrc are in the version"), "\(adopted)")
        expect(place.exists(".castree/versions/1/.env"))
        for gone in [".git", "tls.pem", ".DS_Store", "js/app.js.map"] {
            expect(!place.exists(".castree/versions/1/\(gone)"), "\(gone)")
        }
        let other = try place.castree(
            "adopt", "v", "--version", "2", "--json", "--exclude", "node_modules")
        try expect(other.document(.leftOut).leftOut.contains(".git/"))
        try expect(other.document(.leftOut).unwanted.contains(".env"))
    }

    @Test func `is named by a pattern that can match something, or nothing is done`() throws {
        for source in ["v", "v.tar", "v.zip"] {
            for (pattern, word) in [
                ("", " takes"), ("[a", ": the pattern"), ("a\\", ": the pattern"),
            ] {
                try place.ended(
                    2, "add", source, "--version", "1", "--exclude", pattern,
                    saying: "--exclude" + word)
            }
            try place.ended(
                1, "add", source, "--version", "1", "--exclude", "*", saying: "--allow-empty")
        }
        expect(!place.exists(".castree"))
    }
}
