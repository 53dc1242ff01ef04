import ProgramTestSupport

/// What a program asks of the kernel, as `Tests/CallCounter` counts it: in the order of its `kinds.h`.
enum SystemCall: Int, CaseIterable, CustomStringConvertible {
    case opens, stats, reads, writes, links, renames, removals, directories, lists, syncs
    case connections, receipts, sends

    var description: String {
        switch self {
        case .opens: "opens of files and directories"
        case .stats: "looks at files (stat, access)"
        case .reads: "reads of files"
        case .writes: "writes to files"
        case .links: "links and clones"
        case .renames: "renames"
        case .removals: "removals of names"
        case .directories: "directories made"
        case .lists: "reads of directories"
        case .syncs: "waits for the disk (fsync, fdatasync, syncfs)"
        case .connections: "connections asked for"
        case .receipts: "reads from sockets"
        case .sends: "writes to sockets"
        }
    }
}

/// How often each was asked for.
typealias Counts = [SystemCall: Int]

/// Counts what programs ask for from now on, while they run and after.
final class CallCounter {
    private let file: URL
    static let library = ProgramUnderTest.castree.url.deletingLastPathComponent()
        .appending(path: "libCallCounter.so")

    init(in directory: URL) throws {
        // Without it the programs would run uncounted.
        try require(
            FileManager.default.fileExists(atPath: Self.library.path),
            "libCallCounter.so is not beside castree: swift build --build-tests makes it")
        file = directory.appending(path: ".counts-\(UUID().uuidString)")
        try Data(count: SystemCall.allCases.count * MemoryLayout<UInt64>.size).write(to: file)
    }

    /// Makes a program be counted.
    ///
    /// Its wall clock is a minute ahead: files that were written just now are then old enough to be trusted
    /// by their time stamps, so that nothing depends on how quick the machine is. And Swift's runtime does not look for
    /// its own program, in places that depend on how ours was linked.
    var environment: [String: String] {
        [
            "LD_PRELOAD": Self.library.path, "CASTREE_COUNTS": file.path, "CASTREE_PROCESSORS": "2",
            "CASTREE_CLOCK_AHEAD": "60", "SWIFT_BACKTRACE": "enable=no,swift-backtrace=/dev/null",
        ]
    }

    func counts() throws -> Counts {
        let bytes = try Data(contentsOf: file)
        return bytes.withUnsafeBytes { raw in
            var counts = Counts()
            for call in SystemCall.allCases {
                let offset = call.rawValue * MemoryLayout<UInt64>.size
                counts[call] = Int(raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
            return counts
        }
    }

    /// What the body makes programs ask for.
    func counted(_ body: () throws -> Void) throws -> Counts {
        let before = try counts()
        try body()
        return try counts().merging(before) { $0 - $1 }
    }
}
