import StorageTestSupport

// docs/maintenance.md, "Repairs": nothing that somebody has put into a tree is lost.
@Suite("What somebody has put into a tree") struct KeptStrayTests {
    enum Removal: CaseIterable, Sendable {
        case repair, retirement, replacement, strayTree, hiddenTree, deadWriter
    }

    private static let own: [String: String] = [
        "notes": "my notes", "d/more": "more notes", "new/deep/er": "deep notes", "a": "edited",
    ]

    private func make(_ tree: String) throws -> TemporaryStore {
        let temporary = try TemporaryStore(adding: "1", ["a": "one", "d/b": "two"])
        try temporary.add("2", ["a": "second", "d/b": "two"])
        try temporary.versions.activate("1")
        let root = "\(temporary.path)/versions/\(tree)"
        for path in ["", "/d"] { chmod(root + path, 0o755) }
        for (path, text) in Self.own { try writeFile("\(root)/\(path)", text) }
        symlink("/somewhere", root + "/d/link")
        mkfifo(root + "/fifo", 0o600)
        return temporary
    }

    @Test(arguments: Removal.allCases)
    func `is in quarantine when the tree has gone`(_ removal: Removal) throws {
        let lease = "4194000-abababababababab"
        let tree =
            switch removal {
            case .repair, .retirement, .replacement: "2"
            case .strayTree: "stray tree"
            case .hiddenTree: ".2.0123456789abcdef"
            case .deadWriter: ".2.\(lease)"
            }
        let temporary = try make(tree)
        switch removal {
        case .repair, .hiddenTree: _ = try temporary.versions.repair { _ in true }
        case .strayTree:
            _ = try temporary.versions.repair { _ in true }
            // It has become a version.
            let name = try require(
                temporary.versions.versions().first { $0.version.hasPrefix("stray") })
            let shown = try temporary.versions.manifest(of: name.version)
            for text in Self.own.values {
                try expect(shown.references.map(\.address).contains(address(of: text)), "\(text)")
            }
        case .retirement: try temporary.versions.retire("2")
        case .replacement: try temporary.versions.activate("2")
        case .deadWriter:
            try writeFile("\(temporary.path)/leases/\(lease)", "", mode: 0o600)
            try temporary.versions.collect()
        }
        let aside = try snapshot(temporary.path + "/quarantine").values
        let links = aside.filter { $0.mode & UInt32(S_IFMT) == UInt32(S_IFLNK) }.count
        let pipes = aside.filter { $0.mode & UInt32(S_IFMT) == UInt32(S_IFIFO) }.count
        expect([links, pipes], equals: [1, 1])
        if removal != .strayTree {
            expect(
                Set(aside.map { String(decoding: $0.content, as: UTF8.self) }),
                equals: Set(Self.own.values).union([""]))
        }
        try temporary.versions.collect()
        try expect(
            snapshot(temporary.path + "/quarantine").count, equals: aside.count,
            "gc has deleted some of it")
        _ = try temporary.reopened().repair { _ in true }
        try expect(
            temporary.reopened().check().findings.filter { $0.kind != .recoveredManifest },
            equals: [])
    }

    @Test func `is not there twice: what an object has is not kept besides`() throws {
        let temporary = try make("2")
        try writeFile("\(temporary.path)/versions/2/copy", "one")
        _ = try temporary.versions.repair { _ in true }
        try expect(!contents(temporary.path + "/quarantine").values.contains(Array("one".utf8)))
    }
}
