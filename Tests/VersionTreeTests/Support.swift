import StorageTestSupport

// What the tests of trees share: exact files, exact looks at them, refusals by code.

/// What stands at one path of a directory.
struct Seen: Hashable {
    var content: [UInt8]
    var mode: UInt32
    var inode: UInt64
    var links: UInt64
}

let working = POSIXFileSystem.workingDirectory

/// Everything but directories below a directory, by the bytes of its path.
///
/// Swift strings merge NFC and NFD.
func snapshot(_ root: String) throws -> [[UInt8]: Seen] {
    var result: [[UInt8]: Seen] = [:]
    try look(Array(root.utf8), [], &result)
    return result
}

private func look(_ root: [UInt8], _ path: [UInt8], _ result: inout [[UInt8]: Seen]) throws {
    let here = path.isEmpty ? root : root + [47] + path
    guard let directory = opendir(here.map { CChar(bitPattern: $0) } + [0]) else {
        throw POSIXError(.init(rawValue: errno) ?? .EIO)
    }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
        if name == [46] || name == [46, 46] { continue }
        let inner = path.isEmpty ? name : path + [47] + name
        let full = (root + [47] + inner).map { CChar(bitPattern: $0) } + [0]
        var status = stat()
        guard lstat(full, &status) == 0 else { continue }
        if status.st_mode & S_IFMT == S_IFDIR {
            try look(root, inner, &result)
        } else if status.st_mode & S_IFMT != S_IFREG {
            result[inner] = Seen(
                content: [], mode: UInt32(status.st_mode), inode: UInt64(status.st_ino), links: 1)
        } else {
            result[inner] = Seen(
                content: try readBytes(full), mode: UInt32(status.st_mode & 0o7777),
                inode: UInt64(status.st_ino), links: UInt64(status.st_nlink))
        }
    }
}

/// The contents of the regular files below a directory.
func contents(_ root: String) throws -> [[UInt8]: [UInt8]] {
    try snapshot(root).mapValues(\.content)
}

func readBytes(_ path: [CChar]) throws -> [UInt8] {
    let file = open(path, O_RDONLY | O_NONBLOCK)
    guard file >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { close(file) }
    var status = stat()
    fstat(file, &status)
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let count = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
    return Array(bytes.prefix(max(count, 0)))
}

func readBytes(_ path: String) throws -> [UInt8] { try readBytes(Array(path.utf8CString)) }

/// Writes a file as its bytes and path are; makes the directories above it.
func writeFile(_ path: String, _ content: [UInt8], mode: UInt32 = 0o644) throws {
    var prefix: [UInt8] = []
    for component in Array(path.utf8).split(separator: 47).dropLast() {
        prefix += [47] + component
        mkdir(prefix.map { CChar(bitPattern: $0) } + [0], 0o755)
    }
    unlink(path)
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o644)
    guard file >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { close(file) }
    var rest = content[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        guard count > 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        rest = rest.dropFirst(count)
    }
    fchmod(file, mode_t(mode))
}

func writeFile(_ path: String, _ content: String, mode: UInt32 = 0o644) throws {
    try writeFile(path, Array(content.utf8), mode: mode)
}

/// stat(2) of the entry itself.
func status(_ path: String) throws -> FileStatus? { try POSIXFileSystem().status(working, path) }

/// Changes one byte of a file in place, whatever its mode.
func flipByte(_ path: String, at offset: Int64 = 0) throws {
    chmod(path, 0o644)
    let file = open(path, O_RDWR)
    guard file >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { close(file) }
    var byte: UInt8 = 0
    pread(file, &byte, 1, off_t(offset))
    byte ^= 1
    pwrite(file, &byte, 1, off_t(offset))
}

extension TemporaryStore {
    func tree(_ version: String) -> String { "\(path)/versions/\(version)" }

    /// What stands behind the link `current`: path to text.
    func shown() throws -> [String: String] {
        var result: [String: String] = [:]
        for (path, content) in try contents(path + "/current/.") {
            result[String(decoding: path, as: UTF8.self)] = String(decoding: content, as: UTF8.self)
        }
        return result
    }

    /// Makes a directory mode 0755 so that a test can damage what is in it.
    func unlock(_ directory: String) { chmod(directory, 0o755) }
}

/// Runs a shell command; returns its exit code.
@discardableResult
func shell(_ command: String) -> Int32 {
    (try? OtherProgram("/bin/sh", "-c", command + " >/dev/null 2>&1").status) ?? -1
}

extension Tag {
    /// Takes more than ten seconds.
    @Tag static var slow: Self
}

/// A counter or list that several threads share.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
    func with<R: Sendable>(_ body: (inout Value) -> R) -> R {
        value.withLock { value in body(&value) }
    }
}

/// Runs closures on threads of their own, waits for all, and throws what one of them threw.
///
/// Expectations belong behind it: a thread of its own knows of no test.
func together(_ bodies: [@Sendable () throws -> Void]) throws {
    let group = DispatchGroup()
    let failures = Shared<[any Error]>([])
    for body in bodies {
        group.enter()
        let thread = Thread {
            do { try body() } catch { failures.with { $0.append(error) } }
            group.leave()
        }
        thread.stackSize = 4 << 20
        thread.start()
    }
    group.wait()
    if let first = failures.with({ $0.first }) { throw first }
}

extension TemporaryStore {
    /// Three versions; A is current and known good.
    static func startedOnce() throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        for name in ["A", "B", "C"] { try temporary.add(name, ["index.html": name]) }
        try temporary.versions.makeKnownGood("A")
        return temporary
    }
}
