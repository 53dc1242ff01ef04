import ProgramTestSupport

/// A store and an origin on a read-only mount, and an origin of somebody else: whatever only looks, works.
///
/// Needs root, to mount and to be somebody else.
@Suite("What only looks") struct UnwritableTests {
    private static let reason: String? = {
        if geteuid() != 0 { return "needs root, to mount" }
        let place = Workplace()
        let finished = try? readOnly(place, ["--version"])
        return finished?.status == 0 ? nil : "nothing can be mounted here"
    }()

    /// Runs castree where everything of the place is mounted read-only.
    private static func readOnly(_ place: Workplace, _ words: [String]) throws -> Finished {
        let script = """
            mount --bind . . && cd "$PWD" && mount -o remount,bind,ro . || exit 99
            exec "$0" "$@"
            """
        let castree = ProgramUnderTest.castree.url.path
        return try place.run(
            ["/usr/bin/unshare", "-m", "--", "/bin/sh", "-c", script, castree] + words)
    }

    private func prepared() throws -> Workplace {
        let place = Workplace()
        chmod(place.directory.path, 0o755)
        try place.add("1", Release.first, "--activate")
        try place.add("2", Release.second)
        try place.done("publish", "1", "origin")
        try place.done("add", "release-2", "--version", "3")
        try place.castree("retire", "3")
        return place
    }

    /// Every verb that changes nothing, of stores and of origins.
    private static let verbs: [[String]] = [
        ["versions"], ["status"], ["show", "1"], ["diff", "1", "2"], ["cat", "1:index.html"],
        ["missing", "1"], ["du"], ["log"], ["lifecycle"], ["fsck"], ["fsck", "--deep"],
        ["fsck", "--repair", "--dry-run"], ["gc", "--dry-run"], ["gc", "--keep", "1", "--dry-run"],
        ["publish", "2", "origin", "--dry-run"], ["pack", "1", "origin", "--dry-run"],
        ["pull", "./origin", "--dry-run"], ["channels", "./origin"],
        ["prune", "origin", "--dry-run"],
        ["prune", "origin", "--keep", "1", "--dry-run"],
    ]

    @Test(.disabled(for: reason), arguments: verbs)
    func `works where nothing can be written`(_ words: [String]) throws {
        let place = try prepared()
        let usual = try place.run(.castree, words)
        let finished = try Self.readOnly(place, words)
        expect(finished.status, equals: usual.status, "\(finished) \(usual)")
        // Others write to the same disk meanwhile.
        func known(_ text: String) -> String { text.replacing(/[0-9.]+ [KMGT]iB free/, with: "") }
        expect(known(finished.text), equals: known(usual.text))
    }

    @Test(
        .needsOtherUser,
        arguments: [
            ["prune", "origin", "--dry-run"], ["channels", "./origin"],
            ["prune", "origin", "--keep", "1", "--dry-run", "--json"],
        ])
    func `at an origin needs no right to write there`(_ words: [String]) throws {
        let place = try prepared()
        let usual = try place.run(.castree, words)
        let finished = try place.castree(as: Workplace.nobody, words)
        expect(finished.status == 0 && finished.text == usual.text, "\(finished) \(usual)")
        // A mirror has no lock.
        try FileManager.default.removeItem(at: place.directory.appending(path: "origin/.publish"))
        try expect(place.castree(as: Workplace.nobody, words).status, equals: 0)
        expect(!place.exists("origin/.publish"))
    }

    @Test(
        "says of a store that has become read-only that nothing can start or arrive, but not of one that nothing ever did",
        .disabled(for: reason),
        arguments: [[], ["boot"], ["pull", "./origin"]])
    func becameReadOnly(_ use: [String]) throws {
        let place = try prepared()
        if !use.isEmpty { try expect(place.run(.castree, use).status, equals: 0) }
        let status = try Self.readOnly(place, ["status", "--json"])
        expect(status.status, equals: use.isEmpty ? 0 : 1, "\(status)")
        expect(status.text.contains("\"readOnly\""), equals: !use.isEmpty, "\(status)")
    }

    @Test(.disabled(for: reason))
    func `says of a damaged index that it stays, and why once`() throws {
        let place = try prepared()
        let path = ".castree/index.sqlite"
        try place.damage(path, with: String(repeating: "damaged ", count: 512))
        let before = try Data(contentsOf: place.url(path))
        let found = try Self.readOnly(place, ["fsck"]).ended(4)
        expect(!found.text.contains("repaired)"), "\(found)")
        expect(found.text.contains("cannot be rebuilt here, and stays as it is"), "\(found)")
        for finished in [found, try Self.readOnly(place, ["fsck", "--repair"]).ended(4)] {
            let advice = "mount it writable, then run 'castree fsck --repair'"
            expect(finished.text.contains(advice), "\(finished)")
            expect(!finished.text.contains("person"), "\(finished)")
        }
        let notes = found.errors.split(separator: "\n").filter {
            $0.contains("index cannot be used")
        }
        expect(notes.count, equals: 1, "\(found)")
        try expect(Data(contentsOf: place.url(path)), equals: before)
        let repaired = try place.ended(1, "fsck")
        expect(repaired.text.contains("(repaired)"), "\(repaired)")
    }

    private static let noImage: String? = {
        let found = try? Workplace().run(["/bin/sh", "-c", "command -v mksquashfs"])
        return reason ?? (found?.status == 0 ? nil : "needs mksquashfs")
    }()

    // Such a file system has neither free space nor free inodes nor fsync(2).
    @Test(.disabled(for: noImage))
    func `says of a store in a squashfs image that it is read-only, and nothing else`() throws {
        let place = try prepared()
        let script = """
            mksquashfs .castree image -quiet -no-progress -noappend >&2 && mkdir -p mounted &&
                mount -o loop,ro image mounted || exit 99
            exec "$0" "$@" --store mounted
            """
        let castree = ProgramUnderTest.castree.url.path
        let inImage = ["/usr/bin/unshare", "-m", "--", "/bin/sh", "-c", script, castree]
        let status = try place.run(inImage + ["status"]).ended()
        expect(status.text.contains("well "), "\(status)")
        for words in [["activate", "2"], ["boot"], ["gc"], ["retire", "2"]] {
            try place.run(inImage + words).ended(1, saying: "mount it writable")
        }
    }
}
