import StorageTestSupport

/// Each thing that a dead writer may leave, and each kind of garbage, on a disk that does not let it go or be opened.
@Suite("What cannot be removed or opened") struct StuckLeftoverTests {
    private static let lease = "4194000-abababababababab"
    private static let address = String(repeating: "ab", count: 32)

    /// Where it stands, and what else says that it is a leftover.
    struct Place: Sendable, CustomStringConvertible {
        let path: String
        var besides: [String] = []
        var description: String { path }
    }

    static let places: [Place] = [
        .init(path: "staging/\(lease)/\(address)", besides: ["leases/\(lease)"]),
        .init(path: "staging/\(lease)/\(address)"),
        .init(path: "staging/\(lease)/other"),
        .init(path: "staging/\(address)"), .init(path: "staging/\(address).from"),
        .init(path: "staging/.restored-abababababababab"),
        .init(path: "leases/\(lease)"), .init(path: "leases/.pull-9"),
        .init(path: "leases/.pin-abababababababab-2"),
        .init(path: "manifests/.9.\(lease)", besides: ["leases/\(lease)"]),
        .init(path: "versions/.9.\(lease)/d/f", besides: ["leases/\(lease)"]),
        .init(path: "versions/.9.\(lease)/d/f"),
        .init(path: "versions/2/a"), .init(path: "quarantine/\(address)"),
        .init(path: "quarantine/\(address)/x/y"), .init(path: "{garbage}"),
    ]

    /// What one file or directory stands in: it stays, or cannot be opened.
    private enum Obstacle: CaseIterable {
        case immutable, mounted, badSector, othersUser

        var number: Int32 {
            switch self {
            case .immutable: EPERM
            case .mounted: EBUSY
            case .badSector: EIO
            case .othersUser: EACCES
            }
        }

        func disk(_ inode: UInt64) -> FaultyFileSystem {
            FaultyFileSystem { operation in
                switch operation.verb {
                case .open where [.badSector, .othersUser].contains(self): break
                case .remove, .rename, .renameNew: break
                default: return nil
                }
                // What is not there stands in nothing.
                let found = try? status(operation.source ?? operation.path)
                return found?.inode == inode ? operation.error(number) : nil
            }
        }
    }

    private static let kept = ["a": "one", "b": "two", "d/c": "three"]

    /// A store whose current version has lost a file of its tree, with the garbage of two versions.
    private func makeStore(_ place: Place) throws -> (TemporaryStore, path: String) {
        let temporary = try TemporaryStore(adding: "1", Self.kept)
        try temporary.add("2", ["a": "second"])
        for name in ["3", "4"] {
            try temporary.add(name, ["x": "x \(name)", "y": "y \(name)", "z": "z \(name)"])
        }
        let versions = temporary.versions
        try versions.activate("1")
        for name in ["3", "4"] { try versions.retire(name) }
        let garbage = try temporary.objectPath(of: "x 3").dropFirst(temporary.path.count + 1)
        let path = place.path == "{garbage}" ? String(garbage) : place.path
        for path in [path] + place.besides {
            let full = "\(temporary.path)/\(path)"
            if FileManager.default.fileExists(atPath: full) { continue }
            try writeFile(full, "left", mode: path.hasPrefix("versions") ? 0o444 : 0o600)
        }
        return (temporary, path)
    }

    private func isThere(_ path: String, _ temporary: TemporaryStore) -> Bool {
        (try? status("\(temporary.path)/\(path)")) ?? nil != nil
    }

    @Test(
        "is told once and passed over: writers write, gc collects the rest, a repair mends the rest, and status counts it",
        arguments: places)
    func passing(_ place: Place) throws {
        for obstacle in Obstacle.allCases {
            let (temporary, path) = try makeStore(place)
            let what = "\(path), \(obstacle)"
            let inode = try require(status("\(temporary.path)/\(path)")).inode
            let told = Mutex<[String]>([])
            func open() throws -> VersionStore {
                told.withLock { $0 = [] }
                return try VersionStore.open(
                    temporary.path,
                    options: StoreOptions(
                        isDurable: false, reservedByteCount: 1 << 20,
                        notice: { text in told.withLock { $0.append(text) } }),
                    fileSystem: obstacle.disk(inode))
            }
            func expectToldOnce() {
                let texts = told.withLock { $0 }
                expect(Set(texts).count, equals: texts.count, "\(what): \(texts)")
            }
            let source = temporary.directory.appending("new")
            try writeTree(source, ["new": "new"])
            try open().add(directory: source, version: "5")
            expectToldOnce()
            try open().retire("2")
            expectToldOnce()
            try expect(open().versions().map(\.version).sorted(), equals: ["1", "5"], "\(what)")

            let collecting = try open()
            try collecting.collect()
            expectToldOnce()
            for content in ["y 3", "z 3", "x 4", "y 4", "z 4"] {
                let object = try temporary.objectPath(of: content)
                expect(try status(object) == nil, "\(what): \(content)")
            }
            // Of a directory its parent may be what is left.
            let isLeft = !collecting.store.stuckLeftovers.isEmpty
            if isThere(path, temporary), place.path != "versions/2/a" {
                expect(isLeft, "\(what): \(told.withLock { $0 })")
            }
            if isLeft {
                expect(told.withLock { $0.count } > 0, "\(what)")
                try expect(!open().rememberedStuck().isEmpty, "\(what)")
            }

            try Damage.setMode(temporary.path + "/versions/1/d", 0o755)
            Damage.remove(temporary.path + "/versions/1/d/c")
            _ = try open().check()
            let repair = try open().repair { _ in true }
            expectToldOnce()
            try expect(
                readTree(temporary.path + "/versions/1"), equals: Self.kept,
                "\(what): \(repair.findings)")
            if isThere(path, temporary), path.hasPrefix("versions/."), isLeft {
                expect(repair.findings.contains { !$0.isRepaired }, "\(what): \(repair.findings)")
            }

            // As soon as it can be removed, it goes.
            let after = try temporary.reopened()
            try after.collect()
            expect(!isThere(path, temporary), "\(what)")
            expect(after.rememberedStuck().isEmpty, "\(what)")
            _ = try temporary.reopened().repair { _ in true }
            try expect(temporary.reopened().check().findings, equals: [], "\(what)")
        }
    }
}
