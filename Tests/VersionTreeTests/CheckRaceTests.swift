import CASStore
import Foundation
import StorageTestSupport
import Testing

@testable import VersionTree

/// What a healthy writer, pinner or retirement looks like at one moment of a look that takes many.
@Suite("A look") struct CheckRaceTests {
    private func opened(
        _ temporary: TemporaryStore, on disk: any FileSystem
    ) throws -> VersionStore {
        try VersionStore.open(
            temporary.path, options: StoreOptions(isDurable: false, reservedByteCount: 1 << 20),
            fileSystem: disk)
    }

    /// A writer with a lease, for as long as a test keeps it.
    private final class Writer: Sendable {
        let lease: Lease
        init(_ versions: VersionStore) throws { lease = try versions.store.makeLease() }
    }

    // MARK: Leases and hidden trees

    @Test("leaves the hidden tree of a writer alone that has just begun", arguments: [true, false])
    func beginning(repairs: Bool) throws {
        let temporary = try TemporaryStore()
        try temporary.add("1", ["a": "one"])
        let disk = FaultyFileSystem()
        let looking = try opened(temporary, on: disk)
        let second = try temporary.reopened()
        let writer = Shared<Writer?>(nil)
        disk.on(.before, .list, path: "/versions") {
            #expect(throws: Never.self) {
                let new = try Writer(second)
                try writeTree(temporary.tree(".2.\(new.lease.name)"), ["a": "two"])
                writer.with { $0 = new }
            }
        }
        #expect(try looking.check(repairing: repairs).findings == [])
        disk.onEach(nil)
        let name = try #require(writer.with { $0 }).lease.name
        #expect(try readTree(temporary.tree(".2.\(name)")) == ["a": "two"])
    }

    @Test("finds nothing of a writer that has just ended", arguments: ["staging", "versions"])
    func ending(place: String) throws {
        let temporary = try TemporaryStore()
        let second = try temporary.reopened()
        let writer = Shared<Writer?>(try Writer(second))
        let name = try #require(writer.with { $0 }).lease.name
        let left = temporary.path + "/\(place)/" + (place == "staging" ? name : ".2.\(name)")
        try writeTree(left, ["a": "two"])
        let disk = FaultyFileSystem()
        let looking = try opened(temporary, on: disk)
        disk.on(.after, .list, path: "/" + place) {
            Damage.remove(left)
            writer.with { $0 = nil }
        }
        #expect(try looking.check().findings == [])
        #expect(writer.with { $0 == nil })
    }

    @Test("finds nothing of a tree that is just gone") func removing() throws {
        let temporary = try TemporaryStore()
        let hidden = temporary.tree(".1.0123456789abcdef")
        try writeTree(hidden, ["a": "one"])
        let disk = FaultyFileSystem()
        let looking = try opened(temporary, on: disk)
        disk.on(.before, .lock, path: hidden) { Damage.remove(hidden) }
        #expect(try looking.check().findings == [])
        #expect(!FileManager.default.fileExists(atPath: hidden))
    }
}
