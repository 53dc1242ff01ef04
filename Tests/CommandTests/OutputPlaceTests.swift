import ProgramTestSupport

/// Whatever a command line names as output, a store and an origin hold only what castree puts there.
@Suite("A file or directory that a command is to write") struct OutputPlaceTests {
    /// By what a command is told where to write, and the words before that.
    private static let outputs: [(name: String, words: [String])] = [
        ("du --html", ["du", "--html"]), ("report FILE", ["report"]),
        ("serve --access-log", ["serve", "--app-id", Served.newApp(), "--access-log"]),
        ("origin serve --access-log", ["origin", "serve", "origin", "--access-log"]),
        ("origin serve --cache", ["origin", "serve", "s3://bucket/x", "--cache"]),
        (
            "origin answer --output",
            ["origin", "answer", "origin", "GET", "/origin.json", "--output"]
        ),
        ("origin answer --cache", ["origin", "answer", "s3://bucket/x", "GET", "/", "--cache"]),
        ("key new FILE", ["key", "new"]),
    ]

    /// Each option that takes a file or a directory, and those arguments, that a help speaks of writing.
    private func namedByHelp(_ place: Workplace) throws -> Set<String> {
        var found: Set<String> = []
        for command in try commands(place) {
            let help = try place.run(
                .castree, ["help"] + command.split(separator: " ").map(String.init))
            let text = help.text.replacing(#/\n {10,}/#, with: " ")
            for line in text.split(separator: "\n") {
                guard
                    let match = line.firstMatch(
                        of: #/^  (--[a-z-]+ |)(?:\[?)(FILE|DIR)\]?  +(.*)/#),
                    match.3.contains(#/\b(write|append a|keep files)\b/#)
                else { continue }
                found.insert(
                    "\(command) \(match.1.isEmpty ? String(match.2) : match.1.trimmingCharacters(in: .whitespaces))"
                )
            }
        }
        return found
    }

    private func commands(_ place: Workplace) throws -> [String] {
        let help = try place.castree("help").text
        let lines = help.split(separator: "\n").drop { $0 != "Commands:" }.dropFirst()
            .prefix { $0 != "Options:" }
        return lines.compactMap { line in
            line.firstMatch(of: #/^  ([a-z]+(?: [a-z]+)?)  /#).map { String($0.1) }
        }
    }

    @Test func `is none in a store or an origin`() throws {
        let place = Workplace()
        try expect(namedByHelp(place), equals: Set(Self.outputs.map(\.name)))
        try place.add("1", Release.first, "--activate")
        try place.castree("publish", "1", "origin", "--no-packs")
        let link = place.directory.appending(path: "link").path
        expect(symlink(".castree/lifecycle.json", link), equals: 0)
        let targets = [
            ".castree/FORMAT", ".castree/new", ".castree/versions/new", "link",
            "origin/origin.json", "origin/new", "origin/objects/new/",
        ]
        let before = try files(place)
        for (name, words) in Self.outputs {
            for target in targets {
                try place.run(.castree, words + [target]).ended(
                    1, saying: "it is inside a", in: "\(name) \(target)")
                try expect(files(place) == before, "\(name) \(target)")
            }
        }
        try place.done("fsck")
    }

    private func files(_ place: Workplace) throws -> Set<String> {
        Set(
            try FileManager.default.subpathsOfDirectory(atPath: place.directory.path)
                .filter {
                    !$0.contains("/leases/") && !$0.contains(".errors-") && !$0.contains(".output-")
                })
    }
}
