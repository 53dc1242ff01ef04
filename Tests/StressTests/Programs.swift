import Foundation

/// The built programs, run as a user runs them.
enum Programs {
    /// The directory of the built products: the test's own.
    static let directory: String = {
        let bundle = Bundle.allBundles.map(\.bundlePath).first { $0.hasSuffix(".xctest") }
        let path = bundle ?? CommandLine.arguments[0]
        return (path as NSString).deletingLastPathComponent
    }()

    /// A program on its way.
    final class Run {
        let process = Process()
        private let output = FileManager.default.temporaryDirectory
            .appending(path: "castree-stress-\(UUID().uuidString)")

        init(_ program: String, _ arguments: [String]) throws {
            process.executableURL = URL(filePath: Programs.directory + "/" + program)
            process.arguments = arguments
            _ = FileManager.default.createFile(atPath: output.path, contents: nil)
            let file = try FileHandle(forWritingTo: output)
            process.standardOutput = file
            process.standardError = file
            try process.run()
        }

        /// Waits for the end; the status, or minus the signal, and all that was printed.
        func finish() -> (status: Int32, output: String) {
            process.waitUntilExit()
            let text = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
            try? FileManager.default.removeItem(at: output)
            let status = process.terminationStatus
            return (process.terminationReason == .exit ? status : -status, text)
        }

        func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    static func run(
        _ program: String, _ arguments: [String]
    ) throws -> (status: Int32, output: String) {
        try Run(program, arguments).finish()
    }
}
