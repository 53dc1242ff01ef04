import ProgramTestSupport

/// `castree add` of archives, made by the programs that everybody has.
@Suite struct ArchiveTests {
    let place: Workplace

    static let files = [
        "index.html": "<h1>one</h1>", "css/site.css": "body {}", "tools/serve": "#! /bin/sh\n",
        "empty": "",
        "Über/größe.txt": "1",
    ]

    init() throws {
        place = Workplace()
        try place.write(Self.files, to: "release")
    }

    @discardableResult
    private func shell(_ script: String) throws -> Finished {
        return try place.shell(script).ended()
    }

    /// Zips the release as `zip -r` does.
    private func zip(
        _ name: String = "release.zip", below prefix: String = "", by method: String = "DEFLATED"
    ) throws {
        let script = """
            import os, zipfile
            with zipfile.ZipFile('\(name)', 'w', zipfile.ZIP_\(method)) as file:
                for root, directories, names in os.walk('release'):
                    for each in sorted(directories) + sorted(names):
                        path = os.path.join(root, each)
                        file.write(path, '\(prefix)' + os.path.relpath(path, 'release'))
            """
        try shell("python3 - <<'END'\n\(script)\nEND")
    }

    @Test func `what has no files is added only if that is meant`() throws {
        try shell(
            """
            mkdir -p none/within && tar -cf none.tar none && python3 -c "
            import zipfile
            zipfile.ZipFile('none.zip', 'w').writestr(zipfile.ZipInfo('none/'), '')"
            """)
        for source in ["none", "none.tar", "none.zip"] {
            try place.ended(
                1, "add", source, "--version", "1", "--no-sync", saying: "--allow-empty")
            expect(!place.exists(".castree"), "\(source)")
        }
        for source in ["none", "none.tar", "none.zip"] {
            try place.done(
                "add", source, "--version", source, "--allow-empty", "--no-sync")
        }
    }

    @Test func `a tar of a version's own tree is that version again`() throws {
        try place.write(
            [
                "copy.html": "<h1>one</h1>", "again/one.html": "<h1>one</h1>", "a:b": "colon",
                "C:/f": "drive",
            ],
            to: "release")
        try place.castree("add", "release", "--version", "directory")
        try shell(
            "tar -C .castree/versions/directory -cf tree.tar . && tar -tvf tree.tar | grep -q 'link to'"
        )
        let added = try place.done("add", "tree.tar", "--version", "directory", "--json")
        try expect(added.document(.added).files, equals: Self.files.count + 4)
    }

    @Test func `an archive is the version that its directory is, twice in a row`() throws {
        try place.castree("add", "release", "--version", "directory")
        try zip()
        try shell(
            "tar -C release -cf release.tar . && tar -czf release.tar.gz -C release $(ls release)")
        for name in ["release.zip", "release.tar", "release.tar.gz"] {
            // The name of the directory's version is taken by other content, if it is other content.
            for version in [name, name, "directory"] {
                let added = try place.done("add", name, "--version", version, "--json")
                let document = try added.document(.added)
                expect(document.files == Self.files.count && document.newObjects == 0)
            }
        }
        let path = place.directory.path + "/.castree/versions/release.zip/tools/serve"
        expect(FileManager.default.isExecutableFile(atPath: path))
        try place.done("fsck")
        // The name is taken by other content.
        try place.write(["index.html": "two"], to: "release")
        try zip()
        let refused = try place.castree("add", "release.zip", "--version", "directory", "--json")
        try expect(refused.error().code, equals: "versionExists")
        try expect(refused.error().message.contains("\"index.html\""))
    }

    @Test func `an archive makes a store, counts what is new, and becomes current`() throws {
        try zip(below: "CodePush/")
        let added = try place.castree(
            "add", "release.zip", "--version", "1", "--strip", "CodePush/", "--activate", "--json")
        let document = try added.document(.added)
        expect(document.newObjects, equals: Self.files.count)
        expect(document.newBytes, equals: Self.files.values.reduce(0) { $0 + $1.utf8.count })
        try expect(place.contents(".castree/current/css/site.css"), equals: "body {}")
        try expect(place.castree("log").text.contains("1"))
    }

    @Test func `what of an archive is probably not meant is said, and not done`() throws {
        try zip()
        try expect(!place.castree("add", "release.zip", "--version", "1").errors.contains("--"))
        try zip(below: "app/")
        let below = try place.castree("add", "release.zip", "--version", "2")
        expect(below.errors.contains("below app/") && below.errors.contains("--strip app/"))
        let stripped = try place.castree("add", "release.zip", "--version", "1", "--strip", "app")
        expect(!stripped.errors.contains("--"), "\(stripped)")
        try place.write(["__MACOSX/app/._index.html": "x"], to: "mac")
        try shell("tar -cf mac.tar -C mac . && tar -rf mac.tar --transform s,^release,app, release")
        let mac = try place.castree("add", "mac.tar", "--version", "3")
        for words in ["__MACOSX/ is in the version", "--skip-junk", "--strip app/"] {
            expect(mac.errors.contains(words), "\(mac)")
        }
        let quiet = try place.castree("add", "mac.tar", "--version", "3", "--quiet")
        expect(quiet.errors.isEmpty, "\(quiet)")
        try place.castree("add", "mac.tar", "--version", "1", "--strip", "app", "--skip-junk")
    }

