import StorageTestSupport

// The stat cache: a file is believed unchanged only when a change would show.

@Suite struct StatCacheTests {
    private func state(modified: Int64, changed: Int64) throws -> FileStatus {
        let temporary = TemporaryDirectory()
        try writeFile(temporary.appending("f"), "x")
        var status = try require(try status(temporary.appending("f")))
        status.modifiedAt = modified
        status.changedAt = changed
        return status
    }

    private let second: Int64 = 1_000_000_000

    @Test func `holds a state racy that a change right after the look could leave as it is`() throws
    {
        let now = 1_700_000_000 * second + 500_000_001
        try expect(state(modified: now, changed: now).isRacy(at: now))
        try expect(state(modified: now - 9_999_999, changed: now - 9_999_999).isRacy(at: now))
        try expect(!state(modified: now - second, changed: now - second).isRacy(at: now))
        // An old time that somebody set says nothing; the time of the inode does.
        try expect(state(modified: now - 3600 * second - 1, changed: now).isRacy(at: now))
        // A clock that went back, and files from the future.
        try expect(state(modified: now + 3600 * second, changed: now - second).isRacy(at: now))
    }

    @Test func `gives file systems with whole seconds two of them`() throws {
        let now = 1_700_000_000 * second + 500_000_001
        let whole = 1_700_000_000 * second
        try expect(state(modified: whole, changed: whole).isRacy(at: now))
        try expect(state(modified: whole - second, changed: whole - second).isRacy(at: now))
        try expect(
            !state(modified: whole - 10 * second, changed: whole - 10 * second).isRacy(at: now))
    }

    /// Waits until the clock of the file system has left a file's last change behind.
    private func age(_ path: String) throws {
        let state = try require(try status(path))
        var now = timespec()
        repeat {
            clock_gettime(CLOCK_REALTIME, &now)
        } while state.isRacy(at: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec))
    }

    private func setTimes(_ path: String, _ time: Int) {
        var times = [
            timespec(tv_sec: time, tv_nsec: 123_456_789),
            timespec(tv_sec: time, tv_nsec: 123_456_789),
        ]
        expect(utimensat(AT_FDCWD, path, &times, 0), equals: 0)
    }

    /// A store that has a directory's only file, `f`, as version 1, and the directory.
    private func added(at time: Int? = nil) throws -> (TemporaryStore, source: String) {
        let temporary = try TemporaryStore(onDisk: true)
        let source = temporary.directory.appending("source")
        try writeFile(source + "/f", "content")
        if let time { setTimes(source + "/f", time) }
        try age(source + "/f")
        _ = try temporary.versions.add(directory: source, version: "1")
        return (temporary, source)
    }

    private func reads(_ store: TemporaryStore, _ source: String, _ version: String) throws -> Int {
        let total = Shared(0)
        var options = AddOptions()
        options.progress = { progress in total.with { $0 = progress.filesTotal } }
        _ = try store.versions.add(directory: source, version: version, options: options)
        return total.with { $0 }
    }

    @Test(.enabled(if: SourcePlace.isCached, "\(SourcePlace.why)"))
    func `reads an unchanged file once`() throws {
        let temporary = try TemporaryStore(onDisk: true)
        let source = temporary.directory.appending("source")
        try writeFile(source + "/f", "content")
        try age(source + "/f")
        try expect(reads(temporary, source, "1"), equals: 1)
        try expect(reads(temporary, source, "2"), equals: 0)
        try expect(readTree(temporary.tree("2")), equals: ["f": "content"])
        var options = AddOptions()
        options.usesCache = false
        let total = Shared(0)
        options.progress = { progress in total.with { $0 = progress.filesTotal } }
        _ = try temporary.versions.add(directory: source, version: "3", options: options)
        expect(total.with { $0 }, equals: 1)
    }

    @Test func `notices other content under the same size and time`() throws {
        let (temporary, source) = try added(at: 1_600_000_000)
        let before = try require(try status(source + "/f"))
        let file = open(source + "/f", O_WRONLY)
        pwrite(file, "CONTENT", 7, 0)
        close(file)
        setTimes(source + "/f", 1_600_000_000)
        let after = try require(try status(source + "/f"))
        expect(before.modifiedAt == after.modifiedAt && before.byteCount == after.byteCount)
        expect(before.inode, equals: after.inode)
        _ = try temporary.versions.add(directory: source, version: "2")
        try expect(readTree(temporary.tree("2")), equals: ["f": "CONTENT"])
        try expect(readTree(temporary.tree("1")), equals: ["f": "content"])
    }

    @Test func `notices a file that is replaced by another`() throws {
        let (temporary, source) = try added(at: 1_600_000_000)
        try writeFile(source + "/g", "CONTENT")
        setTimes(source + "/g", 1_600_000_000)
        rename(source + "/g", source + "/f")
        _ = try temporary.versions.add(directory: source, version: "2")
        try expect(readTree(temporary.tree("2")), equals: ["f": "CONTENT"])
    }

    @Test func `notices a new executable bit`() throws {
        let (temporary, source) = try added()
        chmod(source + "/f", 0o755)
        try age(source + "/f")
        _ = try temporary.versions.add(directory: source, version: "2")
        try expect(status(temporary.tree("2") + "/f")?.mode, equals: 0o555)
        try expect(status(temporary.tree("1") + "/f")?.mode, equals: 0o444)
    }

    // "Adding the same content again … brings back what was lost of it."
    @Test func `brings back an object that is gone though the cache knows the file`() throws {
        let (temporary, source) = try added()
        unlink(try temporary.objectPath(address(of: "content")))
        _ = try temporary.versions.add(directory: source, version: "2")
        try expect(readTree(temporary.tree("2")), equals: ["f": "content"])
        // The older tree has a file of its own by now; a repair joins it.
        try expect(
            temporary.reopened().check(repairing: true).findings.map(\.kind),
            equals: [.copiedInTree])
        try temporary.expectClean()
    }

    @Test func `reads again what was collected in between`() throws {
        let (temporary, source) = try added()
        try temporary.versions.retire("1")
        try expect(temporary.versions.store.collect().objectCount, equals: 1)
        _ = try temporary.versions.add(directory: source, version: "2")
        try expect(readTree(temporary.tree("2")), equals: ["f": "content"])
        try temporary.expectClean()
    }

    @Test func `never takes a file for what came after its object was collected`() throws {
        let temporary = try TemporaryStore(onDisk: true)
        let (source, other) = (
            temporary.directory.appending("source"), temporary.directory.appending("other")
        )
        try writeFile(source + "/f", "content")
        try writeFile(other + "/f", "another")
        try age(source + "/f")
        _ = try temporary.versions.add(directory: source, version: "1")
        try temporary.versions.retire("1")
        try expect(temporary.versions.store.collect().objectCount, equals: 1)
        // Whatever number the index gives to the next object.
        _ = try temporary.versions.add(directory: other, version: "2")
        _ = try temporary.versions.add(directory: source, version: "3")
        try expect(readTree(temporary.tree("3")), equals: ["f": "content"])
        try expect(readTree(temporary.tree("2")), equals: ["f": "another"])
        try temporary.expectClean()
    }
}
