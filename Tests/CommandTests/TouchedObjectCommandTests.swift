import ProgramTestSupport

/// An object that another program has changed: commands that make a tree or an origin of it, and what they say.
///
/// TouchedObjectTests, TouchedTreeTests and TouchedContentTests have every change and every way to the object.
@Suite struct TouchedObjectCommandTests {
    private static let right = "first content"
    private static let address = "2cd4837c7726f70047c8fdafb52801dbfef2cb4f7bc4cfb2e0441980f9d4a3b8"
    private static let files = [
        "a": right, "sub/a-again": right, "index.html": "<h1>one</h1>", "tool": "#! /bin/sh\n",
    ]
    private static let object = ".castree/objects/2c/" + address.dropFirst(2)

    /// What somebody does to the object's file.
    enum Touch: String, CaseIterable {
        case writtenThroughLink, isAnotherUsersAndRight

        func happen(_ path: String) throws {
            switch self {
            case .writtenThroughLink:
                let link = path + ".link"
                try FileManager.default.linkItem(atPath: path, toPath: link)
                try Damage.flip(link, at: 1)
                Damage.remove(link)
            case .isAnotherUsersAndRight:
                Damage.remove(path)
                try Data(right.utf8).write(to: URL(filePath: path))
                chown(path, 5001, 5001)
            }
        }
    }

    /// A command that makes something, and where that has the file.
    struct Maker: Sendable {
        let arguments: [String]
        let file: String
        /// Prepares what the command needs.
        var before: [[String]] = []
        /// Looks at what was made.
        var after: [String]?
    }

    /// What has nothing but the object available.
    static let makers: [Maker] = [
        .init(arguments: ["activate", "1"], file: ".castree/versions/1/a"),
        .init(
            arguments: ["boot"], file: ".castree/versions/1/a",
            before: [["activate", "1", "--at-next-boot"]]),
        .init(arguments: ["checkout", "1", "out", "--mode", "copy"], file: "out/a"),
        .init(
            arguments: ["publish", "1", "site", "--no-sync"], file: "device/versions/1/a",
            after: ["--store", "device", "pull", "site", "--keep"]),
    ]

    /// What has the right bytes available.
    static let healers: [Maker] = [
        .init(
            arguments: ["add", "source.tar", "--version", "2", "--no-sync"],
            file: ".castree/versions/2/a"),
        .init(arguments: ["adopt", "source", "--version", "2"], file: ".castree/versions/2/a"),
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
        try place.shell("tar -cf source.tar -C source . && chmod -R u+w \(tree) && rm -r \(tree)")
            .ended()
        try touch.happen(place.directory.appending(path: Self.object).path)
        return try place.run(.castree, maker.arguments)
    }

    @Test(
        "is refused in one sentence that says which and what to do, or never shown",
        arguments: Touch.allCases)
    func refusing(_ touch: Touch) throws {
        for maker in Self.makers {
            let place = Workplace(inMemory: true)
            let answer = try run(maker, touch, in: place)
            let isMade = touch == .isAnotherUsersAndRight
            expect(answer.status == 0, equals: isMade, "\(answer)")
            if !isMade {
                expect(answer.errors.contains(Self.address), "\(answer)")
                expect(answer.errors.contains("castree fsck --repair"), "\(answer)")
            }
            if let after = maker.after {
                try expect(place.run(.castree, after).status == 0, equals: isMade, "\(answer)")
            }
            expect(place.exists(maker.file), equals: isMade, "\(answer)")
            if isMade { try expect(place.contents(maker.file), equals: Self.right, "\(answer)") }
        }
    }

    @Test(
        "is made anew by whatever has the right bytes available, and that is said",
        arguments: Touch.allCases)
    func healing(_ touch: Touch) throws {
        for maker in Self.healers {
            let place = Workplace(inMemory: true)
            let answer = try run(maker, touch, in: place).ended()
            let isSaid = touch != .isAnotherUsersAndRight
            for file in [maker.file, Self.object] where isSaid || place.exists(file) {
                try expect(place.contents(file), equals: Self.right, "\(answer)")
            }
            expect(answer.errors.contains(Self.address), equals: isSaid, "\(answer)")
        }
    }
}
