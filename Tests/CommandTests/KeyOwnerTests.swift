import ProgramTestSupport

// docs/signing.md, "What a publisher checks"; docs/maintenance.md, "Root, and other users".
@Suite(
    "What a user's key has signed that stands in a directory of root's",
    .needsOtherUser)
struct KeyOwnerTests {
    private let place = Workplace(inMemory: true)

    private func shell(_ script: String) throws -> Finished {
        try place.script(script, store: "mine/s")
    }

    /// A store and an origin of the user, and a key of the user in `etc`.
    private func prepared() throws {
        for version in ["1", "2"] {
            try place.write(["index.html": "page \(version)"], to: "mine/r\(version)")
        }
        try shell(
            """
            mkdir etc && root key new etc/k && chown -R 65534:65534 etc/k mine && chmod -R a+rX . &&
                chmod 600 etc/k && own add mine/r1 --version 1 && own add mine/r2 --version 2 &&
                own publish 1 mine/o --no-packs --sign-key etc/k
            """
        ).ended()
    }

    private static let verbs = [
        "withdraw 2 mine/o", "publish 1 mine/o --no-packs", "resign mine/o",
        "publish 1 mine/o --no-packs --adopt",
    ]

    @Test func `is that user's where root signs once`() throws {
        try prepared()
        let signed = try shell(
            "root publish 2 mine/o --no-packs --sign-key etc/k && stat -c %u etc/*.signed etc/*.lock"
        ).ended()
        expect(signed.text.hasSuffix("65534\n65534\n"), "\(signed)")
        for verb in Self.verbs {
            try shell("own \(verb) --sign-key etc/k").ended()
        }
        // It is looked at: nobody puts an older state back.
        try shell(
            "cp -a mine/o old && root resign mine/o --sign-key etc/k && own resign old --sign-key etc/k"
        ).ended(22)
    }

    @Test func `keeps nobody from signing who may not read it, and that is said`() throws {
        try prepared()
        try shell(
            "root publish 2 mine/o --no-packs --sign-key etc/k && chown 0:0 etc/*.signed etc/*.lock"
        ).ended()
        for verb in Self.verbs {
            let finished = try shell("own \(verb) --sign-key etc/k").ended()
            // What is offered already is not signed anew.
            let isSigned = !verb.hasPrefix("publish")
            let isSaid = finished.errors.contains("could not be noted")
            expect(isSaid, equals: isSigned, "\(verb): \(finished)")
        }
    }
}
