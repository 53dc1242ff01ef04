import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "When the store is damaged".
@Suite("Where an object cannot be opened")
struct TreeServingTests {
    private static let large = String(repeating: "a large file. ", count: 150_000)
    private static let files = [
        "index.html": "<title>one</title>", "app.js": "run('one')", "copy/app.js": "run('one')",
        "film.bin": large,
    ]

    private let store: TemporaryStore

    init() throws {
        store = try TemporaryStore()
        try store.add("1", Self.files)
        try store.versions.activate("1")
    }

    private func object(_ path: String, in version: String = "1") throws -> String {
        try store.objectPath(of: path, in: version)
    }

    private func tree(_ path: String, in version: String = "1") -> String {
        "\(store.path)/versions/\(version)/\(path)"
    }

    /// Gives a tree's file an inode of its own, as in a store that was copied without its hard links.
    private func part(_ path: String, with bytes: [UInt8]? = nil) throws {
        let file = tree(path)
        let directory = (file as NSString).deletingLastPathComponent
        let bytes = try bytes ?? Damage.contents(file)
        try Damage.setMode(directory, 0o755)
        Damage.remove(file)
        try Data(bytes).write(to: URL(filePath: file))
        try Damage.setMode(directory, 0o555)
    }

    /// What may stand where the object stood; its tree's file is a sound file of its own.
    private static let damages: [(String, @Sendable (String) throws -> Void)] = [
        ("nothing", { Damage.remove($0) }),
        ("a fifo", { try Damage.replace($0, by: .fifo) }),
        ("a socket", { try Damage.replace($0, by: .socket) }),
        ("a directory", { try Damage.replace($0, by: .directory) }),
        ("a link", { try Damage.replace($0, by: .symbolicLink("/etc/hostname")) }),
        ("an empty file", { try Damage.replace($0, by: .emptyFile) }),
        ("a flipped bit", { try Damage.flip($0, at: 3) }),
        ("a longer file", { try Damage.extend($0, by: [1, 2, 3]) }),
    ]

    @Test(
        "and its tree's file is sound, that one is served, as the object would be",
        arguments: 0..<damages.count, [false, true])
    func served(_ number: Int, _ wasServedBefore: Bool) throws {
        let app = try TestApp(store)
        let browser = try app.visitor()
        if wasServedBefore {
            for path in ["/app.js", "/film.bin"] {
                try expect(browser.load(path).status, equals: 200)
            }
        }
        for path in ["app.js", "film.bin"] {
            try part(path)
            try Self.damages[number].1(try object(path))
        }
        for _ in 0..<3 {
            try expect(browser.load("/app.js").text, equals: "run('one')")
            let film = try browser.load("/film.bin")
            expect(film.status, equals: 200)
            expect(film.body, equals: Array(Self.large.utf8))
        }
        let part = try browser.ask("GET", "/film.bin", [("Range", "bytes=14-19")])
        expect(part.status, equals: 206)
        expect(part.text, equals: "a larg")
        let head = try browser.ask("HEAD", "/film.bin")
        expect(head.value("Content-Length"), equals: "\(Self.large.utf8.count)")
        let tag = try require(head.value("ETag"))
        try expect(browser.ask("GET", "/film.bin", [("If-None-Match", tag)]).status, equals: 304)
    }

    @Test
    func `it is said once for each object, with what is wrong and what is served instead`() throws {
        for path in ["app.js", "film.bin"] { Damage.remove(try object(path)) }
        let app = try TestApp(store)
        let browser = try app.visitor()
        for _ in 0..<3 {
            try expect(browser.load("/app.js").status, equals: 200)
            try expect(browser.load("/film.bin").status, equals: 200)
        }
        let told = app.notices.all
        expect(told.count, equals: 2, "\(told)")
        expect(
            told.allSatisfy { $0.contains("is not in the store") && $0.contains("fsck --repair") })
        expect(told.contains { $0.contains("versions/1/app.js, which has its bytes") })
        expect(told.contains { $0.contains("versions/1/film.bin") })
    }

