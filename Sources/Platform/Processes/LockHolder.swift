import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The holder of a lock, as far as the kernel tells; for messages only.
///
/// Linux lists all locks in /proc/locks (proc(5)), by process and inode. Without /proc, or if the holder is in
/// another container, it is unknown.
package struct LockHolder: Sendable, Hashable {
    package var process: Int32?
    /// Its castree command or program name, if known.
    package var name: String?
    /// Whether it is stopped (SIGSTOP, a debugger), and will not release the lock on its own.
    package var isStopped = false
    /// Whether it has ended, so that a program it started still has the lock.
    package var hasEnded = false
    package var isThis = false
    /// The user as whom it runs, if known.
    package var user: UInt32?

    /// As in messages: `process 4711 (add, stopped)`.
    package var description: String {
        guard let process else { return "another process" }
        if isThis { return "another part of this process" }
        if hasEnded { return "a process that was started by process \(process)" }
        let about = [name, isStopped ? "stopped" : nil].compactMap { $0 }.joined(separator: ", ")
        return "process \(process)" + (about.isEmpty ? "" : " (\(about))")
    }
}

extension LockHolder {
    package static var unknown: LockHolder { LockHolder() }

    package static func find(of file: FileStatus) -> LockHolder {
        // The kernel lists locks in pieces, and skips one if others come and go meanwhile: so look again.
        for _ in 0..<3 {
            let locks = text("/proc/locks", limit: 4 << 20)
            let found = processes(locking: file, in: locks).map { LockHolder($0) }
            // Prefer the one that will not release the lock.
            if let holder = found.first(where: { $0.isStopped }) ?? found.first { return holder }
        }
        return .unknown
    }

    init(_ process: Int32) {
        self.process = process
        isThis = process == processIdentifier()
        let status = Self.text("/proc/\(process)/stat", limit: 4096)
        hasEnded = status.isEmpty
        // Without it nothing is said of that user.
        let directory = try? POSIXFileSystem().status(
            POSIXFileSystem.workingDirectory, "/proc/\(process)")
        user = directory?.owner
        // The name is in brackets and may hold any character, a bracket too.
        let state = status.split(separator: ")").last?.split(separator: " ").first
        isStopped = state == "T" || state == "t"
        name = Self.name(
            of: Self.text("/proc/\(process)/cmdline", limit: 16 << 10)
                .split(separator: "\0").map(String.init))
    }

    /// The processes that hold a lock on a file, by the text of /proc/locks: `1: FLOCK  ADVISORY  WRITE 4711
    /// fe:01:123456 0 EOF`; waiting ones have an arrow.
    static func processes(locking file: FileStatus, in locks: String) -> [Int32] {
        let major = (file.device >> 8) & 0xfff | (file.device >> 32) & ~0xfff
        let minor = file.device & 0xff | (file.device >> 12) & ~0xff
        var found: [Int32] = []
        for line in locks.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count >= 6, fields[1] != "->", let process = Int32(fields[4]), process > 0
            else { continue }
            let parts = fields[5].split(separator: ":")
            guard parts.count == 3, UInt64(parts[0], radix: 16) == major,
                UInt64(parts[1], radix: 16) == minor, UInt64(parts[2]) == file.inode
            else { continue }
            found.append(process)
        }
        return found
    }

    /// The name for a command line: for castree's programs the command, which is the first word that is neither an
    /// option nor the value of one before it; for others the program.
    ///
    /// Another user chooses these words, so they are made printable and short.
    static func name(of words: [String]) -> String? {
        guard let program = words.first?.split(separator: "/").last.map(String.init) else {
            return nil
        }
        var name = program
        if program == "castree" || program.hasPrefix("castree-") {
            var isValue = false
            for (index, word) in words.enumerated().dropFirst() {
                if !isValue, !word.hasPrefix("-") {
                    // The first word of a two-word command says little.
                    let isFirstOfTwo = ["key", "origin", "trust"].contains(word)
                    name = words[index...].prefix(isFirstOfTwo ? 2 : 1).joined(separator: " ")
                    break
                }
                isValue = !isValue && (word == "--store" || word == "--wait")
            }
        }
        let shown = printable(name)
        return shown.utf8.count <= 64 ? shown : String(shown.prefix(64)) + "\u{2026}"
    }

    /// The text of a file in /proc; empty if it cannot be read.
    static func text(_ path: String, limit: Int) -> String {
        #if canImport(Glibc)
            let system = POSIXFileSystem()
            // Without it the holder has no name, which a message can do without.
            guard
                let file = try? system.open(
                    POSIXFileSystem.workingDirectory, path, .readingFollowingLinks, mode: 0),
                // As above.
                let bytes = try? system.read(file.raw, at: 0, count: limit)
            else { return "" }
            return String(decoding: bytes, as: UTF8.self)
        #else
            return ""
        #endif
    }
}
