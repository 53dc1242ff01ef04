import CASStore
import Foundation
import StorageTestSupport
import Synchronization
import Testing
import VersionTree

/// A whole version is what was registered: another manifest in its place is named, and nothing is made
/// from it until somebody says that it counts.
@Suite("A manifest that somebody edited") struct EditedManifestTests {
    /// How the file came to say something else.
    enum Way: CaseIterable { case inPlace, replaced }

    static let edits: [(name: String, of: @Sendable (String) throws -> String)] = [
        ("exchanges two contents", { try exchanged($0) }),
        ("renames a path", { $0.replacing("\"a\"", with: "\"aa\"") }),
        ("names other content", { $0.replacing(try address("one"), with: try address("six")) }),
        ("says another time", { $0.replacing("\"createdAt\":", with: "\"createdAt\":1") }),
        ("adds a field", { $0.replacing("\"order\":", with: "\"note\":1,\"order\":") }),
    ]

    static func address(_ text: String) throws -> String {
        var hasher = try ObjectHasher()
        return Array(text.utf8).withUnsafeBytes { hasher.hash($0).address }.description
    }

    private static func exchanged(_ text: String) throws -> String {
        let (one, other) = (try address("one"), try address("two"))
        return text.replacing(one, with: "-").replacing(other, with: one)
            .replacing("\"-\"", with: "\"\(other)\"")
    }

    /// A store whose version 1 has been edited, and what its manifest said before.
    func edited(
        _ edit: (String) throws -> String, _ way: Way
    ) throws -> (temporary: TemporaryStore, before: [UInt8]) {
        let temporary = try TemporaryStore()
        try temporary.add("1", ["a": "one", "b": "two"])
        try temporary.add("2", ["a": "six"])
        try temporary.versions.activate("1")
        let path = manifest(temporary)
        let before = try Damage.contents(path)
        let text = String(decoding: before, as: UTF8.self)
        let after = try edit(text)
        try #require(after != text)
        switch way {
        case .inPlace: try Damage.overwrite(path, with: Array(after.utf8))
        case .replaced: try writeFile(path, after)
        }
        return (temporary, before)
    }

    func manifest(_ temporary: TemporaryStore) -> String { temporary.path + "/manifests/1.json" }

    @Test("is a finding that no repair takes for the truth", arguments: edits.indices, Way.allCases)
    func found(_ edit: Int, _ way: Way) throws {
        let (temporary, before) = try edited(Self.edits[edit].of, way)
        let kept = try Damage.contents(manifest(temporary))
        for repairing in [false, true, false] {
            let found = try temporary.reopened().check(repairing: repairing).findings
            #expect(found.map(\.kind) == [.editedManifest], "\(found.map(\.message))")
            #expect(found.map(\.version) == ["1"] && found.map(\.path) == ["manifests/1.json"])
            #expect(found.allSatisfy { !$0.isRepaired })
            #expect(found.first?.message.contains("retire") == true)
        }
        // The tree is what it was, and so is the file.
        #expect(try readTree(temporary.tree("1")) == ["a": "one", "b": "two"])
        #expect(try Damage.contents(manifest(temporary)) == kept)
        // Back from a copy, all is well.
        try writeFile(manifest(temporary), String(decoding: before, as: UTF8.self))
        try temporary.expectClean()
    }

    @Test("makes no tree, no checkout and no garbage", arguments: Way.allCases)
    func unused(_ way: Way) throws {
        let (temporary, _) = try edited(Self.edits[2].of, way)
        try temporary.versions.activate("2")
        shell("chmod -R u+w \(temporary.tree("1")) && rm -rf \(temporary.tree("1"))")
        let versions = try temporary.reopened()
        expectRefusal(.badManifest) { try versions.materialize("1") }
        expectRefusal(.badManifest) {
            try versions.checkout("1", to: temporary.directory.appending("out"))
        }
        // What it needs is in doubt.
        expectRefusal(.index) { try versions.store.collect() }
        #expect(try versions.store.contains(#require(ObjectID(Self.address("one")))))
    }

    @Test("does not keep an index from being mended", arguments: Way.allCases)
    func beside(_ way: Way) throws {
        let (temporary, _) = try edited(Self.edits[0].of, way)
        try Damage.flip(temporary.objectPath(#require(ObjectID(Self.address("six")))), at: 0)
        let found = try temporary.reopened().check(repairing: true).findings
        #expect(
            Set(found.map(\.kind)) == [.editedManifest, .damagedObject, .wrongInTree]
                || Set(found.map(\.kind)) == [.editedManifest, .damagedObject])
        #expect(try readTree(temporary.tree("1")) == ["a": "one", "b": "two"])
    }

    @Test("goes with its version, which can come again", arguments: Way.allCases)
    func retired(_ way: Way) throws {
        let (temporary, _) = try edited(Self.edits[0].of, way)
        try temporary.versions.activate("2")
        try temporary.reopened().retire("1")
        try temporary.expectClean()
        try temporary.add("1", ["a": "one", "b": "two"])
        #expect(try readTree(temporary.tree("1")) == ["a": "one", "b": "two"])
        try temporary.expectClean()
    }

    @Test("counts when the index is deleted, which is how somebody says so")
    func accepted() throws {
        let (temporary, _) = try edited(Self.edits[0].of, .inPlace)
        Damage.remove(temporary.path + "/index.sqlite")
        let found = try temporary.reopened().check(repairing: true).findings
        #expect(Set(found.map(\.kind)) == [.wrongInTree] && found.allSatisfy(\.isRepaired))
        #expect(try readTree(temporary.tree("1")) == ["a": "two", "b": "one"])
        try temporary.expectClean()
    }

    @Test("of an incomplete version is what the version waits for: it may be revised")
    func incomplete() throws {
        let temporary = try TemporaryStore()
        try temporary.versions.register(makeManifest("1", ["a": "one"], ordinal: 1))
        let path = manifest(temporary)
        let text = String(decoding: try Damage.contents(path), as: UTF8.self)
        try writeFile(path, text.replacing("\"a\"", with: "\"aa\""))
        try temporary.expectClean()
        #expect(
            try temporary.reopened().manifest(of: "1").entries.map(\.path.description) == ["aa"])
    }
}
