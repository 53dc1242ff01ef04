import StorageTestSupport

/// A start leads to no wrong bytes, and ends with no error, while something else can be shown; and what the store has lost
/// is nothing against a version.
@Suite("A start of what is damaged") struct UnfitStartTests {
    struct Loss: Sendable, CustomStringConvertible {
        let description: String
        /// Whether all is as before once the version has been added again.
        var isMendedByAdding = true
        let happen: @Sendable (_ store: String, _ version: String, _ object: String) throws -> Void
    }

    private static func dropTree(_ store: String, _ version: String) throws {
        let tree = "\(store)/versions/\(version)"
        for path in [tree] + Damage.names(tree).map({ "\(tree)/\($0)" }) {
            try? Damage.setMode(path, 0o755)
        }
        Damage.remove(tree)
    }

    static let losses: [Loss] = [
        .init(description: "a byte in its tree") { store, version, _ in
            try Damage.flip("\(store)/versions/\(version)/a.js", at: 1)
        },
        .init(description: "its tree, and a byte of an object") { store, version, object in
            try dropTree(store, version)
            try Damage.flip(object, at: 1)
        },
        .init(description: "its tree and an object") { store, version, object in
            try dropTree(store, version)
            Damage.remove(object)
        },
        .init(description: "its tree; a fifo in place of an object") { store, version, object in
            try dropTree(store, version)
            try Damage.replace(object, by: .fifo)
        },
        .init(description: "its tree and its manifest") { store, version, _ in
            try dropTree(store, version)
            Damage.remove("\(store)/manifests/\(version).json")
        },
        .init(description: "its tree; nonsense in its manifest", isMendedByAdding: false) {
            store, version, _ in
            try dropTree(store, version)
            try Damage.overwrite("\(store)/manifests/\(version).json", with: Array("x".utf8))
        },
    ]

    private func files(_ name: String) -> [String: String] {
        ["index.html": "page \(name)", "a.js": "script \(name)"]
    }

    private func object(_ name: String, _ temporary: TemporaryStore) throws -> String {
        try temporary.objectPath(of: "script \(name)")
    }

    private func start(_ temporary: TemporaryStore) throws -> BootReport {
        try temporary.reopened().boot()
    }