    @Test("a file that was written through its hard link is no copy: it is refused as before")
    func sharedInode() throws {
        let app = try TestApp(store)
        let browser = try app.browser()
        for path in ["app.js", "film.bin"] { try Damage.flip(try object(path), at: 5) }
        for _ in 0..<2 {
            try expect(app.browser().load("/app.js").status, equals: 500)
            try expect(app.browser().load("/film.bin").status, equals: 500)
        }
        try expect(browser.navigate().status, equals: 200)
    }

    @Test("neither is a file of the right size with other bytes, or a link to the right ones")
    func wrongCopies() throws {
        try part("app.js", with: Array("run('two')".utf8))
        try part("film.bin", with: Array(Self.large.reversed().map { $0 }.description.utf8))
        try part("film.bin", with: [UInt8](repeating: 7, count: Self.large.utf8.count))
        for path in ["app.js", "film.bin"] {
            let elsewhere = store.directory.appending(path)
            try Data(Self.files[path]?.utf8 ?? "".utf8).write(to: URL(filePath: elsewhere))
            Damage.remove(try object(path))
        }
        try Damage.setMode(tree("copy"), 0o755)
        try Damage.replace(
            tree("copy/app.js"), by: .symbolicLink(store.directory.appending("app.js")))
        let app = try TestApp(store)
        for _ in 0..<2 {
            try expect(app.browser().load("/app.js").status, equals: 500)
            try expect(app.browser().load("/film.bin").status, equals: 500)
        }
        expect(app.notices.all.allSatisfy { $0.contains("is not in the store") })
    }

    @Test("another file of the version with its address serves, and so does another version's")
    func otherFiles() throws {
        try store.add("2", ["index.html": "<title>two</title>", "film.bin": Self.large])
        for path in ["app.js", "film.bin"] { Damage.remove(try object(path)) }
        // No copies of these are left in the tree of the current version.
        try part("app.js", with: [1])
        try part("film.bin", with: [2])
        let app = try TestApp(store)
        let browser = try app.visitor()
        try expect(browser.load("/app.js").text, equals: "run('one')")
        try expect(browser.load("/film.bin").body, equals: Array(Self.large.utf8))
        expect(app.notices.all.contains { $0.contains("versions/1/copy/app.js") })
        expect(app.notices.all.contains { $0.contains("versions/2/film.bin") })
    }

    @Test func `the shell's files are found in the shell's tree`() throws {
        try store.add("www", ["cordova.js": "cordova"])
        Damage.remove(try object("cordova.js", in: "www"))
        let app = try TestApp(store) { $0.shell = "www" }
        try expect(app.browser().load("/cordova.js").text, equals: "cordova")
        expect(app.notices.all.contains { $0.contains("versions/www/cordova.js") })
    }

    @Test func `the object is served again once it is back`() throws {
        let path = try object("app.js")
        let app = try TestApp(store)
        Damage.remove(path)
        try expect(app.browser().load("/app.js").text, equals: "run('one')")
        try part("app.js", with: [1])
        try part("copy/app.js", with: [1])
        _ = try store.versions.add(
            directory: store.directory.appending("source-1"), version: "again")
        try expect(app.browser().load("/app.js").text, equals: "run('one')")
    }

    @Test(
        "the manifest being gone, the version is served as its tree shows it",
        arguments: [true, false])
    func withoutManifest(hasIndex: Bool) throws {
        Damage.remove("\(store.path)/manifests/1.json")
        if !hasIndex {
            for name in ["index.sqlite", "index.sqlite-journal", "stamp"] {
                Damage.remove("\(store.path)/\(name)")
            }
        }
        let app = try TestApp(store)
        let browser = try app.browser()
        try expect(browser.load("/").status, equals: 200)
        for (path, text) in Self.files { try expect(browser.load("/" + path).text, equals: text) }
        try expect(store.reopened().manifest(of: "1").count, equals: Self.files.count)
    }
}
