import ProgramTestSupport

/// docs/signing.md as its readers would follow it: from a key to the devices that trust it, and to the next key.
@Suite("Signed releases, from the key to the device") struct SignedStoryTests {
    private let place = Workplace()

    private func castree(_ words: String) throws {
        try place.done(words: words.split(separator: " ").map(String.init))
    }

    private func device(_ words: String) throws -> Finished {
        let words = words.split(separator: " ").map(String.init)
        return try place.run(.castree, ["--store", "device"] + words)
    }

    private func trusted() throws -> JSON {
        try device("trust list --json").document(.trusted).origins[0]
    }

    private func current() throws -> JSON {
        try device("lifecycle --json").document(.lifecycle).current
    }

    @Test("go to devices, are followed from one key to the next, and nobody else's are taken")
    func story() throws {
        try place.add("1", Release.first)
        try place.add("2", Release.second)
        try place.add("evil", ["index.html": "<h1>evil</h1>"])
        try castree("key new release.key")
        try castree("publish 1 site --no-sync --sign-key release.key")
        let web = try place.origin()
        try expect(device("trust add release.key.pub --origin \(web.url)").status, equals: 0)
        try expect(device("pull \(web.url) --activate").status, equals: 0)
        try expect(current(), equals: "1")
        let first = try trusted()

        // Who copies an origin of his own over it has no key.
        try castree("publish evil other --no-sync")
        let pointer = place.directory.appending(path: "site/channels/stable.json")
        let signed = try Data(contentsOf: pointer)
        try Data(place.contents("other/channels/stable.json").utf8).write(to: pointer)
        for option in ["", " --force"] {
            try device("pull \(web.url) --activate" + option).ended(22, saying: "not signed")
        }
        try expect(current(), equals: "1")
        try signed.write(to: pointer)

        try castree("key new next.key")
        try castree(
            "trust rotate site --add next.key.pub --remove release.key.pub --sign-key release.key "
                + "--sign-key next.key --no-sync")
        try castree("publish 2 site --no-sync --sign-key next.key")
        try device("pull \(web.url) --activate").ended()
        try expect(current(), equals: "2")
        let now = try trusted()
        expect(now.trustVersion == 2 && now.keys.count == 1 && now.keys != first.keys)
        try expect(device("log").text.contains("trusts version 2"))

        // What was there before is an older copy for good.
        try signed.write(to: pointer)
        for option in ["", " --force"] {
            try expect(device("pull \(web.url)" + option).status, equals: 22)
        }
        try expect(current(), equals: "2")
    }

    @Test
    func `reach a device that was set up between a spare key and the loss of the first`() throws {
        try place.add("1", Release.first)
        for name in ["release", "spare", "next"] { try castree("key new \(name).key") }
        try castree("publish 1 site --no-sync --sign-key release.key")
        try castree("trust rotate site --add spare.key.pub --sign-key release.key --no-sync")
        let web = try place.origin()
        try expect(device("trust add release.key.pub --origin \(web.url)").status, equals: 0)
        try expect(device("pull \(web.url) --activate").status, equals: 0)
        try expect(trusted().keys.count, equals: 2)
        try castree(
            "trust rotate site --add next.key.pub --remove release.key.pub --sign-key spare.key "
                + "--sign-key next.key --trust release.key.pub --no-sync")
        try device("pull \(web.url)").ended()
        try expect(trusted().trustVersion, equals: 3)
        // The spare key is put away again.
        try place.add("2", Release.second)
        try castree("publish 2 site --no-sync --sign-key next.key --adopt")
        try expect(device("pull \(web.url) --activate").status, equals: 0)
        try expect(current(), equals: "2")
        try castree("publish 1 site --no-sync --sign-key next.key")
    }
}
