import SocketTestSupport
import StorageTestSupport

// Files at the edges of the buffer, files without an end in sight, files that change.

@Suite struct ImportChangingTests {
    // The import reads 256 KiB at a time.
    @Test(arguments: [0, 1, 262_143, 262_144, 262_145, 524_287, 524_288, 524_289, 1_000_000])
    func `keeps every byte of a file around the size of the buffer`(_ size: Int) throws {
        let temporary = try TemporaryStore()
        let source = temporary.directory.appending("source")
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        try writeFile(source + "/file", bytes)
        try writeFile(source + "/copy", bytes)
        let report = try temporary.versions.add(directory: source, version: "1")
        expect(report.newObjects, equals: 1)
        expect(report.newBytes, equals: Int64(size))
        expect(report.bytes, equals: Int64(size) * 2)
        try expect(contents(temporary.tree("1")), equals: contents(source))
        try expect(temporary.versions.manifest(of: "1")[0].address, equals: address(of: bytes))
        try expect(snapshot(temporary.path + "/staging").isEmpty)
        try temporary.expectClean()
    }

    private var peakBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(whereSeparator: { !$0.isNumber }).first).flatMap { Int($0) }.map {
            $0 << 10
        } ?? 0
    }

    @Test func `takes a sparse file of one GiB in constant memory`() throws {
        let temporary = try TemporaryStore()
        let source = temporary.directory.appending("source")
        try writeFile(source + "/sparse", "head")
        expect(truncate(source + "/sparse", 1 << 30), equals: 0)
        try expect(temporary.versions.add(directory: source, version: "1").bytes, equals: 1 << 30)
        try expect(status(temporary.tree("1") + "/sparse")?.byteCount, equals: 1 << 30)
        // The whole process is measured, and a sanitizer multiplies what its other tests take.
        expect(Sanitizer.isPresent || peakBytes < 1 << 30)
    }

    @Test func `never stores a mismatch of a file that grows all the time`() throws {
        let temporary = try TemporaryStore()
        let source = temporary.directory.appending("source")
        try writeFile(source + "/log", "begin\n")
        try writeFile(source + "/still", "still")
        let isDone = Shared(false)
        let path = source + "/log"
        // Nobody waits for the end of what does not end.
        let versions = try VersionStore.open(
            temporary.path,
            options: StoreOptions(
                isDurable: false, reservedByteCount: 1 << 20, waitLimit: .milliseconds(20)))
        try together([
            {
                let file = open(path, O_WRONLY | O_APPEND)
                let line = Array("another line of a log that grows\n".utf8)
                while !isDone.with({ $0 }) { _ = write(file, line, line.count) }
                close(file)
            },
            {
                defer { isDone.with { $0 = true } }
                for round in 0..<8 {
                    do throws(StoreError) {
                        _ = try versions.add(directory: source, version: "\(round)")
                    } catch {
                        guard error.code == .changedWhileRead else { throw error }
                    }
                }
            },
        ])
        for row in try versions.versions() {
            for entry in try versions.manifest(of: row.version).entries {
                let shown = try readBytes(
                    temporary.tree(row.version) + "/" + entry.path.description)
                try expect(address(of: shown), equals: entry.address)
                expect(Int64(shown.count), equals: entry.byteCount)
            }
        }
        try temporary.expectClean()
    }

    /// What somebody does to `d/file` between the look at the directory and the look at the file.
    private static let changes: [String: @Sendable (String) -> Void] = [
        "grows": { path in try? writeFile(path + "/d/file", "more than before") },
        "shrinks": { path in truncate(path + "/d/file", 2) },
        "changes in place": { path in try? writeFile(path + "/d/file", "BEFORE") },
        "becomes a socket": { path in
            unlink(path + "/d/file")
            #expect(throws: Never.self) { try TestSocket.leave(at: path + "/d/file") }
        },
        "vanishes": { path in unlink(path + "/d/file") },
        "becomes a fifo": { path in
            unlink(path + "/d/file")
            mkfifo(path + "/d/file", 0o644)
        },
        "becomes a directory": { path in
            unlink(path + "/d/file")
            mkdir(path + "/d/file", 0o755)
        },
        "becomes a link": { path in
            unlink(path + "/d/file")
            symlink("/etc/passwd", path + "/d/file")
        },
        "has its directory swapped for a link": { path in
            rename(path + "/d", path + "/../d")
            mkdir(path + "/../outside", 0o755)
            try? writeFile(path + "/../outside/file", "a secret of others")
            symlink("../outside", path + "/d")
        },
    ]

    /// What somebody does to a file of which the first part has been read.
    private static let rewrites: [String: @Sendable (String) -> Void] = [
        "shrinks": { path in truncate(path, 300_000) },
        "grows": { path in
            let file = open(path, O_WRONLY | O_APPEND)
            _ = write(file, "more", 4)
            close(file)
        },
        "changes where it was read": { path in overwriteFirst(of: path, with: "X") },
        "is written over with what it says": { path in overwriteFirst(of: path, with: "0") },
    ]

    /// In place, and with a time of its own: clocks may be too coarse to tell.
    private static func overwriteFirst(of path: String, with text: String) {
        let file = open(path, O_WRONLY)
        _ = write(file, text, 1)
        close(file)
        var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1_000_000_000, tv_nsec: 0)]
        utimensat(AT_FDCWD, path, &times, 0)
    }

    @Test(arguments: rewrites.keys.sorted())
    func `stores a whole state, or refuses, when while it is read a file`(_ change: String) throws {
        let temporary = try TemporaryStore()
        let source = temporary.directory.appending("source")
        let before = [UInt8](repeating: 48, count: 1_000_000)
        try writeFile(source + "/file", before)
        let act = try require(Self.rewrites[change])
        let reads = Shared(0)
        let disk = InterposedFileSystem { verb, _ in
            guard verb == "read",
                reads.with({
                    $0 += 1; return $0
                }) == 3
            else { return }
            act(source + "/file")
        }
        let versions = try temporary.opened(on: disk)
        do {
            _ = try versions.add(directory: source, version: "1")
            let shown = try readBytes(temporary.tree("1") + "/file")
            let after = try readBytes(source + "/file")
            expect(shown == before || shown == after, "\(shown.count) bytes of neither")
        } catch let error as StoreError {
            expect(error.code, equals: .changedWhileRead, "\(error)")
            expect(error.message.contains("file"))
            try expect(versions.versions().isEmpty)
        }
        expect(reads.with { $0 } >= 3)
        try temporary.expectClean()
    }

    @Test(arguments: changes.keys.sorted())
    func `stores a state that was there, or refuses, when a file`(_ change: String) throws {
        let temporary = try TemporaryStore()
        let source = temporary.directory.appending("source")
        try writeFile(source + "/d/file", "before")
        try writeFile(source + "/still", "still")
        let act = try require(Self.changes[change])
        let hasActed = Shared(false)
        // The directory is listed; the file is about to be opened.
        let disk = InterposedFileSystem { verb, path in
            guard verb == "open", path == "d/file" || path == "file" else { return }
            if hasActed.with({ acted in
                defer { acted = true }; return acted
            }) {
                return
            }
            act(source)
        }
        let versions = try temporary.opened(on: disk)
        do {
            _ = try versions.add(directory: source, version: "1")
            let shown = try readTree(temporary.tree("1"))
            let states = ["before", "more than before", "be", "BEFORE"]
            expect(states.contains { $0 == shown["d/file"] }, "\(shown)")
        } catch let error as StoreError {
            expect(
                [.unsupportedFile, .changedWhileRead, .notFound, .io].contains(error.code),
                "\(error)")
            expect(error.message.contains("file"))
            try expect(versions.versions().isEmpty)
        }
        expect(hasActed.with { $0 })
        try expect(snapshot(temporary.path + "/staging").isEmpty)
        try temporary.expectClean()
    }
}
