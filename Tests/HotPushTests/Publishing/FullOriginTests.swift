import CASStore
import Expectations
import Foundation
import HotPush
import StorageTestSupport
import Synchronization
import Testing
import VersionTree

/// A full disk is when collecting is needed most.
@Suite("Collecting an origin on a full disk") struct FullOriginTests {
    let place: PublishingPlace

    init() throws {
        place = try PublishingPlace()
        for number in 10..<14 {
            try place.store.add("\(number)", ["shared": "same", "own": "content \(number)"])
            try place.publish("\(number)")
        }
    }

    /// A disk without a free block, until an object is deleted.
    private final class StuffedFileSystem: FileSystemWrapper {
        let base: any FileSystem = POSIXFileSystem()
        private let full = Mutex(true)
        /// What was asked for while it was full and failed.
        private let refused = Mutex<[String]>([])
        /// Whether the removal of a file frees the disk.
        let frees: @Sendable (String) -> Bool

        init(frees: @escaping @Sendable (String) -> Bool = { $0.utf8.count > 60 }) {
            self.frees = frees
        }

        var refusedCalls: [String] { refused.withLock { $0 } }

        private func allocate(_ what: String) throws(StoreError) {
            guard full.withLock({ $0 }) else { return }
            refused.withLock { $0.append(what) }
            throw StoreError(systemCall: what, errno: ENOSPC, path: "disk")
        }

        func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
            try allocate("write")
            try base.write(file, bytes)
        }

        func makeDirectory(
            _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
        ) throws(StoreError) {
            // What is there needs no block: EEXIST comes first.
            if try base.status(directory, path) == nil { try allocate("mkdirat") }
            try base.makeDirectory(directory, path, mode: mode)
        }

        func remove(
            _ directory: Int32, _ path: UnsafePointer<CChar>, directory isDirectory: Bool
        ) throws(StoreError) {
            try base.remove(directory, path, directory: isDirectory)
            if !isDirectory, frees(String(cString: path)) { full.withLock { $0 = false } }
        }
    }

    private func stands(_ text: String) throws -> Bool {
        FileManager.default.fileExists(atPath: try place.objectPath(text))
    }

    private func release(_ version: String) throws {
        let content = try place.read()
        expect(content?.version, equals: version)
        expect(content?.files["shared"], equals: "same")
    }

    @Test("deletes what has waited long enough before it writes a byte, and then does the rest")
    func frees() throws {
        let hour = OriginRetention(releaseCount: 3, graceSeconds: 3600)
        // 10 is offered no more, and its time runs.
        try expect(place.publisher().collect(hour).waiting.count, equals: 1)
        place.clock.advance(by: 3600)
        let disk = StuffedFileSystem()
        let retention = OriginRetention(releaseCount: 2, graceSeconds: 3600)
        let planned = try place.publisher().planCollection(retention)
        let plan = try place.publisher(on: disk).collect(retention)
        expect(plan, equals: planned)
        expect(disk.refusedCalls.isEmpty)
        try expect(!stands("content 10") && stands("content 11") && stands("content 12"))
        let pointer = try require(try DirectoryOrigin(place.origin).pointer(.stable))
        expect(pointer.releases.map { $0.version?.name.description }, equals: ["13", "12"])
        try release("13")
        // What was trimmed has been noted: its time runs too.
        place.clock.advance(by: 3600)
        try expect(place.publisher().collect(retention).manifests.count, equals: 1)
        try expect(!stands("content 11"))
    }

    @Test(
        "frees what it can though the pointer cannot be written, and takes nothing that is offered")
    func stays() throws {
        let hour = OriginRetention(releaseCount: 3, graceSeconds: 3600)
        _ = try place.publisher().collect(hour)
        place.clock.advance(by: 3600)
        let disk = StuffedFileSystem(frees: { _ in false })
        let none = OriginRetention(releaseCount: 1, graceSeconds: 0)
        let error = #expect(throws: StoreError.self) {
            try place.publisher(on: disk).collect(none)
        }
        expect(error?.code, equals: .outOfSpace)
        // The advice is an origin's: `castree gc` makes room in a store.
        expect(
            error?.message.hasSuffix(
                "nothing that a channel offers is gone; make room in \(place.origin), then repeat the command"
            ), equals: true)
        try expect(!stands("content 10"))
        // Named by the pointer that could not be replaced.
        try expect(stands("content 11") && stands("content 12"))
        let reader = try DirectoryOrigin(place.origin)
        for release in try require(try reader.pointer(.stable)).releases {
            let version = try require(release.version)
            try expect(place.files(of: version, in: reader)["shared"], equals: "same")
        }
        // With room again the same call does the rest.
        try expect(place.publisher().collect(none).manifests.count, equals: 2)
        try expect(!stands("content 11") && !stands("content 12") && stands("content 13"))
    }

    @Test("and taking back use the reserve, which the next publisher sets aside again")
    func reserve() throws {
        let reserve = place.origin + "/.publish/reserve"
        let none = OriginRetention(releaseCount: 2, graceSeconds: 3600)
        let verbs: [(Publisher) throws -> Void] = [
            { _ = try $0.withdraw(try VersionName("13")) }, { _ = try $0.collect(none) },
        ]
        for (verb, version) in zip(verbs, ["12", "12"]) {
            expect(FileManager.default.fileExists(atPath: reserve))
            try verb(
                place.publisher(on: StuffedFileSystem(frees: { $0.hasSuffix(".publish/reserve") })))
            expect(!FileManager.default.fileExists(atPath: reserve))
            try release(version)
            try place.publish(version)
        }
    }

    @Test("is what a withdrawal advises that finds no room")
    func withdrawal() throws {
        let disk = StuffedFileSystem(frees: { _ in false })
        let error = #expect(throws: StoreError.self) {
            try place.publisher(on: disk).withdraw(try VersionName("13"))
        }
        expect(error?.code, equals: .outOfSpace)
        expect(error?.message.contains("castree prune"), equals: true)
        expect(error?.message.contains("castree gc"), equals: false)
        try release("13")
    }

    @Test("deletes at once what killed publishers left, though nothing can be written")
    func leftovers() throws {
        let digits = String(repeating: "cd", count: 32)
        try writeTree(place.origin, ["objects/cd/\(digits.dropFirst(2))": "left"])
        let disk = StuffedFileSystem()
        let plan = try place.publisher(on: disk).collect(
            OriginRetention(releaseCount: 10, graceSeconds: 3600))
        expect(plan.objects.map(\.address.description), equals: [digits])
        try release("13")
    }

    @Test("keeps what a release needs that is offered still, also if its manifest is damaged")
    func damagedTrimmed() throws {
        let first = try require(try DirectoryOrigin(place.origin).pointer(.stable))
        let oldest = try require(first.releases.last?.version)
        let path = place.origin + "/" + OriginLayout.manifest(oldest.manifest)
        try Damage.overwriteOrCreate(path, with: [1])
        let disk = StuffedFileSystem(frees: { _ in false })
        let none = OriginRetention(releaseCount: 1, graceSeconds: 0)
        expect(code { try place.publisher(on: disk).collect(none) }, equals: .outOfSpace)
        for number in 10..<14 { try expect(stands("content \(number)")) }
    }
}
