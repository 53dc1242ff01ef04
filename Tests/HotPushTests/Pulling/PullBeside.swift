import HotPush
import StorageTestSupport

/// Another pull of the same origin into the same store, which begins in the middle of the first.
final class PullBeside: Sendable {
    private let path: String
    private let url: String
    private let hasBegun = Atomic<Bool>(false)
    private let failure = Mutex<StoreError.Code?>(nil)
    private let (waits, ends) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))

    init(_ path: String, _ url: String) { (self.path, self.url) = (path, url) }

    /// Begins it, once, and returns when it waits for the first.
    func begin() {
        guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
        Thread.detachNewThread { [self] in
            let found = code {
                let disk = FaultyFileSystem()
                // It has tried once, and tries again.
                disk.on(.after, .lock, path: "/.fetch-", occurrence: 2) { self.waits.signal() }
                let versions = try VersionStore.open(
                    path, options: StoreOptions(isDurable: false), fileSystem: disk)
                let options = PullingFixture.options.with { $0.destination = .kept }
                _ = try Pull(into: versions, over: PullingFixture.transport(), options).run(url)
            }
            failure.withLock { $0 = found }
            // One that has not waited must not keep the first for ever.
            waits.signal()
            ends.signal()
        }
        waits.wait()
    }

    func end() -> StoreError.Code? {
        ends.wait()
        return failure.withLock { $0 }
    }
}
