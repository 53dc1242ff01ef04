import ProgramTestSupport

/// docs/signing.md as its readers would follow it: from a key to the devices that trust it, and to the next key.
@Suite("Signed releases, from the key to the device") struct SignedStoryTests {
    private let place = Workplace()

    private func castree(_ words: String) throws {
        let answer = try place.run(.castree, words.split(separator: " ").map(String.init))
        expect(answer.status, equals: 0, "\(words): \(answer)")
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
            let refused = try device("pull \(web.url) --activate" + option)
            expect(refused.status == 22 && refused.errors.contains("not signed"), "\(refused)")
        }
        try expect(current(), equals: "1")
        try signed.write(to: pointer)

        try castree("key new next.key")
        try castree(
            "trust rotate site --add next.key.pub --remove release.key.pub --sign-key release.key "
                + "--sign-key next.key --no-sync")
        try castree("publish 2 site --no-sync --sign-key next.key")
        let pulled = try device("pull \(web.url) --activate")
        expect(pulled.status, equals: 0, "\(pulled)")
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
        let pulled = try device("pull \(web.url)")
        expect(pulled.status, equals: 0, "\(pulled)")
        try expect(trusted().trustVersion, equals: 3)
        // The spare key is put away again.
        try place.add("2", Release.second)
        try castree("publish 2 site --no-sync --sign-key next.key --adopt")
        try expect(device("pull \(web.url) --activate").status, equals: 0)
        try expect(current(), equals: "2")
        try castree("publish 1 site --no-sync --sign-key next.key")
    }

    @Test("keep what is trusted for one place when another says that it is the same origin")
    func twoPlaces() throws {
        try place.add("1", Release.first)
        try castree("key new release.key")
        try castree("publish 1 site --no-sync --sign-key release.key")
        try castree("publish 1 unsigned --no-sync")
        let (site, copy) = (
            place.directory.appending(path: "site").path, place.directory.path + "/copy"
        )
        for isFirst in [true, false] {
            try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
            for origin in isFirst ? [site, copy] : [copy, site] {
                try expect(device("trust add release.key.pub --origin \(origin)").status, equals: 0)
            }
            try FileManager.default.removeItem(atPath: copy)
            try FileManager.default.copyItem(atPath: site, toPath: copy)
            for origin in [site, copy] { try expect(device("pull \(origin)").status, equals: 0) }
            for origin in [site, copy] {
                let pointer = origin + "/channels/stable.json"
                let signed = try Data(contentsOf: URL(filePath: pointer))
                try Data(place.contents("unsigned/channels/stable.json").utf8).write(
                    to: URL(filePath: pointer))
                try expect(device("pull \(origin)").status, equals: 22)
                try signed.write(to: URL(filePath: pointer))
            }
            try expect(device("trust remove \(site)").status, equals: 0)
        }
    }
}
