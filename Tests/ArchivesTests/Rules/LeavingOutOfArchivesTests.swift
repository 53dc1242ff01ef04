import ArchiveReading
import StorageTestSupport

/// The rules of directories, obeyed by archives.
@Suite("What is left out of an archive") struct LeavingOutOfArchivesTests {
    let reader = ReadArchive()
    static let double = "\u{0}\u{5}\u{16}\u{7}\u{0}\u{2}\u{0}\u{0}"

    /// The same files in both formats, read with the same options.
    private func files(
        _ files: [(String, String)], change: (inout ArchiveOptions) -> Void = { _ in }
    ) throws -> [String: String] {
        var tar = ForeignTar()
        tar.entries = files.map { .init($0.0, $0.1) }
        var zip = ForeignZip()
        zip.entries = files.map { .init($0.0, $0.1) }
        let found = try reader.files(tar.bytes(), "a.tar", change: change)
        try expect(reader.files(zip.bytes(), "a.zip", change: change), equals: found)
        return found
    }

    @Test
    func `is what patterns say, by the paths in it, and nothing below a directory comes back`()
        throws
    {
        let all = [
            "app/a.js", "app/a.js.map", "app/sub/b.map", "app/out/x", "app/out/keep", "README",
        ]
        let found = try files(all.map { ($0, "1") }) {
            $0.excluded = ["*.map", "!/app/sub/*.map", "out/", "!keep", "/README"]
            $0.stripped = "app"
        }
        expect(Set(found.keys), equals: ["a.js", "sub/b.map"])
    }

    @Test
    func
        `is version control unless a pattern names it, and a .castreeignore, which says nothing here`()
        throws
    {
        let all = [("a", "1"), (".git/HEAD", "ref"), ("sub/.git", "1"), (".castreeignore", "a")]
        try expect(Set(files(all).keys), equals: ["a"])
        try expect(
            Set(files(all) { $0.excluded = ["!.git", "!.castreeignore"] }.keys),
            equals: Set(all.map(\.0)))
    }

    @Test func `is an AppleDouble file by its first bytes, if asked`() throws {
        let all = [
            ("._.", Self.double), ("a", "1"), ("._a", Self.double), ("d/._b", Self.double),
            ("d/b", "2"),
            ("d/._kept", "mine"), ("d/._short", "\u{0}\u{5}"), ("d/._empty", ""),
            ("._exact", "\u{0}\u{5}\u{16}\u{7}"),
            ("d/Thumbs.db", ""),
        ]
        try expect(files(all).count, equals: all.count)
        try expect(files(all)["d/._b"], equals: Self.double)
        try expect(
            files(all) { $0.skipsJunk = true },
            equals: [
                "a": "1", "d/b": "2", "d/._kept": "mine", "d/._short": "\u{0}\u{5}",
                "d/._empty": "",
            ])
    }

    @Test
    func
        `may be of any kind, a link or compressed as nobody can read, and links to it are refused`()
        throws
    {
        let tar = ForeignTar(
            .init("a", "1"), .init("out/link", type: "2", target: "/etc/passwd"),
            .init("out/pipe", type: "6"), .init("out/x", "2"),
            .init("out/y", type: "1", target: "none"))
        try expect(reader.files(tar.bytes(), "a.tar") { $0.excluded = ["out"] }, equals: ["a": "1"])
        var linked = tar
        linked.entries.append(.init("b", type: "1", target: "out/x"))
        let refused = try reader.refusal(linked.bytes(), "a.tar") { $0.excluded = ["out"] }
        expect(refused?.message.contains("left out") == true, "\(String(describing: refused))")
        var odd = ForeignZip.Entry("out/x", "2")
        odd.method = 98
        let zip = ForeignZip(.init("a", "1"), odd)
        try expect(reader.refusal(zip.bytes(), "a.zip") != nil)
        try expect(reader.files(zip.bytes(), "a.zip") { $0.excluded = ["out"] }, equals: ["a": "1"])
        // A name that nobody may have is refused all the same.
        let bad = ForeignTar(.init("a", "1"), .init("out/../../x", "2"))
        try expect(
            reader.refusal(bad.bytes(), "a.tar") { $0.excluded = ["out"] }?.code, equals: .badPath)
    }

    @Test func `is no store or origin unless a pattern says so: without one it is refused`() throws
    {
        for (mark, start, what) in [
            ("FORMAT", "castree 1\n", "a store"),
            ("origin.json", #"{"castreeOrigin":1}"#, "an origin"),
        ] {
            for directory in ["", "sub/", "sub/deep/"] {
                let entries = [("a", "1"), (directory + mark, start), (directory + "x", "2")]
                let refused = expectRefusal(.unsupportedFile) { try files(entries) }
                let place = directory.isEmpty ? "." : String(directory.dropLast())
                expect(
                    refused?.message.contains(what) == true
                        && refused?.message.contains("\"\(place)\"") == true,
                    "\(refused?.message ?? "")")
                // A file that is only named so is a file; and what is left out is not looked at.
                try expect(files([("a", "1"), (directory + mark, "castre")]).count, equals: 2)
                guard directory.hasPrefix("sub") else { continue }
                try expect(files(entries) { $0.excluded = ["/sub"] }, equals: ["a": "1"])
            }
        }
    }

    @Test func `is reported, and so is what was taken and is probably not meant`() throws {
        let store = try TemporaryStore()
        let names = [
            "a", ".git/HEAD", ".git/index", "node_modules/p/x", "node_modules/q", ".env", "x.map",
        ]
        var tar = ForeignTar()
        tar.entries = names.map { .init($0, "1") } + [.init("._a", Self.double)]
        let path = store.directory.appending("a.tar")
        try Data(tar.bytes()).write(to: URL(filePath: path))
        let report = try store.versions.add(archive: path, version: "1", excluding: ["*.map"])
        expect(report.leftOut, equals: [".git/", "x.map"])
        expect(report.unwanted, equals: ["._a", ".env", "node_modules/"])
        let clean = try store.versions.add(
            archive: path, version: "2", excluding: ["!.env", "node_modules"], skippingJunk: true)
        expect(clean.leftOut, equals: ["._a", ".git/", "node_modules/"])
        expect(clean.unwanted, equals: [])
        expectRefusal { try store.versions.add(archive: path, version: "3", excluding: ["["]) }
    }
}