    /// A store whose versions 1 and so on have proved good, the last one current.
    private func makeStore(good count: Int) throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        for number in 1...count {
            try temporary.add("\(number)", files("\(number)"))
            try temporary.versions.makeKnownGood("\(number)")
        }
        return temporary
    }

    private func expectRight(_ name: String, _ temporary: TemporaryStore, _ what: String) throws {
        try expect(temporary.shown(), equals: files(name), "\(what)")
    }

    @Test(arguments: losses)
    func `leaves what waits waiting, and starts what is current`(_ loss: Loss) throws {
        let temporary = try makeStore(good: 1)
        try temporary.add("2", files("2"))
        try temporary.versions.activateAtNextBoot("2")
        try loss.happen(temporary.path, "2", object("2", temporary))
        for _ in 1...4 {
            try expect(start(temporary).version, equals: "1", "\(loss)")
            try expectRight("1", temporary, loss.description)
        }
        let lifecycle = try temporary.reopened().lifecycle()
        expect(lifecycle.bad.isEmpty && lifecycle.attempts.isEmpty, "\(loss): \(lifecycle)")
        guard loss.isMendedByAdding else { return }
        try temporary.add("2", files("2"))
        try expect(start(temporary).version, equals: "2", "\(loss)")
        try expectRight("2", temporary, loss.description)
    }

    @Test func `starts what waits as soon as its content is mended`() throws {
        let temporary = try makeStore(good: 1)
        try temporary.add("2", files("2"))
        try temporary.versions.activateAtNextBoot("2")
        try Damage.flip("\(temporary.path)/versions/2/a.js", at: 1)
        try expect(start(temporary).version, equals: "1")
        let found = try temporary.reopened().evidentFindings()
        expect(found.map(\.kind), equals: [.wrongInTree], "\(found)")
        try temporary.add("3", files("2"))
        try expect(start(temporary).version, equals: "2")
        try expectRight("2", temporary, "mended")
    }

    @Test(arguments: losses.dropFirst())
    func `leaves what is current and not confirmed for the way back`(_ loss: Loss) throws {
        let temporary = try makeStore(good: 1)
        try temporary.add("2", files("2"))
        try temporary.versions.activate("2")
        try loss.happen(temporary.path, "2", object("2", temporary))
        for _ in 1...4 {
            try expect(start(temporary).version, equals: "1", "\(loss)")
            try expectRight("1", temporary, loss.description)
        }
    }

    @Test(arguments: losses)
    func `goes back to nothing that is damaged while something else is whole`(_ loss: Loss) throws {
        for isRollback in [false, true] {
            let temporary = try makeStore(good: 2)
            try temporary.add("3", files("3"))
            try temporary.versions.activateAndBoot("3")
            try loss.happen(temporary.path, "2", object("2", temporary))
            if isRollback {
                try expect(temporary.reopened().rollback().current, equals: "1", "\(loss)")
            } else {
                try expect(start(temporary).version, equals: "1", "\(loss)")
            }
            try expectRight("1", temporary, loss.description)
        }
    }

    @Test
    func `starts what is current where the disk has no space for the tree of what waits`() throws {
        let temporary = try makeStore(good: 1)
        try temporary.add("2", files("2"))
        try temporary.versions.activateAtNextBoot("2")
        try Self.dropTree(temporary.path, "2")
        let disk = FaultyFileSystem()
        let full = try temporary.opened(on: disk, keeping: 0)
        disk.arm(.fail(ENOSPC, at: 1, of: [.makeDirectory], path: "versions"))
        try expect(full.boot().version, equals: "1")
        try expect(full.lifecycle().pending, equals: "2")
        disk.disarm()
        try expect(start(temporary).version, equals: "2")
    }

    @Test
    func `is of what somebody made current last, and not of what is older and waited`() throws {
        let temporary = try makeStore(good: 1)
        for name in ["2", "3"] { try temporary.add(name, files(name)) }
        try temporary.versions.activateAtNextBoot("2")
        try temporary.versions.activate("3")
        try expect(temporary.versions.lifecycle().pending == nil)
        let boot = try start(temporary)
        expect(boot.version, equals: "3")
        try temporary.versions.confirm("3", token: boot.token)
        try expect(start(temporary).version, equals: "3")
        // What is newer waits on.
        try temporary.add("4", files("4"))
        try temporary.versions.activateAtNextBoot("4")
        try temporary.versions.activate("1")
        try expect(start(temporary).version, equals: "4")
    }

    @Test func `starts what its disk did not give while the index was made again`() throws {
        for waits in [false, true] {
            let temporary = try TemporaryStore.startedOnce()
            if waits { try temporary.versions.activateAtNextBoot("B") }
            let name = try require(
                waits ? "B" : temporary.versions.lifecycle().current)
            for file in ["index.sqlite", "stamp"] { unlink(temporary.path + "/" + file) }
            let disk = FaultyFileSystem { operation in
                operation.verb == .read && operation.path.hasSuffix("manifests/\(name).json")
                    ? StoreError(systemCall: "read", errno: EIO, path: operation.path) : nil
            }
            let versions = try temporary.opened(on: disk)
            let whole = try versions.versions().filter { $0.missingObjects == 0 }.map(\.version)
            expect(!whole.contains(name))
            let begun = try? versions.boot().version
            try expect(
                temporary.versions.lifecycle().pending, equals: waits ? name : nil,
                "\(begun ?? "none")")
            try expect(temporary.reopened().boot().version, equals: waits ? name : "A")
        }
    }
}
