import ProgramTestSupport

// docs/maintenance.md, "Root, and other users".
@Suite("A command that root runs in a store of another user", .needsOtherUser)
struct RootTests {
    /// A store with one version, all of it the owner's.
    private let place = Workplace()

    init() throws {
        chmod(place.directory.path, 0o755)
        for name in ["release-2", "release-3"] {
            try place.write(Release.second, to: name)
            try place.write(["only": name], to: name)
        }
        try place.add("1", Release.first, "--activate")
        try place.give(to: Self.owner)
    }

    private static let owner: UInt32 = 5001

    private func owner(_ words: String...) throws -> Finished {
        try place.castree(as: Self.owner, words)
    }

    private func makeOwned(_ name: String) throws {
        try place.makeDirectory(name)
        chown(place.path(name), Self.owner, Self.owner)
    }

    private func writeRoots(_ path: String) throws {
        try Data("root's".utf8).write(to: URL(filePath: path))
    }

    /// What in the store is not the owner's.
    private func strangers() throws -> [String] {
        let store = place.directory.appending(path: ".castree").path
        var found: [String] = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: store) {
            let status = try place.fileStatus(store + "/" + path)
            if status.st_uid != Self.owner || status.st_gid != Self.owner { found.append(path) }
        }
        return found
    }

    @Test func `leaves nothing that is not the owner's, and the owner continues`() throws {
        for words in [
            ["add", "release-2", "--version", "2"], ["activate", "2"], ["gc"], ["fsck"],
            ["fsck", "--repair"], ["retire", "1"], ["add", "release-1", "--version", "1"], ["gc"],
            ["boot"],
        ] {
            try place.done(words: words)
            try expect(strangers(), equals: [], "\(words)")
        }
        for words in [
            ["add", "release-3", "--version", "3"], ["activate", "3"], ["retire", "2"], ["gc"],
        ] {
            try place.castree(as: Self.owner, words).ended()
        }
        try owner("fsck", "--deep").ended()
    }

    @Test func `makes a store or an origin in the owner's directory for the owner, who continues`()
        throws
    {
        try makeOwned("state")
        try place.done("publish", "1", "state/updates")
        for path in ["state/updates", "state/updates/log", "state/updates/origin.json"] {
            try expect(place.fileStatus(place.path(path)).st_uid, equals: Self.owner, "\(path)")
        }
        try owner("withdraw", "1", "state/updates").ended()
        try place.done("adopt", "release-2", "--version", "2", "--store", "state/app/store")
        for path in ["state/app", "state/app/store", "state/app/store/FORMAT"] {
            try expect(place.fileStatus(place.path(path)).st_uid, equals: Self.owner, "\(path)")
        }
        try owner("boot", "--store", "state/app/store").ended()
        // Where the owner may make nothing, root may.
        chmod(place.path("state"), 0o555)
        try place.done("init", "--store", "state/roots")
        try expect(place.fileStatus(place.path("state/roots")).st_uid, equals: 0)
    }

    @Test func `checks out files of root's own, unless links are asked for`() throws {
        let directory = place.directory.path
        try place.done("checkout", "1", "\(directory)/own")
        try place.done("checkout", "1", "\(directory)/linked", "--mode", "link")
        for path in Release.first.keys where path != "empty" {
            let own = try place.fileStatus("own/\(path)")
            let object = try place.fileStatus("linked/\(path)")
            expect(own.st_uid == 0 && own.st_nlink == 1, "\(path)")
            expect(object.st_uid == Self.owner && object.st_nlink > 1, "\(path)")
        }
    }

    @Test func `makes the index, the locks and lost directories again for the owner`() throws {
        let lost = ["index.sqlite", "stamp", "leases", "staging", "events.jsonl", "reserve"]
        for name in lost where place.exists(".castree/\(name)") {
            try place.remove(".castree/\(name)")
        }
        try place.done("versions")
        try place.done("activate", "1")
        try expect(strangers(), equals: [])
        try owner("add", "release-2", "--version", "2").ended()
    }

    @Test func `writes nothing behind a link in the owner's directory`() throws {
        let directory = place.directory.path
        let secret = "\(directory)/inner/secret"
        try place.castree("publish", "1", "origin", "--no-packs")
        try place.makeDirectory("inner")
        chmod("\(directory)/inner", 0o700)
        try writeRoots(secret)
        for (path, target) in [("link", "inner/secret"), ("new", "inner/new")] {
            expect(symlink(target, "\(directory)/\(path)"), equals: 0)
        }
        for words in [
            ["report"], ["du", "--html"],
            ["origin", "answer", "origin", "GET", "/origin.json", "--output"],
        ] {
            for target in ["link", "new"] {
                try place.ended(1, words: words + [target])
                try expect(place.contents("inner/secret"), equals: "root's", "\(words)")
            }
            try place.done(words: words + ["own"])
            try expect(place.fileStatus("own").st_uid, equals: Self.owner, "\(words)")
        }
        try expect(place.names(in: "inner"), equals: ["secret"])
    }

    @Test func `changes nothing behind a link that the owner has made`() throws {
        let files = FileManager.default
        let objects = place.path(".castree/objects")
        let shards = try place.names(in: ".castree/objects")
        let secret = place.path("secret")
        try place.makeDirectory("secret")
        // One shard leads to a directory of root's that has files of the same names, one object to a file of root's.
        for name in try files.contentsOfDirectory(atPath: "\(objects)/\(shards[0])") {
            try writeRoots("\(secret)/\(name)")
        }
        try files.removeItem(atPath: "\(objects)/\(shards[0])")
        expect(symlink(secret, "\(objects)/\(shards[0])"), equals: 0)
        try writeRoots("\(secret)/alone")
        let inner = try files.contentsOfDirectory(atPath: "\(objects)/\(shards[1])")[0]
        unlink("\(objects)/\(shards[1])/\(inner)")
        expect(symlink("\(secret)/alone", "\(objects)/\(shards[1])/\(inner)"), equals: 0)
        let names = try place.names(in: "secret")
        for name in names { chmod("\(secret)/\(name)", 0o600) }
        try place.ended(1, "fsck", "--deep", "--repair")
        for name in names {
            let status = try place.fileStatus("\(secret)/\(name)")
            expect(status.st_mode & 0o7777 == 0o600 && status.st_uid == 0, "\(name)")
            try expect(place.contents("secret/\(name)"), equals: "root's")
        }
        try expect(place.names(in: "secret"), equals: names)
        try place.done("fsck", "--deep")
        // The links, which this test has made, stand in quarantine.
        try expect(strangers().allSatisfy { $0.hasPrefix("quarantine/") })
    }

    @Test(
        "publishes to an origin of the owner as the owner, through no link of the owner's",
        arguments: ["", "frames", "staging"])
    func published(_ linked: String) throws {
        let origin = place.path("origin")
        let files = FileManager.default
        try makeOwned("origin")
        try owner("publish", "1", "origin", "--no-packs").ended()
        let secret = place.path("secret")
        try place.makeDirectory("secret")
        if !linked.isEmpty {
            let path = "\(origin)/.publish/\(linked)"
            try? files.removeItem(atPath: path)
            expect(symlink(secret, path), equals: 0)
        }
        try place.done("add", "release-2", "--version", "2")
        _ = try place.castree("publish", "2", "origin")
        _ = try place.castree("prune", "origin")
        try expect(place.names(in: "secret"), equals: [])
        for path in try files.subpathsOfDirectory(atPath: origin) {
            let status = try place.fileStatus("\(origin)/\(path)")
            expect(status.st_uid == Self.owner || path.hasSuffix("/\(linked)"), "\(path)")
        }
        try place.done("add", "release-3", "--version", "3")
        if linked.isEmpty { try owner("publish", "3", "origin").ended() }
    }

    @Test(
        "gives back what of an origin is root's, after its owner's check has named it",
        arguments: ["log", "objects", "channels", "manifests", "packs", ".publish"])
    func givenBack(_ name: String) throws {
        let origin = place.path("origin")
        try makeOwned("origin")
        for version in ["1", "2"] {
            if version == "2" { try place.done("add", "release-2", "--version", "2") }
            try owner("publish", version, "origin").ended()
        }
        // Its owner's link to a file of root's is left, whatever it is called.
        let secret = place.path("secret")
        try writeRoots(secret)
        chmod(secret, 0o600)
        expect(link(secret, "\(origin)/objects/linked"), equals: 0)
        let moved = "\(origin)/manifests/\(String(repeating: "0", count: 64)).json"
        try writeRoots(moved)
        chmod(moved, 0o600)
        let below = try FileManager.default.subpathsOfDirectory(atPath: origin).filter {
            $0 == name || $0.hasPrefix(name + "/")
        }.filter { $0 != "objects/linked" && !moved.hasSuffix("/" + $0) }
        for path in below.reversed() {
            let status = try place.fileStatus("\(origin)/\(path)")
            // What only its user may read could be another user's that the owner has moved here.
            let isFile = status.st_mode & S_IFMT == S_IFREG
            chmod("\(origin)/\(path)", status.st_mode & (isFile ? 0o704 : 0o700))
            chown("\(origin)/\(path)", 0, 0)
        }
        for words in [["fsck", "origin"], ["fsck", "origin", "--repair"]] {
            let checked = try place.castree(as: Self.owner, words).ended(4)
            let whose = "wrongOwner: \(name): it belongs to user root (uid 0), and the origin to "
            expect(checked.text.contains(whose), "\(words) \(checked)")
        }
        let repaired = try place.run(.castree, ["fsck", "origin", "--repair"])
        expect(repaired.text.contains("; it was given back (repaired)"), "\(repaired)")
        expect(repaired.text.contains("wrongOwner: objects/linked: "), "\(repaired)")
        for path in below {
            let status = try place.fileStatus("\(origin)/\(path)")
            expect(status.st_uid == Self.owner && status.st_gid == Self.owner, "\(path)")
        }
        for path in [secret, moved] {
            let status = try place.fileStatus(path)
            expect(status.st_uid == 0 && status.st_mode & 0o777 == 0o600, "\(path)")
        }
        unlink("\(origin)/objects/linked")
        unlink(moved)
        try owner("fsck", "origin", "--deep").ended()
        try owner("publish", "1", "origin", "--channel", "b").ended()
    }

    @Test func `reads what only root may read, wherever content comes from`() throws {
        let directory = place.directory.path
        try place.done("add", "release-2", "--version", "2")
        try place.done("publish", "2", "origin")
        try place.done("retire", "2")
        try FileManager.default.moveItem(
            atPath: "\(directory)/release-3", toPath: "\(directory)/shipped")
        for name in ["release-2", "shipped", "origin"] {
            chown("\(directory)/\(name)", 0, 0)
            chmod("\(directory)/\(name)", 0o700)
        }
        for words in [
            ["pull", "\(directory)/origin"], ["adopt", "shipped", "--version", "3"],
            ["add", "release-2", "--version", "4"],
            ["fsck", "--repair", "--from", "\(directory)/origin"],
        ] {
            if words[0] == "fsck" {
                let objects = "\(directory)/.castree/objects"
                for path in try FileManager.default.subpathsOfDirectory(atPath: objects)
                where path.utf8.count == 65 { unlink("\(objects)/\(path)") }
            }
            let finished = try place.run(.castree, words)
            expect(words[0] == "fsck" || finished.status == 0, "\(words): \(finished)")
            expect(!finished.errors.contains("denied"), "\(words): \(finished)")
            try expect(strangers(), equals: [], "\(words)")
        }
    }

    @Test(
        "signs by a key of the owner as its owner, who continues, and makes keys that the owner can use"
    )
    func signed() throws {
        let directory = place.directory.path
        let files = FileManager.default
        for name in ["keys", "origin"] { try makeOwned(name) }
        try place.done("key", "new", "keys/k")
        try place.done("add", "release-2", "--version", "2")
        let verbs = [
            ["publish", "1", "origin"], ["publish", "2", "origin"], ["withdraw", "1", "origin"],
            ["resign", "origin", "--valid-for", "3d"], ["prune", "origin"],
        ]
        for words in verbs {
            for isRoot in [true, false] {
                // The memory is made by root first, then replaced by root.
                let words = words + ["--sign-key", "keys/k"]
                let finished = try place.castree(as: isRoot ? 0 : Self.owner, words)
                let isRepeated = words[0] == "withdraw" && !isRoot
                expect(isRepeated || finished.status == 0, "\(words) \(isRoot): \(finished)")
                expect(!finished.errors.contains("denied"), "\(words) \(isRoot): \(finished)")
                for name in try files.contentsOfDirectory(atPath: "\(directory)/keys") {
                    let status = try place.fileStatus("\(directory)/keys/\(name)")
                    expect(status.st_uid, equals: Self.owner, "\(words) \(name)")
                    let isPublic = name.hasSuffix(".pub")
                    expect(status.st_mode & 0o777, equals: isPublic ? 0o644 : 0o600, "\(name)")
                }
            }
        }
    }

    @Test func `keeps what it makes elsewhere, and what was root's before`() throws {
        try writeRoots(place.path(".castree/mine"))
        try place.done("checkout", "1", "out", "--mode", "copy")
        try place.done("add", "release-2", "--version", "2")
        for path in ["out", "out/js", "out/js/app.js", "out/empty", ".castree/mine"] {
            try expect(place.fileStatus(path).st_uid, equals: 0, "\(path)")
        }
        try expect(strangers(), equals: ["mine"])
    }

    @Test func `is refused where it may not act for the owner, before anything is written`() throws
    {
        for words in [
            ["add", "release-2", "--version", "2"], ["activate", "1"], ["retire", "1"], ["boot"],
        ] {
            let finished = try place.run(
                [
                    "/usr/bin/setpriv", "--bounding-set=-setuid,-setgid",
                    "--inh-caps=-setuid,-setgid", "--", ProgramUnderTest.castree.url.path,
                ] + words)
            // What is current already needs nothing made.
            if words[0] == "activate" { continue }
            expect(finished.status, equals: 1, "\(words): \(finished)")
            expect(
                finished.errors.contains(
                    "(uid 0) without the right to act for others (CAP_SETUID)"),
                "\(words): \(finished)")
            expect(finished.errors.contains(".castree belongs to uid 5001, and this is "))
            try expect(strangers(), equals: [], "\(words)")
        }
    }
}
