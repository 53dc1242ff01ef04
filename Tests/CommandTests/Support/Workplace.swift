import Foundation

/// A directory to work in as a user would, with a store at `.castree` as soon as something is added.
final class Workplace {
    let directory: URL

    init() throws {
        let base =
            ProcessInfo.processInfo.environment["CASTREE_TEST_TMP"]
            ?? FileManager.default.temporaryDirectory.path
        directory = URL(filePath: base).appending(path: "castree-commands-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true)
    }

    deinit {
        // Trees are read-only; whoever owns them makes them writable to remove them.
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "chmod -R u+w \"$0\"; rm -rf \"$0\"", directory.path]
        try? process.run()
        process.waitUntilExit()
    }

    /// Runs castree here.
    @discardableResult
    func castree(_ arguments: String..., environment: [String: String] = [:]) throws -> Finished {
        try run(.castree, arguments, environment: environment)
    }

    /// Runs castree-fsck here.
    @discardableResult
    func checker(_ arguments: String...) throws -> Finished {
        try run(.checker, arguments)
    }

    /// Runs a program here.
    func run(
        _ program: ProgramUnderTest, _ arguments: [String], environment: [String: String] = [:]
    ) throws -> Finished {
        try Running(program, arguments, in: directory, environment: environment).finished()
    }

    /// Writes files below a directory here: path to content; `#!` at its beginning makes it
    /// executable.
    func write(_ files: [String: String], to name: String) throws {
        for (path, content) in files {
            let file = directory.appending(path: name).appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(content.utf8).write(to: file)
            if content.hasPrefix("#!") {
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o755], ofItemAtPath: file.path)
            }
        }
    }

    /// Writes a release and adds it.
    @discardableResult
    func add(_ version: String, _ files: [String: String], _ more: String...) throws -> Finished {
        let source = "release-\(version)"
        try write(files, to: source)
        return try run(.castree, ["add", source, "--version", version, "--no-sync"] + more)
    }

    /// Gives everything here to a user.
    func give(to user: UInt32) throws {
        chown(directory.path, user, user)
        for path in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
            lchown(directory.appending(path: path).path, user, user)
        }
    }

    /// The content of a file here.
    func contents(_ path: String) throws -> String {
        try String(contentsOf: directory.appending(path: path), encoding: .utf8)
    }

    /// Whether something is at a path here.
    func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: directory.appending(path: path).path)
    }

    /// The path of an object in the store.
    func object(_ address: String) -> String {
        ".castree/objects/\(address.prefix(2))/\(address.dropFirst(2))"
    }

    /// Replaces the bytes of a read-only file without making another inode.
    func damage(_ path: String, with content: String = "damaged") throws {
        let file = directory.appending(path: path)
        let files = FileManager.default
        let mode = try files.attributesOfItem(atPath: file.path)[.posixPermissions]
        try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data(content.utf8))
        try handle.close()
        try files.setAttributes(
            [.posixPermissions: mode ?? 0o444], ofItemAtPath: file.path)
    }

    /// The address of a file of a version.
    func address(of path: String, in version: String) throws -> String {
        let shown = try castree("show", version, "--json").document(ShownVersion.self)
        return shown.entries.first { $0.path == path }?.address ?? ""
    }
}

/// Two releases that share, change, add, remove and move something.
enum Release {
    static let first = [
        "index.html": "<h1>one</h1>", "css/site.css": "body {}", "js/app.js": "run(1)",
        "old/name.txt": "moves along", "tools/serve": "#! /bin/sh\n", "empty": "",
    ]
    static let second = [
        "index.html": "<h1>two</h1>", "css/site.css": "body {}", "js/app.js": "run(1)",
        "new/name.txt": "moves along", "tools/serve": "#! /bin/sh\n", "js/more.js": "more()",
    ]
}
