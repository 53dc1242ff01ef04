import StorageTestSupport

#if os(Linux)
    /// What lies below the seam of the other suites: a call that a signal interrupts is made again, and what
    /// a write left over is written.
    ///
    /// `callfault` answers for the kernel: EINTR without having done anything, or half a write and its
    /// length. Nobody may notice. Where it cannot (no seccomp) that is said, and nothing is tried.
    @Suite("A program whose system calls are interrupted or half done", .serialized)
    struct InterruptedCallTests {
        /// A command, and what is there before it.
        enum Work: String, CaseIterable, Sendable { case initialize, add, retire }

        /// All that the manual pages, or file systems in user space and of a network, may interrupt; first
        /// those that every one of the commands makes.
        static let calls = [
            "openat", "pread64", "write", "flock", "newfstatat", "unlinkat", "fsync", "pwrite64",
            "getdents64", "openat2", "fchmod", "fallocate", "ftruncate", "fdatasync", "syncfs",
            "linkat", "renameat", "renameat2", "mkdirat", "symlinkat", "readlinkat", "fcntl",
            "fstat",
        ]
        static let looks = ["newfstatat", "fstat"]
        static let ours = ["/app/", "/objects", "/manifests", "/versions", "/leases", "/FORMAT"]
        static let largest = TestShare.isWhole ? 4 : 2

        private let place = FileManager.default.temporaryDirectory
            .appending(path: "castree-interrupted-\(UUID().uuidString)").path
        private var store: String { place + "/store" }
        private var files: [String: Data] {
            [
                "index.html": Data("a page".utf8), "empty": Data(),
                "lib/large": Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }),
            ]
        }

        private func arguments(_ work: Work) -> [String] {
            switch work {
            case .initialize: ["init", "--store", store]
            case .add: ["add", place + "/app", "--version", "1", "--activate", "--store", store]
            case .retire: ["retire", "1", "--store", store]
            }
        }

        private func castree(_ arguments: [String]) throws {
            let (status, output) = try Programs.run("castree", arguments)
            try require(status == 0, "\(arguments): \(output)")
        }

        private func prepare(_ work: Work) throws {
            let manager = FileManager.default
            if manager.fileExists(atPath: place) { try removeAll() }
            for (path, bytes) in files {
                let file = URL(filePath: place + "/app/" + path)
                try manager.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try bytes.write(to: file)
            }
            if work == .initialize { return }
            try castree(arguments(.initialize))
            if work == .add { return }
            try castree(["add", place + "/app", "--version", "1", "--store", store])
        }

        private func removeAll() throws {
            // Trees are not writable.
            _ = try OtherProgram("sh", "-c", "chmod -R u+w '\(place)'; rm -rf '\(place)'")
        }

        /// Runs a command with a fault, or with none; at which positions it made such calls, and whether the
        /// fault was met.
        private func run(
            _ work: Work, _ call: String, _ fault: (name: String, position: Int)?
        ) throws -> (status: Int32, calls: [Int], isMet: Bool, output: String) {
            let report = place + "/report"
            let log = place + "/log"
            var words = ["--report", report, "--log", log, "--under", place, "--calls", call]
            if let fault { words += ["--at", "\(fault.position)", "--do", fault.name] }
            words += ["--", Programs.directory + "/castree"] + arguments(work)
            let (status, output) = try Programs.run("callfault", words)
            let text = (try? String(contentsOfFile: report, encoding: .utf8)) ?? ""
            var fields: [Substring: Int] = [:]
            for field in text.split(whereSeparator: \.isWhitespace) {
                let parts = field.split(separator: "=")
                if parts.count == 2 { fields[parts[0]] = Int(parts[1]) }
            }
            // SQLite examines its files itself, and all directories above them, and takes what stat(2)
            // says as it is.
            let made = ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")
                .split(separator: "\n").filter { line in
                    !line.contains("/index.sqlite-journal")
                        && (!Self.looks.contains(call)
                            || Self.ours.contains { line.contains($0) })
                }
            let calls = made.compactMap { Int($0.prefix { $0 != " " }) }
            return (status, calls, fields["acted"] == 1, output)
        }

        private func isDone(_ work: Work) throws -> Bool {
            switch work {
            case .initialize: try castree(["versions", "--store", store])
            case .add:
                for (path, bytes) in files {
                    let shown = URL(filePath: store + "/current/" + path)
                    guard try Data(contentsOf: shown) == bytes else { return false }
                }
            case .retire:
                return !FileManager.default.fileExists(atPath: store + "/manifests/1.json")
            }
            return true
        }

        @Test(arguments: TestShare(oneIn: 3, of: "interrupted calls").of(Work.allCases))
        func `does what it is asked to, as if nothing had been`(_ work: Work) throws {
            defer { try? removeAll() }
            var counts: [String: Int] = [:]
            for call in Self.calls {
                for fault in ["write", "pwrite64"].contains(call) ? ["EINTR", "short"] : ["EINTR"] {
                    try prepare(work)
                    let whole = try run(work, call, nil)
                    if whole.status == 125 {
                        print("interrupted calls: NOTHING WAS RUN: \(whole.output)")
                        return
                    }
                    expect(whole.status, equals: 0, "\(whole.output)")
                    // The first, the last, and some between.
                    let count = min(whole.calls.count, Self.largest)
                    for number in 0..<count {
                        let position =
                            whole.calls[number * (whole.calls.count - 1) / max(1, count - 1)]
                        try prepare(work)
                        let (status, _, isMet, output) = try run(work, call, (fault, position))
                        // A write of one byte has no half.
                        if fault == "EINTR" { expect(isMet, "\(call) \(position)") }
                        if isMet { counts["\(call) \(fault)", default: 0] += 1 }
                        let what = "\(work): \(fault) at \(call) \(position)"
                        expect(status, equals: 0, "\(what): \(output)")
                        try expect(isDone(work), "\(what) was taken for done")
                    }
                    if count > 0 { try castree(["fsck", "--deep", "--store", store]) }
                }
            }
            for call in Self.calls.prefix(5) {
                expect(counts["\(call) EINTR", default: 0] > 0, "no \(call) was interrupted")
            }
            expect(counts.keys.contains { $0.hasSuffix("short") })
            let figures = counts.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
            print("interrupted calls, \(work): \(figures.joined(separator: ", "))")
        }
    }
#endif
