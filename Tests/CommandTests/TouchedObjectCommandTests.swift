import ProgramTestSupport

/// An object that another program has changed: every command that makes a tree, an origin or a pack of it.
@Suite struct TouchedObjectCommandTests {
    private static let right = "first content"
    private static let address = "2cd4837c7726f70047c8fdafb52801dbfef2cb4f7bc4cfb2e0441980f9d4a3b8"
    private static let files = [
        "a": right, "sub/a-again": right, "index.html": "<h1>one</h1>", "tool": "#! /bin/sh\n",
    ]
    private static let object = ".castree/objects/2c/" + address.dropFirst(2)

    /// What somebody does to the object's file.
    struct Touch: Sendable, CustomStringConvertible {
        let description: String
        /// Whether its bytes are right all the same.
        var isRight = false
        let happen: @Sendable (String) throws -> Void
    }

    static let touches: [Touch] = [
        .init(description: "written through a link, same length") { path in
            let link = path + ".link"
            try FileManager.default.linkItem(atPath: path, toPath: link)
            try Damage.flip(link, at: 1)
            Damage.remove(link)
        },
        .init(description: "cut") { try Damage.truncate($0, to: 2) },
        .init(description: "replaced by another file") { path in
            Damage.remove(path)
            try Data("FIRST content".utf8).write(to: URL(filePath: path))
        },
        .init(description: "replaced by another user's file") { path in
            Damage.remove(path)
            try Data("FIRST content".utf8).write(to: URL(filePath: path))
            chown(path, 5001, 5001)
        },
        .init(description: "another user's, with the right bytes", isRight: true) { path in
            Damage.remove(path)
            try Data(right.utf8).write(to: URL(filePath: path))
            chown(path, 5001, 5001)
        },
    ]

    /// A command that makes something, and where that has the file.
    struct Maker: Sendable {
        let arguments: [String]
        let file: String
        /// Prepares what the command needs.
        var before: [[String]] = []
        /// Whether the file is there already, right, and stays.
        var stands = false
        /// Looks at what was made.
        var after: [String]?
    }

    private static let device = ["--store", "device", "pull", "site", "--keep"]

    /// What has nothing but the object at hand.
    static let makers: [Maker] = [
        .init(arguments: ["activate", "1"], file: ".castree/versions/1/a"),
        .init(
            arguments: ["boot"], file: ".castree/versions/1/a",
            before: [["activate", "1", "--at-next-boot"]]),
        .init(arguments: ["checkout", "1", "out"], file: "out/a"),
        .init(arguments: ["checkout", "1", "out", "--mode", "copy"], file: "out/a"),
        .init(arguments: ["checkout", "1", "out", "--mode", "reflink"], file: "out/a"),
        .init(
            arguments: ["publish", "1", "site", "--no-sync"], file: "device/versions/1/a",
            after: device),
        .init(
            arguments: ["publish", "1", "site", "--no-sync", "--no-packs"],
            file: "device/versions/1/a", after: device),
        .init(
            arguments: ["pack", "1", "site", "--no-sync"], file: "device/versions/1/a",
            before: [["publish", "1", "site", "--no-packs", "--no-sync"]], stands: true,
            after: device),
    ]

    private static let other = ["--store", "other", "add", "source", "--version", "2", "--no-sync"]

    /// What has the right bytes at hand.
    static let healers: [Maker] = [
        .init(
            arguments: ["add", "source", "--version", "2", "--no-sync"],
            file: ".castree/versions/2/a"),
        .init(
            arguments: ["add", "source.tar", "--version", "2", "--no-sync"],
            file: ".castree/versions/2/a"),
        .init(
            arguments: ["add", "release-1", "--version", "1", "--no-sync"],
            file: ".castree/versions/1/a"),
        .init(arguments: ["adopt", "source", "--version", "2"], file: ".castree/versions/2/a"),
        .init(
            arguments: ["pull", "site"], file: ".castree/versions/2/a",
            before: [other, ["--store", "other", "publish", "2", "site", "--no-sync"]]),
        .init(
            arguments: ["pull", "site"], file: ".castree/versions/2/a",
            before: [
                other, ["--store", "other", "publish", "2", "site", "--no-sync", "--no-packs"],
            ]),
        .init(
            arguments: ["pull", "site", "--keep"], file: ".castree/versions/1/a",
            before: [["publish", "1", "site", "--no-sync"]]),
    ]

    /// Does it in a store with version 1, whose tree must be built anew, and a release beside it.
    private func run(_ maker: Maker, _ touch: Touch, in place: Workplace) throws -> Finished {
        try place.add("1", Self.files)
        try place.write(Self.files.merging(["new": "new"]) { $1 }, to: "source")
        for arguments in maker.before {
            try place.done(words: arguments)
        }
        let tree = ".castree/versions/1"
        let prepared = try place.run(
            .shell,
            ["-c", "tar -cf source.tar -C source . && chmod -R u+w \(tree) && rm -r \(tree)"])
        expect(prepared.status, equals: 0, "\(prepared)")
        try touch.happen(place.directory.appending(path: Self.object).path)
        return try place.run(.castree, maker.arguments)
    }

    @Test(
        "is refused in one sentence that says which and what to do, or never shown",
        arguments: touches)
    func refusing(_ touch: Touch) throws {
        for maker in Self.makers {
            let place = Workplace(inMemory: true)
            let answer = try run(maker, touch, in: place)
            let what = "\(maker.arguments): \(answer)"
            let isMade = answer.status == 0
            expect(isMade || !touch.isRight, "\(what)")
            if !isMade {
                expect(answer.errors.contains(Self.address), "\(what)")
                expect(answer.errors.contains("castree fsck --repair"), "\(what)")
            }
            if let after = maker.after {
                let isShown = isMade || maker.stands
                try expect((place.run(.castree, after).status == 0) == isShown, "\(what)")
            }
            if isMade || maker.stands {
                try expect(place.contents(maker.file), equals: Self.right, "\(what)")
            } else {
                expect(!place.exists(maker.file), "\(what)")
            }
        }
    }

    @Test(
        "is made anew by whatever has the right bytes at hand, and that is said", arguments: touches
    )
    func healing(_ touch: Touch) throws {
        for maker in Self.healers {
            let place = Workplace(inMemory: true)
            let answer = try run(maker, touch, in: place)
            let what = "\(maker.arguments): \(answer)"
            expect(answer.status, equals: 0, "\(what)")
            for file in [maker.file, Self.object] where place.exists(file) || !touch.isRight {
                try expect(place.contents(file), equals: Self.right, "\(what)")
            }
            expect(answer.errors.contains(Self.address), equals: !touch.isRight, "\(what)")
        }
    }
}
