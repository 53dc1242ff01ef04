import StorageTestSupport

@testable import CASStore

/// Calls that block, made from `async` code.
@Suite("A blocking call", .timeLimit(.minutes(60))) struct BlockingCallsTests {
    /// More than Swift has threads for tasks.
    private let many = 2 * ProcessInfo.processInfo.activeProcessorCount + 1

    @Test func `stops no task, however many wait at once`() async throws {
        let begunCount = Monitor(0)
        let many = many
        let answers = await withTaskGroup { group in
            for index in 0..<many {
                group.addTask {
                    // It does not throw.
                    try? await Blocking.perform { () throws(StoreError) in
                        begunCount.change { $0 += 1 }
                        begunCount.wait(until: { $0 == many }) { _ in }
                        return index
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        expect(Set(answers), equals: Set(0..<many))
    }

    @Test func `gives its result or its error as it is`() async throws {
        try await expect(Blocking.perform { 7 }, equals: 7)
        await #expect { () async throws in
            try await Blocking.perform { () throws(StoreError) in throw StoreError.noVersion("7") }
        } throws: { .noVersion ~= $0 }
        expect(!Blocking.isCancelled)
    }

    @Test func `learns that its task was cancelled, and so do the threads that work for it`()
        async throws
    {
        let seenCount = Monitor(0)
        let work = Task {
            try await Blocking.perform { () throws(StoreError) in
                try Parallel.run(workers: 3, count: 3, chunk: 1) { counter throws(StoreError) in
                    guard counter.nextChunk() != nil else { return }
                    seenCount.change { $0 += 1 }
                    while !Blocking.isCancelled { sched_yield() }
                }
                let joined = Parallel.begin {
                    if Blocking.isCancelled { seenCount.change { $0 += 1 } }
                }
                joined.wait()
                return Blocking.isCancelled
            }
        }
        while seenCount.change({ $0 }) < 3 { await Task.yield() }
        work.cancel()
        try await expect(work.value)
        expect(seenCount.change { $0 }, equals: 4)
    }

    @Test func `of a store stops with interrupted, and nothing is lost`() async throws {
        let temporary = try TemporaryStore()
        let address = try temporary.put("content")
        let versions = try temporary.reopened()
        let outcome = await cancelled { () throws(StoreError) in
            _ = try versions.check(CheckOptions())
        }
        #expect { try outcome.get() } throws: { .interrupted ~= $0 }
        try await expect(
            Blocking.perform { () throws(StoreError) in try versions.store.contains(address) })
    }

    @Test func `reports its progress until it ends, the newest to a late reader`() async throws {
        let read = Monitor(0)
        let work = BlockingTask { (report: @Sendable (Int) -> Void) throws(StoreError) in
            for step in 1...2 {
                report(step)
                read.wait(until: { $0 == step }) { _ in }
            }
            for step in 3...1000 { report(step) }
            return "done"
        }
        var seen: [Int] = []
        for await step in work.progress {
            if seen.isEmpty { expect(step == 1) }
            seen.append(step)
            read.change { $0 = step }
        }
        expect(seen.prefix(2) == [1, 2] && seen.last == 1000, "\(seen)")
        try await expect(work.value, equals: "done")
    }

    @Test(arguments: [false, true])
    func `ends with the task that waits for it, or on request`(_ isAsked: Bool) async throws {
        let work = BlockingTask { (report: @Sendable (Int) -> Void) throws(StoreError) in
            report(1)
            while !Blocking.isCancelled { sched_yield() }
            throw StoreError.interruption
        }
        let waiting = Task { try await work.value }
        for await _ in work.progress {
            if isAsked { work.cancel() } else { waiting.cancel() }
        }
        let outcome = await waiting.result
        #expect { try outcome.get() } throws: { .interrupted ~= $0 }
    }
}
