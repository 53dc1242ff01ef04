import ProgramTestSupport

// docs/maintenance.md, "Repairs": a directory at `current` goes to quarantine if a command needs the place.
@Suite(
    "A store of which a copy that followed links made a directory at `current`",
    .needsOtherUser)
struct CopiedStoreTests {
    private let place = Workplace(inMemory: true)

    private func shell(_ script: String) throws -> Finished {
        try place.script(script, store: "copy")
    }

    @Test(arguments: ["555", "755"], ["boot", "activate 1", "activate 2", "pull o --activate"])
    func `is used as it was, and what was there is in quarantine`(
        _ mode: String, _ words: String
    ) throws {
        for version in ["1", "2"] {
            try place.write(
                ["index.html": "page \(version)", "js/app.js": "app"], to: "r\(version)")
        }
        try place.give(to: 65534)
        try shell(
            """
            chmod 755 . && own add r1 --version 1 --activate && own add r2 --version 2 &&
                own publish 2 o --no-packs && mv copy s && cp -rL s copy && echo mine >copy/current/mine &&
                chmod \(mode) copy/current && chown -R 65534:65534 copy
            """
        ).ended()
        try shell("own \(words)").ended()
        try shell(
            "own fsck; test -L copy/current && ls copy/quarantine/*/mine copy/quarantine/*/js"
        ).ended()
    }
}
