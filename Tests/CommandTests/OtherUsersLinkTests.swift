import ProgramTestSupport

// docs/maintenance.md, "Root, and other users". A link that stands there from the beginning is what root meets that makes a
// directory which its neighbour swaps meanwhile.
@Suite("A link that another user has put in root's way", .enabled(if: geteuid() == 0, "needs root"))
struct OtherUsersLinkTests {
    private static let user: UInt32 = 5001

    /// A store and an origin of root's; `theirs`, a directory of the user, with links of the user to root's places.
    private func prepared() throws -> Workplace {
        let place = try Workplace(adding: "1", Release.first)
        try place.done("publish", "1", "origin", "--no-packs")
        try place.done("key", "new", "k")
        for (name, mode) in [("closed", 0o700), ("open", 0o755), ("theirs", 0o755)]
            as [(String, mode_t)]
        {
            mkdir(place.directory.appending(path: name).path, mode)
        }
        try link(place, "theirs/closed", to: "../closed", by: Self.user)
        try link(place, "theirs/open", to: place.path("open"), by: Self.user)
        try link(place, "theirs/store", to: "../.castree", by: Self.user)
        try link(place, "theirs/origin", to: "../origin", by: Self.user)
        chown(place.directory.appending(path: "theirs").path, Self.user, Self.user)
        return place
    }

    private func link(_ place: Workplace, _ path: String, to target: String, by user: UInt32) throws
    {
        let path = place.directory.appending(path: path).path
        expect(symlink(target, path), equals: 0)
        expect(lchown(path, user, user), equals: 0)
    }

