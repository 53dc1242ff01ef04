/// A program of the package, beside the tests that were built with it; and the shell.
package enum ProgramUnderTest: String {
    case castree
    case checker = "castree-fsck"
    /// The shell that every system has; none of ours.
    case shell = "/bin/sh"

    package var url: URL {
        self == .shell ? URL(filePath: rawValue) : Self.directory.appending(path: rawValue)
    }

    /// The directory that the tests were built into.
    ///
    /// What was built for them ends in `.xctest`: on Linux it is the program that runs, on macOS one
    /// of its arguments lies inside.
    private static let directory: URL = {
        let product =
            CommandLine.arguments.first { $0.contains(".xctest") }
            ?? CommandLine.arguments.first ?? "."
        var url = URL(filePath: product).standardizedFileURL
        while url.pathComponents.contains(where: { $0.hasSuffix(".xctest") }) {
            url.deleteLastPathComponent()
        }
        return url
    }()
}

/// What a program that has ended printed, and its exit status.
package struct Finished: Sendable, CustomTestStringConvertible {
    /// The program and its arguments.
    package let words: [String]
    package let status: Int32
    package let output: Data
    package let errors: String

    package var text: String { String(decoding: output, as: UTF8.self) }

    package var testDescription: String {
        "\(words): status \(status), output \(text), errors \(errors)"
    }

    /// It must have ended with a status, and say what is given among its errors.
    /// - Parameter circumstances: what the words do not tell.
    @discardableResult
    package func ended(
        _ status: Int32 = 0, saying said: String = "",
        in circumstances: @autoclosure () -> String = "", fileID: String = #fileID,
        filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) -> Finished {
        expect(
            self.status == status && (said.isEmpty || errors.contains(said)),
            "\(circumstances()) \(testDescription), expected \(status) \(said)", fileID: fileID,
            filePath: filePath, line: line, column: column)
        return self
    }

    /// The document on standard output, which must be one, and have a shape.
    package func document(_ shape: JSON) throws -> JSON { try JSON(text, of: shape) }

    /// The names of the document's members.
    package func members() throws -> Set<String> { Set(try JSON(output).members.keys) }

    /// The error on standard error, which must be its only content: `{"error":{"code":"…","message":"…"}}`.
    package func error() throws -> (code: String, message: String) {
        let document = try JSON(errors, of: ["error": ["code message": "text"]])
        return (document.error.code.text, document.error.message.text)
    }
}

/// A program that was started and may still run.
package final class Running {
    private let process = Process()
    private let outputFile: URL
    private let errorFile: URL

    package convenience init(
        _ program: ProgramUnderTest, _ arguments: [String], in directory: URL,
        environment: [String: String] = [:], output: Pipe? = nil
    ) throws {
        try self.init(
            program.url, arguments, in: directory, environment: environment, output: output)
    }

    package init(
        _ program: URL, _ arguments: [String], in directory: URL,
        environment: [String: String] = [:], input: Pipe? = nil, output: Pipe? = nil,
        errors: Pipe? = nil
    ) throws {
        let name = UUID().uuidString
        outputFile = directory.appending(path: ".output-\(name)")
        errorFile = directory.appending(path: ".errors-\(name)")
        process.executableURL = program
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.environment = environment.merging(Self.inherited) { given, _ in given }
        process.standardInput = input ?? FileHandle.nullDevice
        if let output {
            process.standardOutput = output.fileHandleForWriting
        } else {
            process.standardOutput = try Self.makeFile(outputFile)
        }
        if let errors {
            process.standardError = errors.fileHandleForWriting
        } else {
            process.standardError = try Self.makeFile(errorFile)
        }
        try Self.receivingSignals { try process.run() }
    }

    /// What the compiler's counters and sanitizers go by, if the tests are built with them.
    private static let inherited = ProcessInfo.processInfo.environment.filter {
        ["ASAN_OPTIONS", "LD_PRELOAD", "LLVM_PROFILE_FILE", "LSAN_OPTIONS", "TSAN_OPTIONS"]
            .contains($0.key)
    }

    /// Runs the body with no signal blocked in this thread, and Ctrl-C and SIGHUP not ignored: a child inherits both.
    ///
    /// Worker threads of libdispatch block nearly all signals; what a shell starts in the background ignores Ctrl-C,
    /// and what nohup(1) starts ignores SIGHUP. Handled here, SIGHUP still does not end the tests, and no child
    /// ignores it (execve(2)).
    private static func receivingSignals(_ body: () throws -> Void) rethrows {
        _ = Foundation.signal(SIGINT, SIG_DFL)
        if Foundation.signal(SIGHUP, { _ in }) == nil { _ = Foundation.signal(SIGHUP, SIG_DFL) }
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }

    // Files rather than pipes: nobody has to read while the program writes.
    private static func makeFile(_ url: URL) throws -> FileHandle {
        try Data().write(to: url)
        return try FileHandle(forWritingTo: url)
    }

    package var processIdentifier: Int32 { process.processIdentifier }

    package func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for the end.
    package func finished() throws -> Finished {
        process.waitUntilExit()
        // With a pipe there is no file.
        let output = (try? Data(contentsOf: outputFile)) ?? Data()
        let errors = (try? Data(contentsOf: errorFile)) ?? Data()
        for file in [outputFile, errorFile] { try? FileManager.default.removeItem(at: file) }
        let isSignal = process.terminationReason == .uncaughtSignal
        return Finished(
            words: [process.executableURL?.lastPathComponent ?? ""] + (process.arguments ?? []),
            status: isSignal ? -process.terminationStatus : process.terminationStatus,
            output: output, errors: String(decoding: errors, as: UTF8.self))
    }
}
