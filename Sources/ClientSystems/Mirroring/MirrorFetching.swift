import CASStore
import Synchronization

/// Fetches files on threads of its own, each once, however many wait for it.
///
/// What some release lists goes before what only a request names: strangers can ask for anything. A thread ends when
/// nothing is left.
final class MirrorFetching: Sendable {
    private struct Job: Sendable {
        var waiting: [MirrorErrand]
    }

    private struct State: Sendable {
        /// By the files where they are asked for: elsewhere the same file may not be there.
        var jobs: [PlacedFile: Job] = [:]
        var listed = Line()
        var strays = Line()
        var threadCount = 0
        var strayCount = 0
    }

    /// Files in the order in which they were asked for.
    private struct Line: Sendable {
        private var files: [PlacedFile] = []
        private var head = 0

        var isEmpty: Bool { head == files.count }

        mutating func append(_ file: PlacedFile) { files.append(file) }

        mutating func next() -> PlacedFile? {
            guard !isEmpty else { return nil }
            defer {
                head += 1
                // Strangers can keep a line from ever being empty.
                if head * 2 >= files.count {
                    files.removeFirst(head)
                    head = 0
                }
            }
            return files[head]
        }
    }

    /// So many threads fetch what no release lists.
    private static let strayThreadMax = 2
    /// The largest archive and some more, in about 10 MB of memory; who comes then is told to come back.
    private static let jobCountMax = 70_000

    private let threadMax: Int
    private let fetch: @Sendable (PlacedFile, _ isListed: Bool) -> StoreError?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - threadMax: so many files at once.
    ///   - fetch: fetches a file, and says why it cannot.
    init(
        threadMax: Int,
        fetch: @escaping @Sendable (PlacedFile, _ isListed: Bool) -> StoreError?
    ) {
        self.threadMax = max(threadMax, 1)
        self.fetch = fetch
    }

    /// Fetches files for an errand, which counts each of them.
    /// - Returns: `false` if too much waits already.
    func add(_ files: [PlacedFile], areListed: Bool, for errand: MirrorErrand) -> Bool {
        let (isTaken, threads) = state.withLock { state -> (Bool, Int) in
            guard state.jobs.count + files.count <= Self.jobCountMax else { return (false, 0) }
            var news = 0
            for file in files {
                if state.jobs[file] != nil {
                    state.jobs[file]?.waiting.append(errand)
                    continue
                }
                state.jobs[file] = Job(waiting: [errand])
                if areListed {
                    state.listed.append(file)
                } else {
                    state.strays.append(file)
                }
                news += 1
            }
            let threads = min(news, threadMax - state.threadCount)
            state.threadCount += threads
            return (true, threads)
        }
        for _ in 0..<threads {
            // If no thread can be started, this one does the work: late is better than never.
            Parallel.detach { self.work() }
        }
        return isTaken
    }

    private func work() {
        while let (file, isListed) = next() {
            var failure: StoreError?
            var waiting = leave(file, isListed, onlyIfUnwanted: true)
            let isWanted = waiting == nil
            if isWanted {
                failure = fetch(file, isListed)
                waiting = leave(file, isListed, onlyIfUnwanted: false)
            }
            for errand in waiting ?? [] { errand.end(failure, wasTried: isWanted) }
        }
    }

    /// Ends a job, and says who waits for it; `nil` if it is only to be ended if nobody wants it.
    ///
    /// Who has lost one file needs no other.
    private func leave(
        _ file: PlacedFile, _ isListed: Bool, onlyIfUnwanted: Bool
    ) -> [MirrorErrand]? {
        state.withLock { state in
            let waiting = state.jobs[file]?.waiting ?? []
            if onlyIfUnwanted, waiting.contains(where: { !$0.hasFailed }) { return nil }
            state.jobs[file] = nil
            if !isListed { state.strayCount -= 1 }
            return waiting
        }
    }

    private func next() -> (PlacedFile, isListed: Bool)? {
        state.withLock { state in
            if let file = state.listed.next() { return (file, true) }
            if state.strayCount < Self.strayThreadMax, let file = state.strays.next() {
                state.strayCount += 1
                return (file, false)
            }
            state.threadCount -= 1
            return nil
        }
    }
}

/// Files that somebody waits for: all of them, or the first failure.
final class MirrorErrand: Sendable {
    private let state: Mutex<(left: Int, failure: StoreError?)>
    private let then: @Sendable (StoreError?) -> Void

    /// - Parameter then: called once, when the last file has come or is given up.
    init(_ count: Int, then: @escaping @Sendable (StoreError?) -> Void) {
        state = Mutex((count, nil))
        self.then = then
    }

    var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// Counts a file.
    /// - Parameter wasTried: otherwise nobody fetched it, because all who waited had failed then.
    func end(_ failure: StoreError?, wasTried: Bool) {
        let outcome = state.withLock { state -> StoreError?? in
            state.left -= 1
            if state.failure == nil {
                state.failure =
                    failure
                    ?? (wasTried
                        ? nil : StoreError(.interrupted, "the request for it was given up"))
            }
            return state.left == 0 ? .some(state.failure) : nil
        }
        if let failure = outcome { then(failure) }
    }
}
