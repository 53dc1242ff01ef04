import ProgramTestSupport

/// Where a command finds its store if nobody names one: here, else in the nearest directory above, as git does.
@Suite struct StoreSearchTests {
    let place = Workplace()

    init() throws {
        try place.add("1", ["a": "a"])
        try place.write(["file": "content"], to: "below/deep")
    }

    private func castree(
        _ arguments: [String], in directory: String, environment: [String: String] = [:]
    ) throws -> Finished {
        try Running(
            .castree, arguments, in: place.url(directory), environment: environment
        ).finished()
    }

    private static let said = "castree: note: using the store ../../.castree\n"

    @Test(arguments: [
        ["versions"], ["show", "1"], ["status"], ["log"], ["fsck"], ["gc", "--dry-run"], ["report"],
        ["activate", "1"], ["du"],
    ])
    func `a command that needs a store finds the one above, and says so`(_ words: [String]) throws {
        try expect(castree(words, in: "below/deep").ended().errors, equals: Self.said)
        for silent in ["--quiet", "--json"] {
            try expect(castree(words + [silent], in: "below/deep").errors.isEmpty)
        }
        expect(!place.exists("below/deep/.castree") && !place.exists("below/.castree"))
    }

    @Test func `versions are completed from the store above`() throws {
        let words = ["__complete", "zsh", "show", ""]
        try expect(castree(words, in: "below/deep").text, equals: "1\t\n")
    }

    @Test func `the nearest one counts, and one here is not mentioned`() throws {
        let add = ["add", "deep", "--version", "near", "--no-sync"]
        try expect(castree(add, in: "below").status, equals: 0)
        let found = try castree(["versions"], in: "below/deep")
        expect(found.text.contains("near") && found.errors.contains("the store ../.castree"))
        try expect(castree(["versions"], in: "below").errors.isEmpty)
    }

    @Test func `init, add and pull make one here, and say that there is one above`() throws {
        let hint = "; there is one above: --store ../../.castree uses that\n"
        let add = ["add", "../../release-1", "--version", "2", "--no-sync"]
        let added = try castree(add, in: "below/deep")
        expect(added.status == 0 && added.errors.hasSuffix(hint), "\(added)")
        try expect(castree(["versions", "--json"], in: "below/deep").text.contains("\"2\""))
        try expect(castree(["versions", "--json"], in: "below").text.contains("\"1\""))

        try place.castree("publish", "1", "origin")
        try place.write(["file": "content"], to: "beside/deep")
        let plan = try castree(["pull", "../../origin", "--dry-run"], in: "beside/deep")
        expect(plan.status == 0 && plan.errors.isEmpty, "\(plan)")
        expect(plan.text.contains("fetch 1 object"), "\(plan)")
        try castree(["pull", "../../origin"], in: "beside/deep").ended(saying: hint)
        expect(place.exists("beside/deep/.castree/FORMAT"))

        try place.write(["file": "content"], to: "third/deep")
        try expect(castree(["init", "--no-sync"], in: "third/deep").status, equals: 0)
        expect(place.exists("third/deep/.castree/FORMAT"))
    }

    @Test func `who names a store gets that one or none`() throws {
        for words in [["--store", ".castree"], ["--store", "other"]] {
            try expect(castree(words + ["versions"], in: "below/deep").status, equals: 3)
        }
        let variable = ["CASTREE_STORE": ".castree"]
        try expect(castree(["versions"], in: "below/deep", environment: variable).status, equals: 3)
        let empty = ["CASTREE_STORE": ""]
        try expect(castree(["versions"], in: "below/deep", environment: empty).status, equals: 0)
    }

    @Test(arguments: [
        ["versions"], ["show", "1"], ["status"], ["log"], ["fsck"], ["gc", "--dry-run"], ["report"],
        ["activate", "1"], ["du"], ["publish", "1", "site"], ["serve"],
    ])
    func `where there is no store, it is said who names it`(_ words: [String]) throws {
        for (arguments, variable, named) in [
            (
                ["--store", "none"], "other",
                "no store at none; create one with castree init (--store names it)"
            ),
            (
                [], "other",
                "no store at other; create one with castree init ($CASTREE_STORE names it; --store DIR names another)"
            ),
            (
                [], "",
                "no store at .castree; create one with castree init (it is the default; --store DIR names another)"
            ),
        ] {
            let elsewhere = Workplace()
            let refused = try elsewhere.run(
                .castree, arguments + words, environment: ["CASTREE_STORE": variable])
            expect(refused.errors.contains(named), "\(refused)")
        }
    }

    @Test func `a link is not followed, and a directory without a store is passed by`() throws {
        let files = FileManager.default
        let below = place.directory.appending(path: "below")
        try files.createDirectory(
            at: below.appending(path: "deep/.castree"), withIntermediateDirectories: false)
        try files.moveItem(at: place.url(".castree"), to: place.url("moved"))
        try files.createSymbolicLink(
            atPath: below.appending(path: ".castree").path, withDestinationPath: "../moved")
        let refused = try castree(["versions", "--json"], in: "below/deep").ended(3)
        try expect(refused.error().code, equals: "noStore")
    }

    @Test(.enabled(if: geteuid() == 0, "needs root, to give a store away"))
    func `another user's store is not used, but named`() throws {
        expect(chown(place.directory.appending(path: ".castree").path, 65_534, 65_534), equals: 0)
        let refused = try castree(["versions", "--json"], in: "below/deep").ended(3)
        try expect(
            refused.error().message,
            equals:
                "no store at .castree; ../../.castree belongs to another user: --store ../../.castree uses it"
        )
        // One's own further up is used.
        try place.write(["a": "a"], to: "below/deep/er")
        try expect(
            castree(["add", "er", "--version", "x", "--no-sync"], in: "below/deep").status,
            equals: 0)
        expect(chown(place.path("below/deep/.castree"), 65_534, 65_534), equals: 0)
        expect(chown(place.path(".castree"), 0, 0), equals: 0)
        let found = try castree(["versions"], in: "below/deep/er")
        expect(found.text.contains("*") == false && found.errors.contains("../../../.castree"))
    }

    /// Whether a file system can be mounted that goes with its process.
    private static let canMount: Bool = {
        let probe = try? Workplace().run(
            ["/usr/bin/unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"])
        return probe?.status == 0
    }()

    @Test(.enabled(if: canMount, "no file system can be mounted here"))
    func `the search ends at the border of the file system`() throws {
        let program = ProgramUnderTest.castree.url.path
        let script =
            "mount -t tmpfs none below && mkdir below/deep && cd below/deep && exec \(program) versions"
        try place.run(
            ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", script],
            environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"]
        ).ended(3, saying: "no store at .castree; create one")
    }
}
