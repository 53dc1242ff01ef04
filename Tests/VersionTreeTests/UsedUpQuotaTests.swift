import StorageTestSupport

@testable import VersionTree

// DESIGN.md, "Collecting": the reserve is there so that space can be made, and apps start, where there is none.
@Suite("A quota that is used up, which the disk does not show") struct UsedUpQuotaTests {
    /// A disk on which a quota is used up while the store's reserve is there: statvfs(3) shows free space.
    /// - Parameters:
    ///   - verb: what needs space; whatever makes something if it is nil.
    ///   - isUsedUp: whether it is by now.
    private func quotaDisk(
        _ store: TemporaryStore, _ verb: FaultyFileSystem.Verb? = nil,
        isUsedUp: Shared<Bool> = Shared(true)
    ) -> FaultyFileSystem {
        let reserve = store.path + "/reserve"
        return FaultyFileSystem { operation in
            let needsSpace =
                switch operation.verb {
                case .reserve: true
                case .open:
                    [.creating, .updating].contains(operation.access)
                        && access(operation.path, F_OK) != 0
                case .write, .makeDirectory, .makeSymbolicLink: true
                case .remove: verb == .remove && ObjectID(operation.name) != nil
                default: false
                }
            guard needsSpace else { return nil }
            let isMet =
                (verb ?? operation.verb) == operation.verb && isUsedUp.with { $0 }
                && access(reserve, F_OK) == 0
            return isMet || operation.verb == .reserve ? operation.error(EDQUOT) : nil
        }
    }

    @Test(arguments: [
        "retire", "collect", "activate", "activate later", "boot", "roll back", "protect", "trust",
    ])
    func `takes the reserve for what frees space, and for what starts the app`(
        _ verb: String
    ) throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one"])
        for version in ["2", "3"] { try temporary.add(version, ["a": version]) }
        for version in ["1", "2"] {
            _ = try temporary.versions.activate(version)
            let boot = try temporary.versions.boot()
            _ = try temporary.versions.confirm(version, token: boot.token)
        }
        let reserve = temporary.path + "/reserve"
        expect(access(reserve, F_OK), equals: 0)
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(), fileSystem: quotaDisk(temporary))
        switch verb {
        case "retire": try versions.retire("3")
        case "collect": try versions.store.collect()
        case "activate": _ = try versions.activate("3")
        case "activate later": try versions.activateAtNextBoot("3")
        case "boot":
            // The lock of the first start ever is made by it.
            unlink(temporary.path + "/leases/.start")
            _ = try versions.boot()
        case "roll back": _ = try versions.rollback(reason: "it is broken")
        case "protect": _ = try versions.protect("3")
        default: _ = try versions.changeTrust { $0.origins = [] }
        }
        let lifecycle = try versions.lifecycle()
        expect(
            lifecycle.current, equals: verb == "roll back" ? "1" : verb == "activate" ? "3" : "2")
        // When there is space again, it is set aside again.
        _ = try temporary.versions.store.collect()
        try expect(temporary.versions.check().findings, equals: [])
    }
    /// Versions 1 to 4 that were known good in turn; 4 is current.
    private func prepared() throws -> TemporaryStore {
        let temporary = try TemporaryStore(adding: "1", ["a": "1"])
        for version in ["2", "3", "4"] { try temporary.add(version, ["a": version]) }
        for version in ["1", "2", "3", "4"] {
            try temporary.versions.makeKnownGood(version)
        }
        return temporary
    }

    // The lifecycle, and the note that the index changes, are written; a directory is removed entry by entry.
    @Test(arguments: [FaultyFileSystem.Verb.write, .remove, .open], [false, true])
    func `is met in the middle of a retirement, which leaves nothing`(
        _ verb: FaultyFileSystem.Verb, _ afterLifecycle: Bool
    ) throws {
        let temporary = try prepared()
        let isUsedUp = Shared(!afterLifecycle)
        let disk = quotaDisk(temporary, verb, isUsedUp: isUsedUp)
        disk.on(.after, .rename, path: "/lifecycle.json") { isUsedUp.with { $0 = true } }
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(), fileSystem: disk)
        try versions.retire("1")
        let trees = try FileManager.default.contentsOfDirectory(
            atPath: temporary.path + "/versions")
        expect(trees.sorted(), equals: ["2", "3", "4"])
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test func `is met in the middle of a collection, which counts all that it removed`() throws {
        let temporary = try prepared()
        try temporary.versions.retire("1")
        let quarantined = temporary.path + "/quarantine/" + String(repeating: "0a", count: 32)
        try Data("kept".utf8).write(to: URL(filePath: quarantined))
        let isUsedUp = Shared(false)
        let disk = quotaDisk(temporary, .remove, isUsedUp: isUsedUp)
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(), fileSystem: disk)
        var seen: [Int] = []
        let collected = try versions.store.collect {
            seen.append($0.objectCount)
            isUsedUp.with { $0 = true }
        }
        expect(collected.objectCount, equals: 2)
        expect(seen, equals: seen.sorted())
        expect(seen.count, equals: 2)
    }

    // fsync(2) may say EDQUOT of what was written already; the first sync of the file, and that of its directory.
    @Test(arguments: [FileStatus.Kind.regular, .directory])
    func `is told by a sync, after which nothing is done twice`(_ kind: FileStatus.Kind) throws {
        let temporary = try prepared()
        let hasName = Shared(kind == .regular)
        let disk = FaultyFileSystem()
        disk.on(.after, .rename, path: "/lifecycle.json") { hasName.with { $0 = true } }
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(), fileSystem: disk)
        disk.arm(
            .fail(EDQUOT, at: 1, of: [.sync]).counting { operation in
                // What is not there any more is none of the two.
                hasName.with { $0 } && (try? status(operation.path))?.kind == kind
            })
        expectRefusal(.outOfSpace) { try versions.rollback(reason: "it is broken") }
        let lifecycle = try temporary.reopened().lifecycle()
        expect(lifecycle.current, equals: kind == .regular ? "4" : "3")
        expect(lifecycle.bad.count, equals: kind == .regular ? 0 : 1)
    }
}
