import ProgramTestSupport

@Suite("What is mounted inside a store") struct MountedTests {
    /// Why nothing can be mounted here; nil if that works.
    static let reason: String? = {
        let tried = try? run("mount --bind /tmp /mnt", in: Workplace())
        return tried?.status == 0 ? nil : "needs unshare(1), mount(8), and the right to mount"
    }()

    private static let castree = "'\(ProgramUnderTest.castree.url.path)'"

    /// Runs a script; what it mounts goes with it.
    private static func run(_ script: String, in work: Workplace) throws -> Finished {
        try work.run(["/usr/bin/unshare", "-m", "sh", "-c", script])
    }

    @Test(
        "keeps its files, whatever is retired, collected, repaired or shown",
        .disabled(for: reason),
        arguments: [
            ("versions/2/js", ["retire", "2"]), ("versions/2/js", ["gc", "--keep", "1"]),
            ("versions/3/js", ["fsck", "--repair"]), ("versions/3/js", ["activate", "3"]),
            ("staging/1-0123456789abcdef", ["gc"]),
        ])
    func mounted(_ place: String, _ words: [String]) throws {
        let work = Workplace()
        for version in ["1", "2", "3"] {
            try work.add(version, ["index.html": version, "js/app.js": "app"])
        }
        try work.castree("activate", "3")
        try work.write(["precious": "precious", "sub/more": "more"], to: "volume")
        try work.makeDirectory(".castree/\(place)")
        let command = "\(Self.castree) \(words.joined(separator: " "))"
        _ = try Self.run("mount --bind volume '.castree/\(place)' && exec \(command)", in: work)
        try expect(work.contents("volume/precious"), equals: "precious", "\(words)")
        try expect(work.contents("volume/sub/more"), equals: "more", "\(words)")
    }

    @Test(
        "on a disk that is too small is made whole or not at all", .disabled(for: reason),
        arguments: ["64k", "1m", "2m", "2060k", "2100k", "2200k"],
        ["init", "add release --version 1"])
    func smallDisk(_ size: String, _ words: String) throws {
        let work = Workplace()
        try work.write(["index.html": "one"], to: "release")
        let castree = "\(Self.castree) --store disk/store"
        try Self.run(
            "mkdir -p disk; mount -t tmpfs -o size=\(size) none disk; \(castree) \(words); "
                + "test ! -e disk/store || \(castree) fsck", in: work
        ).ended()
    }

    @Test(
        .disabled(for: reason),
        arguments: [
            "versions/odd name", "versions/.3.old", "versions/stray", "leases/directory",
            "leases/1-0123456789abcdef", "manifests/2.json", "current", "channels.json",
            "events.jsonl",
            "lifecycle.json", "server.json", "last-check.json", "verified", "reserve",
        ])
    func `is named by a repair, which mends the rest`(_ place: String) throws {
        let work = Workplace()
        for version in ["1", "2", "3"] { try work.add(version, ["index.html": version]) }
        try work.castree("activate", "3")
        try work.write(["precious": "precious"], to: "volume")
        // Something else that a repair mends.
        chmod(work.path(".castree/versions/1"), 0o755)
        try work.remove(".castree/versions/1/index.html")
        try? work.remove(".castree/\(place)")
        try work.makeDirectory(".castree/\(place)")
        let finished = try Self.run(
            "mount --bind volume '.castree/\(place)' && exec \(Self.castree) fsck --repair",
            in: work
        ).ended(4)
        expect(finished.text.contains(place), "\(finished)")
        try expect(work.contents(".castree/versions/1/index.html"), equals: "1", "\(finished)")
        try expect(work.contents("volume/precious"), equals: "precious")
    }

    @Test(
        "that is a part of an origin or a store is told of, with what to do",
        .disabled(for: reason),
        arguments: [
            ("o/objects", "publish 2 o", "fsck o"),
            (".castree/objects", "add more --version 3", "fsck"),
        ])
    func part(_ place: String, _ words: String, _ check: String) throws {
        let work = Workplace()
        for version in ["1", "2"] { try work.add(version, ["index.html": version]) }
        try work.done("publish", "1", "o", "--no-packs")
        try work.write(["index.html": "3"], to: "more")
        let script = "cp -a \(place) big && mount -t tmpfs none \(place) && cp -a big/. \(place)"
        func run(_ more: String) throws -> Finished {
            try Self.run("rm -rf big; \(script) && \(Self.castree) \(more)", in: work)
        }
        try run(words).ended(1, saying: "move all of it to one disk")
        try run(check).ended(saying: "objects is a disk of its own")
    }

    @Test(.disabled(for: reason))
    func `that holds the objects of a store ends no repair of the rest`() throws {
        let work = Workplace()
        for version in ["1", "2", "3"] { try work.add(version, ["index.html": version]) }
        try work.castree("activate", "3")
        let finished = try Self.run(
            """
            cp -a .castree/objects big && mount -t tmpfs none .castree/objects && cp -a big/. .castree/objects && o=$(grep -rlx 3 .castree/objects) &&
                chmod u+w $o && echo damaged >$o && chmod 755 .castree/versions/1 && rm .castree/versions/1/index.html &&
                exec \(Self.castree) fsck --repair --deep
            """, in: work
        ).ended(4)
        expect(finished.text.contains("it stays: "), "\(finished)")
        try expect(work.contents(".castree/versions/1/index.html"), equals: "1", "\(finished)")
        try expect(work.contents(".castree/current/index.html"), equals: "3", "\(finished)")
    }
}
