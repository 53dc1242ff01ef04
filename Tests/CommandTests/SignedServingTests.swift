import ProgramTestSupport

/// `castree origin serve --trust`, as docs/clients.md describes it.
@Suite("A server that trusts keys") struct SignedServingTests {
    private let place = Workplace()
    private static let check =
        "/v0.1/public/codepush/update_check?deployment_key=KEY&app_version=1.0.0"

    init() throws {
        try place.add("1", Release.first)
        try place.add("2", Release.second)
        try castree("key new release.key")
        try castree("key new next.key")
        try castree("publish 1 site --no-sync --no-packs --sign-key release.key")
        try castree(
            "origin enable site codepush --base-url https://u.example.org --deployment KEY=stable "
                + "--sign-key release.key")
    }

    private func castree(_ words: String) throws {
        let answer = try place.run(.castree, words.split(separator: " ").map(String.init))
        try require(answer.status == 0, "\(words): \(answer)")
    }

    @Test("follows a change of keys while it runs, and answers from what they have signed alone")
    func serving() throws {
        let served = try Served(origin: "site", place, ["--trust", "release.key.pub"])
        func label() throws -> String? {
            let answer = try served.get(Self.check)
            guard answer.status == 200 else { return "\(answer.status)" }
            return ["v1", "v2", "v3"].first { answer.body.contains("\"label\":\"\($0)\"") }
        }
        try expect(label(), equals: "v1")
        let first = try place.contents("site/channels/stable.json")
        try castree(
            "trust rotate site --add next.key.pub --remove release.key.pub --sign-key release.key "
                + "--sign-key next.key --no-sync")
        try expect(label(), equals: "v1")
        let old = try place.contents("site/channels/stable.json")
        try castree("publish 2 site --no-sync --no-packs --sign-key next.key")
        try expect(label(), equals: "v2")
        // An older pointer, and a history that somebody has changed.
        let new = try place.contents("site/channels/stable.json")
        try place.write(["stable.json": old], to: "site/channels")
        try expect(label(), equals: "503")
        try place.write(["stable.json": new], to: "site/channels")
        try expect(label(), equals: "v2")
        let history = try place.contents("site/for/codepush/stable.json")
        let hash = try require(history.split(separator: "\"packageHash\":\"").last?.prefix(64))
        let forged = history.replacing(hash, with: String(repeating: "0", count: 64))
        try place.write(["stable.json": forged], to: "site/for/codepush")
        try expect(label(), equals: "503")
        try place.ended(
            22, "origin", "answer", "site", "GET", Self.check, "--trust", "next.key.pub",
            saying: "does not follow")
        try place.write(["stable.json": history], to: "site/for/codepush")
        try expect(label(), equals: "v2")
        let ended = try served.end().ended()
        for words in ["was verified before", "package hash"] {
            expect(ended.errors.contains(words), "\(ended.errors)")
        }
        // A server that begins with the first key follows, too.
        let again = try place.castree(
            "origin", "answer", "site", "GET", Self.check, "--trust", "release.key.pub")
        expect(again.status == 0 && again.text.contains("\"label\":\"v2\""), "\(again)")
        try replay(first, new)
    }

    /// A pointer from before the change of keys is there again, and a server begins: it has seen nothing yet.
    private func replay(_ old: String, _ new: String) throws {
        func ask(_ options: String...) throws -> Finished {
            let keys = ["--trust", "release.key.pub", "--trust", "next.key.pub"]
            return try place.run(
                .castree, ["origin", "answer", "site", "GET", Self.check] + keys + options)
        }
        try place.write(["stable.json": old], to: "site/channels")
        let unaware = try ask()
        expect(unaware.status == 0 && unaware.text.contains("\"label\":\"v1\""), "\(unaware)")
        try ask("--trust-version", "2").ended(22, saying: "goes back to")
        try place.write(["stable.json": new], to: "site/channels")
        let known = try ask("--trust-version", "2")
        expect(known.status == 0 && known.text.contains("\"label\":\"v2\""), "\(known)")
        try place.ended(
            2, "origin", "answer", "site", "GET", Self.check, "--trust-version", "2",
            saying: "--trust")
    }
}
