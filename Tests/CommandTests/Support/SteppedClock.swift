import Expectations

/// The wall clock of programs that a test starts, which somebody sets while they run.
///
/// `Tests/CallCounter` stands before the C library's clock. What counts the time that passes is left alone, as it is where
/// a clock is set.
final class SteppedClock {
    private let file: URL

    /// - Parameter time: what it says first, in seconds since 1970.
    init(in directory: URL, at time: Int64) throws {
        try require(
            FileManager.default.fileExists(atPath: CallCounter.library.path),
            "libCallCounter.so is not beside castree: swift build --build-tests makes it")
        file = directory.appending(path: ".clock-\(UUID().uuidString)")
        try Data(count: 8).write(to: file)
        try set(time)
    }

    /// Makes a program go by it.
    var environment: [String: String] {
        ["LD_PRELOAD": CallCounter.library.path, "CASTREE_CLOCK_FILE": file.path]
    }

    func set(_ time: Int64) throws {
        var ahead = time - Int64(Date().timeIntervalSince1970)
        // In place: the programs have the file mapped.
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data(bytes: &ahead, count: 8))
        try handle.close()
    }
}
