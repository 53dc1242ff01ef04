import ProgramTestSupport

/// Origins that castree 0.1.0 of October 2026 (c4a912b2) has written: Tests/OlderOrigins has them as it left them.
@Suite struct OlderOriginTests {
    let place = Workplace()
    private static let origins = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "OlderOrigins")

    /// What was published there: version 2, before it 1; the channel beta has 1.
    ///
    /// The last one was in a bucket, and every file of it was downloaded.
    enum Kind: String, CaseIterable {
        case plain, signed, told, copied

        var signing: [String] { self == .signed ? ["--sign-key", "release.key"] : [] }
    }

    /// What a device has after it has asked.
    private func pulled() throws -> String {
        let text = try place.done(words: ["--store", "device", "pull", "site", "--json"]).text
        let document =
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        return document?["version"] as? String ?? ""
    }

    @Test(arguments: Kind.allCases)
    func `continue with the first command that writes there, and their devices with them`(
        _ kind: Kind
    ) throws {
        try FileManager.default.copyItem(
            at: Self.origins.appending(path: kind.rawValue), to: place.url("site"))
        for key in ["release.key", "release.key.pub"] {
            try FileManager.default.copyItem(
                at: Self.origins.appending(path: key), to: place.directory.appending(path: key))
        }
        expect(chmod(place.directory.appending(path: "release.key").path, 0o600), equals: 0)
        try place.add("3", ["index.html": "<h1>three</h1>\n", "site.css": "body {}\n"])
        try place.done(words: ["--store", "device", "init"])
        if kind == .signed {
            try place.done(words: [
                "--store", "device", "trust", "add", "release.key.pub", "--origin", "site",
            ])
        }
        try expect(pulled(), equals: "2")
        expect(place.exists("site/log"), equals: kind == .copied)

        let refused = [
            ["withdraw", "99", "site"], ["pack", "3", "site"],
            ["publish", "3", "site", "--for", "chcp"],
        ]
        for words in refused {
            let finished = try place.run(.castree, words + kind.signing)
            expect(finished.status != 0, "\(words): \(finished)")
            expect(place.exists("site/log"), equals: kind == .copied, "\(words)")
        }

        let planned = try place.done(words: ["prune", "site", "--dry-run"] + kind.signing)
        expect(
            planned.errors.contains("would begin the log"), equals: kind != .copied, "\(planned)")
        expect(place.exists("site/log"), equals: kind == .copied)

        let published = try place.done(words: ["publish", "3", "site", "--no-sync"] + kind.signing)
        expect(
            published.errors.contains("begins with the pointers of 2 channels"),
            equals: kind != .copied, "\(published)")
        try expect(pulled(), equals: "3")
        if kind == .told || kind == .copied {
            let status = try place.done(words: ["origin", "status", "site"]).text
            for label in 1...3 {
                expect(status.contains("\(label): label v\(label),"), "\(status)")
            }
        }
        try place.done(words: ["withdraw", "3", "site", "--no-sync"] + kind.signing)
        try expect(pulled(), equals: "2")
        try place.done(words: ["prune", "site", "--grace", "0s", "--no-sync"] + kind.signing)
        let checked = try place.done(words: ["fsck", "site", "--deep"]).text
        expect(checked.contains("no problems"), "\(checked)")
    }

    @Test("what an older origin offered no more waits out the grace from when its log begins")
    func grace() throws {
        try FileManager.default.copyItem(
            at: Self.origins.appending(path: "plain"), to: place.url("site"))
        let left = "site/objects/00/\(String(repeating: "1", count: 62))"
        try place.write(["00/" + left.suffix(62): "a withdrawn version's"], to: "site/objects")
        for _ in 0..<2 {
            try place.done(words: ["prune", "site", "--no-sync"])
            expect(place.exists(left))
        }
        try place.done(words: ["prune", "site", "--grace", "0s", "--no-sync"])
        expect(!place.exists(left))
    }

    @Test func `what a killed publisher was sending is removed by the next prune`() throws {
        try place.add("1", ["index.html": "<h1>one</h1>\n"])
        try place.done(words: ["publish", "1", "site", "--no-sync"])
        try place.write(
            ["put-0123456789abcdef-7": "of many", "put-0123456789abcdef": "just now"],
            to: "site/.publish")
        try place.done(words: ["prune", "site", "--no-sync"])
        expect(!place.exists("site/.publish/put-0123456789abcdef-7"))
        expect(place.exists("site/.publish/put-0123456789abcdef"))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -7200)],
            ofItemAtPath: place.directory.appending(path: "site/.publish/put-0123456789abcdef").path
        )
        try place.done(words: ["fsck", "site", "--repair"])
        expect(!place.exists("site/.publish/put-0123456789abcdef"))
    }
}
