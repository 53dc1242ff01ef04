#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the system says about itself; the machine's name stays private.
struct SystemFigures: Sendable {
    var name = "unknown"
    var release = "unknown"
    var machine = "unknown"

    /// Asks the system (uname(2)).
    static func current() -> SystemFigures {
        var names = utsname()
        guard uname(&names) == 0 else { return SystemFigures() }
        return SystemFigures(
            name: text(of: names.sysname), release: text(of: names.release),
            machine: text(of: names.machine))
    }

    /// Reads a text from a C array, which Swift sees as a tuple.
    private static func text(of field: some Any) -> String {
        withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
