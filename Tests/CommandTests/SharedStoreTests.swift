import ProgramTestSupport

// docs/maintenance.md: other users are refused wherever a lock is needed; also where they may write, as a group that all of a
// store was given to (`chmod -R g+rwX`, `chgrp -R 0 … && chmod -R g=u`).
@Suite(
    "A store that another user may write to",
    .needsOtherUser)
struct SharedStoreTests {
    private let place = Workplace(inMemory: true)

    private func prepared(booted: Bool) throws {
        try place.write(["index.html": "page"], to: "r")
        try place.give(to: Workplace.nobody)
        let boot = booted ? "own boot &&" : ""
        try place.script(
            "chmod 775 . && own add r --version 1 --activate && \(boot) chmod -R g+rwX s"
        ).ended()
    }

    @Test(arguments: [true, false])
    func `is refused to him by every verb before anything is written, and stays its owner's`(
        booted: Bool
    ) throws {
        try prepared(booted: booted)
        // Only directories may have another time: whose a file would be is tried.
        let list = "find s -type d -printf '%p %U %m\\n' -o -printf '%p %U %m %s %T@\\n' | sort"
        for words in [
            "boot", "versions", "status", "fsck", "report", "du", "gc", "add r --version 2",
            "activate 1", "protect 1", "serve --next-port", "rollback", "retire 1",
            "publish 1 o", "fsck --repair",
        ] {
            let before = try place.script(list).text
            let refused = try place.script("other \(words) 2>&1")
            expect(refused.text.contains("belongs to user"), "\(words): \(refused)")
            try expect(place.script(list).text == before, "\(words)")
        }
        for words in ["boot", "versions", "status", "gc", "fsck --repair"] {
            let done = try place.script("own \(words)")
            expect(done.status == 0 || words == "fsck --repair", "\(words): \(done)")
        }
    }

    private static let hasNamespaces =
        (try? Workplace().run(["/usr/bin/unshare", "-U", "-r", "/bin/true"]).status == 0) ?? false

    @Test(.enabled(if: hasNamespaces, "needs unshare(1), and user namespaces"))
    func `names no user of a user namespace that does not have its owner`() throws {
        try prepared(booted: false)
        let castree = "unshare -U -r '\(ProgramUnderTest.castree.url.path)' --store s"
        for words in ["status", "report new.txt"] {
            let refused = try place.script("\(castree) \(words) 2>&1").text
            expect(refused.contains("belongs to a user outside this user namespace"), "\(refused)")
            // The file to write is nobody's yet.
            expect(!refused.contains("sudo") && !refused.contains("new.txt belongs"), "\(refused)")
        }
    }
}
