import ProgramTestSupport

// docs/maintenance.md, "Root, and other users": the root of a volume is root's, and a group may write there.
@Suite(
    "A store or an origin in a directory of root's that a group may write",
    .enabled(if: OtherUserTests.reason == nil, "needs root and setpriv(1), to be somebody else"))
struct VolumeRootTests {
    private let place = Workplace(inMemory: true)

    /// Runs a script with the functions `own`, castree as a user whom no file names, in the group 5778, and `root`.
    @discardableResult
    private func shell(_ script: String) throws -> Finished {
        let castree = ProgramUnderTest.castree.url.path
        let head = """
            own() { setpriv --reuid=5003 --regid=5003 --groups 5778 --no-new-privs -- \\
                \(castree) --store data "$@"; }
            root() { \(castree) --store data "$@"; }

            """
        return try place.run(.shell, ["-c", head + script])
    }

    private func done(_ script: String) throws {
        let finished = try shell(script)
        expect(finished.status, equals: 0, "\(script): \(finished)")
    }

    private func prepared(_ mode: String) throws {
        for version in ["1", "2", "3"] {
            try place.write(["index.html": "page \(version)", "app.js": "app"], to: "r\(version)")
        }
        try done("chmod 755 . && mkdir data org && chgrp 5778 data org && chmod \(mode) data org")
    }

    private func expectOwn(_ directory: String) throws {
        let others = try shell("find \(directory) -mindepth 1 ! -user 5003")
        expect(others.text, equals: "", "\(others)")
    }

    /// What the user does, and what root does meanwhile.
    private static let verbs = [
        "own init", "own add r1 --version 1 --activate", "own boot", "own status", "own fsck",
        "root fsck", "root status", "root add r2 --version 2", "root fsck --repair",
        "own retire 2", "own add r2 --version 2", "root retire 2", "root gc", "own gc",
        "root add r3 --version 3", "own fsck --repair", "own status", "own fsck", "root fsck",
    ]

    @Test(arguments: ["2775", "2770", "775", "3775"])
    func `is theirs who made it, and root does what it does as that user`(_ mode: String) throws {
        try prepared(mode)
        for verb in Self.verbs { try done(verb) }
        try expectOwn("data")
        for verb in [
            "own publish 3 org", "own pull org", "own fsck org",
            "root fsck org", "root publish 3 org --channel beta",
            "root fsck org --repair", "own fsck org --repair", "own publish 3 org --channel more",
            "root withdraw 3 org --channel more", "own withdraw 3 org --channel beta",
            "own prune org --grace 0s", "root prune org --grace 0s", "own fsck org",
        ] { try done(verb) }
        try expectOwn("org")
    }

    @Test func `gets back what one command of root's has left there`() throws {
        try prepared("2775")
        for verb in Self.verbs { try done(verb) }
        try done("own publish 3 org --no-packs")
        try done("chown root data/leases data/FORMAT data/index.sqlite org/.publish org/objects/*")
        let found = try shell("own fsck; own fsck org")
        expect(found.status == 4 && found.text.contains("to uid 5003"), "\(found)")
        // The first ends with 1: all that was wrong is repaired.
        for verb in ["root fsck --repair", "root fsck org --repair"] {
            try expect(shell(verb).status, equals: 1, "\(verb)")
        }
        for verb in ["own boot", "own fsck", "own fsck org", "own withdraw 3 org"] {
            try done(verb)
        }
        try expectOwn("data")
    }

    @Test func `gives nobody what another member of the group has made`() throws {
        try prepared("2775")
        for verb in Self.verbs { try done(verb) }
        try done(
            """
            cat > data/mine && chmod 600 data/mine && chown 5003 data/mine </dev/null
            mv data/objects data/.objects && mkdir data/objects && chown 5004 data/objects
            """)
        try shell("root fsck --repair")
        expect(try shell("find data -user 5004 -not -name objects").text, equals: "")
    }

    @Test func `is still theirs where root has put a part of it back`() throws {
        try prepared("2775")
        for verb in Self.verbs { try done(verb) }
        try done("chown root data/objects data/manifests")
        try expect(shell("root fsck --repair").status, equals: 1)
        for verb in ["own boot", "own fsck", "own status"] { try done(verb) }
        try expectOwn("data")
    }

    @Test(arguments: ["755", "777", "1777", "2777"])
    func `is root's where root alone may write, or everybody`(_ mode: String) throws {
        try prepared("2775")
        try done("own add r1 --version 1 --activate && chmod \(mode) data")
        let found = try shell("root fsck")
        expect(found.status == 4 && found.text.contains("the store to user root"), "\(found)")
    }

    @Test func `makes no key of root's anybody's`() throws {
        try prepared("2775")
        try done("setpriv --reuid=5003 --regid=5003 --groups 5778 mkdir org/objects org/manifests")
        let made = try shell("root key new org/k && stat -c '%u %a' org/k")
        expect(made.status == 0 && made.text.hasSuffix("0 600\n"), "\(made)")
    }
}
