import Dispatch
import StorageTestSupport

@testable import ServeFromCAS

// docs/bridge-protocol.md, "Events": progress.
@Suite("What pages are told of a download by another process")
struct DownloadTests {
    static let large = String(repeating: "large ", count: 100_000)

    /// A store with a current version, and one that is missing 600,005 of its bytes.
    private func begun() throws -> TemporaryStore {
        let store = try TemporaryStore.app()
        let files: [SampleSite.File] = [
            .init("same.txt", "the same in all"), .init("large.txt", Self.large),
            .init("small.txt", "gamma"),
        ]
        let (manifest, _) = try SampleSite.manifest(files, version: "3", createdAt: 784_111_777)
        try store.reopened().register(manifest)
        return store
    }

    private func put(_ text: String, into store: TemporaryStore) throws {
        let other = try store.reopened()
        let incoming = try IncomingContents(other.store)
        var item = try incoming.begin(
            SampleSite.address(text), byteCount: Int64(text.utf8.count))
        try item.append(Array(text.utf8).span.bytes)
        _ = try item.finish()
        _ = try incoming.commit()
    }

    @Test(
        "is how much has come of what was missing, as it grows, to the end; nothing while it stands still"
    )
    func progress() throws {
        let store = try begun()
        let watch = DownloadWatch { store.versions }
        // Later and later: how long a look takes must not decide.
        expect(watch.look(now: .seconds(1000)) == nil)
        expect(watch.look(now: .seconds(2000)) == nil)
        try put(Self.large, into: store)
        expect(
            watch.look(now: .seconds(3000)),
            equals: .progress(done: 600_000, total: 600_005, version: "3"))
        expect(watch.look(now: .seconds(4000)) == nil)
        try put("gamma", into: store)
        expect(
            watch.look(now: .seconds(5000)),
            equals: .progress(done: 600_005, total: 600_005, version: "3"))
        expect(watch.look(now: .seconds(6000)) == nil)
    }

    @Test func `is nothing of a version that is given up`() throws {
        let store = try begun()
        let watch = DownloadWatch { store.versions }
        expect(watch.look(now: .seconds(1000)) == nil)
        try put(Self.large, into: store)
        expect(watch.look(now: .seconds(2000)) != nil)
        try store.reopened().retire("3")
        expect(watch.look(now: .seconds(3000)) == nil)
    }

    @Test func `is looked for ever more rarely, up to half a minute, while nothing grows`() throws {
        let store = try begun()
        let watch = DownloadWatch { store.versions }
        for look in 1...9 { expect(watch.look(now: .seconds(look * 1000)) == nil) }
        try put(Self.large, into: store)
        expect(watch.look(now: .seconds(9029)) == nil)
        expect(
            watch.look(now: .seconds(10_000)),
            equals: .progress(done: 600_000, total: 600_005, version: "3"))
    }

    @Test
    func `is looked for on a thread of its own: whoever wants it told does not wait`() throws {
        let store = try begun()
        let watch = DownloadWatch { store.versions }
        // A thread that holds up all looks until it may continue.
        let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        expect(
            watch.work.add {
                begun.signal()
                ended.wait()
            })
        begun.wait()
        let told = Sink<BridgeEvent>()
        watch.look(now: .seconds(1000)) { told.add($0) }
        // Nothing is there to be told before the put; and one look at a time.
        watch.look(now: .seconds(2000)) { told.add($0) }
        expect(told.all.isEmpty)
        ended.signal()
        wait(for: watch)
        try put(Self.large, into: store)
        watch.look(now: .seconds(3000)) { told.add($0) }
        wait(for: watch)
        expect(told.all, equals: [.progress(done: 600_000, total: 600_005, version: "3")])
    }

    /// Waits until all looks that were asked for are made.
    private func wait(for watch: DownloadWatch) {
        let done = DispatchSemaphore(value: 0)
        expect(watch.work.add { done.signal() })
        done.wait()
    }

    @Test
    func `comes to pages with the bridge, and is not looked for while there are none`() throws {
        let store = try begun()
        let app = try TestApp(store)
        app.look(after: .seconds(1000))
        let browser = try app.visitor()
        let page = try SocketPage(browser)
        app.look(after: .seconds(2000))
        wait(for: app.server.handler.downloads)
        try put(Self.large, into: store)
        app.look(after: .seconds(3000))
        try page.run { !$0.payloads("progress").isEmpty }
        expect(
            page.payloads("progress").first,
            equals: "{\"done\":600000,\"total\":600005,\"version\":\"3\"}")
    }
}