    /// Everything of root's, with its content.
    private func state(_ place: Workplace) throws -> [String: String] {
        var result: [String: String] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: place.directory.path)
        where !path.hasPrefix("theirs/") {
            let file = place.directory.appending(path: path).path
            result[path] = FileManager.default.contents(atPath: file)?.base64EncodedString() ?? ""
        }
        return result
    }

    /// The memories of keys, and their locks, wherever they are.
    private func notes(_ place: Workplace) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: place.directory.path).filter {
            $0.hasSuffix(".signed") || ($0.hasSuffix(".lock") && !$0.contains(".castree/"))
        }
    }

    /// What makes something at a path, or in what stands there.
    private static let making: [[String]] = [
        ["--store", "AT", "init"], ["--store", "AT/deep/er", "init"],
        ["--store", "AT", "add", "release-1", "--version", "1"],
        ["--store", "AT", "pull", "origin"],
        ["--store", "AT", "trust", "add", "k.pub", "--origin", "origin"],
        ["publish", "1", "AT"], ["publish", "1", "AT/o", "--no-packs"],
        ["publish", "1", "AT", "--dry-run"], ["publish", "--all-of", "origin", "AT/o"],
        ["checkout", "1", "AT/tree"], ["key", "new", "AT/k"], ["report", "AT/report"],
        ["du", "--html", "AT/page"],
        ["serve", "--next-port", "--app-id", Served.newApp(), "--access-log", "AT/log"],
    ]

    @Test(
        "leads it to nothing that is not that user's, whatever root makes there",
        arguments: ["closed", "open"])
    func making(_ target: String) throws {
        let place = try prepared()
        let before = try state(place)
        for words in Self.making {
            let there = words.map { $0.replacingOccurrences(of: "AT", with: "theirs/\(target)") }
            try place.run(.castree, there).ended(1, saying: "uid \(Self.user)", in: "\(words)")
            try expect(state(place), equals: before, "\(words)")
        }
    }

    @Test func `leads it to no store and no origin of root's either`() throws {
        let place = try prepared()
        let before = try state(place)
        for words in [
            ["--store", "theirs/store", "add", "release-1", "--version", "2"],
            ["--store", "theirs/store", "gc"], ["--store", "theirs/store", "retire", "1"],
            ["publish", "1", "theirs/origin"], ["prune", "theirs/origin"],
            ["fsck", "theirs/origin", "--repair"],
        ] {
            let finished = try place.run(.castree, words)
            expect([1, 8].contains(finished.status), "\(words): \(finished)")
            expect(finished.errors.contains("uid \(Self.user)"), "\(words): \(finished)")
            try expect(state(place), equals: before, "\(words)")
        }
    }

    @Test("leads what a key has signed to no key of root's, by whichever file of the key")
    func keyLinks() throws {
        let place = try prepared()
        try place.done("key", "new", "closed/k")
        try link(place, "theirs/k", to: "../k", by: Self.user)
        try link(place, "theirs/again", to: "k", by: 0)
        try link(place, "theirs/k.pub", to: place.path("k.pub"), by: Self.user)
        try link(place, "theirs/l", to: "closed/k", by: Self.user)
        for file in ["k", "again", "l", "closed/k"] {
            for words in [
                ["publish", "1", "new"], ["publish", "1", "origin", "--adopt"],
                ["resign", "origin", "--adopt"],
            ] {
                try place.ended(
                    1, words: words + ["--sign-key", "theirs/\(file)"], saying: "uid \(Self.user)")
                try expect(notes(place), equals: [], "\(words) \(file)")
            }
        }
        try place.ended(
            1,
            words: [
                "publish", "1", "new", "--sign-command-key", "theirs/k.pub", "--sign-command",
                "cat",
            ], saying: "uid \(Self.user)")
        try expect(notes(place), equals: [])
        // A link of root's, wherever it stands, and one of the user's to a key of the user's.
        try link(place, "theirs/roots", to: "../k", by: 0)
        try place.done(
            "publish", "1", "origin", "--adopt", "--no-packs", "--sign-key", "theirs/roots")
        try place.done("key", "new", "theirs/own")
        try link(place, "theirs/mine", to: "own", by: Self.user)
        try place.done("resign", "origin", "--adopt", "--sign-key", "theirs/mine")
        let notes = try notes(place)
        expect(notes.count, equals: 4, "\(notes)")
        for path in notes {
            let user = path.hasPrefix("theirs/") ? Self.user : 0
            try expect(place.fileStatus(path).st_uid, equals: user)
        }
    }

    @Test("leads where it says if it is root's own, or if what it leads to is its owner's")
    func followed() throws {
        let place = try prepared()
        try link(place, "theirs/roots", to: "../open", by: 0)
        try link(place, "theirs/own", to: "place", by: Self.user)
        mkdir(place.directory.appending(path: "theirs/place").path, 0o755)
        chown(place.directory.appending(path: "theirs/place").path, Self.user, Self.user)
        for name in ["roots", "own"] {
            try place.done("--store", "theirs/\(name)", "add", "release-1", "--version", "1")
            try place.done("--store", "theirs/\(name)", "fsck")
        }
        let process = "/proc/\(getpid())/root\(place.directory.path)/"
        try place.done("--store", process + ".castree", "versions")
        try place.done("--store", process + "theirs/roots", "versions")
        for (store, owner) in [("open", 0), ("theirs/place", Self.user)] {
            try expect(place.fileStatus(store + "/manifests/1.json").st_uid, equals: owner)
        }
    }
    // path_resolution(7): the directories on the way need the right to search. Root without its rights on files, and root on
    // a network's disk (exports(5), root_squash), have no other.
    @Test(.needsOtherUser)
    func `of root's own leads through directories that root may not read`() throws {
        let place = try prepared()
        let homes = place.directory.appending(path: "homes").path
        mkdir(homes, 0o755)
        mkdir(homes + "/user", 0o777)
        chmod(homes + "/user", 0o777)
        try link(place, "link", to: "homes", by: 0)
        chown(homes, Self.user, Self.user)
        chmod(homes, 0o711)
        try place.shell(
            """
            rights=-dac_override,-dac_read_search
            setpriv --inh-caps=$rights --bounding-set=$rights sh -c \
                '! ls link/ 2> /dev/null && \(ProgramUnderTest.castree.url.path) --store link/user/s init'
            """
        ).ended()
        expect(FileManager.default.fileExists(atPath: homes + "/user/s/FORMAT"))
    }
}
