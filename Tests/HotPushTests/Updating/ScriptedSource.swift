import HotPush
import StorageTestSupport

/// An origin that answers as a test says, and puts content into the store without a network.
final class ScriptedSource: UpdateSource {
    enum Answer: Sendable {
        case release(Release)
        case unchanged
        case failure(StoreError)
    }

    private struct State {
        /// Each is given once; the last one again and again.
        var answers: [Answer] = []
        var contents: [String: [String: String]] = [:]
        var downloadFailures: [StoreError] = []
        var checkCount = 0
        var downloads: [String] = []
        var newBytes: Int64 = 0
    }

    let origin = "https://user:secret@example.org/app?token=1"
    let store: TemporaryStore
    /// Where a check and a download wait, if a test closes them.
    let checkGate = Gate()
    let downloadGate = Gate()
    private let state = Mutex(State())

    init(_ store: TemporaryStore) { self.store = store }

    var checkCount: Int { state.withLock { $0.checkCount } }
    var downloads: [String] { state.withLock { $0.downloads } }
    /// Bytes that the store was missing.
    var newBytes: Int64 { state.withLock { $0.newBytes } }

    func answer(_ answers: Answer...) { state.withLock { $0.answers = answers } }

    /// Makes the next downloads fail.
    func failDownloads(_ errors: StoreError...) { state.withLock { $0.downloadFailures = errors } }

    /// A release that it can deliver.
    /// - Parameter saysAddresses: `false` for a format without digests of content.
    func release(
        _ version: String, _ files: [String: String], saysAddresses: Bool = true
    ) throws -> Release {
        var release = Release(
            family: "scripted/1", version: try VersionName(version), trust: .digest, received: [])
        for (path, text) in files.sorted(by: { $0.key < $1.key }) {
            var hasher = try ObjectHasher()
            hasher.update(Array(text.utf8).span.bytes)
            let address = hasher.finish().address
            release.files.append(
                ReleaseFile(
                    path: try TreePath(path), address: saysAddresses ? address : nil,
                    byteCount: saysAddresses ? Int64(text.utf8.count) : nil))
        }
        state.withLock { $0.contents[version] = files }
        return release
    }

    func check() async throws(StoreError) -> Release? {
        state.withLock { $0.checkCount += 1 }
        try await checkGate.pass()
        let answer = state.withLock { state in
            state.answers.count > 1 ? state.answers.removeFirst() : state.answers.first
        }
        switch answer {
        case .release(let release): return release
        case .failure(let error): throw error
        case .unchanged, nil: return nil
        }
    }

    func plan(_ release: Release) async throws(StoreError) -> UpdateCost {
        var cost = UpdateCost()
        for file in release.files {
            let isHere = try file.address.map { (address) throws(StoreError) in
                try store.versions.store.contains(address)
            }
            if isHere == true {
                cost.reusedFiles += 1
                cost.reusedBytes += file.byteCount ?? 0
            } else {
                cost.files += 1
                cost.bytes += file.byteCount ?? 0
            }
        }
        return cost
    }

    func download(
        _ release: Release, progress: @escaping @Sendable (UpdateProgress) -> Void
    ) async throws(StoreError) -> DownloadFigures {
        let name = release.version.description
        let failure = state.withLock { state -> StoreError? in
            state.downloads.append(name)
            return state.downloadFailures.isEmpty ? nil : state.downloadFailures.removeFirst()
        }
        let files = state.withLock { $0.contents[name] ?? [:] }
        var figures = DownloadFigures()
        for count in 1...files.count {
            figures.requests = count
            progress(UpdateProgress(figures: figures, filesTotal: files.count, bytesTotal: 0))
            if count == 1 { try await downloadGate.pass() }
        }
        if let failure { throw failure }
        let directory = store.directory.appending("origin-\(UUID().uuidString)")
        do {
            try writeTree(directory, files)
        } catch {
            throw StoreError(.io, "\(error)")
        }
        var options = AddOptions()
        if let member = ReleaseTerms(of: release).member { options.foreign.append(member) }
        let report = try store.versions.add(directory: directory, version: name, options: options)
        state.withLock { $0.newBytes += report.newBytes }
        figures.files = report.newObjects
        figures.bytes = report.newBytes
        return figures
    }
}

/// A place that lets tasks through, or holds them up until it is opened or they are cancelled.
final class Gate: Sendable {
    private struct State {
        var isClosed = false
        var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
        var watchers: [CheckedContinuation<Void, Never>] = []
        var count = 0
    }

    private let state = Mutex(State())

    func close() { state.withLock { $0.isClosed = true } }

    func open() {
        let waiting = state.withLock { state in
            state.isClosed = false
            defer { state.waiting = [:] }
            return state.waiting.values.map { $0 }
        }
        for continuation in waiting { continuation.resume(returning: true) }
    }

    /// Waits until somebody stands before the closed gate.
    func reached() async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if state.waiting.isEmpty { state.watchers.append(continuation) }
                return !state.waiting.isEmpty
            }
            if isReached { continuation.resume() }
        }
    }

    func pass() async throws(StoreError) {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let isOpen = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (answer, watchers) = state.withLock {
                    state -> (Bool?, [CheckedContinuation<Void, Never>]) in
                    if !state.isClosed { return (true, []) }
                    if Task.isCancelled { return (false, []) }
                    state.waiting[number] = continuation
                    defer { state.watchers = [] }
                    return (nil, state.watchers)
                }
                for watcher in watchers { watcher.resume() }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: false)
        }
        if !isOpen || Task.isCancelled { throw StoreError(.interrupted, "stopped by the test") }
    }
}

final class ManualClock: UpdateClock {
    private struct State {
        var now = Duration.seconds(1000)
        var count = 0
        var sleepers: [Int: (deadline: Duration, continuation: CheckedContinuation<Void, Never>)] =
            [:]
    }

    private let state = Mutex(State())

    var now: Duration { state.withLock { $0.now } }

    func advance(by duration: Duration) {
        let awake = state.withLock { state in
            state.now += duration
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in awake { continuation.resume() }
    }

    func sleep(until deadline: Duration) async throws {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.now >= deadline || Task.isCancelled { return true }
                    state.sleepers[number] = (deadline, continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation.resume()
        }
        try Task.checkCancellation()
    }
}

/// Reads the events of a manager one after the other.
final class EventReader {
    private var iterator: AsyncStream<UpdateEvent>.Iterator

    init(_ manager: UpdateManager) { iterator = manager.events().makeAsyncIterator() }

    /// The events up to and with the first that fulfils a condition.
    func read(until condition: (UpdateEvent) -> Bool) async -> [UpdateEvent] {
        var events: [UpdateEvent] = []
        while let event = await iterator.next(isolation: #isolation) {
            events.append(event)
            if condition(event) { break }
        }
        return events
    }

    func next(where condition: (UpdateEvent) -> Bool) async -> UpdateEvent? {
        await read(until: condition).last
    }
}
