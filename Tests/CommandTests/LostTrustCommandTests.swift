import ProgramTestSupport

/// docs/signing.md, *Changing keys*: "Files in `trust/` never change and must stay".
@Suite("An origin that has lost a version of its trust") struct LostTrustCommandTests {
    @Test(arguments: ["gone", "cut", "fifo"])
    func `is told so by every command, and what brings it back`(_ harm: String) throws {
        let place = Workplace(inMemory: true)
        try place.add("1", Release.first)
        try place.add("2", Release.second)
        for name in ["a.key", "b.key"] { try place.done("key", "new", name) }
        try place.done("publish", "1", "site", "--sign-key", "a.key", "--no-sync")
        let site = place.directory.appending(path: "site")
        let device = ["--store", "device"]
        try place.done(words: device + ["trust", "add", "a.key.pub", "--origin", site.path])
        try place.done(
            "trust", "rotate", "site", "--add", "b.key.pub", "--remove", "a.key.pub", "--sign-key",
            "a.key", "--sign-key", "b.key", "--no-sync")
        let files = FileManager.default
        // What a key remembers, its next command puts back.
        for name in try files.contentsOfDirectory(atPath: place.directory.path)
        where name.hasSuffix(".signed") {
            try files.removeItem(at: place.directory.appending(path: name))
        }
        try files.copyItem(at: site, to: place.directory.appending(path: "spare"))
        let file = site.appending(path: "trust/2.json")
        let sound = try Data(contentsOf: file)
        try files.removeItem(at: file)
        if harm == "cut" { try sound.prefix(60).write(to: file) }
        if harm == "fifo" {
            try files.removeItem(at: site.appending(path: "trust"))
            expect(mkfifo(site.appending(path: "trust").path, 0o644), equals: 0)
        }
        let publish = ["publish", "2", "site", "--sign-key", "b.key", "--no-sync"]
        for (words, status) in [
            (["fsck", "site"], 4), (["fsck", "site", "--repair"], 4),
            (publish, harm == "cut" ? 22 : 0), (["publish", "--all-of", "site", "copy"], 1),
            (device + ["pull", site.path], 22),
        ] {
            let finished = try place.run(.castree, words)
            expect(finished.status, equals: Int32(status), "\(words) \(finished)")
            if words[0] == "fsck" {
                // What is below a pipe is looked at once that is out of the way.
                let isHidden = harm == "fifo" && !words.contains("--repair")
                expect(
                    finished.text.contains(isHidden ? "trust: " : "trust/2.json: "),
                    "\(finished)")
            } else if status != 1 || words[0] == "publish" {
                expect(finished.errors.contains("fsck ORIGIN --repair --from COPY"), "\(finished)")
            }
        }
        try place.ended(1, "fsck", "site", "--repair", "--from", "./spare", "--json")
        try expect(Data(contentsOf: file), equals: sound)
        for words in [
            ["fsck", "site", "--deep"], publish, ["publish", "--all-of", "site", "copy"],
            device + ["pull", site.path],
        ] {
            try place.done(words: words)
        }
        try expect(Data(contentsOf: place.url("copy/trust/2.json")), equals: sound)
    }

    @Test func `is told by devices, and mended, also if a backup was signed first`() throws {
        let place = Workplace(inMemory: true)
        try place.add("1", Release.first)
        for name in ["a.key", "b.key", "c.key"] { try place.done("key", "new", name) }
        try place.done("publish", "1", "site", "--sign-key", "a.key", "--no-sync")
        let (site, files) = (place.directory.appending(path: "site"), FileManager.default)
        let trust = ["trust", "add", "a.key.pub", "--origin", site.path]
        try place.done(words: ["--store", "device"] + trust)
        try files.copyItem(at: site, to: place.directory.appending(path: "backup"))
        for (old, new) in [("a.key", "b.key"), ("b.key", "c.key")] {
            try place.done(
                "trust", "rotate", "site", "--add", "\(new).pub", "--remove", "\(old).pub",
                "--sign-key", old, "--sign-key", new, "--no-sync")
        }
        try place.done("--store", "device", "pull", site.path)
        try files.moveItem(at: site, to: place.directory.appending(path: "copy"))
        try files.moveItem(at: place.directory.appending(path: "backup"), to: site)
        for name in try files.contentsOfDirectory(atPath: place.directory.path)
        where name.hasSuffix(".signed") {
            try files.removeItem(at: place.directory.appending(path: name))
        }
        let remedy = "castree fsck ORIGIN --repair --from COPY"
        try place.ended(22, "publish", "1", "site", "--sign-key", "c.key", saying: remedy)
        let resign = ["resign", "site", "--sign-key", "c.key", "--adopt", "--no-sync"]
        try place.done(words: resign)
        try place.ended(22, "--store", "device", "pull", site.path, saying: remedy)
        try place.ended(1, "fsck", "site", "--repair", "--from", "./copy")
        try place.done(words: resign)
        try place.done("fsck", "site")
        try place.done(words: ["--store", "other"] + trust)
        try place.done("--store", "other", "pull", site.path)
    }
}
