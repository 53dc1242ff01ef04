import ProgramTestSupport

// docs/maintenance.md, "Root, and other users": the root of a volume is root's, and a group may write there.
@Suite("A store or an origin in a directory of root's that a group may write", .needsOtherUser)
struct VolumeRootTests {
    private let place = Workplace(inMemory: true)

    /// Runs a script with the functions `own`, castree as a user whom no file names, in the group 5778, and `root`.
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
        try shell(script).ended(in: script)
    }

    private func owners() throws -> String {
        try shell("find data org -printf '%p %u %m\\n' | sort").text
    }

    @Test(arguments: ["2775", "2770", "775", "3775"])
    func `is as it should be, and root's repair takes it from nobody`(_ mode: String) throws {
        for version in ["1", "2"] {
            try place.write(["index.html": "page \(version)", "app.js": "app"], to: "r\(version)")
        }
        try done("chmod 755 . && mkdir data org && chgrp 5778 data org && chmod \(mode) data org")
        for verb in [
            "own init", "own add r1 --version 1 --activate", "own boot", "own publish 1 org",
            "own status", "own fsck", "own fsck org", "root status", "root fsck", "root fsck org",
        ] { try done(verb) }
        try done("root fsck --repair")
        try done("rm data/versions/1/app.js")
        let before = try owners()
        for verb in ["root fsck --repair", "root fsck org --repair"] {
            let refused = try shell(verb)
            expect(refused.status > 4 && refused.errors.contains("uid 5003"), "\(refused)")
        }
        try expect(owners(), equals: before)
        try expect(shell("own fsck --repair").status, equals: 1)
        for verb in [
            "own fsck org --repair", "own add r2 --version 2", "own gc",
            "own publish 2 org", "own status", "own fsck", "own fsck org",
        ] { try done(verb) }
    }
}
