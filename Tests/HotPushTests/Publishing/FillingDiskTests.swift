import CASStore
import Expectations
import Foundation
import StorageTestSupport
import Synchronization
import Testing
import VersionTree

@testable import HotPush

/// A disk that gets full somewhere in the middle and stays so: what a publisher says and what it leaves.
@Suite("A publisher whose disk gets full") struct FillingDiskTests {
    /// Takes so many blocks, and none after them.
    private final class FillingFileSystem: FileSystemWrapper {
        let base: any FileSystem = POSIXFileSystem()
        private let left: Mutex<Int>

        init(after count: Int) { left = Mutex(count) }

        var isFull: Bool { left.withLock { $0 < 0 } }

        private func allocate(_ call: String, _ path: String) throws(StoreError) {
            let isThere = left.withLock { left in
                left -= 1
                return left >= 0
            }
            guard isThere else { throw StoreError(systemCall: call, errno: ENOSPC, path: path) }
        }

        func open(
            _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
        ) throws(StoreError) -> Descriptor {
            if access == .creating { try allocate("openat", String(cString: path)) }
            return try base.open(directory, path, access, mode: mode)
        }

        func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
            try allocate("write", "a file")
            try base.write(file, bytes)
        }

        func makeDirectory(
            _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
        ) throws(StoreError) {
            // What is there needs no block: EEXIST comes first.
            if try base.status(directory, path) == nil {
                try allocate("mkdirat", String(cString: path))
            }
            try base.makeDirectory(directory, path, mode: mode)
        }
    }

    let fixture: PackingFixture

    init() throws {
        fixture = try PackingFixture(2, scale: 10)
        try fixture.publish("r1")
    }

    /// - Returns: whether the disk got full.
    private func survive(
        after count: Int, _ channel: ChannelName, _ moment: PackOptions.Moment
    ) throws -> Bool {
        let place = PackingFixture(fixture, origin: "origin-\(UUID().uuidString)")
        defer { Damage.remove(place.place.origin) }
        try FileManager.default.copyItem(
            atPath: fixture.place.origin, toPath: place.place.origin)
        let before = try place.offered(channel.description)
        let disk = FillingFileSystem(after: count)
        let offer = ReleaseOffer(channel: channel)
        var message = ""
        do throws(StoreError) {
            try place.publisher(moment, on: disk).publish("r2", of: place.place.versions, as: offer)
        } catch {
            expect(error.code, equals: .outOfSpace)
            message = error.message
        }
        let comment: Comment = "full after \(count): \(message)"
        let after = try place.offered(channel.description)
        if message.isEmpty {
            expect(after, equals: "r2", comment)
        } else if message.contains("channel \(channel) offers what it did before") {
            expect(after, equals: before, comment)
        } else {
            expect(message.contains("channel \(channel) offers version r2"), comment)
            expect(after, equals: "r2", comment)
        }
        if !message.isEmpty { expect(message.contains("castree prune"), comment) }
        // With room the same command ends it.
        try place.publisher(moment).publish("r2", of: place.place.versions, as: offer)
        try expect(place.offered(channel.description), equals: "r2", comment)
        let list = try Damage.contents(place.place.origin + "/channels.json")
        try expect(ChannelList.names(parsing: list).contains(channel), comment)
        return disk.isFull
    }

    @Test(
        "says what the channel offers, which is the old release or the new one; repeated with room, it is done",
        arguments: ["stable", "beta"], [PackOptions.Moment.before, .after, .never])
    func full(_ channel: String, _ moment: PackOptions.Moment) throws {
        let channel = try ChannelName(channel)
        let share = TestShare(oneIn: 12, of: "filling \(channel) \(moment)")
        try expect(share.count { try survive(after: $0, channel, moment) } > 8)
    }
}