    @Test func `a tar archive comes out of a pipe, a zip archive does not`() throws {
        try zip()
        let castree = ProgramUnderTest.castree.url.path
        try shell("tar -C release -cz . | '\(castree)' add - --version piped")
        try place.done("show", "piped")
        try place.shell("cat release.zip | '\(castree)' add - --version zip").ended(
            1, saying: "from a pipe")
    }

    @Test func `a refused archive leaves neither a version nor a store`() throws {
        try zip()
        let whole = try Data(contentsOf: place.directory.appending(path: "release.zip"))
        try whole.prefix(300).write(to: place.directory.appending(path: "cut.zip"))
        try Data("Rar!\u{1a}\u{7}\u{1}".utf8).write(to: place.directory.appending(path: "a.rar"))
        // The last of its files is wrong: all before it have come by then.
        try shell("tar -C release -cf link.tar . && ln -s nowhere link && tar -rf link.tar link")
        let refusals = [
            ["cut.zip"], ["a.rar"], ["link.tar"], ["release.zip", "--max-size", "10"],
            ["release.zip", "--strip", "css"], ["nowhere.zip"],
        ]
        for words in refusals {
            let refused = try place.ended(1, words: ["add", "--version", "1", "--json"] + words)
            try expect(!refused.error().message.isEmpty)
            expect(!place.exists(".castree"), "\(words)")
        }
        for words in [["nowhere.zip"], ["nowhere.zip", "--skip-junk"]] {
            let absent = try place.run(.castree, ["add", "--version", "1"] + words)
            expect(absent.errors.contains("no directory or archive nowhere.zip"), "\(absent)")
        }
        let link = try place.castree("add", "link.tar", "--version", "1", "--json").error()
        expect(link.code, equals: "badArchive")
        expect(link.message.contains("\"link\"") && link.message.contains("symbolic link"))
        try place.castree("init")
        try expect(place.castree("add", "link.tar", "--version", "1").status, equals: 1)
        try expect(place.castree("versions", "--json").text.hasPrefix("[]"))
        try place.done("du", "--json")
    }

    @Test func `options that mean nothing for what is added are refused`() throws {
        try zip()
        for words in [
            ["release", "--strip", "css"], ["release", "--max-size", "1G"],
            ["release.zip", "--follow"], ["release.zip", "--no-cache"],
            ["release.zip", "--max-size", "x"],
        ] {
            try place.ended(2, words: ["add", "--version", "1"] + words)
            expect(!place.exists(".castree"))
        }
    }

    @Test(arguments: [SIGKILL, SIGINT])
    func `an import that is ended in the middle leaves no version, and can be repeated`(
        _ signal: Int32
    ) throws {
        try place.castree("init")
        try shell("head -c 900000 /dev/zero > release/large && tar -C release -cf release.tar .")
        let archive = try Data(contentsOf: place.directory.appending(path: "release.tar"))
        let pipe = Pipe()
        let running = try Running(
            ProgramUnderTest.castree.url, ["add", "-", "--version", "1"], in: place.directory,
            input: pipe)
        // More than a pipe holds: when it is written, most of it has been read.
        try pipe.fileHandleForWriting.write(contentsOf: archive.prefix(700_000))
        running.signal(signal)
        let ended = try running.finished()
        try pipe.fileHandleForWriting.close()
        expect(ended.status, equals: (signal == SIGKILL ? -SIGKILL : 130))
        try expect(place.castree("versions", "--json").text.hasPrefix("[]"))
        try place.castree("gc")
        try place.done("fsck")
        let added = try place.castree("add", "release.tar", "--version", "1", "--json")
        try expect(added.document(.added).files, equals: Self.files.count + 1)
        try expect(place.names(in: ".castree/staging"), equals: [])
    }

    @Test(
        "what reads some archives and is not installed is named, and what needs none of it is added",
        arguments: ["TAR", "BZIP2", "LZMA"])
    func libraries(_ method: String) throws {
        try zip()
        let archive = method == "TAR" ? "release.tar" : "rare.zip"
        if method == "TAR" {
            try shell("tar -cf release.tar -C release .")
        } else {
            try zip("rare.zip", by: method)
        }
        let environment = try place.lacking(["libarchive.so.13"])
        let refused = try place.ended(
            1, "add", archive, "--version", "1", "--json", environment: environment)
        try expect(refused.error().code, equals: "unsupported")
        try expect(refused.error().message.contains("apt install libarchive13"))
        expect(!place.exists(".castree"))
        for source in ["release", "release.zip"] {
            try place.ended(0, "add", source, "--version", source, environment: environment)
        }
        try place.done("add", archive, "--version", "rare")
        let trees = try ["release", "release.zip", "rare"].map { version in
            try place.castree("show", version).text.prefix { $0 != "V" }
        }
        expect(Set(trees).count, equals: 1, "\(trees)")
    }
}
