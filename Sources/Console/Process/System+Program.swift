// Becoming another program.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension System {
    /// The path of the running program, with symbolic links resolved, or its former path if it was replaced.
    ///
    /// Falls back to the name it was called by, if the system does not tell.
    package static func programPath() -> String? {
        let link = "/proc/self/exe"
        return resolved(link) ?? formerTarget(of: link)
            ?? rawArguments.first.flatMap { resolved(String(cString: $0)) }
    }

    private static func resolved(_ name: String) -> String? {
        guard !name.isEmpty, let resolved = realpath(name, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The former path of a process's deleted file (proc(5), /proc/pid/exe).
    private static func formerTarget(of link: String) -> String? {
        let mark = " (deleted)"
        return withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer in
            let bytes = buffer.bindMemory(to: CChar.self)
            guard let start = bytes.baseAddress else { return nil }
            let count = readlink(link, start, bytes.count)
            guard count > 0, count < bytes.count else { return nil }
            let target = String(decoding: buffer[..<count], as: UTF8.self)
            return target.hasSuffix(mark) ? String(target.dropLast(mark.count)) : nil
        }
    }

    package static func isProgram(_ path: String) -> Bool {
        access(path, X_OK) == 0
    }

    package static func isReadable(_ path: String) -> Bool {
        access(path, R_OK) == 0
    }

    /// The permission bits of a file, links followed; nil if there is none that this user may examine.
    package static func mode(of path: String) -> UInt32? {
        var status = stat()
        return stat(path, &status) == 0 ? UInt32(status.st_mode) & 0o7777 : nil
    }

    /// A fifo kept open for writing while it is opened as every file is: a reader that saw it close would be gone.
    final class FifoHold {
        private let raw: Int32
        /// Whether it has no reader, so that opening it for writing would wait, whatever signals come (fifo(7)).
        let isUnread: Bool

        init(_ path: String) {
            raw = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            isUnread = raw < 0 && errno == ENXIO
        }

        deinit {
            guard raw >= 0 else { return }
            #if canImport(Glibc)
                _ = Glibc.close(raw)
            #else
                _ = Darwin.close(raw)
            #endif
        }
    }

    package static func isFifo(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    /// Replaces the running program by another (execv(3)).
    /// - Parameter words: its arguments; nil for those of this program, as they were given.
    package static func become(_ path: String, _ words: [String]? = nil) throws(SystemError)
        -> Never
    {
        var made: [UnsafeMutablePointer<CChar>?] = [strdup(path)]
        for word in words ?? [] { made.append(strdup(word)) }
        defer { for word in made { free(word) } }
        guard !made.contains(nil) else { throw SystemError(number: ENOMEM) }
        var arguments = made + (words == nil ? Array(rawArguments.dropFirst()) : []) + [nil]
        execv(path, &arguments)
        throw SystemError(number: errno)
    }
}
