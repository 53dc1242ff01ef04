import StorageTestSupport

// An add that was asked to stop (SIGINT): what is staged is kept, and nothing else is there.

@Suite struct InterruptedAddTests {
    private let count = 400

    /// A source of files whose times are older than the clock's grain, so that the cache may know them.
    private func makeSource(_ temporary: TemporaryStore) throws -> String {
        let source = temporary.directory.appending("source")
        for index in 0..<count {
            try writeFile(source + "/d\(index % 7)/f\(index)", "content \(index)")
        }
        let last = try require(try status(source + "/d\((count - 1) % 7)/f\(count - 1)"))
        while last.isRacy(at: nanosecondsNow()) { sched_yield() }
        return source
    }

    /// Adds and is interrupted when some files were read; returns how many.
    private func interrupt(_ temporary: TemporaryStore, _ source: String) throws -> Int {
        let read = Shared(0)
        let versions = try VersionStore.open(
            temporary.path,
            options: StoreOptions(
                isDurable: false, reservedByteCount: 1 << 20,
                isInterrupted: { read.with { $0 > 100 } }))
        var options = AddOptions()
        options.progress = { progress in read.with { $0 = max($0, progress.files) } }
        expectRefusal(.interrupted) {
            try versions.add(directory: source, version: "1", options: options)
        }
        return read.with { $0 }
    }

    @Test(.enabled(if: SourcePlace.isCached, "\(SourcePlace.why)"))
    func `keeps what was read, and reads it no second time`() throws {
        let temporary = try TemporaryStore(onDisk: true)
        let source = try makeSource(temporary)
        let read = try interrupt(temporary, source)
        expect(read > 100 && read < count)
        try expect(temporary.versions.versions().isEmpty)
        try expect(snapshot(temporary.path + "/manifests").isEmpty)
        try expect(snapshot(temporary.path + "/versions").isEmpty)
        try expect(snapshot(temporary.path + "/staging").isEmpty)
        try expect(snapshot(temporary.path + "/objects").count >= read)
        try temporary.expectClean()

        let rest = Shared(Int.max)
        var options = AddOptions()
        options.progress = { progress in rest.with { $0 = progress.filesTotal } }
        let report = try temporary.reopened().add(directory: source, version: "1", options: options)
        expect(rest.with { $0 } <= count - read)
        expect(report.newObjects <= count - read)
        expect(report.files, equals: count)
        try expect(contents(temporary.tree("1")), equals: contents(source))
        try temporary.expectClean()
    }

    @Test func `loses nothing when what was kept is collected in between`() throws {
        let temporary = try TemporaryStore(onDisk: true)
        let source = try makeSource(temporary)
        let read = try interrupt(temporary, source)
        try expect(temporary.versions.store.collect().objectCount >= read)
        try expect(snapshot(temporary.path + "/objects").isEmpty)
        try temporary.expectClean()
        let report = try temporary.versions.add(directory: source, version: "1")
        expect(report.newObjects, equals: count)
        try expect(contents(temporary.tree("1")), equals: contents(source))
        try temporary.expectClean()
    }

    @Test func `takes what has changed in between as it is now`() throws {
        let temporary = try TemporaryStore(onDisk: true)
        let source = try makeSource(temporary)
        _ = try interrupt(temporary, source)
        for index in 0..<count where index % 3 == 0 {
            try writeFile(source + "/d\(index % 7)/f\(index)", "changed \(index)")
        }
        try temporary.versions.add(directory: source, version: "1")
        try expect(contents(temporary.tree("1")), equals: contents(source))
        try temporary.expectClean()
        _ = try temporary.versions.store.collect()
        try expect(snapshot(temporary.path + "/objects").count, equals: count)
    }

    @Test func `leaves no version when its task is cancelled, and can be repeated`() async throws {
        let temporary = try TemporaryStore(onDisk: true)
        let source = try makeSource(temporary)
        let versions = try temporary.reopened()
        let outcome = await cancelled { () throws(StoreError) in
            try versions.add(directory: source, version: "1")
        }
        #expect { try outcome.get() } throws: { .interrupted ~= $0 }
        try expect(versions.versions().isEmpty)
        let adding = BlockingTask { (report) throws(StoreError) in
            var options = AddOptions()
            options.progress = report
            return try versions.add(directory: source, version: "1", options: options)
        }
        var last: AddProgress?
        for await progress in adding.progress { last = progress }
        try await expect(adding.value.files, equals: count)
        expect(last?.files, equals: last?.filesTotal)
        try temporary.expectClean()
    }
}
