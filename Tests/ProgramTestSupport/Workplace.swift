@_exported public import SocketTestSupport
@_exported public import StorageTestSupport

/// A directory to work in as a user would, with a store at `.castree` as soon as something is added.
package final class Workplace {
    private let owner: TemporaryDirectory
    package var directory: URL { URL(filePath: owner.path) }

    /// - Parameter inMemory: whether syncs may mean nothing, where the system has space in memory.
    package init(inMemory: Bool = false) {
        owner = inMemory ? TemporaryDirectory(inMemory: true) : TemporaryDirectory()
    }

    /// A directory with a release that is added.
    package convenience init(
        adding version: String, _ files: [String: String], _ more: String...
    ) throws {
        self.init()
        try add(version, files, more)
    }

    @discardableResult
    package func castree(_ arguments: String..., environment: [String: String] = [:]) throws
        -> Finished
    {
        try run(.castree, arguments, environment: environment)
    }

    /// Runs castree here, which must succeed.
    @discardableResult
    package func done(
        _ arguments: String..., words: [String] = [], fileID: String = #fileID,
        filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) throws -> Finished {
        try ended(
            0, words: arguments + words, fileID: fileID, filePath: filePath, line: line,
            column: column)
    }

    /// Runs castree here, which must end with a status, and say what is given among its errors.
    @discardableResult
    package func ended(
        _ status: Int32, _ arguments: String..., words: [String] = [], saying said: String = "",
        environment: [String: String] = [:], fileID: String = #fileID,
        filePath: String = #filePath, line: Int = #line, column: Int = #column
    ) throws -> Finished {
        try run(.castree, arguments + words, environment: environment).ended(
            status, saying: said, fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Runs castree-fsck here.
    @discardableResult
    package func checker(_ arguments: String...) throws -> Finished { try run(.checker, arguments) }

    @discardableResult
    package func shell(_ script: String) throws -> Finished { try run(.shell, ["-c", script]) }

    package func run(
        _ program: ProgramUnderTest, _ arguments: [String], environment: [String: String] = [:]
    ) throws -> Finished {
        try Running(program, arguments, in: directory, environment: environment).finished()
    }

    /// Writes files below a directory here: path to content; `#!` at its beginning makes it
    /// executable.
    package func write(_ files: [String: String], to name: String) throws {
        for (path, content) in files {
            let file = directory.appending(path: name).appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(content.utf8).write(to: file)
            if content.hasPrefix("#!") {
                try Damage.setMode(file.path, 0o755)
            }
        }
    }

    /// Writes a release and adds it.
    @discardableResult
    package func add(_ version: String, _ files: [String: String], _ more: String...) throws
        -> Finished
    {
        try add(version, files, more)
    }

    @discardableResult
    private func add(
        _ version: String, _ files: [String: String], _ more: [String]
    ) throws -> Finished {
        let source = "release-\(version)"
        try write(files, to: source)
        return try run(.castree, ["add", source, "--version", version, "--no-sync"] + more)
    }

    package func give(to user: UInt32) throws {
        chown(directory.path, user, user)
        for path in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
            lchown(directory.appending(path: path).path, user, user)
        }
    }

    package func contents(_ path: String) throws -> String {
        try String(contentsOf: directory.appending(path: path), encoding: .utf8)
    }

    package func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: directory.appending(path: path).path)
    }

    /// The path of an object in the store.
    package func object(_ address: String) -> String {
        ".castree/objects/\(address.prefix(2))/\(address.dropFirst(2))"
    }

    /// Replaces the bytes of a read-only file without making another inode.
    package func damage(_ path: String, with content: String = "damaged") throws {
        let file = directory.appending(path: path)
        let mode = try Damage.mode(file.path)
        try Damage.setMode(file.path, 0o644)
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data(content.utf8))
        try handle.close()
        try Damage.setMode(file.path, mode)
    }
}

/// Two releases that share, change, add, remove and move something.
package enum Release {
    package static let first = [
        "index.html": "<h1>one</h1>", "css/site.css": "body {}", "js/app.js": "run(1)",
        "old/name.txt": "moves along", "tools/serve": "#! /bin/sh\n", "empty": "",
    ]
    package static let second = [
        "index.html": "<h1>two</h1>", "css/site.css": "body {}", "js/app.js": "run(1)",
        "new/name.txt": "moves along", "tools/serve": "#! /bin/sh\n", "js/more.js": "more()",
    ]
}
