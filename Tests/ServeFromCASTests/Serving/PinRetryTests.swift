import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "No mixed page": while a page has a version, no process can retire it.
@Suite("A version that could not be pinned")
struct PinRetryTests {
    @Test func `is pinned later, and the operator was told once that it was not`() throws {
        let store = try TemporaryStore.app()
        let (disk, versions) = try store.openedOnFaultyDisk()
        // EACCES: the leases are another user's.
        disk.arm(.fail(13, at: 1, of: [.open], path: ".pin-"))
        let app = try TestApp(store, over: versions)
        expect(disk.hasFired)
        expect(app.notices.all.filter { $0.contains("can retire it") }.count, equals: 1)
        try app.browser().navigate()
        app.look(after: .seconds(10))
        app.look(after: .seconds(20))
        try expect(store.reopened().pinnedVersions(), equals: ["1"])
        expect(app.notices.all.filter { $0.contains("can retire it") }.count, equals: 1)
    }

    @Test func `on a read-only disk is pinned once that can be written`() throws {
        let store = try TemporaryStore.app()
        let (disk, versions) = try store.openedOnFaultyDisk()
        disk.arm(.refuseChanges)
        let app = try TestApp(store, over: versions)
        try expect(app.browser().navigate().text.contains("one"))
        app.look(after: .seconds(10))
        try expect(store.reopened().pinnedVersions(), equals: [])
        disk.disarm()
        app.look(after: .seconds(20))
        try expect(store.reopened().pinnedVersions(), equals: ["1"])
    }

    @Test func `on a full disk is pinned with the store's reserve`() throws {
        let store = try TemporaryStore.app()
        let (disk, versions) = try store.openedOnFaultyDisk()
        // ENOSPC.
        disk.arm(.fail(28, at: 1, of: [.open], path: ".pin-"))
        let app = try TestApp(store, over: versions)
        expect(disk.hasFired)
        try expect(store.reopened().pinnedVersions(), equals: ["1"])
        expect(app.notices.all.isEmpty)
    }
}
