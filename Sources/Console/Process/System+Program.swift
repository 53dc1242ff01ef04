// Becoming another program.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension System {
    /// Returns the path of the program that runs, with symbolic links resolved.
    ///
    /// Falls back to the name it was called by, if the system does not tell.
    package static func programPath() -> String? {
        for name in ["/proc/self/exe", CommandLine.arguments.first ?? ""] where !name.isEmpty {
            guard let resolved = realpath(name, nil) else { continue }
            defer { free(resolved) }
            return String(cString: resolved)
        }
        return nil
    }

    /// Whether the path is a file that this process may run.
    package static func isProgram(_ path: String) -> Bool {
        access(path, X_OK) == 0
    }

    /// Whether a file can be read by this user.
    package static func isReadable(_ path: String) -> Bool {
        access(path, R_OK) == 0
    }

    /// Replaces the running program by another, with the same arguments (execv(3)).
    ///
    /// - Parameter words: its arguments; nil for those of this program, as they were given.
    package static func become(_ path: String, _ words: [String]? = nil) throws(SystemError)
        -> Never
    {
        var made: [UnsafeMutablePointer<CChar>?] = [strdup(path)]
        for word in words ?? [] { made.append(strdup(word)) }
        defer { for word in made { free(word) } }
        guard !made.contains(nil) else { throw SystemError(number: ENOMEM) }
        var arguments = made
        if words == nil {
            for index in 1..<max(1, Int(CommandLine.argc)) {
                arguments.append(CommandLine.unsafeArgv[index])
            }
        }
        arguments.append(nil)
        execv(path, &arguments)
        throw SystemError(number: errno)
    }
}
