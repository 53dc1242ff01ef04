/// A program of the system that has ended: its exit status, and what it printed but for errors.
package struct OtherProgram {
    package let status: Int32
    package let output: Data
    package var text: String { String(decoding: output, as: UTF8.self) }

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - words: its name or its path, and its arguments.
    ///   - environment: what it has in place of ours.
    package init(
        _ words: [String], in directory: String? = nil, input: Data = Data(),
        environment: [String: String]? = nil
    ) throws {
        let process = Process()
        let (given, printed) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = words
        if let directory { process.currentDirectoryURL = URL(filePath: directory) }
        if let environment { process.environment = environment }
        process.standardInput = given
        process.standardOutput = printed
        process.standardError = FileHandle.nullDevice
        try process.run()
        try given.fileHandleForWriting.write(contentsOf: input)
        try given.fileHandleForWriting.close()
        output = try printed.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        status = process.terminationStatus
    }

    package init(_ words: String...) throws { try self.init(words) }
}

/// A program of the system that serves until its owner goes.
package final class OtherServer {
    /// The first line that it printed, its words.
    package let ready: [String]
    private let process = Process()

    /// Starts a script of Python and waits for its first line.
    ///
    /// - Parameter environment: what it has besides ours.
    package init(
        python script: String, _ arguments: [String], environment: [String: String] = [:]
    ) throws {
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", script] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        try process.run()
        var line = Data()
        while line.last != 10 {
            let more = pipe.fileHandleForReading.availableData
            if more.isEmpty { break }
            line += more
        }
        ready = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            .map(String.init)
    }

    deinit { stop() }

    package func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Ends it: connections are refused from now on.
    package func stop() {
        guard process.isRunning else { return }
        // A child may have inherited a mask that blocks every other signal.
        signal(SIGKILL)
        process.waitUntilExit()
    }
}
