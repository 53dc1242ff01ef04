import StorageTestSupport

// CONTRIBUTING.md, question 9: a dry run prints exactly what would happen.
@Suite("A plan of a collection") struct CollectionPlanTests {
    enum Damage: CaseIterable, Sendable {
        case nothing, lifecycle, noLifecycle, foreignLifecycle, unknownCurrent
        case manifest, editedManifest, strangeManifest
        case lostManifest, oddTree, unknownTree, unknownIncompleteTree, forgottenIndex
    }

    private func make(_ damage: Damage) throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        for name in ["1", "2", "3"] { try temporary.add(name, ["a": "only \(name)", "b": "all"]) }
        try temporary.versions.activate("1")
        try temporary.versions.retire("3")
        let path = temporary.path
        func remove(_ names: String...) throws {
            for name in names { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
        }
        switch damage {
        case .nothing: break
        case .lifecycle: try writeFile(path + "/lifecycle.json", "{")
        case .noLifecycle: try remove("lifecycle.json")
        case .foreignLifecycle:
            try writeFile(path + "/lifecycle.json", "{\"format\":1,\"current\":7}")
        case .unknownCurrent: try remove("manifests/1.json", "versions/1", "index.sqlite")
        case .manifest: try writeFile(path + "/manifests/2.json", "{")
        case .editedManifest:
            let bytes = try readBytes(path + "/manifests/1.json")
            try writeFile(path + "/manifests/2.json", bytes)
        case .strangeManifest: try writeFile(path + "/manifests/9.json", "{")
        case .lostManifest: try remove("manifests/2.json")
        case .oddTree:
            expect(rename(path + "/versions/2", path + "/versions/2 (old)"), equals: 0)
            try remove("manifests/2.json", "index.sqlite")
        case .unknownTree: try remove("manifests/2.json", "index.sqlite")
        case .unknownIncompleteTree:
            try remove("manifests/2.json", "index.sqlite")
            chmod(path + "/versions/2", 0o755)
            try remove("versions/2/a")
        case .forgottenIndex: try remove("index.sqlite")
        }
        return temporary
    }

    @Test(
        "names what the collection deletes, or is refused as the collection is",
        arguments: Damage.allCases)
    func plan(_ damage: Damage) throws {
        let temporary = try make(damage)
        func outcome(_ body: (VersionStore) throws -> Int) throws -> String {
            do {
                return "\(try body(temporary.reopened()))"
            } catch let error as StoreError {
                return error.message
            }
        }
        let before = try Set(snapshot(temporary.path + "/objects").keys)
        let planned = try outcome { try $0.planCollection().objectCount }
        try expect(Set(snapshot(temporary.path + "/objects").keys), equals: before)
        let done = try outcome { try $0.collect().objectCount }
        expect(planned, equals: done)
        expect(damage != .nothing || done == "1", "\(done)")
    }
}
